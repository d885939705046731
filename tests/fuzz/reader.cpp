// SPDX-License-Identifier: Apache-2.0
// A libFuzzer target for one of the readers below, SPLITWAVE_FUZZ_READER: whatever bytes come, the reader takes them or
// throws InputError, and what is taken and can be printed is read back the same. Run by scripts/fuzz.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "reports/csv.h"
#include "reports/foreign_records.h"
#include "reports/record.h"
#include "schedules/plan_json.h"
#include "schedules/schedules.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "workloads/import.h"
#include "workloads/load.h"

namespace splitwave {
namespace {

const std::string kWhere = "fuzz";

void expect(bool holds) {
  if (!holds) std::abort();
}

/// Workloads and suites.
[[maybe_unused]] void workload(std::string_view text) {
  for (const workloads::Workload& one : workloads::parse_json(text, kWhere)) {
    expect(workloads::parse_json(workloads::to_json(one), kWhere) == std::vector<workloads::Workload>{one});
    expect(base::is_plain_line(one.name));
  }
}

[[maybe_unused]] void spec(std::string_view text) {
  const workloads::Workload one = workloads::parse_spec(text);
  expect(workloads::parse_json(workloads::to_json(one), kWhere).front() == one);
}

[[maybe_unused]] void trace(std::string_view text) {
  workloads::import_trace(text, kWhere);
}

[[maybe_unused]] void config(std::string_view text) {
  workloads::import_hugging_face_config(text, kWhere);
}

[[maybe_unused]] void machine(std::string_view text) {
  expect(base::is_plain_line(simulator::parse_machine(std::string(text), kWhere).name));
}

[[maybe_unused]] void kernel(std::string_view text) {
  simulator::parse_kernel(text, kWhere);
}

[[maybe_unused]] void record(std::string_view text) {
  for (const reports::Record& one : reports::parse_records(text, kWhere)) {
    const std::string line = reports::to_json(one);
    expect(reports::to_json(reports::parse_records(line + '\n', kWhere).at(0)) == line);
  }
}

/// Records in the formats of others, each of which is tried.
[[maybe_unused]] void foreign(std::string_view text) {
  const auto same = [](const reports::Record& one, const std::string&) {
    const std::string line = reports::to_json(one);
    expect(reports::to_json(reports::parse_record(line, kWhere)) == line);
  };
  const reports::RecordTaker taker{same, [](const std::string& reason) { expect(base::is_plain_line(reason)); }};
  const auto attempt = [](const auto& read) {
    try {
      read();
    } catch (const base::InputError& error) {
      expect(base::is_plain_line(error.what()));
    }
  };
  attempt([&] { same(reports::parse_flashinfer_trace(text, kWhere), kWhere); });
  attempt([&] { reports::parse_vllm(text, kWhere, taker); });
  attempt([&] { reports::parse_nvbench(text, kWhere, taker); });
  attempt([&] {
    const std::size_t end = text.find('\n');
    const reports::CsvReader rows(text.substr(0, end), kWhere);
    if (end != std::string_view::npos) same(rows.read(text.substr(end + 1), kWhere), kWhere);
  });
}

[[maybe_unused]] void plan(std::string_view text) {
  static const workloads::Workload kWorkload = workloads::parse_spec("h=4/2,d=64:1q1s700_1q2s300");
  const schedules::Plan read = schedules::plan_from_json(kWorkload, std::string(text), kWhere);
  const std::string printed = schedules::plan_to_json(kWorkload, read, {}, true);
  expect(schedules::plan_to_json(kWorkload, schedules::plan_from_json(kWorkload, printed, kWhere), {}, true) ==
         printed);
}

}  // namespace
}  // namespace splitwave

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    splitwave::SPLITWAVE_FUZZ_READER({reinterpret_cast<const char*>(data), size});
  } catch (const splitwave::base::InputError& error) {
    splitwave::expect(splitwave::base::is_plain_line(error.what()));
  }
  return 0;
}
