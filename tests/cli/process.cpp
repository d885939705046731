// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace splitwave::tests {
namespace {

namespace fs = std::filesystem;

fs::path new_folder() {
  std::string pattern = ::testing::TempDir() + "splitwave-cli-XXXXXX";
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
  return pattern;
}

/// Becomes the program; runs in the child.
[[noreturn]] void become(const std::vector<std::string>& arguments, const RunOptions& options,
                         const fs::path& scratch) {
  const std::string out = options.standard_output.empty() ? (scratch / "out").string() : options.standard_output;
  ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
  const std::string err = options.standard_error.empty() ? (scratch / "err").string() : options.standard_error;
  if (err == "closed") {
    ::close(STDERR_FILENO);
  } else {
    ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  }
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) {
    ::_exit(125);
  }
  ::setenv("XDG_CACHE_HOME", SPLITWAVE_CACHE_FOLDER, 1);
  for (const std::string& one : options.environment) {
    const std::size_t equals = one.find('=');
    ::setenv(one.substr(0, equals).c_str(), one.substr(equals + 1).c_str(), 1);
  }
  if (options.largest_file_bytes > 0) {
    const rlimit limit{static_cast<rlim_t>(options.largest_file_bytes),
                       static_cast<rlim_t>(options.largest_file_bytes)};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (options.memory_bytes > 0) {
    const rlimit limit{static_cast<rlim_t>(options.memory_bytes), static_cast<rlim_t>(options.memory_bytes)};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  std::vector<std::string> words = {"splitwave"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  ::execv(SPLITWAVE_BINARY, pointers.data());
  ::_exit(126);
}

}  // namespace

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Process::Process(const std::vector<std::string>& arguments, const RunOptions& options) : scratch_(new_folder()) {
  child_ = ::fork();
  if (child_ == 0) {
    become(arguments, options, scratch_);
  }
}

Process::~Process() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    wait();
  }
  fs::remove_all(scratch_);
}

void Process::send(int signal) const {
  ::kill(child_, signal);
}

bool Process::catches(int signal) const {
  std::ifstream status("/proc/" + std::to_string(child_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigCgt:")) return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1U) != 0;
  }
  return false;
}

Outcome Process::wait() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return Outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), content(scratch_ / "out"),
                 content(scratch_ / "err")};
}

Outcome splitwave(const std::vector<std::string>& arguments, const RunOptions& options) {
  return Process(arguments, options).wait();
}

TemporaryFolder::TemporaryFolder() : path_(new_folder()) {}

TemporaryFolder::~TemporaryFolder() {
  fs::remove_all(path_);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return file(name);
}

}  // namespace splitwave::tests
