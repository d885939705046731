// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/algorithms/batch.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>

#include "base/stop.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

using workloads::Geometry;
using workloads::KvRange;
using workloads::Tensors;
using workloads::Workload;

/// Query tokens [query_begin, query_end) of a request that see the same tokens, for one KV head.
struct Task {
  std::int32_t request = 0;
  std::int32_t kv_head = 0;
  std::int32_t query_begin = 0;
  std::int32_t query_end = 0;
  KvRange visible;
};

std::vector<Task> tasks_of(const Workload& workload) {
  std::vector<Task> tasks;
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(workload.requests.size()); ++r) {
    const workloads::Request& request = workload.requests[r];
    for (std::int32_t begin = 0, end = 0; begin < request.query_len; begin = end) {
      const KvRange visible = visible_to_query(workload.geometry, request, begin);
      for (end = begin + 1; end < request.query_len; ++end) {
        if (visible_to_query(workload.geometry, request, end) != visible) break;
      }
      for (std::int32_t h = 0; h < workload.geometry.kv_heads; ++h) tasks.push_back({r, h, begin, end, visible});
    }
  }
  return tasks;
}

/// One task's matrices, and where its rows are in the batch.
class Gathered {
 public:
  Gathered(const Workload& workload, const Tensors& tensors, const Task& task)
      : workload_(workload), tensors_(tensors), task_(task), group_(g().query_heads / g().kv_heads) {
    head.q = Matrix(std::int64_t{task.query_end - task.query_begin} * group_, g().head_dim);
    head.k = Matrix(task.visible.size(), g().head_dim);
    head.v = Matrix(task.visible.size(), g().value_dim);
    head.scale = g().scale();
    head.v_in_k = g().kind == workloads::AttentionKind::mla;
    for (std::int64_t row = 0; row < head.q.rows; ++row) {
      copy(tensors.q, q_row(workload, tensors, task.request, query(row), query_head(row)), head.q, row);
    }
    for (std::int32_t i = 0; i < task.visible.size(); ++i) {
      const std::int32_t position = task.visible.begin + i;
      copy(tensors.k, k_row(workload, tensors, task.request, position, task.kv_head), head.k, i);
      copy(head.v_in_k ? tensors.k : tensors.v, v_row(workload, tensors, task.request, position, task.kv_head), head.v,
           i);
    }
  }

  void scatter(const HeadResult& from, Result<double>& to) const {
    for (std::int64_t row = 0; row < head.q.rows; ++row) {
      const std::int64_t at = (tensors_.first_query[task_.request] + query(row)) * g().query_heads + query_head(row);
      std::copy_n(from.output.values.begin() + row * head.v.cols, head.v.cols, to.output.begin() + at * head.v.cols);
      to.lse[at] = from.lse[row];
    }
  }

  Head head;

 private:
  const Geometry& g() const { return workload_.geometry; }
  std::int32_t query(std::int64_t row) const { return task_.query_begin + static_cast<std::int32_t>(row / group_); }
  std::int32_t query_head(std::int64_t row) const {
    return task_.kv_head * group_ + static_cast<std::int32_t>(row % group_);
  }
  void copy(const workloads::Bytes& tensor, std::int64_t first, Matrix& to, std::int64_t row) const {
    for (std::int64_t i = 0; i < to.cols; ++i)
      to.values[row * to.cols + i] = load_element(g().dtype, tensor, first + i);
  }

  const Workload& workload_;
  const Tensors& tensors_;
  Task task_;
  std::int32_t group_;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

BatchResult attend_by(const Call& call, const Workload& workload, const Tensors& tensors, int samples) {
  if (samples < 1) throw std::logic_error("attend_by: samples must be positive");
  const Geometry& g = workload.geometry;
  const std::int64_t rows = tensors.first_query.back() * g.query_heads;
  BatchResult batch;
  batch.result.output.assign(static_cast<std::size_t>(rows * g.value_dim), 0);
  batch.result.lse.assign(static_cast<std::size_t>(rows), -std::numeric_limits<double>::infinity());
  batch.seconds.assign(static_cast<std::size_t>(samples), 0);
  Traffic elements;
  for (const Task& task : tasks_of(workload)) {
    if (task.visible.size() == 0) continue;
    const Gathered gathered(workload, tensors, task);
    const Traffic io = call.io(gathered.head.shape());
    for (double& seconds : batch.seconds) {
      base::stop_if_asked();
      const double begin = now();
      const HeadResult result = call.attend(gathered.head);
      seconds += now() - begin;
      if (result.traffic != io) throw std::logic_error(call.name() + " does not move what its IO model says");
      gathered.scatter(result, batch.result);
    }
    elements += io;
  }
  batch.bytes = in_bytes(elements, bytes_per_element(g.dtype));
  return batch;
}

}  // namespace splitwave::cpu_reference::algorithms
