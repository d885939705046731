// SPDX-License-Identifier: Apache-2.0
// What is to be computed: one attention call over a batch of requests. Everything else in splitwave starts here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace splitwave::workloads {

enum class AttentionKind { mha, gqa, mqa, mla };

/// Element type of Q, K, V and the output. The fp8 types are named so that files can say what they mean; validate()
/// refuses them until kernels exist.
enum class Dtype { f16, bf16, f32, fp8_e4m3, fp8_e5m2 };

/// How K and V lie in memory. bshd: token-major [token][kv head][element]; bhsd: head-major
/// [request][kv head][token][element]; paged: [page][token in page][kv head][element] with a block table per request.
enum class KvLayout { bshd, bhsd, paged };

/// How the elements of Q, K and V are drawn. outliers: FlashAttention-3's test N(0,1) + N(0,100) * Bernoulli(0.001)
/// (arXiv 2407.08608, section 4.3).
enum class Distribution { normal, outliers };

/// The shape of one attention layer on one GPU (after tensor parallelism).
struct Geometry {
  AttentionKind kind = AttentionKind::gqa;
  std::int32_t query_heads = 32;
  std::int32_t kv_heads = 8;
  std::int32_t head_dim = 128;   ///< elements of one Q or K row (MLA: latent plus rope part, 576)
  std::int32_t value_dim = 128;  ///< elements of one V and output row (MLA: 512; V is the first 512 elements of K)
  Dtype dtype = Dtype::f16;
  /// A query sees no token after its own. Query i of a request sits at position context_len - query_len + i.
  bool causal = true;
  /// Sliding window: a query sees no position this far from its own or farther, on either side. With causal that leaves
  /// `window` tokens at most, the query's own included; without, 2 * window - 1. So FlashAttention is called with
  /// Hugging Face's sliding_window: window_size = (window - 1, window - 1), of which causal makes the right part 0
  /// (vLLM vllm/v1/attention/backends/flash_attn.py, FlashAttentionImpl). None: the whole context.
  std::optional<std::int32_t> window;
  /// Factor on Q·K before the softmax. None: 1 / sqrt(head_dim).
  std::optional<double> softmax_scale;

  /// Query heads that share one KV head.
  std::int32_t group() const { return query_heads / kv_heads; }
  double scale() const;
  bool operator==(const Geometry&) const = default;
};

/// One sequence of the batch. context_len counts every token in the KV cache, the query tokens included; it may be 0
/// (an empty slot: output 0, LSE -inf).
struct Request {
  std::int32_t query_len = 1;
  std::int32_t context_len = 0;
  bool operator==(const Request&) const = default;
};

struct KvStorage {
  KvLayout layout = KvLayout::bshd;
  std::int32_t page_size = 0;  ///< tokens per page; paged only, else 0
  /// Tokens allocated per request (k_cache.size(1) of the FlashAttention API), which FlashAttention-2's split rule
  /// looks at instead of the lengths. None: the longest context of the batch.
  std::optional<std::int32_t> cache_len;
  bool operator==(const KvStorage&) const = default;
};

struct Workload {
  std::string name;
  std::string note;  ///< where it comes from, for people; may be empty
  Geometry geometry;
  std::vector<Request> requests;
  KvStorage kv;
  std::uint64_t seed = 0;
  Distribution distribution = Distribution::normal;
  bool operator==(const Workload&) const = default;
};

/// Half-open range of KV positions of one request.
struct KvRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int32_t size() const { return end - begin; }
  bool operator==(const KvRange&) const = default;
};

/// Throws InputError naming the key if the workload breaks a rule of docs/workloads.md.
void validate(const Workload& workload);

/// KV positions that the query at `query` (0-based within the request) may attend to; empty if it sees nothing.
KvRange visible_to_query(const Geometry& geometry, const Request& request, std::int32_t query);

/// Union of visible_to_query over queries [query_begin, query_end) of the request.
KvRange visible_to_queries(const Geometry& geometry, const Request& request, std::int32_t query_begin,
                           std::int32_t query_end);

/// Bytes of one element. Units: bytes.
std::int64_t bytes_per_element(Dtype dtype);

/// Bytes that K and V of one token of one KV head take (MLA: K alone, since V is a part of it).
std::int64_t kv_bytes_per_token(const Geometry& geometry);

/// Least bytes of K and V any schedule must read: every visible token of every KV head once.
std::int64_t kv_bytes(const Workload& workload);

/// kv_bytes plus Q once and the output once: the numerator of every bandwidth splitwave prints.
std::int64_t minimal_bytes(const Workload& workload);

/// Multiply-adds times two for Q·K and P·V over visible positions.
double flops(const Workload& workload);

/// Tokens allocated per request: kv.cache_len, or the longest context of the batch.
std::int32_t padded_context_len(const Workload& workload);

/// Whether all requests are equal; also if there are none.
bool is_uniform(const Workload& workload);

/// Whether all requests have as many queries; also if there are none.
bool has_one_query_len(const Workload& workload);

/// Longest query of the batch (0 if there are no requests).
std::int32_t max_query_len(const Workload& workload);

/// Names used in files and on the command line ("gqa", "bf16", "paged", "outliers").
std::string to_string(AttentionKind kind);
std::string to_string(Dtype dtype);
std::string to_string(KvLayout layout);
std::string to_string(Distribution distribution);

}  // namespace splitwave::workloads
