// SPDX-License-Identifier: Apache-2.0
// Kernels beside the decode kernel: values of tensors, and the plain read that every time is set against.
#pragma once

#include <cstdint>

namespace splitwave::gpu {

/// Fills one tensor with the values of workloads/tensor_values.h. Contiguous: token t belongs to the request whose
/// range of first_token holds it. Paged: token t is slot t % page_size of physical page t / page_size, whose owner is
/// in page_owner; slots that hold no token become NaN.
struct FillParams {
  std::uint16_t* data = nullptr;
  std::int64_t token_count = 0;                  ///< paged: slots of all pages
  const std::int64_t* first_token = nullptr;     ///< per request and one more
  const std::int64_t* request_offset = nullptr;  ///< in elements, of (position 0, head 0); contiguous only
  const std::int64_t* head_stride = nullptr;     ///< per request, in elements; contiguous only
  const std::int32_t* page_owner = nullptr;      ///< per physical page: request, logical page; null: contiguous
  std::int64_t token_stride = 0;                 ///< in elements
  std::int32_t requests = 0;
  std::int32_t page_size = 0;
  std::int32_t heads = 0;
  std::int32_t width = 0;  ///< elements of a row
  std::uint64_t seed = 0;
  std::uint32_t tensor = 0;  ///< workloads::Tensor
  std::int32_t outliers = 0;
  std::int32_t bf16 = 0;
};

/// A plain read of two arrays of 16-byte words with a sum that no one needs, through a block table if there is one.
struct ReadParams {
  const void* k = nullptr;
  const void* v = nullptr;
  std::int64_t words = 0;  ///< 16-byte words of each
  const std::int32_t* block_table = nullptr;
  std::uint32_t words_per_page = 0;  ///< of each; paged only
  std::uint32_t page_stride = 0;     ///< words from a page of an array to the next; paged only
  std::uint32_t* sink = nullptr;
  std::uint32_t dependent_launch = 0;
};

const void* fill_kernel_function();
const void* read_kernel_function();

}  // namespace splitwave::gpu
