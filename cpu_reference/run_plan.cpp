// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/run_plan.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/parallel.h"
#include "base/stop.h"
#include "cpu_reference/workspace.h"

namespace splitwave::cpu_reference {
namespace {

using schedules::Item;
using schedules::OutputTile;
using workloads::KvRange;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// All that the parts of one run share.
struct Run {
  const workloads::Workload& workload;
  const workloads::Tensors& tensors;
  const schedules::Plan& plan;
  Workspace& workspace;
  Result<float>& result;
  schedules::Recording* recording;  ///< null: nobody wants it

  const workloads::Geometry& geometry() const { return workload.geometry; }
  const OutputTile& output(const Item& item) const { return plan.outputs[item.output]; }
  bool v_in_k() const { return geometry().kind == workloads::AttentionKind::mla; }
};

KvRange intersection(KvRange a, KvRange b) {
  const std::int32_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Normalises the state of row `row` of an output and stores it. Weight 0 means that nothing was seen.
void finish_row(const Run& run, const OutputTile& output, std::int32_t row, float max, float weight,
                const float* sums) {
  const std::int32_t tile_row = output.row_begin + row;
  const std::int64_t token = run.tensors.first_query[output.request] + tile_row / output.head_count;
  const std::int64_t index = token * run.geometry().query_heads + output.head_begin + tile_row % output.head_count;
  const std::int32_t value_dim = run.geometry().value_dim;
  float* const to = run.result.output.data() + index * value_dim;
  run.result.lse[index] = weight == 0 ? -kInfinity : max + std::log(weight);
  for (std::int32_t e = 0; e < value_dim; ++e) to[e] = weight == 0 ? 0.0F : sums[e] / weight;
}

/// Where an item keeps the state of its rows: its slot, or the thread's scratch if it is alone.
struct StateView {
  float* max;
  float* weight;
  float* sums;
};

StateView view_of(RowStates& states, std::int64_t first_row, std::int32_t value_dim) {
  return {states.max.data() + first_row, states.weight.data() + first_row, states.sums.data() + first_row * value_dim};
}

StateView start_states(const Run& run, ThreadScratch& scratch, const Item& item) {
  const std::int32_t value_dim = run.workspace.dims.value_dim;
  const std::int32_t rows = run.output(item).rows();
  const StateView states = item.slot < 0
                               ? view_of(scratch.states, 0, value_dim)
                               : view_of(run.workspace.partials, run.workspace.slot_row[item.slot], value_dim);
  std::fill_n(states.max, rows, -kInfinity);
  std::fill_n(states.weight, rows, 0.0F);
  std::fill_n(states.sums, std::int64_t{rows} * value_dim, 0.0F);
  return states;
}

/// Finds the query rows, and what each query sees of the item.
void find_queries(const Run& run, ThreadScratch& scratch, const Item& item) {
  const OutputTile& output = run.output(item);
  const std::int64_t element_bytes = workloads::bytes_per_element(run.geometry().dtype);
  const std::int32_t first_query = output.row_begin / output.head_count;
  for (std::int32_t row = output.row_begin; row < output.row_end; ++row) {
    const std::int32_t query = row / output.head_count;
    const std::int32_t head = output.head_begin + row % output.head_count;
    const std::int64_t from = q_row(run.workload, run.tensors, output.request, query, head);
    scratch.q_rows[row - output.row_begin] = run.tensors.q.data() + from * element_bytes;
    scratch.visible[query - first_query] = intersection(
        visible_to_query(run.geometry(), run.workload.requests[output.request], query), {item.kv_begin, item.kv_end});
  }
}

/// The rows [first, first + count) of the item's tile as the kernel takes them.
const float* pack_queries(const Run& run, ThreadScratch& scratch, std::int32_t first, std::int32_t count) {
  if (scratch.packed_first != first || scratch.packed_count != count) {
    run.workspace.kernel.pack_query(scratch.q_rows.data() + first, count, run.geometry().head_dim,
                                    run.workspace.dims.head_dim, scratch.q.data());
    scratch.packed_first = first;
    scratch.packed_count = count;
  }
  return scratch.q.data();
}

/// Copies rows so that zeros follow each, as many as the kernel's dimensions want.
void pad_rows(const KvRows::Addresses& rows, std::int32_t tokens, std::int64_t row_bytes, std::int64_t padded_bytes,
              AlignedFloats& copies, KvRows::Addresses& padded) {
  std::byte* to = reinterpret_cast<std::byte*>(copies.data());
  for (std::int32_t t = 0; t < tokens; ++t, to += padded_bytes) {
    std::memcpy(to, rows[t], row_bytes);
    padded[t] = to;
  }
  if (tokens > 0) std::fill_n(padded.begin() + tokens, kPadElements, padded[tokens - 1]);
}

/// The rows as the kernel reads them: themselves, or padded copies.
const KvRows& readable(const Run& run, ThreadScratch& scratch, const KvRows& rows) {
  const workloads::Geometry& geometry = run.geometry();
  const PaddedDims& dims = run.workspace.dims;
  const bool pad_k = dims.head_dim != geometry.head_dim;
  const bool pad_v = dims.value_dim != geometry.value_dim && !run.v_in_k();
  if (!pad_k && !pad_v) return rows;
  const std::int64_t bytes = workloads::bytes_per_element(geometry.dtype);
  KvRows& padded = scratch.padded_rows;
  padded = rows;
  padded.k_contiguous = false;
  padded.v_contiguous = false;
  if (pad_k) {
    pad_rows(rows.k, rows.tokens, geometry.head_dim * bytes, dims.head_dim * bytes, scratch.padded_k, padded.k);
    if (run.v_in_k()) padded.v = padded.k;
  }
  if (pad_v) {
    pad_rows(rows.v, rows.tokens, geometry.value_dim * bytes, dims.value_dim * bytes, scratch.padded_v, padded.v);
  }
  return padded;
}

/// Folds the tokens [begin, begin + rows.tokens) into all rows of the item that see some of them. Neighbouring rows
/// that see the same go together; they differ only at the edges that causality and windows cut.
void attend_block(const Run& run, ThreadScratch& scratch, const Item& item, const KvRows& rows, std::int32_t begin,
                  TileBlock block) {
  const OutputTile& output = run.output(item);
  const KvRange tokens{begin, begin + rows.tokens};
  const std::int32_t first_query = output.row_begin / output.head_count;
  const auto seen_by = [&](std::int32_t row) {
    return intersection(scratch.visible[row / output.head_count - first_query], tokens);
  };
  const StateView states{block.row_max, block.row_weight, block.sums};
  for (std::int32_t row = output.row_begin; row < output.row_end;) {
    const KvRange seen = seen_by(row);
    std::int32_t end = row + 1;
    while (end < output.row_end && (end % output.head_count != 0 || seen_by(end) == seen)) ++end;
    if (seen.size() > 0) {
      const std::int64_t first = row - output.row_begin;
      block.q = pack_queries(run, scratch, row - output.row_begin, end - row);
      block.rows = end - row;
      block.tokens = seen.size();
      block.k_contiguous = rows.k_contiguous;
      block.v_contiguous = rows.v_contiguous;
      block.k_rows = rows.k.data() + (seen.begin - begin);
      block.v_rows = rows.v.data() + (seen.begin - begin);
      block.row_max = states.max + first;
      block.row_weight = states.weight + first;
      block.sums = states.sums + first * block.sum_stride;
      run.workspace.kernel.attend(block);
      block.next_k_rows = nullptr;
    }
    row = end;
  }
}

/// What stays the same from block to block of an item.
TileBlock block_of(const Run& run, const StateView& states) {
  const workloads::Geometry& geometry = run.geometry();
  const PaddedDims& dims = run.workspace.dims;
  TileBlock block{};
  block.head_dim = dims.head_dim;
  block.value_dim = dims.value_dim;
  block.scale = static_cast<float>(geometry.scale());
  block.row_max = states.max;
  block.row_weight = states.weight;
  block.sums = states.sums;
  block.sum_stride = dims.value_dim;
  return block;
}

void locate_rows(const Run& run, const Item& item, std::int32_t begin, KvRows& rows) {
  const OutputTile& output = run.output(item);
  locate(run.workload, run.tensors, output.request, kv_head(run.workload, output), {begin, item.kv_end}, rows);
}

/// Computes one item. `next`, the item after it in the list or null, has its first rows fetched ahead.
void run_item(const Run& run, ThreadScratch& scratch, const Item& item, const Item* next) {
  const StateView states = start_states(run, scratch, item);
  find_queries(run, scratch, item);
  scratch.packed_count = 0;
  TileBlock block = block_of(run, states);
  KvRows* rows = &scratch.rows[0];
  KvRows* ahead = &scratch.rows[1];
  if (item.tokens() > 0) locate_rows(run, item, item.kv_begin, *rows);
  for (std::int32_t begin = item.kv_begin; begin < item.kv_end; begin += kBlockTokens) {
    ahead->tokens = 0;
    if (begin + kBlockTokens < item.kv_end) {
      locate_rows(run, item, begin + kBlockTokens, *ahead);
    } else if (next != nullptr && next->tokens() > 0) {
      locate_rows(run, *next, next->kv_begin, *ahead);
    }
    block.next_k_rows = ahead->tokens > 0 ? ahead->k.data() : nullptr;
    block.next_v_rows = ahead->v.data();
    attend_block(run, scratch, item, readable(run, scratch, *rows), begin, block);
    std::swap(rows, ahead);
  }
  if (item.slot >= 0) return;
  const OutputTile& output = run.output(item);
  for (std::int32_t row = 0; row < output.rows(); ++row) {
    finish_row(run, output, row, states.max[row], states.weight[row],
               states.sums + std::int64_t{row} * run.workspace.dims.value_dim);
  }
}

std::int64_t now_nanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Each item and each list has a place of its own in the recording, so that threads do not meet there.
void run_list(const Run& run, ThreadScratch& scratch, std::int32_t index, int thread) {
  const std::span<const Item> list = run.plan.list(index);
  const std::int64_t list_began = run.recording != nullptr ? now_nanoseconds() : 0;
  std::int64_t began = list_began;
  for (std::size_t i = 0; i < list.size() && !base::stop_asked(); ++i) {
    run_item(run, scratch, list[i], i + 1 < list.size() ? &list[i + 1] : nullptr);
    if (run.recording == nullptr) continue;
    const std::int64_t ended = now_nanoseconds();
    const auto item = run.plan.cta_begin[index] + static_cast<std::int32_t>(i);
    run.recording->work[item] = {index, thread, item, began, ended};
    began = ended;
  }
  if (run.recording != nullptr) run.recording->ctas[index] = {index, thread, -1, list_began, began};
}

/// Joins the partial results of one row in slot order.
void merge_row(const Run& run, ThreadScratch& scratch, const MergeRow& which) {
  const schedules::Merge& merge = run.plan.merges[which.merge];
  const std::int32_t value_dim = run.workspace.dims.value_dim;
  RowStates& partials = run.workspace.partials;
  const auto index = [&](std::int32_t slot) { return run.workspace.slot_row[slot] + which.row; };
  float max = -kInfinity;
  for (std::int32_t slot = merge.slot_begin; slot < merge.slot_end; ++slot) {
    max = std::max(max, partials.max[index(slot)]);
  }
  const float reference = max == -kInfinity ? 0.0F : max;  // exp(-inf - -inf) would be NaN
  float weight = 0;
  float* const sums = scratch.states.sums.data();
  std::fill_n(sums, value_dim, 0.0F);
  for (std::int32_t slot = merge.slot_begin; slot < merge.slot_end; ++slot) {
    const float factor = std::exp(partials.max[index(slot)] - reference);
    const float* const part = partials.sums.data() + index(slot) * value_dim;
    weight += factor * partials.weight[index(slot)];
    for (std::int32_t e = 0; e < value_dim; ++e) sums[e] += factor * part[e];
  }
  finish_row(run, run.plan.outputs[merge.output], which.row, max, weight, sums);
}

/// The thread's share of the rows to merge; behind the lists, each thread has a place in the recording.
void merge_rows(const Run& run, int thread, int team) {
  const std::int64_t rows = static_cast<std::int64_t>(run.workspace.merge_rows.size());
  const std::int64_t began = run.recording != nullptr ? now_nanoseconds() : 0;
  for (std::int64_t i = rows * thread / team; i < rows * (thread + 1) / team; ++i) {
    merge_row(run, run.workspace.threads[thread], run.workspace.merge_rows[i]);
  }
  if (run.recording == nullptr) return;
  const schedules::Stretch merge{run.plan.lists() + thread, thread, -1, began, now_nanoseconds()};
  run.recording->ctas[merge.cta] = merge;
  run.recording->work[run.plan.items.size() + thread] = merge;
}

void check(const Run& run, int threads) {
  if (static_cast<std::size_t>(run.plan.slots()) + 1 != run.workspace.slot_row.size() || threads < 1 ||
      static_cast<std::size_t>(threads) > run.workspace.threads.size()) {
    throw std::logic_error("run_plan: the workspace was made for another plan or for fewer threads");
  }
}

}  // namespace

void run_plan(const workloads::Workload& workload, const workloads::Tensors& tensors, const schedules::Plan& plan,
              Workspace& workspace, int threads, Result<float>& result, schedules::Recording* recording) {
  const Run run{workload, tensors, plan, workspace, result, recording};
  check(run, threads);
  const std::int64_t rows = tensors.first_query.back() * workload.geometry.query_heads;
  result.output.resize(rows * workload.geometry.value_dim);
  result.lse.resize(rows);

  if (recording != nullptr) {
    const int merging = plan.merges.empty() ? 0 : threads;
    recording->ctas.assign(plan.lists() + merging, {});
    recording->work.assign(plan.items.size() + merging, {});
  }
  std::atomic<std::int32_t> next_list = 0;
  base::parallel(threads, [&](int thread, int team) {
    ThreadScratch& scratch = workspace.threads[thread];
    if (plan.dispatch == schedules::Dispatch::fixed) {
      for (std::int32_t list = thread; list < plan.lists(); list += team) run_list(run, scratch, list, thread);
    } else {
      for (std::int32_t list = next_list++; list < plan.lists(); list = next_list++)
        run_list(run, scratch, list, thread);
    }
  });
  base::stop_if_asked();
  if (plan.merges.empty()) return;
  base::parallel(threads, [&](int thread, int team) { merge_rows(run, thread, team); });
  if (recording == nullptr) return;
  const auto absent = [](const schedules::Stretch& one) { return one.end_nanoseconds == 0; };
  std::erase_if(recording->ctas, absent);  // OpenMP may have given fewer threads
  std::erase_if(recording->work, absent);
}

Result<float> run_plan(const workloads::Workload& workload, const workloads::Tensors& tensors,
                       const schedules::Plan& plan, int threads) {
  const WorkspacePtr workspace = make_workspace(workload, plan, threads);
  Result<float> result;
  run_plan(workload, tensors, plan, *workspace, threads, result);
  return result;
}

}  // namespace splitwave::cpu_reference
