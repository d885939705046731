// SPDX-License-Identifier: Apache-2.0
#include "workloads/data.h"

#include <stdexcept>
#include <string>

namespace splitwave::workloads {

std::string_view embedded_file(std::string_view name) {
  for (const base::EmbeddedFile& file : data_files()) {
    if (file.name == name) return file.text;
  }
  throw std::logic_error("no embedded file " + std::string(name));
}

}  // namespace splitwave::workloads
