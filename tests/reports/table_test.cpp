// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <gtest/gtest.h>

namespace splitwave::reports {
namespace {

const Table kTable{{{"name"}, {"time", Align::right}}, {{"a|b", "1.00 µs"}, {"long name", "12 s"}}};

TEST(Table, MarkdownIsPaddedAndEscaped) {
  EXPECT_EQ(to_markdown(kTable),
            "| name      |    time |\n"
            "| --------- | ------: |\n"
            "| a\\|b      | 1.00 µs |\n"
            "| long name |    12 s |\n");
}

TEST(Table, TextIsAlignedByCharactersNotBytes) {
  EXPECT_EQ(to_text(kTable),
            "name          time\n"
            "a|b        1.00 µs\n"
            "long name     12 s\n");
}

TEST(Table, CsvQuotesWhatNeedsIt) {
  const Table table{{{"a"}, {"b"}}, {{"1,2", "say \"x\""}, {"two\nlines", "plain"}}};
  EXPECT_EQ(to_csv(table), "a,b\n\"1,2\",\"say \"\"x\"\"\"\n\"two\nlines\",plain\n");
}

TEST(Table, NamesAreNeitherTagsNorLinksNorFormulas) {
  const Table table{
      {{"a"}},
      {{"<script>x</script>"}, {"[x](http://y) `z`"}, {"=cmd|' /C calc'!A0"}, {"-1.5e-3"}, {"-x,"}, {"@a"}, {"+1+1"}}};
  EXPECT_EQ(to_markdown({{{"a"}}, {table.rows[0], table.rows[1]}}),
            "| a                        |\n"
            "| ------------------------ |\n"
            "| &lt;script>x&lt;/script> |\n"
            "| \\[x](http://y) `z`       |\n");
  EXPECT_EQ(to_csv(table),
            "a\n<script>x</script>\n[x](http://y) `z`\n'=cmd|' /C calc'!A0\n-1.5e-3\n\"'-x,\"\n'@a\n'+1+1\n");
}

TEST(Format, SecondsHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(format_seconds(0), "0.00 µs");
  EXPECT_EQ(format_seconds(1.234e-6), "1.23 µs");
  EXPECT_EQ(format_seconds(99.96e-6), "100 µs");
  EXPECT_EQ(format_seconds(999.6e-6), "1.00 ms");
  EXPECT_EQ(format_seconds(0.0456), "45.6 ms");
  EXPECT_EQ(format_seconds(0.9996), "1.00 s");
  EXPECT_EQ(format_seconds(123), "123 s");
}

TEST(Format, JoulesHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(format_joules(0), "0.00 µJ");
  EXPECT_EQ(format_joules(999.4e-6), "999 µJ");
  EXPECT_EQ(format_joules(12.34e-3), "12.3 mJ");
  EXPECT_EQ(format_joules(0.9996), "1.00 J");
}

TEST(Format, Ratios) {
  EXPECT_EQ(format_percent(0.1234), "12.3 %");
  EXPECT_EQ(format_factor(1.2345), "1.23x");
  EXPECT_EQ(format_factor(9.996), "10.0x");
  EXPECT_EQ(format_bandwidth(4.321e12), "4321 GB/s");
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(999), "999 bytes");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(999'499), "999 kB");
  EXPECT_EQ(format_bytes(999'500), "1.00 MB");
  EXPECT_EQ(format_bytes(40'270'000'000), "40.3 GB");
}

}  // namespace
}  // namespace splitwave::reports
