// SPDX-License-Identifier: Apache-2.0
// Faults planted into a kernel over random workloads: the verdict fails, and the first diagnosis names the fault.
// Correct kernels pass. SPLITWAVE_DIAGNOSIS_CASES=N plants N faults instead of a few of each, and prints figures per
// fault.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <map>

#include "base/array.h"
#include "cpu_reference/verify.h"
#include "tests/support/faulty_attention.h"
#include "tests/support/tensors.h"
#include "workloads/load.h"
#include "workloads/random.h"

namespace splitwave::cpu_reference {
namespace {

using testing::KernelSetup;
using workloads::Dtype;
using workloads::KvLayout;
using workloads::RandomStream;
using workloads::Tensors;
using workloads::Workload;

/// One random case.
struct Case {
  Workload workload;
  KernelSetup setup;
};

std::int32_t pick(RandomStream& random, std::initializer_list<std::int32_t> from) {
  return *(from.begin() + random.below(from.size()));
}

Workload random_workload(RandomStream& random, std::optional<Fault> fault) {
  const auto is = [&](Fault other) { return fault && *fault == other; };
  Workload w =
      testing::plain_workload(std::array{Dtype::f16, Dtype::bf16, Dtype::f32}[random.below(3)], 1, 1, 64, 1, 1);
  workloads::Geometry& g = w.geometry;
  g.kv_heads = is(Fault::head_mapping) ? pick(random, {2, 3, 4}) : pick(random, {1, 2, 3});
  g.query_heads = g.kv_heads * pick(random, {1, 2, 4});
  if (is(Fault::stale_partial) && g.query_heads < 2) g.query_heads = 2;
  g.head_dim = pick(random, {32, 64, 128});
  g.value_dim = g.head_dim;
  g.softmax_scale.reset();
  g.causal = random.below(2) == 0;
  if (is(Fault::window) || random.below(6) == 0) g.window = static_cast<std::int32_t>(32 + random.below(400));
  // Behind a causal mask's diagonal lie tokens of the context, not a tail.
  if (is(Fault::unmasked_tail)) g.causal = false;
  const bool many_queries = is(Fault::causal_alignment) || is(Fault::mask_sentinel) || random.below(3) == 0;
  w.requests.clear();
  const auto requests = static_cast<std::int32_t>(1 + random.below(3));
  for (std::int32_t r = 0; r < requests; ++r) {
    const auto context = static_cast<std::int32_t>(std::exp(std::log(4.0) + random.unit() * std::log(2048 / 4.0)));
    w.requests.push_back({many_queries ? static_cast<std::int32_t>(2 + random.below(3)) : 1, context});
  }
  if (is(Fault::mask_sentinel)) {
    g.causal = true;
    w.requests.front() = {4, static_cast<std::int32_t>(1 + random.below(3))};
  }
  w.kv.layout = is(Fault::swapped_pages) ? KvLayout::paged
                                         : std::array{KvLayout::bshd, KvLayout::bhsd, KvLayout::paged}[random.below(3)];
  if (w.kv.layout == KvLayout::paged) w.kv.page_size = pick(random, {16, 32, 64, 128});
  w.seed = random.next();
  w.distribution = random.below(4) == 0 ? workloads::Distribution::outliers : workloads::Distribution::normal;
  return w;
}

Case random_case(RandomStream& random, std::optional<Fault> fault) {
  Case c;
  c.workload = random_workload(random, fault);
  c.setup.tile = pick(random, {16, 32, 64, 128});
  c.setup.splits = pick(random, {1, 2, 3, 5, 8});
  c.setup.backward = random.below(2) == 0;
  c.setup.fault = fault;
  c.setup.variant = static_cast<std::int32_t>(random.below(1 << 20));
  c.setup.place = static_cast<std::int32_t>(random.below(1 << 20));
  // A partial result needs a second one beside it.
  const bool partials = fault == Fault::stale_partial || fault == Fault::merge_weights;
  if (partials) {
    c.setup.splits = pick(random, {2, 3, 5, 8});
    workloads::Request& first = c.workload.requests.front();
    first.context_len = std::max(first.context_len, c.setup.tile + 20);
  }
  if (random.below(2) == 0) c.setup.victim = static_cast<std::int32_t>(random.below(8));
  return c;
}

/// The kernel's output in its dtype, and its LSE.
struct Stored {
  workloads::Bytes output;
  Result<float> result;
  base::ElementType type = base::ElementType::f32;
};

Stored run(const Case& c, const Tensors& tensors) {
  Stored stored;
  stored.result = testing::FaultyAttention(c.workload, tensors, c.setup).run();
  const Dtype dtype = c.workload.geometry.dtype;
  stored.type = dtype == Dtype::f16    ? base::ElementType::f16
                : dtype == Dtype::bf16 ? base::ElementType::bf16
                                       : base::ElementType::f32;
  const auto count = static_cast<std::int64_t>(stored.result.output.size());
  stored.output.resize(static_cast<std::size_t>(count * workloads::bytes_per_element(dtype)));
  for (std::int64_t i = 0; i < count; ++i) {
    workloads::store_element(dtype, stored.output, i, stored.result.output[static_cast<std::size_t>(i)]);
  }
  return stored;
}

Verification judge(const Case& c, const Tensors& tensors, const Stored& stored, bool with_lse) {
  const workloads::Geometry& g = c.workload.geometry;
  const std::int64_t tokens = tensors.first_query.back();
  const auto output = base::c_order_view(stored.output.data(), stored.type, {tokens, g.query_heads, g.value_dim});
  std::optional<base::ArrayView> lse;
  if (with_lse) lse = base::c_order_view(stored.result.lse.data(), base::ElementType::f32, {tokens, g.query_heads});
  return verify(c.workload, tensors, output, lse);
}

double stored_unit(Dtype dtype) {
  return dtype == Dtype::f16 ? 0x1p-11 : dtype == Dtype::bf16 ? 0x1p-8 : 0x1p-20;
}

/// Whether the fault changes some row by far more than the kernel's roundings do, or the LSE.
bool matters(const Case& c, const Stored& good, const Stored& bad) {
  const auto d = static_cast<std::size_t>(c.workload.geometry.value_dim);
  const double unit = stored_unit(c.workload.geometry.dtype);
  for (std::size_t row = 0; row < good.result.lse.size(); ++row) {
    double moved = 0;
    double size = 0;
    for (std::size_t e = row * d; e < (row + 1) * d; ++e) {
      const double change = static_cast<double>(bad.result.output[e]) - good.result.output[e];
      moved += change * change;
      size += static_cast<double>(good.result.output[e]) * good.result.output[e];
    }
    if (std::isnan(moved) || moved > 400 * unit * unit * size) return true;
    if (*c.setup.fault == Fault::lse_base_two && std::abs(bad.result.lse[row] - good.result.lse[row]) > 0.01F)
      return true;
  }
  return false;
}

struct Tally {
  std::int64_t planted = 0;
  std::int64_t failed = 0;  ///< verdicts that were right
  std::int64_t first = 0;   ///< the fault named first
};

/// Unused slots hold what a cache holds, old numbers, in place of NaN: a swap that brings in a NaN shows nothing else.
void fill_unused(Tensors& tensors, Dtype dtype, RandomStream& random) {
  for (workloads::Bytes* tensor : {&tensors.k, &tensors.v}) {
    const auto count = static_cast<std::int64_t>(tensor->size()) / workloads::bytes_per_element(dtype);
    for (std::int64_t i = 0; i < count; ++i) {
      if (std::isnan(load_element(dtype, *tensor, i))) {
        store_element(dtype, *tensor, i, static_cast<float>(2 * random.unit() - 1));
      }
    }
  }
}

/// Plants a fault where it matters; nothing after many tries without.
std::optional<std::pair<Case, Stored>> plant(RandomStream& random, Fault fault, Tensors& tensors) {
  for (int tries = 0; tries < 200; ++tries) {
    Case c = random_case(random, fault);
    tensors = workloads::make_tensors(c.workload, std::int64_t{1} << 30);
    if (fault == Fault::swapped_pages) fill_unused(tensors, c.workload.geometry.dtype, random);
    Case good = c;
    good.setup.fault.reset();
    Stored bad = run(c, tensors);
    if (matters(c, run(good, tensors), bad)) return std::pair{c, std::move(bad)};
  }
  return std::nullopt;
}

std::string describe(const Case& c, const Verification& result) {
  std::string text = to_json(c.workload) + " tile " + std::to_string(c.setup.tile) + " splits " +
                     std::to_string(c.setup.splits) + " backward " + std::to_string(c.setup.backward) + " variant " +
                     std::to_string(c.setup.variant) + " place " + std::to_string(c.setup.place) + " victim " +
                     std::to_string(c.setup.victim) + (result.passed ? " PASSED" : " failed");
  for (const Finding& finding : result.findings) {
    text += "\n   " + to_string(finding.fault) + ": " + finding.text + " (explained " +
            std::to_string(finding.explained) + ", nats " + std::to_string(finding.evidence_nats) + ", rows " +
            std::to_string(finding.rows) + ")";
  }
  return text;
}

std::int64_t cases_asked_for() {
  const char* const given = std::getenv("SPLITWAVE_DIAGNOSIS_CASES");
  return given == nullptr ? 90 : std::atoll(given);
}

TEST(Diagnosis, NamesThePlantedFaultFirst) {
  RandomStream random(20261122, 1);
  std::map<Fault, Tally> tallies;
  const std::int64_t cases = cases_asked_for();
  const char* const only = std::getenv("SPLITWAVE_DIAGNOSIS_FAULT");
  for (std::int64_t i = 0; i < cases; ++i) {
    const auto fault = static_cast<Fault>(i % kFaults);
    if (only != nullptr && to_string(fault) != only) continue;
    Tensors tensors;
    const auto planted = plant(random, fault, tensors);
    ASSERT_TRUE(planted) << to_string(fault);
    const auto& [c, stored] = *planted;
    const bool with_lse = fault == Fault::lse_base_two || random.below(2) == 0;
    const Verification result = judge(c, tensors, stored, with_lse);
    Tally& tally = tallies[fault];
    ++tally.planted;
    tally.failed += result.passed ? 0 : 1;
    const bool first = !result.findings.empty() && result.findings.front().fault == fault;
    tally.first += first ? 1 : 0;
    if (!first) std::cout << "not first: " << to_string(fault) << ": " << describe(c, result) << '\n';
  }
  Tally all;
  for (const auto& [fault, tally] : tallies) {
    std::cout << to_string(fault) << ": planted " << tally.planted << ", verdict failed " << tally.failed
              << ", named first " << tally.first << '\n';
    all.planted += tally.planted;
    all.failed += tally.failed;
    all.first += tally.first;
  }
  std::cout << "all: planted " << all.planted << ", verdict failed " << all.failed << ", named first " << all.first
            << '\n';
  EXPECT_EQ(all.failed, all.planted);
  EXPECT_GE(all.first * 100, all.planted * 95);
}

/// Inputs on which roundings line up or swell: a correct kernel is right on them too.
std::vector<std::pair<std::string, testing::Values>> hard_inputs() {
  using workloads::Tensor;
  const testing::Values normal = testing::normal_values(77);
  const auto with = [normal](Tensor which, auto change) -> testing::Values {
    return [=](Tensor tensor, std::int32_t r, std::int32_t t, std::int32_t h, std::int32_t e) {
      const float value = normal(tensor, r, t, h, e);
      return tensor == which ? change(value, t, e) : value;
    };
  };
  return {
      {"flat scores", with(Tensor::q, [](float, std::int32_t, std::int32_t) { return 0.0F; })},
      {"flat scores, V = 0.1", [](Tensor tensor, std::int32_t, std::int32_t, std::int32_t,
                                  std::int32_t) { return tensor == Tensor::v ? 0.1F : 0.0F; }},
      {"constant V", with(Tensor::v, [](float, std::int32_t, std::int32_t) { return 0.3F; })},
      {"large V", with(Tensor::v, [](float x, std::int32_t, std::int32_t) { return 15000 * x; })},
      {"subnormal V", with(Tensor::v, [](float x, std::int32_t, std::int32_t) { return 1e-7F * x; })},
      {"sharp scores", with(Tensor::q, [](float x, std::int32_t, std::int32_t) { return 30 * x; })},
      {"rising scores",
       with(Tensor::k, [](float x, std::int32_t t, std::int32_t) { return x + 0.01F * static_cast<float>(t); })},
      {"a sink", with(Tensor::k, [](float x, std::int32_t t, std::int32_t) { return t == 0 ? 8 * x : x; })},
      {"two values of K", with(Tensor::k,
                               [](float, std::int32_t t, std::int32_t e) {
                                 return t % 2 == 0 ? 0.37F : e % 3 == 0 ? -0.2F : 0.1F;
                               })},
      {"V by K's two values", [normal](Tensor tensor, std::int32_t r, std::int32_t t, std::int32_t h, std::int32_t e) {
         if (tensor == Tensor::q) return normal(tensor, r, t, h, e);
         return tensor == Tensor::k ? (t % 2 == 0 ? 0.37F : -0.2F) : (t % 2 == 0 ? 1.0F : -1.0F);
       }}};
}

TEST(Diagnosis, NeverAccusesACorrectKernelOnHardInputs) {
  RandomStream random(20261122, 3);
  for (const auto& [name, values] : hard_inputs()) {
    for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
      for (const std::int32_t context : {1, 7, 130, 2000}) {
        Case c;
        c.workload = testing::plain_workload(dtype, 4, 2, pick(random, {8, 64}), 2, context);
        c.workload.geometry.softmax_scale.reset();
        c.workload.geometry.causal = true;
        c.setup.tile = pick(random, {16, 64, 128});
        c.setup.splits = pick(random, {1, 3, 8});
        const Tensors tensors = testing::tensors_with(c.workload, values);
        const Verification result = judge(c, tensors, run(c, tensors), true);
        EXPECT_TRUE(result.passed) << name << ": " << describe(c, result) << result.rules.front().text;
      }
    }
  }
}

TEST(Diagnosis, FindsATileThatALongContextHides) {
  // 128 of 200,000 tokens: every element stays within what roundings could do at worst. In two rows, and in one alone.
  for (const std::int32_t heads : {2, 1}) {
    Case c;
    c.workload = testing::plain_workload(Dtype::bf16, heads, 1, 64, 1, 200000);
    c.workload.geometry.softmax_scale.reset();
    c.setup.tile = 128;
    c.setup.splits = 8;
    const Tensors tensors = workloads::make_tensors(c.workload, std::int64_t{1} << 30);
    EXPECT_TRUE(judge(c, tensors, run(c, tensors), false).passed);
    c.setup.fault = Fault::missing_tokens;
    c.setup.place = 777;
    const Verification result = judge(c, tensors, run(c, tensors), false);
    EXPECT_FALSE(result.passed) << heads;
    EXPECT_EQ(result.decided_by, Rule::pattern);
    EXPECT_EQ(result.output.over_bound, 0);
    ASSERT_FALSE(result.findings.empty());
    EXPECT_EQ(result.findings.front().fault, Fault::missing_tokens);
    EXPECT_EQ(result.findings.front().token_begin, 777 * 128);
    EXPECT_EQ(result.findings.front().token_end, 778 * 128);
  }
}

TEST(Diagnosis, OneWrongRowIsOfNoAccumulator) {
  Case c;
  c.workload = testing::plain_workload(Dtype::f16, 8, 2, 64, 3, 700);
  c.workload.geometry.softmax_scale.reset();
  const Tensors tensors = workloads::make_tensors(c.workload, std::int64_t{1} << 30);
  Stored stored = run(c, tensors);
  for (std::int64_t e = 0; e < 64; ++e) {
    const float right = load_element(Dtype::f16, stored.output, 64 + e);
    store_element(Dtype::f16, stored.output, 64 + e, 1.02F * right);
  }
  const Verification result = judge(c, tensors, stored, false);
  EXPECT_FALSE(result.passed);
  for (const Finding& finding : result.findings) EXPECT_NE(finding.fault, Fault::low_accumulator) << finding.text;
}

TEST(Diagnosis, NeverAccusesACorrectKernel) {
  RandomStream random(20261122, 2);
  const std::int64_t cases = cases_asked_for();
  for (std::int64_t i = 0; i < cases; ++i) {
    const Case c = random_case(random, std::nullopt);
    const Tensors tensors = workloads::make_tensors(c.workload, std::int64_t{1} << 30);
    const Stored stored = run(c, tensors);
    const Verification result = judge(c, tensors, stored, random.below(2) == 0);
    EXPECT_TRUE(result.passed) << describe(c, result);
    EXPECT_TRUE(result.findings.empty());
    EXPECT_LT(result.output.worst_bound_ratio, 1);
  }
}

}  // namespace
}  // namespace splitwave::cpu_reference
