// SPDX-License-Identifier: Apache-2.0
// Predictions as text: tables for people, CSV with all of them, the error bands that advise carries.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/accuracy/judge.h"

namespace splitwave::accuracy {

/// Predictions of the same points on one machine, with the kernels' own constants and without.
struct Judged {
  std::string machine;
  std::vector<JudgedPoint> own;
  std::vector<JudgedPoint> without;
};

/// A ratio in percent with one decimal, without the sign.
std::string percent(double ratio);

/// A row per kernel, then all: n, MAPE, p50, p90, max, bias, roofline. Markdown.
std::string kernel_table(std::span<const JudgedPoint> predictions);

/// The same by size of K and V.
std::string size_table(std::span<const JudgedPoint> predictions);

/// Sign of the speed-up between kernels and Kendall's tau, with the kernels' own constants and without. Markdown.
std::string order_table(const Judged& judged);

/// Times of the project's own kernels on a machine.
struct OwnJudged {
  std::string machine;
  std::vector<JudgedPoint> points;
};

/// Every prediction, one per line, those of the project's own kernels first.
std::string all_predictions(std::span<const Judged> judged, std::span<const OwnJudged> own);

/// docs/accuracy.md: one H200 whose kernels were looked at, a kernel that was predicted before it was compared, latent
/// attention, then random shapes, engines and another machine.
/// own, by_sms: own_tables() and table_by_sms() of the project's own kernels; seen_ablation: peers_ablation_table() of
/// `seen`.
std::string document(const std::string& own, const std::string& by_sms, const Judged& seen,
                     const std::string& seen_ablation, const Judged& xqa, const Judged& latent, const Judged& shapes,
                     std::span<const Judged> unseen);

/// studies/error_bands.json: per machine and schedule, how well predictions agree with measurements of others' kernels,
/// and of the project's own.
std::string error_bands(std::span<const Judged> judged, std::span<const OwnJudged> own);

}  // namespace splitwave::accuracy
