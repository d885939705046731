// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/stand_in/kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "workloads/tensor_values.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using stand_in::KernelLaunch;

constexpr double kNothing = -std::numeric_limits<double>::infinity();

/// Part of a row: the output, not normalised, with the largest score (base 2) and the sum of the weights.
struct Partial {
  std::vector<double> output;
  double largest = kNothing;
  double sum = 0;
};

void add(Partial& to, const Partial& from) {
  if (from.sum == 0) return;
  const double largest = std::max(to.largest, from.largest);
  const double mine = to.sum == 0 ? 0 : std::exp2(to.largest - largest);
  const double theirs = std::exp2(from.largest - largest);
  for (std::size_t e = 0; e < to.output.size(); ++e) to.output[e] = to.output[e] * mine + from.output[e] * theirs;
  to.sum = to.sum * mine + from.sum * theirs;
  to.largest = largest;
}

/// The shape of kernels that write the same partial results.
struct Shape {
  std::int32_t value_dim = 0;
  std::int32_t rows = 0;  ///< of a row block
  bool bf16 = false;
};

/// `count` elements of device memory from `first` on; others are told and read as none.
template <class T>
T* checked(T* first, std::int64_t count) {
  if (!stand_in::is_device_memory(first, static_cast<std::size_t>(count) * sizeof(T))) {
    stand_in::report_misuse("a kernel reads or writes beyond device memory");
    return nullptr;
  }
  return first;
}

workloads::Dtype dtype(const Shape& shape) {
  return shape.bf16 ? workloads::Dtype::bf16 : workloads::Dtype::f16;
}

double element(const Shape& shape, const void* row, std::int32_t index) {
  return workloads::from_bits(dtype(shape), static_cast<const std::uint16_t*>(row)[index]);
}

void write(const Shape& shape, void* output, float* lse, std::int64_t row, const Partial& result) {
  auto* const to = checked(static_cast<std::uint16_t*>(output) + row * shape.value_dim, shape.value_dim);
  if (to == nullptr || (lse != nullptr && checked(lse + row, 1) == nullptr)) return;
  for (std::int32_t e = 0; e < shape.value_dim; ++e) {
    const double value = result.sum == 0 ? 0 : result.output[static_cast<std::size_t>(e)] / result.sum;
    to[e] = static_cast<std::uint16_t>(workloads::round_to_bits(dtype(shape), static_cast<float>(value)));
  }
  constexpr double kLn2 = 0.6931471805599453;
  if (lse != nullptr) {
    lse[row] = static_cast<float>(result.sum == 0 ? kNothing : (result.largest + std::log2(result.sum)) * kLn2);
  }
}

/// Where partial results lie.
struct Partials {
  const Shape& shape;
  float* outputs;
  float* sums;
  std::int64_t row_blocks;
  std::int32_t cluster_shift;

  float* output(std::int64_t slot, std::int64_t row_block, std::int32_t row) const {
    return outputs + ((slot * row_blocks + row_block) * shape.rows + row) * shape.value_dim;
  }
  float* sum(std::int64_t slot, std::int64_t row_block, std::int32_t row) const {
    return sums + (((slot * row_blocks + row_block) << cluster_shift) * shape.rows + row) * 2;
  }
  bool there(std::int64_t slot, std::int64_t row_block, std::int32_t row) const {
    return checked(output(slot, row_block, row), shape.value_dim) != nullptr &&
           checked(sum(slot, row_block, row), 2) != nullptr;
  }
  void put(std::int64_t slot, std::int64_t row_block, std::int32_t row, const Partial& partial) const {
    if (!there(slot, row_block, row)) return;
    std::copy(partial.output.begin(), partial.output.end(), output(slot, row_block, row));
    sum(slot, row_block, row)[0] = static_cast<float>(partial.largest);
    sum(slot, row_block, row)[1] = static_cast<float>(partial.sum);
  }
  Partial take(std::int64_t slot, std::int64_t row_block, std::int32_t row) const {
    if (!there(slot, row_block, row)) return {std::vector<double>(static_cast<std::size_t>(shape.value_dim)), 0, 0};
    const float* const from = output(slot, row_block, row);
    return {{from, from + shape.value_dim}, sum(slot, row_block, row)[0], sum(slot, row_block, row)[1]};
  }
};

/// Row `row` of a tile's row block among the rows of Q and of the output.
std::int64_t output_row(std::int64_t query_row, std::int32_t row, std::int32_t head_count, std::int32_t query_heads) {
  return query_row + static_cast<std::int64_t>(row / head_count) * query_heads + row % head_count;
}

/// One run of a decode kernel.
class Decode {
 public:
  Decode(const DecodeKernel& kernel, const KernelLaunch& launch, const DecodeParams& params)
      : kernel_(kernel),
        shape_{kernel.value_dim, 8 * kernel.row_tiles, kernel.bf16},
        launch_(launch),
        p_(params),
        row_blocks_(params.uniform.parts > 0 ? 1 : launch.grid.y),
        partials_{shape_, params.partials, params.partial_sums, row_blocks_, params.cluster_shift} {}

  void run() {
    check_launch();
    const std::int32_t workers = static_cast<std::int32_t>(launch_.grid.x) >> p_.cluster_shift;
    for (unsigned z = 0; z < launch_.grid.z; ++z) {
      for (unsigned y = 0; y < launch_.grid.y; ++y) {
        for (std::int32_t worker = 0; worker < workers; ++worker) {
          if (p_.uniform.parts > 0) {
            run_item(uniform_item(worker, static_cast<std::int32_t>(y), static_cast<std::int32_t>(z)), 0,
                     static_cast<std::int32_t>(z * launch_.grid.y + y) * p_.uniform.parts + worker);
          } else if (p_.workers == 0) {
            run_list(worker, static_cast<std::int32_t>(y));
          } else {
            for (std::int32_t list = worker; list < p_.lists; list += p_.workers) {
              run_list(list, static_cast<std::int32_t>(y));
            }
          }
        }
      }
    }
  }

 private:
  /// That the launch is what the kernel is compiled for.
  void check_launch() const {
    const std::int32_t cluster = 1 << p_.cluster_shift;
    const std::int32_t shared = cluster > 1 ? kernel_.cluster_shared_bytes : kernel_.shared_bytes;
    if (launch_.cluster != cluster || launch_.grid.x % static_cast<unsigned>(cluster) != 0 ||
        launch_.block.x != static_cast<unsigned>(kernel_.threads) ||
        launch_.shared_bytes != static_cast<std::size_t>(shared) || kernel_.paged != (p_.page_size > 0) ||
        (kernel_.single_item_cluster > 0 && kernel_.single_item_cluster != cluster)) {
      stand_in::report_misuse("a kernel was launched in a way that it is not compiled for");
    }
  }

  DeviceItem uniform_item(std::int32_t part, std::int32_t y, std::int32_t z) const {
    const UniformPlan& plan = p_.uniform;
    const std::int32_t tile = plan.requests_fastest != 0 ? z : y;
    const std::int32_t request = plan.requests_fastest != 0 ? y : z;
    const std::int32_t kv_head = tile / plan.tiles_per_kv_head;
    const std::int32_t begin = part * plan.tiles_per_part + std::min(part, plan.longer_parts);
    const std::int32_t end = begin + plan.tiles_per_part + (part < plan.longer_parts ? 1 : 0);
    DeviceItem item{};
    item.kv_begin = part == 0 ? plan.kv_begin : std::min(plan.kv_end, (plan.first_tile + begin) * plan.tile_kv);
    item.kv_end = part == plan.parts - 1 ? plan.kv_end : std::min(plan.kv_end, (plan.first_tile + end) * plan.tile_kv);
    item.kv_base = static_cast<std::uint32_t>(request) * plan.request_stride +
                   static_cast<std::uint32_t>(kv_head) * plan.head_stride;
    item.kv_head = static_cast<std::uint16_t>(kv_head);
    item.head_count = static_cast<std::uint16_t>(plan.head_count);
    item.query_row = request * p_.query_heads + tile * static_cast<std::int32_t>(plan.head_count);
    item.rows = static_cast<std::uint16_t>(plan.head_count);
    item.slot_begin = (request * plan.tiles_per_request + tile) * plan.parts;
    item.part = static_cast<std::uint16_t>(part);
    item.parts = static_cast<std::uint16_t>(plan.parts);
    item.next = -1;
    return item;
  }

  /// One list, or those of the CTA's warps, of which consecutive ones may have pieces of an item.
  void run_list(std::int32_t list, std::int32_t row_block) {
    const std::int32_t lists = kernel_.team == Team::alone ? kernel_.warps : 1;
    for (std::int32_t first = list * lists; first < (list + 1) * lists; ++first) {
      for (std::int32_t index = first; index >= 0; index = p_.items[index].next) {
        if (checked(p_.items + index, 1) == nullptr) return;
        run_item(p_.items[index], row_block, index);
      }
    }
  }

  void run_item(const DeviceItem& item, std::int32_t row_block, std::int32_t index) {
    if (p_.visits != nullptr && item.rows > 0 && row_block == 0 && item.piece == 0) ++p_.visits[index];
    const std::int32_t rows = std::min(item.rows - row_block * shape_.rows, shape_.rows);
    if (rows <= 0) return;
    if (item.masked != 0 && !kernel_.masked) stand_in::report_misuse("a kernel without masks was given a masked tile");
    if (item.piece == 0) pieces_.assign(static_cast<std::size_t>(rows), nothing());
    for (std::int32_t row = 0; row < rows; ++row) {
      add(pieces_.at(static_cast<std::size_t>(row)), attend(item, item.row_begin + row_block * shape_.rows + row));
    }
    if (item.piece + 1 < item.pieces) return;
    for (std::int32_t row = 0; row < rows; ++row) {
      const Partial& partial = pieces_[static_cast<std::size_t>(row)];
      if (item.parts == 1) {
        write(shape_, p_.output, p_.lse, place(item, row_block, row), partial);
      } else {
        partials_.put(item.slot_begin + item.part, row_block, row, partial);
      }
    }
    if (item.parts > 1 && p_.merge != InKernelMerge::none) arrive(item, row_block, rows);
  }

  std::int64_t place(const DeviceItem& item, std::int32_t row_block, std::int32_t row) const {
    return output_row(item.query_row, item.row_begin + row_block * shape_.rows + row, item.head_count, p_.query_heads);
  }

  void arrive(const DeviceItem& item, std::int32_t row_block, std::int32_t rows) {
    const std::uint32_t slot = static_cast<std::uint32_t>(item.slot_begin + item.part);
    if (p_.injection.drop_slot == slot + 1) return;
    const std::int64_t counter = (item.slot_begin * row_blocks_ + row_block) << p_.cluster_shift;
    if (checked(p_.arrivals + counter, 1) == nullptr) return;
    std::uint32_t& arrived = p_.arrivals[counter];
    if (++arrived < item.parts) return;
    arrived = 0;
    for (std::int32_t row = 0; row < rows; ++row) {
      Partial whole = partials_.take(item.slot_begin, row_block, row);
      for (std::int32_t i = 1; i < item.parts; ++i) add(whole, partials_.take(item.slot_begin + i, row_block, row));
      write(shape_, p_.output, p_.lse, place(item, row_block, row), whole);
    }
  }

  const std::byte* kv_row(const void* tensor, const DeviceItem& item, std::int32_t position) const {
    const auto* const first = static_cast<const std::byte*>(tensor);
    if (p_.page_size == 0) {
      return first + std::int64_t{16} * item.kv_base + std::int64_t{position} * p_.token_stride;
    }
    const std::int32_t logical = p_.page_shift >= 0 ? position >> p_.page_shift : position / p_.page_size;
    const std::int64_t page = p_.block_table[item.kv_base + static_cast<std::uint32_t>(logical)];
    return first + page * p_.page_stride + item.kv_head * p_.head_stride +
           std::int64_t{position - logical * p_.page_size} * p_.token_stride;
  }

  bool sees(const DeviceItem& item, std::int32_t row, std::int32_t position) const {
    if (item.masked == 0) return true;
    const std::int32_t own = item.first_position + row / item.head_count;
    const std::int32_t reach = p_.causal != 0 ? 1 : p_.window;
    return (reach == 0 || position < own + reach) && (p_.window == 0 || position > own - p_.window);
  }

  Partial nothing() const { return {std::vector<double>(static_cast<std::size_t>(shape_.value_dim)), kNothing, 0}; }

  /// Packed row `row` of the item's tile.
  Partial attend(const DeviceItem& item, std::int32_t row) const {
    const std::int64_t q_row = output_row(item.query_row, row, item.head_count, p_.query_heads);
    const auto* const q = static_cast<const std::uint16_t*>(p_.q) + q_row * kernel_.head_dim;
    Partial all = nothing();
    for (std::int32_t position = item.kv_begin; position < item.kv_end; ++position) {
      if (!sees(item, row, position)) continue;
      const std::byte* const k = checked(kv_row(p_.k, item, position), std::int64_t{2} * kernel_.head_dim);
      const void* const values = kernel_.value_dim < kernel_.head_dim ? p_.k : p_.v;
      const std::byte* const v = checked(kv_row(values, item, position), std::int64_t{2} * shape_.value_dim);
      if (k == nullptr || v == nullptr) continue;
      Partial token;
      double score = 0;
      for (std::int32_t e = 0; e < kernel_.head_dim; ++e) score += element(shape_, q, e) * element(shape_, k, e);
      for (std::int32_t e = 0; e < shape_.value_dim; ++e) token.output.push_back(element(shape_, v, e));
      token.largest = score * static_cast<double>(p_.scale_log2);
      token.sum = 1;
      add(all, token);
    }
    return all;
  }

  DecodeKernel kernel_;
  Shape shape_;
  KernelLaunch launch_;
  DecodeParams p_;
  std::int64_t row_blocks_;
  Partials partials_;
  std::vector<Partial> pieces_;  ///< of the item, added up: by row
};

}  // namespace

void run_decode(const DecodeKernel& kernel, const KernelLaunch& launch, const DecodeParams& params) {
  Decode(kernel, launch, params).run();
}

void run_merge(const MergeKernel& kernel, std::int32_t run, const KernelLaunch& launch, const MergeParams& p) {
  const Shape shape{kernel.value_dim, 8 * kernel.row_tiles, kernel.bf16};
  const std::int64_t warps = static_cast<std::int64_t>(launch.grid.z) * launch.block.x / 32;
  const std::int64_t row_blocks = launch.grid.y;
  const Partials partials{shape, const_cast<float*>(p.partials), const_cast<float*>(p.partial_sums), row_blocks,
                          p.cluster_shift};
  for (unsigned x = 0; x < launch.grid.x; ++x) {
    if (checked(p.merges + x, 1) == nullptr) return;
    const DeviceMerge& one = p.merges[x];
    if (warps * run < std::int64_t{kernel.fragments} << one.warps_shift) {
      stand_in::report_misuse("a merge kernel has too few warps for its fragments");
    }
    if (run > 1 && one.warps_shift > 0) stand_in::report_misuse("warps share what each of them is to have alone");
    for (std::int32_t block = 0; one.parts > 0 && block < row_blocks; ++block) {
      for (std::int32_t row = 0; row < std::min(one.rows - block * shape.rows, shape.rows); ++row) {
        Partial whole = partials.take(one.slot_begin, block, row);
        for (std::int32_t i = 1; i < one.parts; ++i) add(whole, partials.take(one.slot_begin + i, block, row));
        write(shape, p.output, p.lse,
              output_row(one.query_row, one.row_begin + block * shape.rows + row, one.head_count, p.query_heads),
              whole);
      }
    }
  }
}

void run_fill(const FillParams& p) {
  const auto dtype = p.bf16 != 0 ? workloads::Dtype::bf16 : workloads::Dtype::f16;
  for (std::int64_t token = 0; token < p.token_count; ++token) {
    std::int64_t request = std::upper_bound(p.first_token, p.first_token + p.requests, token) - p.first_token - 1;
    std::int64_t position = token - p.first_token[request];
    if (p.page_owner != nullptr) {
      const std::int64_t page = token / p.page_size;
      request = p.page_owner[2 * page];
      position = std::int64_t{p.page_owner[2 * page + 1]} * p.page_size + token % p.page_size;
    }
    const bool used = position < p.first_token[request + 1] - p.first_token[request];
    for (std::int32_t head = 0; head < p.heads; ++head) {
      std::int64_t at = token * p.token_stride + std::int64_t{head} * p.width;
      if (p.page_owner == nullptr) {
        at = p.request_offset[request] + position * p.token_stride + head * p.head_stride[request];
      }
      const std::uint64_t key =
          workloads::row_key(p.seed, static_cast<workloads::Tensor>(p.tensor), static_cast<std::uint32_t>(request),
                             static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(head));
      for (std::int32_t e = 0; e < p.width; ++e) {
        const float value = workloads::element_value(key, static_cast<std::uint32_t>(e), p.outliers != 0);
        p.data[at + e] = used ? static_cast<std::uint16_t>(workloads::round_to_bits(dtype, value)) : 0xffff;
      }
    }
  }
}

}  // namespace splitwave::gpu
