// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/accuracy/points.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/text.h"

namespace splitwave::accuracy {
namespace {

/// Where a line is, for messages.
struct Place {
  std::string file;
  std::size_t line = 0;
};

struct Line {
  Place at;
  std::vector<std::string> fields;
};

/// The lines of a file, without those that begin with #.
std::vector<Line> read_lines(const std::string& file) {
  std::vector<Line> lines;
  std::stringstream stream(base::read_text_file(file));
  std::size_t number = 0;
  for (std::string text; std::getline(stream, text);) {
    ++number;
    if (!text.starts_with('#')) lines.push_back({{file, number}, fields_of(text, ',')});
  }
  return lines;
}

/// The same without the first, which names the columns.
std::vector<Line> read_table(const std::string& file) {
  std::vector<Line> lines = read_lines(file);
  if (lines.empty()) throw base::InputError(file + ": it is empty; allowed: a line that names the columns, then data");
  lines.erase(lines.begin());
  return lines;
}

constexpr std::int32_t kMostRequests = 1 << 20;  // as in workload files

std::int32_t integer(const std::string& text, const Place& at, std::int32_t least = 0,
                     std::int32_t most = std::numeric_limits<std::int32_t>::max()) {
  return static_cast<std::int32_t>(integer_in(fmt::format("{}:{}", at.file, at.line), text, least, most));
}

double seconds_of(const std::string& microseconds, const Place& at) {
  const std::optional<double> value = base::number_in(microseconds);
  if (!value || !std::isfinite(*value) || *value <= 0) {
    throw base::InputError(
        fmt::format("{}:{}: '{}' is no time; allowed: microseconds above 0", at.file, at.line, microseconds));
  }
  return *value * 1e-6;
}

void require_fields(const std::vector<std::string>& fields, std::size_t least, const Place& at) {
  if (fields.size() >= least) return;
  throw base::InputError(
      fmt::format("{}:{}: {} columns; allowed: at least {}", at.file, at.line, fields.size(), least));
}

workloads::Geometry geometry_of(std::int32_t query_heads, std::int32_t kv_heads, std::int32_t head_dim,
                                std::int32_t value_dim) {
  workloads::Geometry geometry;
  geometry.query_heads = query_heads;
  geometry.kv_heads = kv_heads;
  geometry.head_dim = head_dim;
  geometry.value_dim = value_dim;
  geometry.kind = head_dim != value_dim     ? workloads::AttentionKind::mla
                  : query_heads == kv_heads ? workloads::AttentionKind::mha
                  : kv_heads == 1           ? workloads::AttentionKind::mqa
                                            : workloads::AttentionKind::gqa;
  return geometry;
}

workloads::Workload shape_of(const std::vector<std::string>& fields, const Place& at) {
  require_fields(fields, 7, at);
  const auto column = [&](std::size_t i) { return integer(fields[i], at); };
  workloads::Workload workload;
  workload.name = fields[0];
  workload.geometry = geometry_of(column(2), column(3), column(4), column(5));
  const std::vector<std::string> contexts = fields_of(fields[6], ';');
  const auto batch = static_cast<std::size_t>(integer(fields[1], at, 1, kMostRequests));
  if (contexts.size() != 1 && contexts.size() != batch) {
    throw base::InputError(
        fmt::format("{}:{}: {} contexts; allowed: one, or {}", at.file, at.line, contexts.size(), batch));
  }
  for (std::size_t i = 0; i < batch; ++i) {
    workload.requests.push_back({1, integer(contexts[contexts.size() == 1 ? 0 : i], at)});
  }
  workloads::validate(workload);
  return workload;
}

}  // namespace

std::vector<std::string> fields_of(const std::string& line, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (!quoted && i > 0 && line[i - 1] == '"') fields.back() += c;  // a doubled one is text
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::int64_t integer_in(const std::string& what, const std::string& text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw base::InputError(fmt::format("{}: '{}'; allowed: an integer from {} to {}", what, text, least, most));
  }
  return value;
}

std::vector<workloads::Workload> read_shapes(const std::string& file) {
  std::vector<workloads::Workload> shapes;
  for (const auto& [at, fields] : read_lines(file)) shapes.push_back(shape_of(fields, at));
  return shapes;
}

namespace {

std::map<std::string, workloads::Workload> by_name(const std::vector<workloads::Workload>& shapes) {
  std::map<std::string, workloads::Workload> known;
  for (const workloads::Workload& workload : shapes) known.emplace(workload.name, workload);
  return known;
}

const workloads::Workload& shape_of(const std::map<std::string, workloads::Workload>& known, const std::string& name,
                                    const Place& at) {
  const auto shape = known.find(name);
  if (shape == known.end()) {
    throw base::InputError(fmt::format("{}:{}: shape {} is not among the shapes", at.file, at.line, name));
  }
  return shape->second;
}

}  // namespace

std::vector<Point> read_peers(const std::string& shapes, const std::string& times) {
  const auto known = by_name(read_shapes(shapes));
  std::vector<Point> points;
  for (const auto& [at, fields] : read_table(times)) {
    require_fields(fields, 3, at);
    if (fields[2] != "ok") continue;
    require_fields(fields, 4, at);
    points.push_back({fields[0], shape_of(known, fields[1], at), seconds_of(fields[3], at), fields.back(), 0});
  }
  return points;
}

std::vector<Point> read_own_times(const std::vector<workloads::Workload>& shapes, const std::string& times) {
  const auto known = by_name(shapes);
  std::vector<Point> points;
  for (const auto& [at, fields] : read_table(times)) {
    require_fields(fields, 5, at);
    points.push_back(
        {fields[0], shape_of(known, fields[1], at), seconds_of(fields[3], at), fields[4], integer(fields[2], at)});
  }
  return points;
}

std::vector<Point> read_engines(const std::string& file, const std::string& device) {
  std::vector<Point> points;
  for (const auto& [at, fields] : read_table(file)) {
    require_fields(fields, 8, at);
    if (fields[0] != device) continue;
    const auto column = [&, &at = at, &fields = fields](std::size_t i) { return integer(fields[i], at); };
    Point point;
    point.kernel = fields[1];
    point.workload.geometry = geometry_of(column(4), column(5), column(6), column(6));
    point.workload.geometry.dtype = workloads::Dtype::bf16;
    point.workload.requests.assign(static_cast<std::size_t>(integer(fields[2], at, 1, kMostRequests)), {1, column(3)});
    point.workload.kv = {workloads::KvLayout::paged, 16, {}};
    point.workload.name = fmt::format("h={}/{} d={} {} x {}", fields[4], fields[5], fields[6], fields[2], fields[3]);
    workloads::validate(point.workload);
    point.seconds = seconds_of(fields[7], at);
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace splitwave::accuracy
