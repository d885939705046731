// SPDX-License-Identifier: Apache-2.0
// A split, tiled attention kernel as GPUs have it, on the CPU: scores in fp32, weights rounded to the dtype, fp32 sums,
// an online softmax over tiles, partial results merged by their LSE. And the same with one fault planted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#include "cpu_reference/diagnosis.h"
#include "cpu_reference/oracle.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::testing {

/// The kernel's shape, and what is wrong with it.
struct KernelSetup {
  std::int32_t tile = 64;
  std::int32_t splits = 1;
  bool backward = false;  ///< tiles of a split from last to first, FlashAttention's order
  std::optional<cpu_reference::Fault> fault;
  std::int32_t variant = 0;  ///< which form of the fault
  std::int32_t place = 0;    ///< which tile, page or split: modulo how many there are
  std::int32_t victim = -1;  ///< KV head that the fault is in; -1: all
};

class FaultyAttention {
 public:
  using Fault = cpu_reference::Fault;

  FaultyAttention(const workloads::Workload& workload, const workloads::Tensors& tensors, const KernelSetup& setup)
      : w_(workload), g_(workload.geometry), t_(tensors), s_(setup), tables_(tensors.block_table) {
    if (is(Fault::swapped_pages)) swap_pages();
  }

  cpu_reference::Result<float> run() {
    cpu_reference::Result<float> result;
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(w_.requests.size()); ++r) {
      for (std::int32_t query = 0; query < w_.requests[static_cast<std::size_t>(r)].query_len; ++query) {
        for (std::int32_t head = 0; head < g_.query_heads; ++head) {
          run_row(r, query, head);
          const float total = merged_.sum;
          for (const float element : merged_.output) {
            const float value = total == 0 ? 0 : element / total;
            result.output.push_back(round(value));
          }
          float lse = total == 0 ? -std::numeric_limits<float>::infinity() : merged_.max + std::log(total);
          if (is(Fault::lse_base_two)) lse *= std::numbers::log2e_v<float>;
          result.lse.push_back(lse);
        }
      }
    }
    return result;
  }

 private:
  struct Partial {
    float max = -std::numeric_limits<float>::infinity();
    float sum = 0;
    std::vector<float> output;
  };
  struct Row {
    std::int32_t request, query, head, k_head, v_head;
    bool victim;
  };

  bool is(Fault fault) const { return s_.fault && *s_.fault == fault; }
  float round(float value) const { return workloads::from_bits(g_.dtype, workloads::round_to_bits(g_.dtype, value)); }
  static float to_half(float value) {
    return workloads::from_bits(workloads::Dtype::f16, workloads::round_to_bits(workloads::Dtype::f16, value));
  }

  /// Exchanges two entries of the table: of two requests, or a whole and a partial page of one.
  void swap_pages() {
    const auto n = static_cast<std::int64_t>(tables_.size());
    if (n < 2) return;
    const std::int64_t a = s_.place % n;
    const std::int64_t b = (a + 1 + s_.variant % (n - 1)) % n;
    std::swap(tables_[static_cast<std::size_t>(a)], tables_[static_cast<std::size_t>(b)]);
  }

  workloads::KvRange visible(const Row& row) const {
    const workloads::Request& request = w_.requests[static_cast<std::size_t>(row.request)];
    workloads::Geometry g = g_;
    workloads::Request seen = request;
    std::int32_t query = row.query;
    if (is(Fault::causal_alignment) && s_.variant % 2 == 0) {  // top left
      g.causal = true;
      seen.context_len = seen.query_len;
    }
    if (is(Fault::causal_alignment) && s_.variant % 2 == 1) g.causal = !g.causal;
    if (is(Fault::window) && g.window) g.window = *g.window + (s_.variant % 2 == 0 ? 1 : *g.window > 1 ? -1 : 1);
    workloads::KvRange range = visible_to_query(g, seen, query);
    range.end = std::min(range.end, request.context_len);
    range.begin = std::min(range.begin, range.end);
    if (is(Fault::last_token) && range.size() > 0) --range.end;
    return range;
  }

  /// Row offset of K or V by the kernel's own table.
  std::int64_t offset(bool of_k, std::int32_t request, std::int32_t position, std::int32_t head) const {
    if (w_.kv.layout != workloads::KvLayout::paged) {
      return of_k ? k_row(w_, t_, request, position, head) : v_row(w_, t_, request, position, head);
    }
    const bool mla = g_.kind == workloads::AttentionKind::mla;
    const std::int64_t d = of_k || mla ? g_.head_dim : g_.value_dim;
    const std::int64_t page = tables_[static_cast<std::size_t>(t_.first_page[static_cast<std::size_t>(request)] +
                                                               position / w_.kv.page_size)];
    return ((page * w_.kv.page_size + position % w_.kv.page_size) * g_.kv_heads + head) * d;
  }

  float score(const Row& row, std::int32_t token) const {
    const std::int64_t q = q_row(w_, t_, row.request, row.query, row.head);
    const std::int64_t k = offset(true, row.request, token, row.k_head);
    float sum = 0;
    for (std::int32_t e = 0; e < g_.head_dim; ++e) {
      sum += load_element(g_.dtype, t_.q, q + e) * load_element(g_.dtype, t_.k, k + e);
    }
    return sum * scale();
  }

  float scale() const {
    const double own = g_.scale();
    if (!is(Fault::softmax_scale)) return static_cast<float>(own);
    const double root = std::sqrt(static_cast<double>(g_.head_dim));
    const double all[] = {own * root, own / root, own * std::numbers::log2e, own * std::numbers::ln2,
                          own * 0.5,  own * 1.2};
    return static_cast<float>(all[static_cast<std::size_t>(s_.variant) % std::size(all)]);
  }

  void run_row(std::int32_t request, std::int32_t query, std::int32_t head) {
    Row row{request, query, head, head / g_.group(), head / g_.group(), false};
    row.victim = s_.victim < 0 || row.k_head == s_.victim % g_.kv_heads;
    if (is(Fault::head_mapping)) {
      const std::int32_t other = s_.variant % 2 == 0 ? head % g_.kv_heads : (row.k_head + 1) % g_.kv_heads;
      if (s_.variant % 3 != 2) row.k_head = other;
      if (s_.variant % 3 != 1) row.v_head = other;
    }
    const workloads::KvRange range = visible(row);
    const std::int32_t first = range.begin / s_.tile;
    const std::int32_t tiles = (range.end + s_.tile - 1) / s_.tile - first;
    const std::int32_t each = std::max(1, (tiles + s_.splits - 1) / s_.splits);
    std::vector<Partial> partials;
    if (is(Fault::mask_sentinel) && range.size() == 0) partials.push_back(run_masked(row));
    slots_.resize(static_cast<std::size_t>(s_.splits));
    for (std::int32_t split = 0; split < s_.splits && split * each < std::max(tiles, 1); ++split) {
      std::vector<workloads::KvRange> parts;
      for (std::int32_t t = split * each; t < std::min(tiles, (split + 1) * each); ++t) {
        parts.push_back({std::max(range.begin, (first + t) * s_.tile), std::min(range.end, (first + t + 1) * s_.tile)});
      }
      const std::int32_t used = (tiles + each - 1) / each;
      plant_parts(row, parts, split, tiles, used);
      const bool stale =
          is(Fault::stale_partial) && row.victim && row.head % 2 == 1 && split == s_.place % std::max(used, 1);
      if (!stale) slots_[static_cast<std::size_t>(split)] = run_split(row, parts, split == used - 1, range);
      partials.push_back(slots_[static_cast<std::size_t>(split)]);
      const bool again =
          is(Fault::doubled_tokens) && s_.variant % 3 == 2 && row.victim && split == s_.place % std::max(used, 1);
      if (again) partials.push_back(partials.back());
    }
    merge(row, partials);
  }

  /// Takes out or repeats a tile, a page or a split.
  void plant_parts(const Row& row, std::vector<workloads::KvRange>& parts, std::int32_t split, std::int32_t tiles,
                   std::int32_t used) const {
    const bool missing = is(Fault::missing_tokens);
    if ((!missing && !is(Fault::doubled_tokens)) || !row.victim || tiles == 0) return;
    if (s_.variant % 3 == 2) {
      if (missing && split == s_.place % std::max(used, 1)) parts.clear();
      return;
    }
    const std::int32_t per_split = std::max(1, (tiles + s_.splits - 1) / s_.splits);
    const std::int32_t tile = s_.place % tiles;
    if (tile / per_split != split) return;
    const auto at = parts.begin() + tile % per_split;
    if (missing) {
      parts.erase(at);
    } else {
      parts.insert(at, workloads::KvRange{at->begin, at->end});
    }
  }

  Partial run_split(const Row& row, std::vector<workloads::KvRange> parts, bool last, workloads::KvRange range) const {
    if (s_.backward) std::reverse(parts.begin(), parts.end());
    Partial partial;
    partial.output.resize(static_cast<std::size_t>(g_.value_dim));
    for (const workloads::KvRange& part : parts) {
      std::vector<float> scores;
      std::vector<std::int32_t> tokens;
      for (std::int32_t token = part.begin; token < part.end; ++token) {
        scores.push_back(score(row, token));
        tokens.push_back(token);
      }
      if (last && part.end == range.end) add_tail(row, range, scores, tokens);
      add_tile(row, scores, tokens, partial);
    }
    return partial;
  }

  /// A row that sees nothing: its masked tokens all have the same finite score.
  Partial run_masked(const Row& row) const {
    Partial partial;
    partial.output.resize(static_cast<std::size_t>(g_.value_dim));
    const std::int32_t context = w_.requests[static_cast<std::size_t>(row.request)].context_len;
    std::vector<float> scores;
    std::vector<std::int32_t> tokens;
    for (std::int32_t token = 0; token < context; ++token) {
      scores.push_back(-1e4F);
      tokens.push_back(token);
    }
    add_tile(row, scores, tokens, partial);
    return partial;
  }

  /// The rest of the last tile: as zeros, or as what lies in the memory behind; or with a finite masked score.
  void add_tail(const Row& row, workloads::KvRange range, std::vector<float>& scores,
                std::vector<std::int32_t>& tokens) const {
    const std::int32_t end = (range.end + s_.tile - 1) / s_.tile * s_.tile;
    const std::int32_t context = w_.requests[static_cast<std::size_t>(row.request)].context_len;
    if (is(Fault::unmasked_tail)) {
      for (std::int32_t token = range.end; token < end; ++token) {
        const bool there = token < context;
        if (s_.variant % 2 == 1 && !there) break;
        scores.push_back(there ? score(row, token) : 0);
        tokens.push_back(there ? token : -1);
      }
    }
    if (is(Fault::mask_sentinel)) {
      for (std::int32_t token = range.end; token < std::min(end, context); ++token) {
        scores.push_back(s_.variant % 2 == 0 ? -1e4F : -5e4F);
        tokens.push_back(token);
      }
      for (std::int32_t token = std::max(range.end, context); token < end; ++token) {
        scores.push_back(s_.variant % 2 == 0 ? -1e4F : -5e4F);
        tokens.push_back(-1);
      }
    }
  }

  void add_tile(const Row& row, const std::vector<float>& scores, const std::vector<std::int32_t>& tokens,
                Partial& partial) const {
    if (scores.empty()) return;
    const float max = std::max(partial.max, *std::max_element(scores.begin(), scores.end()));
    if (max == -std::numeric_limits<float>::infinity()) return;
    const float rescale = std::exp(partial.max - max);
    partial.sum *= is(Fault::missing_rescale) && s_.variant % 2 == 1 ? 1.0F : rescale;
    for (float& element : partial.output) element *= is(Fault::missing_rescale) ? 1.0F : rescale;
    partial.max = max;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const float weight = std::exp(scores[i] - max);
      partial.sum += weight;
      const float rounded = round(weight);
      if (tokens[i] < 0) continue;
      const std::int64_t v = offset(false, row.request, tokens[i], row.v_head);
      const bool mla = g_.kind == workloads::AttentionKind::mla;
      for (std::int32_t e = 0; e < g_.value_dim; ++e) {
        float& element = partial.output[static_cast<std::size_t>(e)];
        element += rounded * load_element(g_.dtype, mla ? t_.k : t_.v, v + e);
        if (is(Fault::low_accumulator)) element = to_half(element);
      }
    }
  }

  void merge(const Row& row, const std::vector<Partial>& partials) {
    merged_ = {};
    merged_.output.assign(static_cast<std::size_t>(g_.value_dim), 0.0F);
    for (const Partial& partial : partials) merged_.max = std::max(merged_.max, partial.max);
    if (merged_.max == -std::numeric_limits<float>::infinity()) return;
    const bool wrong = is(Fault::merge_weights) && row.victim && partials.size() > 1;
    for (std::size_t i = 0; i < partials.size(); ++i) {
      const Partial& partial = partials[i];
      if (partial.sum == 0) continue;
      float factor = std::exp(partial.max - merged_.max);
      if (wrong) {
        const float lse = partial.max + std::log(partial.sum);
        switch (s_.variant % 4) {
          case 0:
            factor = 1 / partial.sum;
            break;
          case 1:
            factor = 1;
            break;
          case 2:
            factor = std::exp2(lse - merged_.max) / partial.sum;
            break;
          default:
            if (i == static_cast<std::size_t>(s_.place) % partials.size()) factor *= 0.4F;
        }
      }
      merged_.sum += factor * partial.sum;
      for (std::size_t e = 0; e < merged_.output.size(); ++e) merged_.output[e] += factor * partial.output[e];
    }
  }

  const workloads::Workload& w_;
  const workloads::Geometry& g_;
  const workloads::Tensors& t_;
  KernelSetup s_;
  std::vector<std::int32_t> tables_;
  std::vector<Partial> slots_;
  Partial merged_;
};

}  // namespace splitwave::testing
