// SPDX-License-Identifier: Apache-2.0
// A page that was read where another belongs: some other page of the pool, or all by another table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cpu_reference/faults/probe.h"

namespace splitwave::cpu_reference::faults {
namespace {

using workloads::KvRange;

constexpr std::int64_t kMostPages = 4096;
constexpr std::int64_t kMostPairs = 1 << 20;

/// Attention of the row's query over one physical page, in units of the row's exact sum of weights.
class PagePart {
 public:
  PagePart(const AttentionCase& attention, const Probe& probe)
      : attention_(attention), probe_(probe), kv_head_(probe.id.head / attention.geometry.group()) {
    const std::int32_t d = attention.geometry.head_dim;
    q_.resize(static_cast<std::size_t>(d));
    load_elements(attention.q, attention.q_rows.at(probe.id.request, probe.id.query, probe.id.head), d, q_.data());
  }

  Part of(std::int64_t page, std::int32_t first, std::int32_t end) const {
    const workloads::Geometry& g = attention_.geometry;
    Part part{0, std::vector<double>(static_cast<std::size_t>(g.value_dim))};
    std::vector<double> k(q_.size());
    std::vector<double> v(part.sum.size());
    for (std::int32_t slot = first; slot < end; ++slot) {
      load_elements(attention_.k, offset(attention_.k_rows, page, slot), g.head_dim, k.data());
      load_elements(attention_.v, offset(attention_.v_rows, page, slot), g.value_dim, v.data());
      double score = 0;
      for (std::size_t i = 0; i < q_.size(); ++i) score += q_[i] * k[i];
      const double weight = std::exp(score * g.scale() - probe_.exact_lse);
      part.mass += weight;
      for (std::size_t e = 0; e < v.size(); ++e) part.sum[e] += weight * v[e];
    }
    return part;
  }

 private:
  std::int64_t offset(const KvPlaces& places, std::int64_t page, std::int32_t slot) const {
    return page * places.page_stride + slot * places.rows.token_stride + kv_head_ * places.rows.head_stride;
  }
  const AttentionCase& attention_;
  const Probe& probe_;
  std::int32_t kv_head_;
  std::vector<double> q_;
};

class Pages {
 public:
  Pages(const AttentionCase& attention, const Probe& probe, BestGuesses& best)
      : attention_(attention),
        probe_(probe),
        best_(best),
        parts_(attention, probe),
        size_(attention.page_size),
        first_(attention.first_page[static_cast<std::size_t>(probe.id.request)]),
        seen_(probe.weights.range) {}

  void run() {
    tables();
    one_page();
    swapped_within();
  }

 private:
  std::int64_t physical(std::int32_t logical) const {
    return attention_.block_table[static_cast<std::size_t>(first_ + logical)];
  }
  /// Visible tokens of a logical page.
  KvRange visible(std::int32_t logical) const {
    return {std::max(seen_.begin, logical * size_), std::min(seen_.end, (logical + 1) * size_)};
  }
  std::int32_t first_logical() const { return seen_.begin / size_; }
  std::int32_t end_logical() const { return (seen_.end + size_ - 1) / size_; }

  void offer(const std::vector<Part>& added, const std::vector<Part>& removed, KvRange tokens, double cost,
             const std::function<std::string()>& text) {
    double mass = 1;
    std::vector<double> output = probe_.exact;
    const auto add = [&](const std::vector<Part>& parts, double sign) {
      for (const Part& part : parts) {
        mass += sign * part.mass;
        for (std::size_t e = 0; e < output.size(); ++e) output[e] += sign * part.sum[e];
      }
    };
    add(added, 1);
    add(removed, -1);
    if (!(mass > 1e-12)) return;
    for (double& element : output) element /= mass;
    Guess guess{Fault::swapped_pages, "", tokens.begin, tokens.end, cost, probe_.exact_lse + std::log(mass)};
    best_.offer(output, guess, text);
  }

  /// Every page by another rule: the table ignored, another request's table, or off by one.
  void tables() {
    const auto with = [&](const std::string& text, auto page_of) {
      std::vector<Part> added;
      std::vector<Part> removed;
      for (std::int32_t logical = first_logical(); logical < end_logical(); ++logical) {
        const KvRange tokens = visible(logical);
        const std::int64_t page = page_of(logical);
        if (page < 0 || page >= attention_.pages) return;
        added.push_back(parts_.of(page, tokens.begin - logical * size_, tokens.end - logical * size_));
        removed.push_back(probe_.part(attention_, tokens));
      }
      offer(added, removed, seen_, std::log(64.0), [&] { return text; });
    };
    if (seen_.size() > (1 << 16)) return;
    with("the block table is ignored: logical pages are read as physical ones, from the request's first on",
         [&](std::int32_t logical) { return first_ + logical; });
    with("the block table is ignored: logical pages are read as physical ones",
         [&](std::int32_t logical) { return std::int64_t{logical}; });
    for (const std::int32_t step : {-1, 1}) {
      const std::int64_t other = std::int64_t{probe_.id.request} + step;
      if (other < 0 || other >= static_cast<std::int64_t>(attention_.requests.size())) continue;
      const std::int64_t first = attention_.first_page[static_cast<std::size_t>(other)];
      with(fmt::format("the block table of request {} is read", other), [&](std::int32_t logical) {
        const auto at = static_cast<std::size_t>(first + logical);
        return at < attention_.block_table.size() ? std::int64_t{attention_.block_table[at]} : std::int64_t{-1};
      });
    }
  }

  void one_page() {
    const std::int64_t pool = std::min(attention_.pages, kMostPages);
    std::vector<Part> full;
    for (std::int64_t page = 0; page < pool; ++page) full.push_back(parts_.of(page, 0, size_));
    const std::int64_t logical_pages =
        std::min<std::int64_t>(end_logical() - first_logical(), kMostPairs / std::max<std::int64_t>(pool, 1));
    const double cost = std::log(static_cast<double>(logical_pages * pool));
    for (std::int32_t logical = first_logical(); logical < first_logical() + logical_pages; ++logical) {
      const KvRange tokens = visible(logical);
      const std::vector<Part> removed = {probe_.part(attention_, tokens)};
      for (std::int64_t page = 0; page < pool; ++page) {
        if (page == physical(logical)) continue;
        const bool whole = tokens.size() == size_;
        const Part part = whole ? full[static_cast<std::size_t>(page)]
                                : parts_.of(page, tokens.begin - logical * size_, tokens.end - logical * size_);
        offer({part}, removed, tokens, cost, [&] {
          return fmt::format("page {} of request {} is read from physical page {} in place of {}", logical,
                             probe_.id.request, page, physical(logical));
        });
      }
    }
  }

  /// Two pages of the request exchanged: shows only where one of them is not seen whole.
  void swapped_within() {
    std::vector<std::int32_t> partial;
    for (const std::int32_t logical : {first_logical(), end_logical() - 1}) {
      if (visible(logical).size() < size_ && (partial.empty() || partial.back() != logical)) partial.push_back(logical);
    }
    const double cost = std::log(2.0 * (end_logical() - first_logical()) + 1);
    for (const std::int32_t a : partial) {
      for (std::int32_t b = first_logical(); b < end_logical(); ++b) {
        if (a == b) continue;
        std::vector<Part> added;
        std::vector<Part> removed;
        for (const auto& [logical, from] : {std::pair{a, b}, std::pair{b, a}}) {
          const KvRange tokens = visible(logical);
          removed.push_back(probe_.part(attention_, tokens));
          added.push_back(parts_.of(physical(from), tokens.begin - logical * size_, tokens.end - logical * size_));
        }
        offer(added, removed, visible(b), cost, [&] {
          return fmt::format("pages {} and {} of request {} are exchanged", std::min(a, b), std::max(a, b),
                             probe_.id.request);
        });
      }
    }
  }

  const AttentionCase& attention_;
  const Probe& probe_;
  BestGuesses& best_;
  PagePart parts_;
  std::int32_t size_;
  std::int64_t first_;
  KvRange seen_;
};

}  // namespace

void guess_pages(const JudgedCall& call, const Probe& probe, BestGuesses& best) {
  if (call.attention.page_size == 0 || call.attention.mask || probe.weights.total == 0) return;
  Pages(call.attention, probe, best).run();
}

}  // namespace splitwave::cpu_reference::faults
