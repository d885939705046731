// SPDX-License-Identifier: Apache-2.0
#include "reports/junit.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace splitwave::reports {
namespace {

std::string xml_text(std::string_view text) {
  std::string xml;
  const bool utf8 = base::invalid_utf8_at(text) == std::string_view::npos;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    switch (letter) {
      case '&':
        xml += "&amp;";
        break;
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      case '"':
        xml += "&quot;";
        break;
      case '\n':
      case '\t':
        xml += letter;
        break;
      default:
        xml += byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8) ? '?' : letter;
    }
  }
  return xml;
}

}  // namespace

std::string junit_xml(const std::string& suite, const std::vector<JunitCase>& cases) {
  double seconds = 0;
  std::int64_t failures = 0;
  std::int64_t errors = 0;
  for (const JunitCase& each : cases) {
    seconds += each.seconds;
    failures += !each.passed && !each.error ? 1 : 0;
    errors += each.error ? 1 : 0;
  }
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format("<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\">\n",
                     xml_text(suite), cases.size(), failures, errors, seconds);
  for (const JunitCase& each : cases) {
    xml += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", xml_text(suite), xml_text(each.name),
                       each.seconds);
    if (each.passed) {
      xml += "/>\n";
      continue;
    }
    const char* const kind = each.error ? "error" : "failure";
    xml += fmt::format(">\n    <{} message=\"{}\">{}</{}>\n  </testcase>\n", kind, xml_text(each.message),
                       xml_text(each.details), kind);
  }
  return xml + "</testsuite>\n";
}

}  // namespace splitwave::reports
