// SPDX-License-Identifier: Apache-2.0
// How programs beside the command line end, with its exit statuses (docs/cli.md).
#pragma once

#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include "base/error.h"

namespace splitwave::benchmarks {

/// What `work` gives; for what it throws 2 (InputError), 3 (MissingError) or else 1, said on stderr as "`program`:
/// ...".
inline int exit_status(const std::string& program, const std::function<int()>& work) {
  const auto told = [&](const std::exception& error, int status) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    return status;
  };
  try {
    return work();
  } catch (const base::InputError& error) {
    return told(error, 2);
  } catch (const base::MissingError& error) {
    return told(error, 3);
  } catch (const std::exception& error) {
    return told(error, 1);
  }
}

}  // namespace splitwave::benchmarks
