// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"

namespace splitwave::reports {
namespace {

/// Columns on a terminal: code points, since no cell holds wide or combining characters.
std::size_t width(const std::string& cell) {
  return static_cast<std::size_t>(
      std::count_if(cell.begin(), cell.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

std::string padded(const std::string& cell, std::size_t columns, Align align) {
  const std::string space(columns - std::min(columns, width(cell)), ' ');
  return align == Align::left ? cell + space : space + cell;
}

std::vector<std::size_t> widths(const Table& table) {
  std::vector<std::size_t> result;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    std::size_t most = width(table.columns[column].title);
    for (const auto& row : table.rows) {
      most = std::max(most, width(row.at(column)));
    }
    result.push_back(most);
  }
  return result;
}

std::vector<std::string> titles(const Table& table) {
  std::vector<std::string> row;
  for (const Column& column : table.columns) {
    row.push_back(column.title);
  }
  return row;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Whether a spreadsheet would run the cell, or would if apostrophes before it were taken away.
bool is_formula(std::string_view cell) {
  while (!cell.empty() && cell.front() == '\'') cell.remove_prefix(1);
  if (cell.empty() || std::string_view("=+-@\t\r").find(cell.front()) == std::string_view::npos) return false;
  return !base::number_in(cell);
}

/// Three significant digits without an exponent.
std::string three_digits(double value) {
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

}  // namespace

std::string markdown_text(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '|' || letter == '[') result += '\\';
    if (letter == '<') {
      result += "&lt;";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string to_markdown(const Table& source) {
  Table table = source;
  for (Column& column : table.columns) column.title = markdown_text(column.title);
  for (auto& row : table.rows) {
    for (std::string& cell : row) {
      cell = markdown_text(cell);
    }
  }
  const std::vector<std::size_t> columns = widths(table);
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text = "|";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      text += ' ' + padded(row[i], columns[i], table.columns[i].align) + " |";
    }
    return text + '\n';
  };
  std::string text = line(titles(table)) + "|";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool right = table.columns[i].align == Align::right;
    text += ' ' + std::string(std::max<std::size_t>(columns[i], 2) - (right ? 1 : 0), '-') + (right ? ": |" : " |");
  }
  text += '\n';
  for (const auto& row : table.rows) {
    text += line(row);
  }
  return text;
}

std::string to_text(const Table& table) {
  const std::vector<std::size_t> columns = widths(table);
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      line += (i == 0 ? "" : "  ") + padded(row[i], columns[i], table.columns[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add(titles(table));
  for (const auto& row : table.rows) {
    add(row);
  }
  return text;
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string text;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) text += ',';
    const bool quoted = cell.find_first_of(",\"\r\n") != std::string::npos;
    if (quoted) text += '"';
    if (is_formula(cell)) text += '\'';
    text += quoted ? replaced(cell, "\"", "\"\"") + '"' : cell;
  }
  text += '\n';
  return text;
}

std::string to_csv(const Table& table) {
  std::string text = csv_row(titles(table));
  for (const auto& row : table.rows) {
    text += csv_row(row);
  }
  return text;
}

std::string csv_text(const std::string& cell) {
  return cell.starts_with('\'') && is_formula(cell) ? cell.substr(1) : cell;
}

std::string format_seconds(double seconds) {
  if (seconds < 999.5e-6) {
    return three_digits(seconds * 1e6) + " µs";
  }
  return seconds < 0.9995 ? three_digits(seconds * 1e3) + " ms" : three_digits(seconds) + " s";
}

std::string format_percent(double ratio) {
  return fmt::format("{:.1f} %", ratio * 100);
}

std::string format_factor(double ratio) {
  return three_digits(ratio) + "x";
}

std::string format_bytes(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  if (value < 999.5e3) return three_digits(value / 1e3) + " kB";
  return value < 999.5e6 ? three_digits(value / 1e6) + " MB" : three_digits(value / 1e9) + " GB";
}

std::string format_joules(double joules) {
  if (joules < 999.5e-6) return three_digits(joules * 1e6) + " µJ";
  return joules < 0.9995 ? three_digits(joules * 1e3) + " mJ" : three_digits(joules) + " J";
}

std::string format_bandwidth(double bytes_per_second) {
  return three_digits(bytes_per_second / 1e9) + " GB/s";
}

}  // namespace splitwave::reports
