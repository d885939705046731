// SPDX-License-Identifier: Apache-2.0
#include "studies/batch_invariance.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "cpu_reference/bitwise.h"
#include "cpu_reference/run_plan.h"
#include "schedules/schedules.h"
#include "studies/choose.h"
#include "studies/measure.h"
#include "studies/neighbours.h"
#include "studies/repeat.h"

namespace splitwave::studies {
namespace {

using cpu_reference::BitDifference;
using cpu_reference::Result;
using workloads::Workload;

constexpr const char* kChosen = "chosen";

/// A request on its own: what it is set against in every batch.
struct Alone {
  std::vector<TileCuts> cuts;
  std::string config;
  Result<float> result;
};

/// One schedule, with one config for all batches or each batch's own.
struct Question {
  std::string schedule;
  std::string config;  ///< empty: each batch's own
  BatchInvariance answer;
  std::vector<Alone> alone;  ///< per request of the workload
  int example_rank = 0;      ///< 1: moved, 2: other bits, 3: other bits without a reason
};

std::string cuts_text(const TileCuts& tile, bool with_tile) {
  constexpr std::size_t kShown = 12;
  std::string text = with_tile ? fmt::format("heads {} to {}, rows {} to {}: ", tile.head_begin,
                                             tile.head_begin + tile.head_count - 1, tile.row_begin, tile.row_end - 1)
                               : "";
  if (tile.pieces.empty()) return text + "nothing";
  text += fmt::format("{}", tile.pieces.front().begin);
  for (std::size_t i = 0; i < tile.pieces.size() && i < kShown; ++i) text += fmt::format("|{}", tile.pieces[i].end);
  if (tile.pieces.size() > kShown) text += fmt::format("|... {} parts", tile.pieces.size());
  return text;
}

/// The tile that has a row; the tiles are of one request and cover all of its rows.
const TileCuts& tile_of(const std::vector<TileCuts>& tiles, std::int32_t query, std::int32_t head) {
  return *std::find_if(tiles.begin(), tiles.end(), [&](const TileCuts& tile) {
    const std::int32_t row = query * tile.head_count + head - tile.head_begin;
    return head >= tile.head_begin && head < tile.head_begin + tile.head_count && row >= tile.row_begin &&
           row < tile.row_end;
  });
}

/// The pieces that a row sees something of, as far as it sees.
std::vector<workloads::KvRange> seen_pieces(const TileCuts& tile, const workloads::KvRange& visible) {
  std::vector<workloads::KvRange> seen;
  for (const workloads::KvRange& piece : tile.pieces) {
    if (std::max(piece.begin, visible.begin) >= std::min(piece.end, visible.end)) continue;
    seen.push_back({piece.begin, std::min(piece.end, visible.end)});
  }
  return seen;
}

/// The first row of a request, as query and head, that both do not cut in the same places.
std::optional<std::pair<std::int32_t, std::int32_t>> first_moved(const workloads::Geometry& geometry,
                                                                 const workloads::Request& request,
                                                                 const std::vector<TileCuts>& one,
                                                                 const std::vector<TileCuts>& other) {
  if (one == other) return std::nullopt;
  for (std::int32_t query = 0; query < request.query_len; ++query) {
    const workloads::KvRange visible = visible_to_query(geometry, request, query);
    for (std::int32_t head = 0; head < geometry.query_heads; ++head) {
      if (seen_pieces(tile_of(one, query, head), visible) != seen_pieces(tile_of(other, query, head), visible)) {
        return std::pair(query, head);
      }
    }
  }
  return std::nullopt;
}

/// Keeps the example if it says more than the one that is there.
void keep_example(Question& question, int rank, const NeighbourBatch& batch, std::int32_t position,
                  const std::vector<TileCuts>& here, const std::optional<BitDifference>& difference) {
  if (rank <= question.example_rank) return;
  question.example_rank = rank;
  InvarianceExample example;
  example.batch = batch.name;
  example.request = batch.original[static_cast<std::size_t>(position)];
  example.position = position;
  const std::vector<TileCuts>& alone = question.alone[static_cast<std::size_t>(example.request)].cuts;
  cpu_reference::Coordinates at;
  if (difference) {
    at = cpu_reference::coordinates(batch.workload, position, *difference);
    example.difference = to_string(*difference, at);
  } else if (const auto row = first_moved(batch.workload.geometry,
                                          batch.workload.requests[static_cast<std::size_t>(position)], alone, here)) {
    std::tie(at.query, at.head) = *row;
  }
  const TileCuts& one = tile_of(alone, at.query, at.head);
  const TileCuts& other = tile_of(here, at.query, at.head);
  const bool tiles_differ = std::tie(one.head_begin, one.head_count, one.row_begin, one.row_end) !=
                            std::tie(other.head_begin, other.head_count, other.row_begin, other.row_end);
  example.cuts_alone = cuts_text(one, tiles_differ);
  example.cuts = cuts_text(other, tiles_differ);
  question.answer.example = std::move(example);
}

Prediction plan_for(const Question& question, const Workload& workload, const Target& target) {
  return question.config.empty() ? predict(workload, question.schedule, target)
                                 : predict_on_config(workload, question.schedule, question.config, target);
}

/// Works on one question; a schedule that cannot serve a batch has no answer.
template <typename Work>
void guarded(Question& question, Work work) {
  if (!question.answer.failure.empty()) return;
  try {
    work();
  } catch (const base::InputError& error) {
    question.answer.failure = error.what();
  }
}

Question start_question(const Workload& workload, const std::string& schedule, const Target& target,
                        const BatchRunner& runner) {
  Question question;
  question.schedule = schedule;
  question.answer.workload = workload.name;
  question.answer.machine = target.name;
  question.answer.schedule = schedule;
  question.answer.executor = runner.executor;
  question.answer.requests = static_cast<std::int64_t>(workload.requests.size());
  return question;
}

std::vector<Question> ask(const Workload& workload, const std::vector<std::string>& schedules, const Target& target,
                          const BatchRunner& runner) {
  std::vector<Question> questions;
  for (const std::string& schedule : schedules) {
    Question question = start_question(workload, schedule, target, runner);
    std::string config;
    guarded(question, [&] { config = predict(workload, schedule, target).kernel.config; });
    const bool pinned = !config.empty() && schedule != kAuto;
    if (pinned) {
      question.config = question.answer.kernel = config;
      questions.push_back(question);
    }
    if (pinned && !runner.has_configs) continue;
    question.config.clear();
    question.answer.besides = pinned;
    question.answer.kernel = config.empty() ? "" : kChosen;
    questions.push_back(std::move(question));
  }
  return questions;
}

void run_alone(Question& question, const NeighbourBatch& batch, const workloads::Tensors& tensors, const Target& target,
               const BatchRunner& runner) {
  guarded(question, [&] {
    const Prediction planned = plan_for(question, batch.workload, target);
    question.alone.push_back({cuts_by_request(batch.workload, planned.plan).front(), planned.kernel.config,
                              runner.run(batch.workload, tensors, planned)});
  });
}

/// Compares the requests of one batch with themselves alone. tensors: null if they do not fit in memory.
void compare_batch(Question& question, const NeighbourBatch& batch, const workloads::Tensors* tensors,
                   const Target& target, const BatchRunner& runner) {
  const Prediction planned = plan_for(question, batch.workload, target);
  const std::vector<std::vector<TileCuts>> cuts = cuts_by_request(batch.workload, planned.plan);
  std::optional<Result<float>> result;
  if (tensors != nullptr) result = runner.run(batch.workload, *tensors, planned);
  BatchInvariance& answer = question.answer;
  ++answer.batches;
  for (std::int32_t position = 0; position < static_cast<std::int32_t>(batch.original.size()); ++position) {
    const std::int32_t original = batch.original[static_cast<std::size_t>(position)];
    if (original == kStranger) continue;
    const Alone& alone = question.alone[static_cast<std::size_t>(original)];
    const std::vector<TileCuts>& here = cuts[static_cast<std::size_t>(position)];
    const workloads::Request& request = batch.workload.requests[static_cast<std::size_t>(position)];
    const bool moved = runner.has_configs ? alone.cuts != here || alone.config != planned.kernel.config
                                          : !same_cuts(batch.workload.geometry, request, alone.cuts, here);
    std::optional<BitDifference> difference;
    if (result) {
      difference = bit_difference(all_rows(alone.result), rows_of_request(batch.workload, *result, position));
    }
    ++answer.compared;
    answer.moved += moved ? 1 : 0;
    answer.ran += result ? 1 : 0;
    answer.differing += difference ? 1 : 0;
    answer.broken += difference && !moved ? 1 : 0;
    answer.lucky += result && !difference && moved ? 1 : 0;
    if (moved || difference) {
      keep_example(question, !difference ? 1 : moved ? 2 : 3, batch, position, here, difference);
    }
  }
}

}  // namespace

BatchRunner cpu_batch_runner(std::int32_t threads) {
  BatchRunner runner;
  runner.executor = "cpu";
  runner.run = [threads](const Workload& workload, const workloads::Tensors& tensors, const Prediction& planned) {
    const cpu_reference::WorkspacePtr workspace = cpu_reference::make_workspace(workload, planned.plan, threads);
    cpu_reference::poison(*workspace);
    Result<float> result = poisoned_result(workload);
    cpu_reference::run_plan(workload, tensors, planned.plan, *workspace, threads, result);
    return result;
  };
  return runner;
}

bool same_cuts(const workloads::Geometry& geometry, const workloads::Request& request, const std::vector<TileCuts>& one,
               const std::vector<TileCuts>& other) {
  return !first_moved(geometry, request, one, other);
}

std::vector<std::vector<TileCuts>> cuts_by_request(const Workload& workload, const schedules::Plan& plan) {
  std::vector<std::vector<workloads::KvRange>> pieces(plan.outputs.size());
  for (const schedules::Item& item : plan.items) {
    if (item.tokens() > 0) pieces[static_cast<std::size_t>(item.output)].push_back({item.kv_begin, item.kv_end});
  }
  std::vector<std::vector<TileCuts>> cuts(workload.requests.size());
  for (std::size_t output = 0; output < plan.outputs.size(); ++output) {
    const schedules::OutputTile& tile = plan.outputs[output];
    std::sort(pieces[output].begin(), pieces[output].end(),
              [](const workloads::KvRange& a, const workloads::KvRange& b) { return a.begin < b.begin; });
    cuts[static_cast<std::size_t>(tile.request)].push_back(
        {tile.head_begin, tile.head_count, tile.row_begin, tile.row_end, std::move(pieces[output])});
  }
  for (std::vector<TileCuts>& tiles : cuts) {
    std::sort(tiles.begin(), tiles.end(), [](const TileCuts& a, const TileCuts& b) {
      return std::tie(a.head_begin, a.row_begin) < std::tie(b.head_begin, b.row_begin);
    });
  }
  return cuts;
}

std::vector<std::string> invariance_schedules(std::span<const Workload> workloads) {
  std::vector<std::string> names = schedules::default_names(workloads);
  std::vector<std::string> more = schedules::installable_names();
  more.insert(more.end(), {"fixed-split:4", "fixed-size:1024"});
  for (std::string& name : more) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<BatchInvariance> batch_invariance(const Workload& workload, const std::vector<std::string>& schedules,
                                              const Target& target, const BatchRunner& runner, const Watcher& watcher) {
  std::vector<Question> questions = ask(workload, schedules, target, runner);
  const workloads::Tensors given = workloads::make_tensors(workload, tensor_memory_bytes());
  for (const NeighbourBatch& batch : alone(workload)) {
    watcher.begin(workload.name + ", " + batch.name);
    const workloads::Tensors tensors = tensors_of(batch, workload, given, tensor_memory_bytes());
    for (Question& question : questions) run_alone(question, batch, tensors, target, runner);
    watcher.done(1);
  }
  for (const NeighbourBatch& batch : among_others(workload)) {
    watcher.begin(workload.name + ", " + batch.name);
    std::optional<workloads::Tensors> tensors;
    try {
      if (!batch.plan_only) tensors = tensors_of(batch, workload, given, tensor_memory_bytes());
    } catch (const base::InputError&) {  // too large for the memory: the plans still say where requests are cut
    }
    for (Question& question : questions) {
      guarded(question, [&] { compare_batch(question, batch, tensors ? &*tensors : nullptr, target, runner); });
    }
    watcher.done(1);
  }
  std::vector<BatchInvariance> answers;
  for (Question& question : questions) answers.push_back(std::move(question.answer));
  return answers;
}

double invariance_work(const Workload& workload) {
  return static_cast<double>(alone(workload).size() + among_others(workload).size());
}

}  // namespace splitwave::studies
