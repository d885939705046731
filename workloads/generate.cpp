// SPDX-License-Identifier: Apache-2.0
#include "workloads/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "workloads/data.h"
#include "workloads/limits.h"
#include "workloads/random.h"

namespace splitwave::workloads {

namespace {

enum Purpose : std::uint64_t { ragged_lengths = 1, zipf_order, long_place, published_lengths };

std::vector<Request> requests_of(const std::vector<std::int32_t>& contexts, std::int32_t query_len) {
  std::vector<Request> requests;
  requests.reserve(contexts.size());
  for (const std::int32_t context : contexts) requests.push_back({query_len, context});
  return requests;
}

// Value at probability p of the piecewise linear quantile function.
std::int32_t quantile(const std::vector<double>& probabilities, const std::vector<std::int32_t>& values, double p) {
  const auto above = std::upper_bound(probabilities.begin() + 1, probabilities.end() - 1, p);
  const auto i = static_cast<std::size_t>(above - probabilities.begin());
  const double share = (p - probabilities[i - 1]) / (probabilities[i] - probabilities[i - 1]);
  return static_cast<std::int32_t>(std::lround(values[i - 1] + share * (values[i] - values[i - 1])));
}

std::vector<std::int32_t> read_quantiles(const base::Fields& fields, std::string_view key, std::size_t count) {
  std::vector<std::int32_t> values;
  for (const base::JsonValue& value : fields.array(key).items) {
    const std::optional<std::int64_t> tokens = value.as_int64();
    if (!tokens || *tokens < 0 || *tokens > kMaxContextLen) fields.refuse(key, "token counts");
    values.push_back(static_cast<std::int32_t>(*tokens));
  }
  if (values.size() != count || !std::is_sorted(values.begin(), values.end())) {
    fields.refuse(key, "ascending values, one per probability");
  }
  return values;
}

std::vector<LengthDistribution> read_distributions() {
  const std::string where = "lengths.json";
  constexpr std::array<std::string_view, 4> kFileKeys = {"format", "note", "probabilities", "distributions"};
  constexpr std::array<std::string_view, 5> kKeys = {"name", "requests", "source", "prompt_tokens", "output_tokens"};
  const base::JsonValue document = base::parse_document(embedded_file("lengths"), where);
  const base::Fields file(document, where, "", kFileKeys);
  file.integer("format", 1, 1);
  std::vector<double> probabilities;
  for (const base::JsonValue& value : file.array("probabilities").items)
    probabilities.push_back(value.as_double().value_or(-1));
  std::vector<LengthDistribution> result;
  for (const base::JsonValue& item : file.array("distributions").items) {
    const base::Fields fields(item, where, fmt::format("distributions[{}]", result.size()), kKeys);
    result.push_back({fields.text("name"), fields.text("source"), probabilities,
                      read_quantiles(fields, "prompt_tokens", probabilities.size()),
                      read_quantiles(fields, "output_tokens", probabilities.size())});
  }
  return result;
}

const LengthDistribution& find_distribution(std::string_view name) {
  std::vector<std::string> names;
  for (const LengthDistribution& distribution : length_distributions()) {
    if (distribution.name == name) return distribution;
    names.push_back(distribution.name);
  }
  throw base::InputError(fmt::format("lengths is \"{}\"; allowed: {}", base::printable(name), base::join(names)));
}

}  // namespace

std::vector<Request> generate_uniform(std::int32_t batch, std::int32_t query_len, std::int32_t context_len) {
  return {static_cast<std::size_t>(batch), Request{query_len, context_len}};
}

std::vector<Request> generate_ragged(std::int32_t batch, std::int32_t query_len, std::int32_t max_context_len,
                                     double ratio, std::uint64_t seed) {
  // Every length is 1 + share^power * (longest - 1) with a share from 0 to 1, the longest one's share being 1.
  const double room = max_context_len - 1.0;
  const double least = (room / batch + 1) / max_context_len;
  if (!(ratio >= least * (1 - 1e-9)) || !(ratio <= 1)) {
    throw base::InputError(
        fmt::format("ratio is {}; allowed: from {:.6g} (all but one of length 1) to 1", ratio, least));
  }
  RandomStream random(seed, ragged_lengths);
  std::vector<double> shares(static_cast<std::size_t>(batch) - 1);
  for (double& share : shares) share = random.unit();
  // The sum falls as the power grows, so that bisection finds the wanted average.
  const double wanted = room > 0 ? std::max(0.0, ((ratio * max_context_len - 1) * batch - room) / room) : 0;
  const auto sum_at = [&](double power) {
    double sum = 0;
    for (const double share : shares) sum += std::pow(share, power);
    return sum;
  };
  double low = 0;
  double high = 1;
  while (sum_at(high) > wanted && high < 1e6) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (sum_at(middle) > wanted ? low : high) = middle;
  }
  std::vector<std::int32_t> contexts = {max_context_len};
  double exact = 0;  // rounding the running sum, not each length, keeps the average
  std::int64_t given = 0;
  for (const double share : shares) {
    exact += std::pow(share, high) * room;
    const std::int64_t length = std::clamp<std::int64_t>(std::llround(exact) - given, 0, max_context_len - 1);
    given += length;
    contexts.push_back(static_cast<std::int32_t>(length + 1));
  }
  random.shuffle(contexts);
  return requests_of(contexts, query_len);
}

std::vector<Request> generate_zipf(std::int32_t batch, std::int32_t query_len, std::int32_t mean_context_len,
                                   double exponent, std::uint64_t seed) {
  double weights = 0;
  for (std::int32_t rank = 1; rank <= batch; ++rank) weights += std::pow(rank, -exponent);
  // Every length gets one token first; the rest is shared out.
  const double tokens = (static_cast<double>(mean_context_len) - 1) * batch;
  double exact = 0;
  std::int64_t given = 0;
  std::vector<std::int32_t> contexts;
  for (std::int32_t rank = 1; rank <= batch; ++rank) {
    exact += tokens * std::pow(rank, -exponent) / weights;
    const std::int64_t length = std::llround(exact) - given;
    given += length;
    if (length >= kMaxContextLen) {
      throw base::InputError(
          fmt::format("the longest context would have {} tokens; allowed: at most {}", length + 1, kMaxContextLen));
    }
    contexts.push_back(static_cast<std::int32_t>(length + 1));
  }
  RandomStream(seed, zipf_order).shuffle(contexts);
  return requests_of(contexts, query_len);
}

std::vector<Request> generate_one_long(std::int32_t batch, std::int32_t query_len, std::int32_t long_context_len,
                                       std::int32_t short_context_len, std::uint64_t seed) {
  std::vector<std::int32_t> contexts(static_cast<std::size_t>(batch), short_context_len);
  contexts[RandomStream(seed, long_place).below(static_cast<std::uint64_t>(batch))] = long_context_len;
  return requests_of(contexts, query_len);
}

const std::vector<LengthDistribution>& length_distributions() {
  static const std::vector<LengthDistribution> all = read_distributions();
  return all;
}

std::vector<Request> generate_published(std::int32_t batch, std::int32_t query_len, std::string_view distribution,
                                        std::optional<std::int32_t> max_context_len, std::uint64_t seed) {
  const LengthDistribution& lengths = find_distribution(distribution);
  if (max_context_len && *max_context_len < query_len) {
    throw base::InputError(
        fmt::format("max_context_len is {}; allowed: at least query_len ({})", *max_context_len, query_len));
  }
  RandomStream random(seed, published_lengths);
  std::vector<std::int32_t> contexts;
  for (std::int32_t i = 0; i < batch; ++i) {
    const std::int64_t prompt = quantile(lengths.probabilities, lengths.prompt_tokens, random.unit());
    const std::int64_t output = quantile(lengths.probabilities, lengths.output_tokens, random.unit());
    const auto made =
        1 + static_cast<std::int64_t>(random.unit() * static_cast<double>(std::max<std::int64_t>(output, 1)));
    const std::int64_t context = std::min<std::int64_t>(prompt + made, max_context_len.value_or(kMaxContextLen));
    contexts.push_back(static_cast<std::int32_t>(std::max<std::int64_t>(context, query_len)));
  }
  return requests_of(contexts, query_len);
}

}  // namespace splitwave::workloads
