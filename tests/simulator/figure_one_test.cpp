// SPDX-License-Identifier: Apache-2.0
// Figure 1 of LeanAttention (arXiv 2405.10480): two heads of five tiles on five SMs, for FlashAttention-2,
// FlashDecoding and LeanAttention. SPLITWAVE_ACCEPT_GOLDEN=1 writes the files anew.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "schedules/schedules.h"
#include "tests/simulator/toy.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

constexpr std::int32_t kSms = 5;
constexpr std::int32_t kTileTokens = 64;

/// One row per SM, one character per tile: the head's letter, or a dot while the SM idles.
std::string gantt(const std::string& schedule) {
  const workloads::Workload batch = workloads::parse_spec("h=2/2,d=128:1q1s320");
  const Machine machine = toy::machine(kSms);
  const KernelProfile kernel = toy::kernel(1);
  schedules::Grid grid = grid_of(machine, kernel);
  grid.tile_kv = kTileTokens;
  const schedules::Plan plan = schedules::make_plan(schedule, batch, grid);
  SimulateOptions options;
  options.spans = true;
  const schedules::Timeline timeline = simulate(batch, plan, machine, kernel, options);
  // A lone CTA takes in 1 GB/s: 64 tokens of 512 bytes are 32.768 us.
  const double tile_seconds = kTileTokens * 512 / 1e9;
  const auto steps = static_cast<std::size_t>(std::lround(timeline.seconds / tile_seconds));
  std::vector<std::string> rows(kSms, std::string(steps, '.'));
  for (const schedules::Span& span : timeline.spans) {
    if (span.item < 0) continue;
    const schedules::Item& item = plan.items[static_cast<std::size_t>(span.item)];
    const auto first = static_cast<std::size_t>(std::lround(span.begin_seconds / tile_seconds));
    const auto end = static_cast<std::size_t>(std::lround(span.end_seconds / tile_seconds));
    const std::int32_t head = plan.outputs[static_cast<std::size_t>(item.output)].head_begin;
    for (std::size_t step = first; step < end; ++step) {
      rows[static_cast<std::size_t>(span.sm)][step] = static_cast<char>('A' + head);
    }
  }
  std::string text;
  for (std::size_t sm = 0; sm < rows.size(); ++sm) text += "SM" + std::to_string(sm) + " " + rows[sm] + "\n";
  return text;
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(SPLITWAVE_GOLDEN_DIR) + "/" + name;
  if (std::getenv("SPLITWAVE_ACCEPT_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(golden.str(), text) << "differs from " << path;
}

TEST(FigureOne, FlashAttention2) {
  expect_golden("figure1_fa2.txt", gantt("fa2"));
}
TEST(FigureOne, FlashDecoding) {
  expect_golden("figure1_fixed_split.txt", gantt("fixed-split:2"));
}
TEST(FigureOne, LeanAttention) {
  expect_golden("figure1_lean.txt", gantt("lean"));
}

}  // namespace
}  // namespace splitwave::simulator
