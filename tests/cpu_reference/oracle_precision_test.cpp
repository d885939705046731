// SPDX-License-Identifier: Apache-2.0
// The oracle against attention as its definition has it, in 200-bit arithmetic, for every mask, layout and dtype.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <limits>
#include <vector>

#include "cpu_reference/oracle.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

namespace mp = boost::multiprecision;
using Real = mp::number<mp::cpp_bin_float<200, mp::digit_base_2>, mp::et_off>;
using workloads::AttentionKind;
using workloads::Dtype;
using workloads::KvLayout;
using workloads::Tensor;
using workloads::Tensors;
using workloads::Workload;

constexpr double kAccuracy = 4e-15;

Real element(const Workload& workload, const workloads::Bytes& tensor, std::int64_t index) {
  return {workloads::load_element(workload.geometry.dtype, tensor, index)};
}

/// True if query i of the request may look at the token: the definition, not workloads::visible_to_query.
bool sees(const Workload& workload, const workloads::Request& request, std::int32_t query, std::int32_t token) {
  const std::int32_t position = request.context_len - request.query_len + query;
  if (workload.geometry.causal && token > position) return false;
  return !workload.geometry.window || std::abs(token - position) < *workload.geometry.window;
}

struct ExactRow {
  std::vector<Real> output;
  Real lse;
  Real magnitude = 0;  ///< largest mean of |v| by the same weights: what rounding is relative to where values cancel
  bool empty = true;
};

ExactRow exact_row(const Workload& workload, const Tensors& tensors, std::int32_t request, std::int32_t query,
                   std::int32_t head) {
  const workloads::Geometry& g = workload.geometry;
  const workloads::Bytes& values = g.kind == AttentionKind::mla ? tensors.k : tensors.v;
  const std::int32_t kv_head = head / g.group();
  const std::int64_t q = q_row(workload, tensors, request, query, head);
  ExactRow row;
  row.output.resize(g.value_dim);
  std::vector<Real> magnitudes(g.value_dim);
  Real sum = 0;
  for (std::int32_t token = 0; token < workload.requests[request].context_len; ++token) {
    if (!sees(workload, workload.requests[request], query, token)) continue;
    const std::int64_t k = k_row(workload, tensors, request, token, kv_head);
    const std::int64_t v = v_row(workload, tensors, request, token, kv_head);
    Real score = 0;
    for (std::int32_t e = 0; e < g.head_dim; ++e) {
      score += element(workload, tensors.q, q + e) * element(workload, tensors.k, k + e);
    }
    const Real weight = mp::exp(score * Real(g.scale()));  // 200 bits have an exponent for any score of these tests
    sum += weight;
    for (std::int32_t e = 0; e < g.value_dim; ++e) {
      const Real value = element(workload, values, v + e);
      row.output[e] += weight * value;
      magnitudes[e] += weight * mp::abs(value);
    }
    row.empty = false;
  }
  if (row.empty) return row;
  for (Real& value : row.output) value /= sum;
  row.magnitude = *std::max_element(magnitudes.begin(), magnitudes.end()) / sum;
  row.lse = mp::log(sum);
  return row;
}

/// Largest distance of the oracle from the definition: outputs relative to the row's magnitude, LSE relative to max(1,
/// |LSE|). Infinite if an empty row is not 0 and -inf.
double worst_error(const Workload& workload, const Tensors& tensors) {
  const workloads::Geometry& g = workload.geometry;
  const Result<double> result = attend(workload, tensors);
  Real worst = 0;
  for (std::size_t request = 0; request < workload.requests.size(); ++request) {
    for (std::int32_t query = 0; query < workload.requests[request].query_len; ++query) {
      for (std::int32_t head = 0; head < g.query_heads; ++head) {
        const std::int64_t index = (tensors.first_query[request] + query) * g.query_heads + head;
        const ExactRow exact = exact_row(workload, tensors, static_cast<std::int32_t>(request), query, head);
        const double* const output = result.output.data() + index * g.value_dim;
        if (exact.empty) {
          const bool right = result.lse[index] == -std::numeric_limits<double>::infinity() &&
                             std::all_of(output, output + g.value_dim, [](double value) { return value == 0; });
          if (!right) return std::numeric_limits<double>::infinity();
          continue;
        }
        for (std::int32_t e = 0; e < g.value_dim; ++e) {
          worst = std::max(worst, Real(mp::abs(Real(output[e]) - exact.output[e]) / exact.magnitude));
        }
        const Real size = std::max(Real(1), Real(mp::abs(exact.lse)));
        worst = std::max(worst, Real(mp::abs(Real(result.lse[index]) - exact.lse) / size));
      }
    }
  }
  return worst.convert_to<double>();
}

Workload any_workload() {
  Workload workload;
  workload.name = "any";
  workloads::Geometry& g = workload.geometry;
  g.kind = *rc::gen::element(AttentionKind::mha, AttentionKind::gqa, AttentionKind::mqa, AttentionKind::mla);
  const bool one_kv_head = g.kind == AttentionKind::mqa || g.kind == AttentionKind::mla;
  g.kv_heads = one_kv_head ? 1 : *rc::gen::inRange(1, 4);
  g.query_heads = g.kv_heads * (g.kind == AttentionKind::mha ? 1 : *rc::gen::inRange(1, 7));
  g.head_dim = *rc::gen::inRange(1, 35);
  g.value_dim = *rc::gen::inRange(1, g.kind == AttentionKind::mla ? g.head_dim + 1 : 35);
  g.dtype = *rc::gen::element(Dtype::f16, Dtype::bf16, Dtype::f32);
  g.causal = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) g.window = *rc::gen::inRange(1, 12);
  if (*rc::gen::arbitrary<bool>()) g.softmax_scale = *rc::gen::element(0.1, 1.0, 3.0, 0.0, -0.5);
  for (std::int32_t requests = *rc::gen::inRange(1, 4); requests > 0; --requests) {
    workload.requests.push_back({*rc::gen::inRange(1, 4), *rc::gen::inRange(0, 20)});
  }
  workload.kv.layout = *rc::gen::element(KvLayout::bshd, KvLayout::bhsd, KvLayout::paged);
  if (workload.kv.layout == KvLayout::paged) workload.kv.page_size = *rc::gen::inRange(1, 9);
  workload.seed = *rc::gen::arbitrary<std::uint64_t>();
  return workload;
}

RC_GTEST_PROP(OracleAgainst200Bits, AnyWorkload, ()) {
  const Workload workload = any_workload();
  const bool outliers = *rc::gen::arbitrary<bool>();
  const float sharpness = *rc::gen::element(1.0F, 30.0F, 0.0F);
  const testing::Values normal = testing::normal_values(workload.seed, outliers);
  const Tensors tensors = testing::tensors_with(
      workload, [&](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
        return normal(tensor, r, position, head, e) * (tensor == Tensor::q ? sharpness : 1);
      });
  RC_ASSERT(worst_error(workload, tensors) <= kAccuracy);
}

TEST(OracleAgainst200Bits, AContextOfManyBlocks) {
  Workload workload = testing::plain_workload(Dtype::f16, 2, 1, 16, 1, 801);
  workload.geometry.softmax_scale.reset();
  EXPECT_LE(worst_error(workload, testing::tensors_with(workload, testing::normal_values(7))), kAccuracy);
}

TEST(OracleAgainst200Bits, HugeScoresKeepTheirDifferences) {
  // Scores around -5e5 lose 26 bits to their size in plain double; subtracting before scaling loses none.
  const Workload workload = testing::plain_workload(Dtype::f32, 1, 1, 3, 1, 200);
  const testing::Values normal = testing::normal_values(8);
  const Tensors tensors = testing::tensors_with(
      workload, [&](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
        const float value = normal(tensor, r, position, head, e);
        if (e != 0 || tensor == Tensor::v) return value;
        return tensor == Tensor::q ? 707.1F : -707.3F;
      });
  EXPECT_LE(worst_error(workload, tensors), kAccuracy);
}

}  // namespace
}  // namespace splitwave::cpu_reference
