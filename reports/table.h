// SPDX-License-Identifier: Apache-2.0
// Small tables for people: the same rows as Markdown in a report and as aligned text on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace splitwave::reports {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
};

/// Cells are UTF-8 on one line. Every row has one cell per column.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// The text with what Markdown and HTML would take for more than text escaped: bars, links, tags. For names that come
/// from files; between backticks, which stay, nothing is more than text.
std::string markdown_text(const std::string& text);

/// A Markdown table, columns padded so that the source reads as a table too. Titles and cells are
/// escaped by markdown_text().
std::string to_markdown(const Table& table);

/// Aligned columns two spaces apart, titles first.
std::string to_text(const Table& table);

/// RFC 4180: commas, quotes doubled, lines end in \n. A cell that a spreadsheet would take for a formula (=, +, - or @
/// first, and no number) has an apostrophe before it, and so has one of these that begins with apostrophes already:
/// csv_text() gives back what was written.
std::string to_csv(const Table& table);

/// One line of it.
std::string csv_row(const std::vector<std::string>& cells);

/// The text of a cell without what to_csv() put before it.
std::string csv_text(const std::string& cell);

/// "12.3 µs", "4.56 ms", "1.20 s": three digits.
std::string format_seconds(double seconds);

/// A ratio as a percentage, "12.3 %".
std::string format_percent(double ratio);

/// A ratio as a factor, "1.23x".
std::string format_factor(double ratio);

/// "12 bytes", "12.3 kB", "4.56 MB", "1.20 GB": powers of 1000, three digits.
std::string format_bytes(std::int64_t bytes);

/// "12.3 mJ", "1.20 J": three digits.
std::string format_joules(double joules);

/// "123 GB/s" (10^9 bytes), three digits.
std::string format_bandwidth(double bytes_per_second);

}  // namespace splitwave::reports
