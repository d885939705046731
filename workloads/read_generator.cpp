// SPDX-License-Identifier: Apache-2.0
// The "generate" object of the workload format.
#include <fmt/format.h>

#include <cstddef>

#include "base/document.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/text.h"
#include "workloads/definition.h"
#include "workloads/format_keys.h"
#include "workloads/generate.h"
#include "workloads/limits.h"

namespace splitwave::workloads {

namespace {

// What all generators have.
struct Common {
  std::int32_t batch;
  std::int32_t query_len;
  std::uint64_t seed;
};

// A generator does not know where its numbers come from; its messages get the place here.
template <typename Make>
std::vector<Request> placed(const base::Fields& fields, Make make) {
  try {
    return make();
  } catch (const base::InputError& error) {
    throw base::InputError(fmt::format("{}: {}: {}", fields.where(), fields.path(), error.what()));
  }
}

std::vector<Request> uniform(const base::Fields& fields, const Common& common) {
  return generate_uniform(common.batch, common.query_len, fields.int32("context_len", 0, kMaxContextLen));
}

std::vector<Request> ragged(const base::Fields& fields, const Common& common) {
  const std::int32_t longest = fields.int32("max_context_len", 1, kMaxContextLen);
  const double ratio = fields.number("ratio", 0, 1);
  return placed(fields, [&] { return generate_ragged(common.batch, common.query_len, longest, ratio, common.seed); });
}

std::vector<Request> zipf(const base::Fields& fields, const Common& common) {
  const std::int32_t mean = fields.int32("mean_context_len", 1, kMaxContextLen);
  const double exponent = fields.optional_number("exponent", 0, 16).value_or(1);
  return placed(fields, [&] { return generate_zipf(common.batch, common.query_len, mean, exponent, common.seed); });
}

std::vector<Request> one_long(const base::Fields& fields, const Common& common) {
  return generate_one_long(common.batch, common.query_len, fields.int32("long_context_len", 0, kMaxContextLen),
                           fields.int32("short_context_len", 0, kMaxContextLen), common.seed);
}

std::vector<Request> published(const base::Fields& fields, const Common& common) {
  const std::string lengths = fields.text("lengths");
  const auto longest = fields.optional_int32("max_context_len", 1, kMaxContextLen);
  return placed(fields,
                [&] { return generate_published(common.batch, common.query_len, lengths, longest, common.seed); });
}

struct Generator {
  std::span<const std::string_view> keys;
  std::vector<Request> (*make)(const base::Fields&, const Common&);
};

// In the order of kGeneratorNames.
constexpr std::array<Generator, kGeneratorNames.size()> kGenerators = {{{kUniformKeys, uniform},
                                                                        {kRaggedKeys, ragged},
                                                                        {kZipfKeys, zipf},
                                                                        {kOneLongKeys, one_long},
                                                                        {kPublishedKeys, published}}};

}  // namespace

std::vector<Request> read_generator(const base::JsonValue& value, const std::string& where, const std::string& path,
                                    std::uint64_t seed) {
  const base::JsonValue* kind = value.find("kind");
  std::size_t index = 0;
  while (index < kGeneratorNames.size() && (kind == nullptr || kind->text != kGeneratorNames[index])) ++index;
  if (index == kGeneratorNames.size()) {
    base::refuse_value(where, path + ".kind", kind == nullptr ? "missing" : kind->shown(),
                       base::join({kGeneratorNames.begin(), kGeneratorNames.end()}));
  }
  const Generator& generator = kGenerators[index];
  const base::Fields fields(value, where, path, generator.keys);
  const Common common{fields.int32("batch", 1, kMaxRequests),
                      fields.optional_int32("query_len", 1, kMaxQueryLen).value_or(1),
                      fields.optional_uint64("seed").value_or(seed)};
  return generator.make(fields, common);
}

}  // namespace splitwave::workloads
