// SPDX-License-Identifier: Apache-2.0
// From arrays with shapes to places of rows: every way to lay out Q, K, V, output and LSE that KernelCall documents.
#include "cpu_reference/kernel_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "cpu_reference/call_arrays.h"

namespace splitwave::cpu_reference {
namespace {

using base::ArrayView;
using base::ElementType;
using base::shape_text;

class Checker {
 public:
  explicit Checker(const KernelCall& call) : call_(call), attention_(judged_.attention) {}

  JudgedCall check() {
    geometry();
    queries();
    contexts();
    keys_and_values();
    output();
    if (call_.lse) lse();
    if (call_.mask) mask();
    return std::move(judged_);
  }

 private:
  void geometry() {
    require_rows("q", call_.q, false);
    require_rows("k", call_.k, call_.block_table.has_value());
    if (call_.v) require_rows("v", *call_.v, call_.block_table.has_value());
    require_rows("output", call_.output, false);
    q_ = axes_of(call_.q, call_.order);
    k_ = axes_of(call_.k, call_.kv_order);
    v_ = call_.v ? axes_of(*call_.v, call_.kv_order) : k_;
    const std::int64_t value_dim = call_.output.shape.back();
    if (q_.heads < 1 || k_.heads < 1 || q_.heads % k_.heads != 0) {
      refuse_array("k", fmt::format("has {} heads and q {}", k_.heads, q_.heads),
                   "KV heads that divide the query heads");
    }
    if (q_.elements < 1 || k_.elements != q_.elements) {
      refuse_array("k", fmt::format("rows have {} elements and q's {}", k_.elements, q_.elements),
                   "as many as q's, 1 or more");
    }
    if (value_dim < 1 || (call_.v ? value_dim != v_.elements : value_dim > k_.elements)) {
      refuse_array(
          "output", fmt::format("rows have {} elements", value_dim),
          call_.v ? fmt::format("{}, as v's", v_.elements) : fmt::format("1 to {}: v is part of k", k_.elements));
    }
    if (call_.v &&
        (v_.outer != k_.outer || v_.tokens != k_.tokens || v_.heads != k_.heads || v_.has_outer != k_.has_outer)) {
      refuse_array("v", "shape is " + shape_text(call_.v->shape),
                   "that of k, " + shape_text(call_.k.shape) + ", but for the last axis");
    }
    if (call_.window && *call_.window < 1) refuse_array("window", std::to_string(*call_.window), "1 or more");
    if (call_.softmax_scale && !std::isfinite(*call_.softmax_scale))
      refuse_array("scale", "is not finite", "a finite number");
    workloads::Geometry& g = attention_.geometry;
    g.query_heads = static_cast<std::int32_t>(q_.heads);
    g.kv_heads = static_cast<std::int32_t>(k_.heads);
    g.head_dim = static_cast<std::int32_t>(q_.elements);
    g.value_dim = static_cast<std::int32_t>(value_dim);
    g.kind = !call_.v                      ? workloads::AttentionKind::mla
             : g.kv_heads == g.query_heads ? workloads::AttentionKind::mha
             : g.kv_heads == 1             ? workloads::AttentionKind::mqa
                                           : workloads::AttentionKind::gqa;
    g.causal = call_.causal;
    g.window = call_.window;
    g.softmax_scale = call_.softmax_scale;
  }

  /// Requests where q does not say it.
  std::int64_t request_count() const {
    if (call_.context_lens) return call_.context_lens->size();
    if (call_.cu_seqlens_k) return call_.cu_seqlens_k->size() - 1;
    if (call_.block_table && call_.block_table->rank() == 2) return call_.block_table->shape[0];
    return k_.has_outer ? k_.outer : 1;
  }

  void queries() {
    std::vector<std::int64_t> first = {0};
    if (q_.has_outer) {
      if (call_.cu_seqlens_q) refuse_array("cu_seqlens_q", "is given for a q of 4 axes", "a q of 3 axes");
      for (std::int64_t r = 0; r < q_.outer; ++r) first.push_back(first.back() + q_.tokens);
    } else if (call_.cu_seqlens_q) {
      first = cumulative_lengths("cu_seqlens_q", *call_.cu_seqlens_q, q_.tokens);
    } else {
      const std::int64_t requests = request_count();
      if (requests < 1 || q_.tokens % requests != 0) {
        refuse_array("q", fmt::format("has {} query tokens for {} requests", q_.tokens, requests),
                     "as many for each, or cu_seqlens_q");
      }
      for (std::int64_t r = 0; r < requests; ++r) first.push_back(first.back() + q_.tokens / requests);
    }
    requests_ = first.size() - 1;
    for (std::size_t r = 0; r < requests_; ++r) {
      attention_.requests.push_back({static_cast<std::int32_t>(first[r + 1] - first[r]), 0});
    }
    attention_.first_query = std::move(first);
    attention_.q = {call_.q.data, call_.q.type};
    attention_.q_rows = row_places(q_);
  }

  /// Places of the rows of q or output.
  RowPlaces row_places(const Axes& axes) const {
    RowPlaces places;
    places.token_stride = axes.token_stride;
    places.head_stride = axes.head_stride;
    for (std::size_t r = 0; r < requests_; ++r) {
      places.begin.push_back(axes.has_outer ? static_cast<std::int64_t>(r) * axes.outer_stride
                                            : attention_.first_query[r] * axes.token_stride);
    }
    return places;
  }

  void require_requests(const std::string& name, std::size_t count) const {
    if (count != requests_) {
      refuse_array(name, fmt::format("is for {} requests", count), fmt::format("{}, the requests of q", requests_));
    }
  }

  void contexts() {
    std::vector<std::int64_t> lengths(requests_, k_.tokens);
    const bool packed = !call_.block_table && !k_.has_outer;
    if (call_.cu_seqlens_k) {
      cu_k_ = cumulative_lengths("cu_seqlens_k", *call_.cu_seqlens_k, packed && !call_.context_lens ? k_.tokens : -1);
      require_requests("cu_seqlens_k", cu_k_.size() - 1);
      if (packed && cu_k_.back() > k_.tokens) {
        refuse_array("cu_seqlens_k", fmt::format("ends with {}", cu_k_.back()), fmt::format("at most {}", k_.tokens));
      }
      for (std::size_t r = 0; r < requests_; ++r) lengths[r] = cu_k_[r + 1] - cu_k_[r];
    } else if (packed && requests_ != 1) {
      refuse_array("k", fmt::format("holds the tokens of {} requests one after another", requests_),
                   "cu_seqlens_k with it");
    }
    const std::vector<std::int64_t> room = lengths;
    if (call_.context_lens) {
      lengths = integers_of("context_lens", *call_.context_lens, 1);
      require_requests("context_lens", lengths.size());
    } else if (call_.block_table && !call_.cu_seqlens_k) {
      refuse_array("context_lens", "is missing", "context_lens or cu_seqlens_k with a block_table");
    }
    for (std::size_t r = 0; r < requests_; ++r) {
      const std::int64_t most = call_.block_table ? kLargestExtent : k_.has_outer ? k_.tokens : room[r];
      if (lengths[r] < 0 || lengths[r] > most) {
        refuse_array(fmt::format("context_lens[{}]", r), std::to_string(lengths[r]), fmt::format("0 to {}", most));
      }
      attention_.requests[r].context_len = static_cast<std::int32_t>(lengths[r]);
    }
  }

  void keys_and_values() {
    attention_.k = {call_.k.data, call_.k.type};
    attention_.v = call_.v ? Elements{call_.v->data, call_.v->type} : attention_.k;
    attention_.k_rows = kv_places(k_);
    attention_.v_rows = kv_places(v_);
    if (call_.block_table) {
      pages();
    } else if (k_.has_outer) {
      require_requests("k", static_cast<std::size_t>(k_.outer));
    }
    for (std::size_t r = 0; r < requests_; ++r) {
      attention_.room.push_back(static_cast<std::int32_t>(k_.tokens - (k_.has_outer || cu_k_.empty() ? 0 : cu_k_[r])));
    }
  }

  KvPlaces kv_places(const Axes& axes) const {
    KvPlaces places;
    places.rows.token_stride = axes.token_stride;
    places.rows.head_stride = axes.head_stride;
    if (call_.block_table) {
      places.page_stride = axes.outer_stride;
      return places;
    }
    for (std::size_t r = 0; r < requests_; ++r) {
      places.rows.begin.push_back(axes.has_outer  ? static_cast<std::int64_t>(r) * axes.outer_stride
                                  : cu_k_.empty() ? 0
                                                  : cu_k_[r] * axes.token_stride);
    }
    return places;
  }

  void pages() {
    const std::vector<std::int64_t> table = integers_of("block_table", *call_.block_table, 2);
    require_requests("block_table", static_cast<std::size_t>(call_.block_table->shape[0]));
    const std::int64_t columns = call_.block_table->shape[1];
    if (k_.tokens < 1) refuse_array("k", "has pages of 0 tokens", "1 or more");
    attention_.page_size = static_cast<std::int32_t>(k_.tokens);
    attention_.pages = k_.outer;
    for (std::size_t r = 0; r < requests_; ++r) {
      const std::int64_t length = attention_.requests[r].context_len;
      const std::int64_t used = (length + k_.tokens - 1) / k_.tokens;
      if (used > columns) {
        refuse_array("block_table",
                     fmt::format("has {} columns, context_lens[{}] of {} takes {} pages of {}", columns, r, length,
                                 used, k_.tokens),
                     "as many columns as pages");
      }
      attention_.first_page.push_back(static_cast<std::int64_t>(attention_.block_table.size()));
      for (std::int64_t page = 0; page < used; ++page) {
        const std::int64_t physical = table[r * static_cast<std::size_t>(columns) + static_cast<std::size_t>(page)];
        if (physical < 0 || physical >= k_.outer) {
          refuse_array(fmt::format("block_table[{}][{}]", r, page), std::to_string(physical),
                       fmt::format("0 to {}, the pages of k", k_.outer - 1));
        }
        attention_.block_table.push_back(static_cast<std::int32_t>(physical));
      }
    }
  }

  void output() {
    std::vector<std::int64_t> shape = call_.q.shape;
    shape.back() = call_.output.shape.back();
    if (call_.output.shape != shape) {
      refuse_array("output", "shape is " + shape_text(call_.output.shape), shape_text(shape) + ", as q's");
    }
    judged_.output = {call_.output.data, call_.output.type};
    judged_.output_rows = row_places(axes_of(call_.output, call_.order));
  }

  void lse() {
    const ArrayView& view = *call_.lse;
    require_floats("lse", view);
    judged_.lse = Elements{view.data, view.type};
    judged_.lse_base_two = call_.lse_base_two;
    judged_.empty_lse_positive = call_.empty_lse_positive;
    // [request, head] of one query token each.
    const bool flat = q_.has_outer && q_.tokens == 1 && view.rank() == 2;
    const std::size_t first = q_.has_outer && !flat ? 1 : 0;
    const std::int64_t tokens = flat ? q_.outer : q_.tokens;
    const std::vector<std::int64_t> tail(view.shape.begin() + static_cast<std::ptrdiff_t>(std::min(first, view.rank())),
                                         view.shape.end());
    const bool fits = view.rank() == first + 2 && (first == 0 || view.shape[0] == q_.outer);
    const bool token_first = fits && tail == std::vector<std::int64_t>{tokens, q_.heads};
    const bool head_first = fits && tail == std::vector<std::int64_t>{q_.heads, tokens};
    if (!token_first && !head_first) {
      const std::string outer = first == 1 ? fmt::format("{}, ", q_.outer) : "";
      refuse_array("lse", "shape is " + shape_text(view.shape),
                   fmt::format("({}{}, {}) or ({}{}, {})", outer, tokens, q_.heads, outer, q_.heads, tokens));
    }
    if (token_first && head_first && tokens != 1 && !call_.lse_head_first) {
      refuse_array("lse", "shape " + shape_text(view.shape) + " does not say which axis is the heads", "that with it");
    }
    const bool heads_lead = call_.lse_head_first.value_or(!token_first);
    if (heads_lead ? !head_first : !token_first) {
      refuse_array("lse", "shape is " + shape_text(view.shape),
                   heads_lead ? "heads before tokens" : "tokens before heads");
    }
    RowPlaces& places = judged_.lse_rows;
    places.token_stride = view.strides[heads_lead ? first + 1 : first];
    places.head_stride = view.strides[heads_lead ? first : first + 1];
    for (std::size_t r = 0; r < requests_; ++r) {
      places.begin.push_back(first == 1 ? static_cast<std::int64_t>(r) * view.strides[0]
                                        : attention_.first_query[r] * places.token_stride);
    }
  }

  void mask() {
    const ArrayView& view = *call_.mask;
    if (view.type != ElementType::boolean) require_floats("mask", view);
    if (attention_.geometry.scale() == 0) refuse_array("mask", "is given with scale 0", "another scale");
    std::int64_t queries = 0;
    std::int64_t tokens = 0;
    for (const workloads::Request& request : attention_.requests) {
      queries = std::max<std::int64_t>(queries, request.query_len);
      tokens = std::max<std::int64_t>(tokens, request.context_len);
    }
    const std::int64_t most[] = {static_cast<std::int64_t>(requests_), q_.heads, queries, tokens};
    Mask mask;
    std::int64_t* const strides[] = {&mask.request_stride, &mask.head_stride, &mask.query_stride, &mask.token_stride};
    // Axes from the last: token, query, head, request; a mask of 3 axes has no heads.
    const std::size_t axes[] = {3, 2, view.rank() == 3 ? std::size_t{0} : std::size_t{1}, 0};
    bool fits = view.rank() >= 2 && view.rank() <= 4;
    for (std::size_t i = 0; fits && i < view.rank(); ++i) {
      const std::size_t from_last = view.rank() - 1 - i;
      const std::size_t axis = axes[i];
      const std::int64_t extent = view.shape[from_last];
      fits = extent == most[axis] || (extent == 1 && axis != 3) || (extent > most[axis] && axis == 3);
      *strides[axis] = extent == 1 ? 0 : view.strides[from_last];
    }
    if (!fits) {
      refuse_array(
          "mask", "shape is " + shape_text(view.shape),
          fmt::format("({}, {}) after requests ({}) and heads ({}), 1 for all", queries, tokens, requests_, q_.heads));
    }
    mask.elements = {view.data, view.type};
    attention_.mask = mask;
  }

  const KernelCall& call_;
  JudgedCall judged_;
  AttentionCase& attention_;
  Axes q_, k_, v_;
  std::size_t requests_ = 0;
  std::vector<std::int64_t> cu_k_;
};

}  // namespace

double JudgedCall::lse_at(std::int32_t request, std::int32_t query, std::int32_t head) const {
  const double value = element_at(*lse, lse_rows.at(request, query, head));
  return lse_base_two ? value * std::numbers::ln2 : value;
}

JudgedCall check_call(const KernelCall& call) {
  return Checker(call).check();
}

JudgedCall check_call(const workloads::Workload& workload, const workloads::Tensors& tensors, const ArrayView& output,
                      const std::optional<ArrayView>& lse, bool lse_base_two) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t tokens = tensors.first_query.back();
  const auto check = [&](const std::string& name, const ArrayView& view, const std::vector<std::int64_t>& shape) {
    require_floats(name, view);
    if (view.shape != shape) refuse_array(name, "shape is " + shape_text(view.shape), shape_text(shape));
  };
  check("output", output, {tokens, g.query_heads, g.value_dim});
  require_rows("output", output, false);
  JudgedCall judged;
  judged.attention = make_case(workload, tensors);
  const auto places = [&](const ArrayView& view) {
    RowPlaces rows{{}, view.strides[0], view.strides[1]};
    for (std::size_t r = 0; r < workload.requests.size(); ++r) {
      rows.begin.push_back(tensors.first_query[r] * view.strides[0]);
    }
    return rows;
  };
  judged.output = {output.data, output.type};
  judged.output_rows = places(output);
  if (lse) {
    check("lse", *lse, {tokens, g.query_heads});
    judged.lse = Elements{lse->data, lse->type};
    judged.lse_rows = places(*lse);
    judged.lse_base_two = lse_base_two;
  }
  return judged;
}

}  // namespace splitwave::cpu_reference
