// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/bench_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <random>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "workloads/load.h"

namespace splitwave::testing {

using base::InputError;
using workloads::Workload;

namespace {

std::int32_t to_number(const std::string& text, const std::string& where) {
  std::size_t used = 0;
  int value = 0;
  try {
    value = std::stoi(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size()) throw InputError(fmt::format("{}: '{}' is not an integer", where, text));
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

workloads::Geometry make_geometry(std::int32_t query_heads, std::int32_t kv_heads, std::int32_t head_dim) {
  workloads::Geometry g;
  g.query_heads = query_heads;
  g.kv_heads = kv_heads;
  g.head_dim = head_dim;
  g.value_dim = head_dim;
  g.kind = query_heads == kv_heads ? workloads::AttentionKind::mha
           : kv_heads == 1         ? workloads::AttentionKind::mqa
                                   : workloads::AttentionKind::gqa;
  return g;
}

/// Uniform in the logarithm, so that small shapes are as frequent as large ones.
std::int32_t draw_log(std::mt19937& random, double least, double most) {
  const double unit = static_cast<double>(random()) / 4294967296.0;
  return static_cast<std::int32_t>(std::lround(std::exp(std::log(least) + unit * (std::log(most) - std::log(least)))));
}

}  // namespace

std::vector<Workload> read_shapes(const std::string& path) {
  std::vector<Workload> all;
  std::istringstream text(base::read_text_file(path));
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::string where = fmt::format("{}:{}", path, number);
    const std::vector<std::string> fields = split(line, ',');
    if (fields.size() != 7) throw InputError(fmt::format("{}: {} fields; expected 7", where, fields.size()));
    Workload w;
    w.name = fields[0];
    w.geometry = make_geometry(to_number(fields[2], where), to_number(fields[3], where), to_number(fields[4], where));
    w.geometry.value_dim = to_number(fields[5], where);
    if (w.geometry.value_dim < w.geometry.head_dim) w.geometry.kind = workloads::AttentionKind::mla;
    const std::vector<std::string> lengths = split(fields[6], ';');
    const std::int32_t batch = to_number(fields[1], where);
    if (batch < 1) throw InputError(fmt::format("{}: a batch of {} requests; allowed: 1 or more", where, batch));
    for (std::int32_t r = 0; r < batch; ++r) {
      const std::size_t i = lengths.size() == 1 ? 0 : static_cast<std::size_t>(r);
      if (i >= lengths.size()) throw InputError(fmt::format("{}: fewer lengths than requests", where));
      w.requests.push_back({1, to_number(lengths[i], where)});
    }
    workloads::validate(w);
    all.push_back(w);
  }
  return all;
}

std::string shapes_csv(const std::vector<Workload>& workloads) {
  std::string text;
  for (const Workload& w : workloads) {
    std::vector<std::int32_t> lengths;
    for (const workloads::Request& request : w.requests) lengths.push_back(request.context_len);
    const workloads::Geometry& g = w.geometry;
    text += fmt::format("{},{},{},{},{},{},{}\n", w.name, lengths.size(), g.query_heads, g.kv_heads, g.head_dim,
                        g.value_dim, fmt::join(lengths, ";"));
  }
  return text;
}

std::vector<Workload> random_shapes(std::int32_t count, std::uint32_t seed, std::int64_t most_bytes) {
  constexpr int kMostRefused = 100'000;  // no shape is so small, or hardly one
  std::mt19937 random(seed);
  std::vector<Workload> all;
  int too_large = 0;
  while (static_cast<std::int32_t>(all.size()) < count) {
    const std::int32_t kv_heads = draw_log(random, 1, 40);
    const std::int32_t group = draw_log(random, 1, 16);
    const std::uint32_t dim = random() % 8;
    const std::int32_t head_dim = dim < 5 ? 128 : dim < 7 ? 64 : 256;
    const std::int32_t batch = draw_log(random, 1, 256);
    const std::int32_t longest = draw_log(random, 16, 200000);
    const bool ragged = random() % 2 == 0;
    Workload w;
    w.geometry = make_geometry(kv_heads * group, kv_heads, head_dim);
    for (std::int32_t r = 0; r < batch; ++r) {
      const std::int32_t length = ragged ? draw_log(random, std::min(16, longest), longest) : longest;
      w.requests.push_back({1, length});
    }
    if (workloads::kv_bytes(w) > most_bytes) {
      if (++too_large == kMostRefused) {
        throw InputError(
            fmt::format("{} random shapes in a row have more than {} bytes of K and V", too_large, most_bytes));
      }
      continue;
    }
    too_large = 0;
    w.name = fmt::format("random{}-{}/{}-d{}-b{}-{}{}", all.size(), w.geometry.query_heads, kv_heads, head_dim, batch,
                         longest, ragged ? "r" : "");
    all.push_back(w);
  }
  return all;
}

}  // namespace splitwave::testing
