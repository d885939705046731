// SPDX-License-Identifier: Apache-2.0
// Machine files (docs/simulator.md, "Machine") written from measurements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace splitwave::studies {

/// One constant of a file: {"value", "unit", "source", "confidence"}.
struct FileConstant {
  std::string key;
  std::vector<double> values;  ///< rounded to five digits in the file
  bool is_list = false;        ///< else there is one value
  std::string unit;
  std::string source;
  std::string confidence;
};

/// A file of the constants, one a line.
std::string machine_file(std::string_view name, std::string_view title, const std::vector<FileConstant>& constants);

/// The machine file `text` with another name and without aliases: `constants` take the place of those of the same key,
/// and others come at the end. Throws InputError if `text` is no object with constants; `where` begins the message.
std::string changed_machine_file(const std::string& text, const std::string& where, std::string_view name,
                                 std::string_view title, const std::vector<FileConstant>& constants);

}  // namespace splitwave::studies
