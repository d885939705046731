// SPDX-License-Identifier: Apache-2.0
#include "base/build_info.h"

#include "splitwave_build_info.h"  // written at build time by base/write_build_info.cmake

namespace splitwave::base {

std::string version() {
  return SPLITWAVE_VERSION;
}

std::string commit() {
  return SPLITWAVE_COMMIT;
}

}  // namespace splitwave::base
