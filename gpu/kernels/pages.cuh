// SPDX-License-Identifier: Apache-2.0
// Where a token of a paged cache lies.
#pragma once

#include "gpu/kernels/params.h"

namespace splitwave::gpu {

/// Which of its sequence's pages the token is in.
__device__ __forceinline__ int page_of(const DecodeParams& params, int token) {
  return params.page_shift >= 0 ? token >> params.page_shift : token / params.page_size;
}

/// From the cache's first byte to the token's in this page.
__device__ __forceinline__ std::int64_t offset_in_cache(const DecodeParams& params, int page, int token) {
  const int slot = params.page_shift >= 0 ? token & (params.page_size - 1) : token % params.page_size;
  return page * params.page_stride + std::int64_t{slot} * params.token_stride;
}

}  // namespace splitwave::gpu
