// SPDX-License-Identifier: Apache-2.0
// The processes that share one sweep: this one alone, or all that mpirun started. The only place that knows MPI.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace splitwave::studies {

class SweepProcesses {
 public:
  /// Joins the others if mpirun started this process. Throws MissingError if it did and splitwave was built without
  /// MPI.
  SweepProcesses();
  ~SweepProcesses();
  SweepProcesses(const SweepProcesses&) = delete;
  SweepProcesses& operator=(const SweepProcesses&) = delete;

  /// The first process has the files and the terminal; the others only compute.
  bool first() const { return rank_ == 0; }

  /// Runs `prepare` on every process; what it returns must be the same text everywhere. If it throws InputError or
  /// differs anywhere, every process throws InputError (the first failure's message).
  void agree(const std::function<std::string()>& prepare) const;

  /// Computes chunks on every process and writes them on the first one, which alone calls `chunks` (what is to be done)
  /// and `write`; each chunk is computed once. An exception of these two ends the work everywhere and is thrown on.
  void run(const std::function<std::vector<std::int64_t>()>& chunks,
           const std::function<std::string(std::int64_t)>& compute,
           const std::function<void(std::int64_t, const std::string&)>& write) const;

 private:
  int rank_ = 0;
  int count_ = 1;
};

}  // namespace splitwave::studies
