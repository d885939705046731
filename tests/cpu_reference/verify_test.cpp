// SPDX-License-Identifier: Apache-2.0
// Every way to lay out a call gives the same verdict, and what does not fit together is refused by one line.
#include "cpu_reference/verify.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "cpu_reference/oracle.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using base::ArrayView;
using base::c_order_view;
using base::ElementType;

/// Two requests of 3 query tokens and 20 and 37 tokens of context, 4 over 2 heads, in f32; and the oracle's answer.
class Verify : public ::testing::Test {
 protected:
  static constexpr std::int64_t kTokens = 6, kHeads = 4, kKvHeads = 2, kDim = 8, kLongest = 37;

  Verify() : workload_(testing::plain_workload(workloads::Dtype::f32, kHeads, kKvHeads, kDim, 3, 20)) {
    workload_.requests = {{3, 20}, {3, kLongest}};
    workload_.geometry.softmax_scale.reset();
    workload_.geometry.causal = true;
    tensors_ = testing::tensors_with(workload_, testing::normal_values(5));
    const Result<double> exact = attend(workload_, tensors_);
    output_.assign(exact.output.begin(), exact.output.end());
    lse_.assign(exact.lse.begin(), exact.lse.end());
  }

  ArrayView view(const std::vector<float>& values, std::vector<std::int64_t> shape) const {
    return c_order_view(values.data(), ElementType::f32, std::move(shape));
  }

  /// The call as a packed batch with cumulative lengths.
  KernelCall packed() {
    KernelCall call;
    call.q = c_order_view(tensors_.q.data(), ElementType::f32, {kTokens, kHeads, kDim});
    call.k = c_order_view(tensors_.k.data(), ElementType::f32, {57, kKvHeads, kDim});
    call.v = c_order_view(tensors_.v.data(), ElementType::f32, {57, kKvHeads, kDim});
    call.cu_seqlens_q = c_order_view(cu_q_.data(), ElementType::i32, {3});
    call.cu_seqlens_k = c_order_view(cu_k_.data(), ElementType::i64, {3});
    call.causal = true;
    call.output = view(output_, {kTokens, kHeads, kDim});
    call.lse = view(lse_, {kTokens, kHeads});
    return call;
  }

  /// Element of K or V.
  float at(const workloads::Bytes& tensor, std::int32_t request, std::int32_t token, std::int32_t head,
           std::int64_t e) const {
    return load_element(workloads::Dtype::f32, tensor, k_row(workload_, tensors_, request, token, head) + e);
  }

  /// K or V as [request, token, head] or [request, head, token], NaN where no token is.
  std::vector<float> padded(const workloads::Bytes& tensor, bool head_major) const {
    std::vector<float> values(2 * kLongest * kKvHeads * kDim, testing::kNan);
    for (std::int32_t r = 0; r < 2; ++r) {
      for (std::int32_t t = 0; t < workload_.requests[static_cast<std::size_t>(r)].context_len; ++t) {
        for (std::int32_t h = 0; h < kKvHeads; ++h) {
          for (std::int64_t e = 0; e < kDim; ++e) {
            const std::int64_t row = head_major ? (r * kKvHeads + h) * kLongest + t : (r * kLongest + t) * kKvHeads + h;
            values[static_cast<std::size_t>(row * kDim + e)] = at(tensor, r, t, h, e);
          }
        }
      }
    }
    return values;
  }

  static std::string complaint(const KernelCall& call) {
    try {
      verify(call);
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  workloads::Workload workload_;
  workloads::Tensors tensors_;
  std::vector<float> output_, lse_;
  std::vector<std::int32_t> cu_q_ = {0, 3, 6};
  std::vector<std::int64_t> cu_k_ = {0, 20, 57};
  std::vector<std::int32_t> lens_ = {20, 37};
};

TEST_F(Verify, APackedBatchPasses) {
  const Verification result = verify(packed());
  EXPECT_TRUE(result.passed) << result.rules.front().text;
  EXPECT_EQ(result.rows, kTokens * kHeads);
  EXPECT_LT(result.lse_worst_bound_ratio, 1);
  EXPECT_EQ(result.ulps.counts[0], kTokens * kHeads * kDim);
  EXPECT_TRUE(result.findings.empty());
}

TEST_F(Verify, AWorkloadsOwnTensorsPass) {
  EXPECT_TRUE(
      verify(workload_, tensors_, view(output_, {kTokens, kHeads, kDim}), view(lse_, {kTokens, kHeads})).passed);
}

TEST_F(Verify, PaddedBatchesInBothOrdersPass) {
  for (const bool head_major : {false, true}) {
    const std::vector<float> k = padded(tensors_.k, head_major);
    const std::vector<float> v = padded(tensors_.v, head_major);
    KernelCall call = packed();
    call.cu_seqlens_k.reset();
    call.context_lens = c_order_view(lens_.data(), ElementType::i32, {2});
    call.kv_order = head_major ? AxisOrder::head_major : AxisOrder::token_major;
    const std::vector<std::int64_t> shape = head_major ? std::vector<std::int64_t>{2, kKvHeads, kLongest, kDim}
                                                       : std::vector<std::int64_t>{2, kLongest, kKvHeads, kDim};
    call.k = view(k, shape);
    call.v = view(v, shape);
    EXPECT_TRUE(verify(call).passed) << head_major;
    call.q = c_order_view(tensors_.q.data(), ElementType::f32, {2, 3, kHeads, kDim});
    call.output = view(output_, {2, 3, kHeads, kDim});
    call.lse = view(lse_, {2, 3, kHeads});
    call.cu_seqlens_q.reset();
    EXPECT_TRUE(verify(call).passed) << head_major;
  }
}

TEST_F(Verify, QueriesInHeadMajorOrderPassByStridesAlone) {
  KernelCall call = packed();
  call.order = AxisOrder::head_major;
  for (ArrayView* each : {&call.q, &call.output}) {
    std::swap(each->shape[0], each->shape[1]);
    std::swap(each->strides[0], each->strides[1]);
  }
  std::swap(call.lse->shape[0], call.lse->shape[1]);
  std::swap(call.lse->strides[0], call.lse->strides[1]);
  EXPECT_TRUE(verify(call).passed);
}

TEST_F(Verify, PagesInAnyOrderPass) {
  constexpr std::int64_t kPage = 16;
  const std::vector<std::int32_t> table = {4, 1, 2147480000, 0, 3, 2};
  std::vector<float> k(5 * kPage * kKvHeads * kDim, testing::kNan);
  std::vector<float> v = k;
  for (std::int32_t r = 0; r < 2; ++r) {
    for (std::int32_t t = 0; t < lens_[static_cast<std::size_t>(r)]; ++t) {
      for (std::int32_t h = 0; h < kKvHeads; ++h) {
        for (std::int64_t e = 0; e < kDim; ++e) {
          const std::int64_t page = table[static_cast<std::size_t>(3 * r + t / kPage)];
          const std::int64_t i = ((page * kPage + t % kPage) * kKvHeads + h) * kDim + e;
          k[static_cast<std::size_t>(i)] = at(tensors_.k, r, t, h, e);
          v[static_cast<std::size_t>(i)] = at(tensors_.v, r, t, h, e);
        }
      }
    }
  }
  KernelCall call = packed();
  call.cu_seqlens_k.reset();
  call.k = view(k, {5, kPage, kKvHeads, kDim});
  call.v = view(v, {5, kPage, kKvHeads, kDim});
  call.block_table = c_order_view(table.data(), ElementType::i32, {2, 3});
  call.context_lens = c_order_view(lens_.data(), ElementType::i32, {2});
  EXPECT_TRUE(verify(call).passed);
  std::vector<std::int32_t> bad = table;
  bad[0] = 5;
  call.block_table = c_order_view(bad.data(), ElementType::i32, {2, 3});
  EXPECT_EQ(complaint(call), "block_table[0][0]: 5; allowed: 0 to 4, the pages of k");
  call.context_lens.reset();
  EXPECT_EQ(complaint(call), "context_lens: is missing; allowed: context_lens or cu_seqlens_k with a block_table");
}

/// Zeros that take memory only where they are written.
class SparseFloats {
 public:
  explicit SparseFloats(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(float)) {
    data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  SparseFloats(const SparseFloats&) = delete;
  SparseFloats& operator=(const SparseFloats&) = delete;
  ~SparseFloats() { ::munmap(data_, bytes_); }
  float* data() { return static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

TEST_F(Verify, PagesBeyondTwoToThe32ElementsPass) {
  constexpr std::int64_t kPage = 16;
  constexpr std::int64_t kElements = kPage * kKvHeads * kDim;                    // of a page
  constexpr std::int64_t kPages = (std::int64_t{1} << 32) / kElements + 20'000;  // of 16 GiB
  // Were an offset cut to 31 or 32 bits, a page before would be read, which holds zeros.
  const std::vector<std::int32_t> table = {kPages - 1, (1 << 23) + 5, 2147480000, kPages - 20'000 + 7, 3, kPages - 4};
  SparseFloats k(kPages * kElements);
  SparseFloats v(kPages * kElements);
  for (std::int32_t r = 0; r < 2; ++r) {
    for (std::int32_t t = 0; t < lens_[static_cast<std::size_t>(r)]; ++t) {
      const std::int64_t page = table[static_cast<std::size_t>(3 * r + t / kPage)];
      for (std::int64_t i = 0; i < kKvHeads * kDim; ++i) {
        const auto head = static_cast<std::int32_t>(i / kDim);
        const std::int64_t to = page * kElements + t % kPage * kKvHeads * kDim + i;
        k.data()[to] = at(tensors_.k, r, t, head, i % kDim);
        v.data()[to] = at(tensors_.v, r, t, head, i % kDim);
      }
    }
  }
  KernelCall call = packed();
  call.cu_seqlens_k.reset();
  call.k = c_order_view(k.data(), ElementType::f32, {kPages, kPage, kKvHeads, kDim});
  call.v = c_order_view(v.data(), ElementType::f32, {kPages, kPage, kKvHeads, kDim});
  call.block_table = c_order_view(table.data(), ElementType::i32, {2, 3});
  call.context_lens = c_order_view(lens_.data(), ElementType::i32, {2});
  EXPECT_TRUE(verify(call).passed);
  k.data()[std::int64_t{table[3]} * kElements] += 1;
  EXPECT_FALSE(verify(call).passed);
}

TEST_F(Verify, AMaskStandsForCausality) {
  std::vector<std::byte> mask(2 * 3 * kLongest);
  std::vector<float> added(mask.size());
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::int32_t query = 0; query < 3; ++query) {
      for (std::int32_t t = 0; t < kLongest; ++t) {
        const bool seen = t <= lens_[r] - 3 + query;
        const std::size_t i = (r * 3 + static_cast<std::size_t>(query)) * kLongest + static_cast<std::size_t>(t);
        mask[i] = seen ? std::byte{1} : std::byte{0};
        added[i] = seen ? 0 : -testing::kInfinity;
      }
    }
  }
  KernelCall call = packed();
  call.causal = false;
  EXPECT_FALSE(verify(call).passed);
  call.mask = c_order_view(mask.data(), ElementType::boolean, {2, 3, kLongest});
  EXPECT_TRUE(verify(call).passed);
  call.mask = view(added, {2, 1, 3, kLongest});
  EXPECT_TRUE(verify(call).passed);
  // A constant that is added to every score moves the LSE alone.
  for (float& each : added) each += 2;
  for (float& each : lse_) each += 2;
  EXPECT_TRUE(verify(call).passed);
}

TEST_F(Verify, LseInBaseTwoIsReadAsSuch) {
  for (float& each : lse_) each *= std::numbers::log2e_v<float>;
  KernelCall call = packed();
  const Verification wrong = verify(call);
  EXPECT_FALSE(wrong.passed);
  ASSERT_FALSE(wrong.findings.empty());
  EXPECT_EQ(wrong.findings.front().fault, Fault::lse_base_two);
  call.lse_base_two = true;
  EXPECT_TRUE(verify(call).passed);
}

TEST_F(Verify, EmptyRowsHaveTheLseThatWasStated) {
  // The first request's context is gone: its rows see nothing.
  cu_k_ = {0, 0, 37};
  KernelCall call = packed();
  for (ArrayView* each : {&call.k, &*call.v}) {
    each->data += 20 * kKvHeads * kDim * static_cast<std::int64_t>(sizeof(float));
    each->shape[0] = 37;
  }
  std::fill_n(output_.begin(), 3 * kHeads * kDim, 0.0F);
  std::fill_n(lse_.begin(), 3 * kHeads, -testing::kInfinity);
  EXPECT_TRUE(verify(call).passed);
  std::fill_n(lse_.begin(), 3 * kHeads, testing::kInfinity);
  EXPECT_FALSE(verify(call).passed);
  call.empty_lse_positive = true;
  EXPECT_TRUE(verify(call).passed);
  output_[0] = 1e-30F;
  EXPECT_FALSE(verify(call).passed);
}

TEST_F(Verify, OneWrongElementIsFoundWhereItIs) {
  output_[((4 * kHeads) + 2) * kDim + 5] += 0.01F;
  const Verification result = verify(packed());
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.output.over_bound, 1);
  ASSERT_TRUE(result.worst);
  EXPECT_EQ(result.worst->at.request, 1);
  EXPECT_EQ(result.worst->at.query, 1);
  EXPECT_EQ(result.worst->at.head, 2);
  EXPECT_EQ(result.worst->at.element, 5);
  EXPECT_GE(result.worst->heaviest_token, 0);
  EXPECT_EQ(result.heads[2].output.over_bound, 1);
  EXPECT_EQ(result.heads[1].output.over_bound, 0);
  EXPECT_EQ(result.requests[1].output.over_bound, 1);
}

TEST(VerifyInDouble, AnOutputOfTheWrongSignIsTooFarToCount) {
  // As many numbers lie between -2 and 2 as 64 bits with a sign do not hold.
  constexpr std::int64_t kDim = 8;
  const std::vector<double> zeros(kDim), v(kDim, -2.0), output(kDim, 2.0);
  KernelCall call;
  call.q = c_order_view(zeros.data(), ElementType::f64, {1, 1, 1, kDim});
  call.k = call.q;
  call.v = c_order_view(v.data(), ElementType::f64, {1, 1, 1, kDim});
  call.output = c_order_view(output.data(), ElementType::f64, {1, 1, 1, kDim});
  const Verification result = verify(call);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.ulps.counts.back(), kDim);
  EXPECT_EQ(result.ulps.largest, std::numeric_limits<std::int64_t>::max());
}

TEST_F(Verify, NanIsNoOutput) {
  output_[7] = testing::kNan;
  const Verification result = verify(packed());
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.output.mismatched_non_finite, 1);
}

TEST_F(Verify, WhatDoesNotFitIsRefused) {
  const auto with = [&](auto change) {
    KernelCall call = packed();
    change(call);
    return complaint(call);
  };
  EXPECT_EQ(with([&](KernelCall& c) {
              c.output = view(output_, {kTokens, kDim, kHeads});
            }),
            "output: rows have 4 elements; allowed: 8, as v's");
  EXPECT_EQ(with([&](KernelCall& c) {
              c.output = view(output_, {2 * kTokens, kHeads / 2, kDim});
            }),
            "output: shape is (12, 2, 8); allowed: (6, 4, 8), as q's");
  EXPECT_EQ(with([](KernelCall& c) { c.q.type = ElementType::i32; }), "q: dtype is i32; allowed: f16, bf16, f32, f64");
  EXPECT_EQ(with([](KernelCall& c) { c.cu_seqlens_k.reset(); }),
            "k: holds the tokens of 2 requests one after another; allowed: cu_seqlens_k with it");
  EXPECT_EQ(with([&](KernelCall& c) {
              cu_k_ = {0, 20, 58};
              c.cu_seqlens_k = c_order_view(cu_k_.data(), ElementType::i64, {3});
            }),
            "cu_seqlens_k: ends with 58; allowed: 57, the tokens there are");
  EXPECT_EQ(with([&](KernelCall& c) {
              cu_q_ = {0, 4, 3};
              c.cu_seqlens_q = c_order_view(cu_q_.data(), ElementType::i32, {3});
            }),
            "cu_seqlens_q[2]: is 3 after 4; allowed: sums that never fall, lengths below 2^31");
  cu_q_ = {0, 3, 6};
  cu_k_ = {0, 20, 57};
  EXPECT_EQ(with([&](KernelCall& c) { c.lse = view(lse_, {kTokens * kHeads}); }),
            "lse: shape is (24); allowed: (6, 4) or (4, 6)");
  EXPECT_EQ(with([](KernelCall& c) { c.window = 0; }), "window: 0; allowed: 1 or more");
  EXPECT_EQ(with([](KernelCall& c) { c.softmax_scale = testing::kNan; }),
            "scale: is not finite; allowed: a finite number");
  EXPECT_EQ(with([&](KernelCall& c) { c.v->shape[0] = 56; }),
            "v: shape is (56, 2, 8); allowed: that of k, (57, 2, 8), but for the last axis");
  EXPECT_EQ(with([](KernelCall& c) {
              c.q.strides = {32, 1, 4};
            }),
            "q: elements of a row do not lie side by side; allowed: a last axis of stride 1 (numpy.ascontiguousarray)");
}

}  // namespace
}  // namespace splitwave::cpu_reference
