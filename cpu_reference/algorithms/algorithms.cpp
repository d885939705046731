// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/algorithms/algorithms.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 30;
constexpr std::int64_t kMostSplits = 65536;
constexpr std::int64_t kMostCtas = 1024;  // a thread each

/// A function of the table from one with a named argument per parameter: f(input, values[0], values[1], ...).
template <auto function>
struct Unpacked;
template <typename Out, typename In, typename... Sizes, Out (*function)(const In&, Sizes...)>
struct Unpacked<function> {
  static Out call(const In& input, std::span<const std::int64_t> values) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return function(input, values[i]...);
    }
    (std::index_sequence_for<Sizes...>());
  }
};

constexpr Parameter kSram[] = {{"sram_elements", 98304, kMostSize, "elements of on-chip memory, M: 192 KiB of f16"}};
constexpr Parameter kBlocks[] = {{"block_rows", 128, kMostSize, "query rows in a block, B_r"},
                                 {"block_tokens", 128, kMostSize, "tokens in a block, B_c"}};
constexpr Parameter kSplit[] = {{"block_tokens", 128, kMostSize, "tokens in a block"},
                                {"splits", 8, kMostSplits, "parts of the context"}};
constexpr Parameter kLean[] = {{"tile_rows", 128, kMostSize, "query rows in an output tile, T_m"},
                               {"tile_tokens", 128, kMostSize, "tokens in a LeanTile, T_n"},
                               {"grid", 8, kMostCtas, "CTAs for one head, G"}};
constexpr Parameter kEtap[] = {{"block_rows", 64, kMostSize, "query rows in a block, B_r"},
                               {"block_tokens", 64, kMostSize, "tokens in a block, B_c"}};

template <auto attend, auto io>
constexpr Algorithm row(std::string_view name, std::string_view summary, std::string_view source,
                        std::span<const Parameter> parameters = {}) {
  return {name, summary, source, parameters, Unpacked<attend>::call, Unpacked<io>::call};
}

constexpr Algorithm kAlgorithms[] = {
    row<standard_attention, standard_attention_io>(
        "standard", "S = Q K^T, P = softmax(S) and O = P V, each through memory", "arXiv 2205.14135, Algorithm 0"),
    row<three_pass_attention, three_pass_attention_io>(
        "three-pass", "safe softmax row by row: largest score, denominator, weighted sum",
        "lecture \"Online Safe Softmax\", Alg1"),
    row<two_pass_attention, two_pass_attention_io>(
        "two-pass", "online softmax: largest score and denominator in one pass, the weighted sum in another",
        "arXiv 1805.02867, Algorithm 3"),
    row<one_pass_attention, one_pass_attention_io>(
        "one-pass", "the recurrence of FlashAttention: the output is rescaled with every token",
        "lecture \"One-pass Attention\""),
    row<flash_attention_1, flash_attention_1_io>("flash-attention-1",
                                                 "outer loop over K and V, the output through memory in every step",
                                                 "arXiv 2205.14135, Algorithm 1", kSram),
    row<flash_attention_2, flash_attention_2_io>("flash-attention-2", "outer loop over Q, the output written once",
                                                 "arXiv 2307.08691, Algorithm 1", kBlocks),
    row<flash_decoding, flash_decoding_io>("flash-decoding", "parts of the context, then a reduction weighted by LSE",
                                           "PyTorch blog \"Flash-Decoding\", October 2023", kSplit),
    row<lean_attention, lean_attention_io>("lean-attention",
                                           "equal shares of tiles per CTA; an output's first CTA reduces its parts",
                                           "arXiv 2405.10480, Algorithms 1 and 2", kLean),
    row<etap_attention, etap_attention_io>("etap", "transposed, S^T = K Q^T and O^T = V^T P^T, tokens on the M side",
                                           "arXiv 2506.01969, Algorithm 1", kEtap),
};

const Algorithm& find(std::string_view name) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return algorithm;
    names.emplace_back(algorithm.name);
  }
  throw base::InputError(fmt::format("algorithm '{}' is not known{}; allowed: {}", base::printable(name),
                                     base::did_you_mean(name, names), base::join(names)));
}

/// What may follow the colon: "block_tokens (1 to 1073741824) x splits (1 to 65536), such as flash-decoding:128x8".
std::string allowed_values(const Algorithm& algorithm) {
  if (algorithm.parameters.empty()) return "nothing";
  std::string names;
  std::string example;
  for (const Parameter& parameter : algorithm.parameters) {
    names += fmt::format("{}{} (1 to {})", names.empty() ? "" : " x ", parameter.name, parameter.most);
    example += fmt::format("{}{}", example.empty() ? "" : "x", parameter.standard);
  }
  return fmt::format("{}, such as {}:{}", names, algorithm.name, example);
}

/// One integer per parameter, separated by x, or nothing if the text is anything else.
std::optional<std::vector<std::int64_t>> values_of(std::string_view text, std::span<const Parameter> parameters) {
  std::vector<std::int64_t> values;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (const Parameter& parameter : parameters) {
    if (!values.empty() && (at == end || *at++ != 'x')) return std::nullopt;
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc() || value < 1 || value > parameter.most) return std::nullopt;
    values.push_back(value);
    at = next;
  }
  return at == end && !values.empty() ? std::optional(values) : std::nullopt;
}

}  // namespace

std::span<const Algorithm> all() {
  return kAlgorithms;
}

std::string Call::name() const {
  return values.empty() ? std::string(algorithm->name) : fmt::format("{}:{}", algorithm->name, fmt::join(values, "x"));
}

Call parse(std::string_view name) {
  const std::size_t colon = name.find(':');
  const Algorithm& algorithm = find(name.substr(0, colon));
  Call call{&algorithm, {}};
  if (colon == std::string_view::npos) {
    for (const Parameter& parameter : algorithm.parameters) call.values.push_back(parameter.standard);
    return call;
  }
  const std::string_view text = name.substr(colon + 1);
  const std::optional<std::vector<std::int64_t>> values = values_of(text, algorithm.parameters);
  if (!values) {
    throw base::InputError(fmt::format("algorithm {}: '{}' is not allowed; allowed after the colon: {}", algorithm.name,
                                       base::printable(text), allowed_values(algorithm)));
  }
  call.values = *values;
  return call;
}

}  // namespace splitwave::cpu_reference::algorithms
