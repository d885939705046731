// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace splitwave::base {
namespace {

TEST(Text, PrintableShowsBytesAndCutsLongText) {
  EXPECT_EQ(printable("a b~"), "a b~");
  EXPECT_EQ(printable(std::string("\0\n\x1b\x7f\xc3\xa9", 6)), "\\x00\\x0a\\x1b\\x7f\\xc3\\xa9");
  EXPECT_EQ(printable(std::string(100, 'x'), 10), "xxxxxxxxxx...");
  EXPECT_EQ(printable(std::string(10, 'x'), 10), "xxxxxxxxxx");
}

TEST(Text, Utf8) {
  const auto npos = std::string_view::npos;
  EXPECT_EQ(invalid_utf8_at(""), npos);
  EXPECT_EQ(invalid_utf8_at("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), npos);
  EXPECT_EQ(invalid_utf8_at("\xf4\x8f\xbf\xbf\xed\x9f\xbf"), npos);
  for (const char* bad :
       {"a\x80", "a\xc3", "a\xc0\x80", "a\xc1\xbf", "a\xe0\x9f\xbf", "a\xed\xa0\x80", "a\xf0\x8f\xbf\xbf",
        "a\xf4\x90\x80\x80", "a\xf5\x80\x80\x80", "a\xff", "a\xe2\x82", "a\xe2\x28\xa1"}) {
    EXPECT_EQ(invalid_utf8_at(bad), 1U) << printable(bad);
  }
}

TEST(Text, PlainLines) {
  for (const char* good :
       {"", "h200 `x` \"y\" 'z' \\", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc2\xa0", "\xe2\x80\x93"}) {
    EXPECT_TRUE(is_plain_line(good)) << printable(good);
  }
  for (const char* bad : {"a\nb", "\x1b[31m", "\x7f",
                          "\xc2\x9b"
                          "31m",
                          "\xe2\x80\xae"
                          "txt",
                          "\xd8\x9c", "\xe2\x80\x8f", "\xe2\x81\xa6", "\xe2\x80\xa8", "a\xff"}) {
    EXPECT_FALSE(is_plain_line(bad)) << printable(bad);
  }
  EXPECT_FALSE(is_plain_line(std::string_view("a\0b", 3)));
}

TEST(Text, PlainLineShowsTheBytesOfWhatSteers) {
  EXPECT_EQ(plain_line("größe <µs>"), "größe <µs>");
  EXPECT_EQ(plain_line("a\x1b[31m\n\xc2\x9b\xe2\x80\xae"
                       "b\xff\xe2\x80"),
            "a\\x1b[31m\\x0a\\xc2\\x9b\\xe2\\x80\\xaeb\\xff\\xe2\\x80");
  EXPECT_TRUE(is_plain_line(plain_line(std::string("\0\x7f\xd8\x9c", 4))));
}

TEST(Text, ShellWords) {
  EXPECT_EQ(shell_word("h=32/8,d=128@tp=2"), "h=32/8,d=128@tp=2");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $x"), "'it'\\''s $x'");
}

TEST(Text, NearestNames) {
  const std::vector<std::string> names = {"lean", "fa2", "fa3", "fixed-split", "flashinfer"};
  EXPECT_EQ(nearest_names("laen", names), std::vector<std::string>{"lean"});
  EXPECT_EQ(nearest_names("fa", names), (std::vector<std::string>{"fa2", "fa3"}));
  EXPECT_EQ(nearest_names("fixedsplit", names), std::vector<std::string>{"fixed-split"});
  EXPECT_TRUE(nearest_names("zzzzzz", names).empty());
  EXPECT_TRUE(nearest_names("", names).empty());
  EXPECT_TRUE(nearest_names(std::string(1 << 20, 'f'), names).empty());
  EXPECT_EQ(did_you_mean("fa", names), "; did you mean fa2 or fa3?");
  EXPECT_EQ(nearest_names("f", {"a", "b", "c", "d"}).size(), 3U);
}

TEST(NumberIn, IsTheWholeText) {
  EXPECT_EQ(number_in("0"), 0.0);
  EXPECT_EQ(number_in("-1.5e-3"), -1.5e-3);
  EXPECT_EQ(number_in(".5"), 0.5);
  EXPECT_EQ(number_in("0.1"), 0.1);
  EXPECT_EQ(number_in("1.7976931348623157e308"), 1.7976931348623157e308);
  for (const char* text : {"", " 1", "1 ", "+1", "0x10", "1,5", "1e", "1e999", "-", "--1", "1.2.3", "x"}) {
    EXPECT_FALSE(number_in(text)) << text;
  }
}

}  // namespace
}  // namespace splitwave::base
