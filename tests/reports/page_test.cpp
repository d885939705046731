// SPDX-License-Identifier: Apache-2.0
#include "reports/page.h"

#include <gtest/gtest.h>

#include "tests/reports/sample_records.h"

namespace splitwave::reports {
namespace {

std::string page(const std::vector<Record>& records, PageContext context = {"a title", "fixed-split:fa2", {}, {}}) {
  const Dataset data = dataset_of(records, Shapes());
  return page_html(data, figures_of(data, {"fixed-split:fa2", {}, {}, ""}), {}, context);
}

TEST(Page, TextFromFilesStaysText) {
  std::vector<Record> records = tests::comparison();
  const std::string evil = "</script><script>alert(1)</script>\"'&";
  for (Record& record : records) record.workload += evil;
  PageContext context{evil, "fixed-split:fa2", {{"Records", evil}}, {}};
  context.read.skipped = {{evil, 3, evil}};
  context.read.skipped_lines = 1;
  const std::string html = page(records, context);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_NE(html.find("&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"), std::string::npos);
}

TEST(Page, TimelinesHaveNamesOfTheirOwn) {
  const std::string evil = "<script>alert(1)</script>";
  PageContext context{"a title", "fixed-split:fa2", {}, {}};
  const std::string svg = "<svg><defs><pattern id=\"merge\"></pattern></defs><rect fill=\"url(#merge)\"/></svg>";
  context.timelines = {{"short", "h200", svg, {{"lean: 8.00 µs", "why"}}}, {evil, evil, svg, {{evil, evil}}}};
  const std::string html = page(tests::comparison(), context);
  EXPECT_EQ(html.find(evil), std::string::npos);
  for (const char* part :
       {"<summary>short on h200</summary>", "id=\"timeline-0\"", "id=\"merge-0\"", "url(#merge-0)", "id=\"timeline-1\"",
        "id=\"merge-1\"", "url(#merge-1)", "<summary>lean: 8.00 µs</summary><pre tabindex=\"0\">why</pre>",
        "\"timelines\":[[\"short\",\"h200\",0],", "<a href=\"#timelines\">"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(page(tests::comparison()).find("<section id=\"timelines\""), std::string::npos);
}

TEST(Page, LoadsNothing) {
  const std::string html = page(tests::comparison());
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* part : {"<link", "src=\"http", "url(http", "@import", "<iframe", "<img"}) {
    EXPECT_EQ(html.substr(0, html.rfind("<script>")).find(part), std::string::npos) << part;
  }
}

TEST(Page, HoldsRecordsAndLinesThatWereLeftOutWithoutJavaScript) {
  PageContext context{"a title", "fixed-split:fa2", {{"Command", "splitwave report a.jsonl"}}, {}};
  context.read.skipped = {{"a.jsonl", 3, "no valid JSON"}};
  context.read.skipped_lines = 1;
  const std::string html = page(tests::comparison(), context);
  for (const char* part :
       {"<td>long|ragged</td>", "<td>head_dim 512 is outside the rule</td>", "<li>a.jsonl, line 3: no valid JSON</li>",
        "splitwave report a.jsonl", "<code>ragged</code> needs"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace splitwave::reports
