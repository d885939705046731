// SPDX-License-Identifier: Apache-2.0
#include "studies/sweep_mpi.h"

#include <cstdlib>
#include <future>
#include <memory>
#include <utility>

#include "base/error.h"

#if SPLITWAVE_HAS_MPI
#include <mpi.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#endif

namespace splitwave::studies {
namespace {

/// Processes of the job that this one was started in: OpenMPI's, and what MPICH's launcher and Slurm's pmi set.
int launched_processes() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return 1;
}

void run_alone(const std::function<std::vector<std::int64_t>()>& chunks,
               const std::function<std::string(std::int64_t)>& compute,
               const std::function<void(std::int64_t, const std::string&)>& write) {
  // The disk is waited for while the next chunk is computed, or where the system gives no thread for it, afterwards.
  std::future<void> written;
  for (const std::int64_t chunk : chunks()) {
    const auto lines = std::make_shared<const std::string>(compute(chunk));
    if (written.valid()) written.get();
    // Copied: libstdc++ moves from what it could not start before it defers it.
    const auto write_lines = [&write, chunk, lines] { write(chunk, *lines); };
    written = std::async(std::launch::async | std::launch::deferred, write_lines);
  }
  if (written.valid()) written.get();
}

}  // namespace

#if SPLITWAVE_HAS_MPI

namespace {

constexpr int kResultTag = 1;
constexpr int kChunkTag = 2;
constexpr std::int64_t kNoMore = -1;

/// A result message is the chunk's number and its lines; the first message of a process is empty.
std::string pack(std::int64_t chunk, const std::string& lines) {
  std::string message(sizeof chunk, '\0');
  std::memcpy(message.data(), &chunk, sizeof chunk);
  return message + lines;
}

std::pair<std::int64_t, std::string> unpack(const std::string& message) {
  std::int64_t chunk = 0;
  std::memcpy(&chunk, message.data(), sizeof chunk);
  return {chunk, message.substr(sizeof chunk)};
}

std::string broadcast(std::string text, int root) {
  auto size = static_cast<std::int64_t>(text.size());
  MPI_Bcast(&size, 1, MPI_INT64_T, root, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, root, MPI_COMM_WORLD);
  return text;
}

/// The chunks that are left, and those that this process has computed itself.
class Shared {
 public:
  void give(std::vector<std::int64_t> chunks) {
    const std::lock_guard lock(mutex_);
    chunks_ = std::move(chunks);
  }

  std::int64_t take() {
    const std::lock_guard lock(mutex_);
    return next_ < chunks_.size() ? chunks_[next_++] : kNoMore;
  }
  void put(std::int64_t chunk, std::string lines) {
    const std::lock_guard lock(mutex_);
    done_.emplace_back(chunk, std::move(lines));
  }
  std::vector<std::pair<std::int64_t, std::string>> collect() {
    const std::lock_guard lock(mutex_);
    return std::exchange(done_, {});
  }
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    next_ = chunks_.size();
    if (!error_) error_ = std::move(error);
  }
  std::exception_ptr error() {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::int64_t> chunks_;
  std::size_t next_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> done_;
  std::exception_ptr error_;
};

/// Takes the result of one process, if one is waiting, and gives it its next chunk. Returns whether one was waiting.
bool serve_one(Shared& shared, int& working, std::vector<std::pair<std::int64_t, std::string>>& done) {
  int waiting = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, kResultTag, MPI_COMM_WORLD, &waiting, &status);
  if (waiting == 0) return false;
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  std::string message(static_cast<std::size_t>(size), '\0');
  MPI_Recv(message.data(), size, MPI_CHAR, status.MPI_SOURCE, kResultTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (size > 0) done.push_back(unpack(message));
  const std::int64_t chunk = shared.take();
  if (chunk == kNoMore) --working;
  MPI_Send(&chunk, 1, MPI_INT64_T, status.MPI_SOURCE, kChunkTag, MPI_COMM_WORLD);
  return true;
}

void run_first(int processes, const std::function<std::vector<std::int64_t>()>& chunks,
               const std::function<std::string(std::int64_t)>& compute,
               const std::function<void(std::int64_t, const std::string&)>& write) {
  Shared shared;
  try {
    shared.give(chunks());
  } catch (...) {
    shared.fail(std::current_exception());
  }
  std::thread local([&] {
    try {
      for (std::int64_t chunk = shared.take(); chunk != kNoMore; chunk = shared.take()) {
        shared.put(chunk, compute(chunk));
      }
    } catch (...) {
      shared.fail(std::current_exception());
    }
  });
  int working = processes - 1;
  const auto write_all = [&](const std::vector<std::pair<std::int64_t, std::string>>& done) {
    try {
      for (const auto& [chunk, lines] : done) {
        if (!shared.error()) write(chunk, lines);
      }
    } catch (...) {
      shared.fail(std::current_exception());
    }
  };
  while (working > 0) {
    std::vector<std::pair<std::int64_t, std::string>> done = shared.collect();
    if (!serve_one(shared, working, done) && done.empty()) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    write_all(done);
  }
  local.join();
  write_all(shared.collect());
  if (shared.error()) std::rethrow_exception(shared.error());
}

void run_other(const std::function<std::string(std::int64_t)>& compute) {
  std::string message;
  while (true) {
    MPI_Send(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, kResultTag, MPI_COMM_WORLD);
    std::int64_t chunk = 0;
    MPI_Recv(&chunk, 1, MPI_INT64_T, 0, kChunkTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (chunk == kNoMore) return;
    message = pack(chunk, compute(chunk));
  }
}

}  // namespace

SweepProcesses::SweepProcesses() {
  if (launched_processes() <= 1) return;
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
  if (provided < MPI_THREAD_FUNNELED) throw base::MissingError("this MPI cannot be used by a program with threads");
}

SweepProcesses::~SweepProcesses() {
  if (count_ > 1) MPI_Finalize();
}

void SweepProcesses::agree(const std::function<std::string()>& prepare) const {
  std::string text;
  std::string failure;
  try {
    text = prepare();
  } catch (const base::InputError& error) {
    failure = error.what();
  }
  if (count_ > 1) {
    const std::string expected = broadcast(text, 0);
    if (failure.empty() && text != expected) {
      failure = "the processes of this job see different input files; allowed: the same on every machine";
    }
    int failed = failure.empty() ? count_ : rank_;
    int first_failed = count_;
    MPI_Allreduce(&failed, &first_failed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first_failed < count_) failure = broadcast(failure, first_failed);
  }
  if (!failure.empty()) throw base::InputError(failure);
}

void SweepProcesses::run(const std::function<std::vector<std::int64_t>()>& chunks,
                         const std::function<std::string(std::int64_t)>& compute,
                         const std::function<void(std::int64_t, const std::string&)>& write) const {
  if (count_ == 1) {
    run_alone(chunks, compute, write);
  } else if (first()) {
    run_first(count_, chunks, compute, write);
  } else {
    run_other(compute);
  }
}

#else

SweepProcesses::SweepProcesses() {
  if (launched_processes() > 1) {
    throw base::MissingError(
        "sweep: this splitwave was built without MPI; configure it with -DSPLITWAVE_MPI=ON, or use --shard");
  }
}

SweepProcesses::~SweepProcesses() = default;

void SweepProcesses::agree(const std::function<std::string()>& prepare) const {
  prepare();
}

void SweepProcesses::run(const std::function<std::vector<std::int64_t>()>& chunks,
                         const std::function<std::string(std::int64_t)>& compute,
                         const std::function<void(std::int64_t, const std::string&)>& write) const {
  run_alone(chunks, compute, write);
}

#endif

}  // namespace splitwave::studies
