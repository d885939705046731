// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace splitwave::base {

/// Bad input or usage, the one exception type for it: a file, key or value that is not allowed. The message is one
/// line that names where, what was found and what is allowed. The command line turns it into exit status 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A device, program or library that the request needs is not there. Exit status 3.
class MissingError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace splitwave::base
