// SPDX-License-Identifier: Apache-2.0
#include "reports/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "base/embedded_file.h"
#include "base/quantile.h"
#include "reports/csv.h"
#include "reports/markup.h"
#include "reports/page_timelines.h"
#include "reports/table.h"

namespace splitwave::reports {

std::span<const base::EmbeddedFile> page_files();

namespace {

/// Rows of a table that stand in the page for those without JavaScript.
constexpr std::size_t kStaticRows = 300;
constexpr std::size_t kStaticFigureRows = 60;

using Json = nlohmann::ordered_json;

/// JSON inside of a <script> element: "<" would let text end it.
std::string script_json(const std::string& json) {
  std::string result;
  result.reserve(json.size());
  for (const char letter : json) {
    if (letter == '<') {
      result += "\\u003c";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string page_text(const Json& json) {
  return script_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

class Page {
 public:
  Page(const Dataset& data, const FigureSet& figures, const DrawnFigures& drawn, const PageContext& context)
      : data_(data), figures_(figures), drawn_(drawn), context_(context) {}

  std::string take() {
    head();
    facts();
    summary();
    if (!figures_.figures.empty()) all_figures();
    html_ += timelines_html(context_.timelines);
    records();
    left_out();
    foot();
    return std::move(html_);
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(html_), form, std::forward<Values>(values)...);
  }

  void head() {
    add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        // Nothing is loaded and nothing sent; Vega compiles its expressions, hence unsafe-eval.
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' "
        "'unsafe-eval'; style-src 'unsafe-inline'; img-src data:\">\n"
        "<title>{}</title>\n<style>\n",
        markup_text(context_.title));
    for (const base::EmbeddedFile& file : page_files()) {
      if (file.name == "page") html_ += file.text;
    }
    add("</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n", markup_text(context_.title));
  }

  void facts() {
    html_ += "<dl class=\"facts\">\n";
    for (const auto& [what, value] : context_.facts) {
      add("<dt>{}</dt><dd>{}</dd>\n", markup_text(what), markup_text(value));
    }
    html_ += "</dl>\n<nav aria-label=\"Parts of the page\"><a href=\"#summary\">Summary</a>";
    if (!figures_.figures.empty()) html_ += " <a href=\"#figures\">Figures</a>";
    if (!context_.timelines.empty()) html_ += " <a href=\"#timelines\">Timelines</a>";
    html_ += " <a href=\"#records\">Records</a></nav>\n</header>\n<main>\n";
    if (!context_.drawing_note.empty()) add("<p class=\"note\">{}</p>\n", markup_text(context_.drawing_note));
  }

  void table(const Table& table, std::size_t most, const char* classes) {
    add("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"><table class=\"{}\">\n<thead><tr>",
        classes);
    for (const Column& column : table.columns) {
      add("<th scope=\"col\"{}>{}</th>", column.align == Align::right ? " class=\"number\"" : "",
          markup_text(column.title));
    }
    html_ += "</tr></thead>\n<tbody>\n";
    for (std::size_t i = 0; i < std::min(most, table.rows.size()); ++i) {
      html_ += "<tr>";
      for (std::size_t j = 0; j < table.columns.size(); ++j) {
        add("<td{}>{}</td>", table.columns[j].align == Align::right ? " class=\"number\"" : "",
            markup_text(table.rows[i][j]));
      }
      html_ += "</tr>\n";
    }
    html_ += "</tbody></table></div>\n";
  }

  /// Of each machine, executor and schedule: how many points, speed-up, and how far predictions are off.
  void summary() {
    struct Group {
      std::size_t points = 0;
      std::size_t failures = 0;
      double logs = 0;
      std::size_t factors = 0;
      std::vector<double> errors;
    };
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Group> groups;
    const BaselineTimes baseline(data_, context_.baseline);
    for (const Point& point : data_.points()) {
      Group& group = groups[{point.machine, point.executor, point.schedule}];
      ++group.points;
      group.failures += point.failure != 0 ? 1 : 0;
      if (const double factor = baseline.speed_up(point); factor > 0) {
        group.logs += std::log(factor);
        ++group.factors;
      }
    }
    std::vector<double> all;
    for (const PointPair& pair : data_.pairs()) {
      all.push_back(std::abs(pair.error()));
      groups[{pair.measured->machine, pair.measured->executor, pair.measured->schedule}].errors.push_back(all.back());
    }
    html_ += "<section id=\"summary\"><h2>Summary</h2>\n";
    if (!all.empty()) {
      add("<p>Predicted against measured, {} points: median error {}, 90th percentile {}.</p>\n", all.size(),
          format_percent(base::quantile(all, 0.5)), format_percent(base::quantile(all, 0.9)));
    }
    Table rows{{{"machine"},
                {"executor"},
                {"schedule"},
                {"records", Align::right},
                {"cannot run", Align::right},
                {"speed-up over " + context_.baseline + " (geometric mean)", Align::right},
                {"median error of prediction", Align::right},
                {"p90 error", Align::right}},
               {}};
    for (const auto& [key, group] : groups) {
      const auto& [machine, executor, schedule] = key;
      const auto error = [&errors = group.errors](double q) {
        return errors.empty() ? "" : format_percent(base::quantile(errors, q));
      };
      rows.rows.push_back(
          {data_.name(machine), data_.name(executor), data_.name(schedule), fmt::format("{}", group.points),
           fmt::format("{}", group.failures),
           group.factors == 0 ? "" : format_factor(std::exp(group.logs / static_cast<double>(group.factors))),
           error(0.5), error(0.9)});
    }
    table(rows, 2000, "sortable");
    html_ += "</section>\n";
  }

  void all_figures() {
    html_ += "<section id=\"figures\"><h2>Figures</h2>\n";
    for (const Figure& figure : figures_.figures) one_figure(figure);
    html_ += "</section>\n";
  }

  void one_figure(const Figure& figure) {
    const auto svg = drawn_.svg.find(figure.name);
    // The picture has its title too: the heading is then for those who do not see it.
    const char* const heard = svg != drawn_.svg.end() ? " class=\"heard\"" : "";
    add("<figure id=\"figure-{0}\"><figcaption><h3{3}>{1}</h3></figcaption>\n"
        "<div class=\"plot\" data-figure=\"{0}\" role=\"img\" aria-label=\"{1}. {2}\" tabindex=\"0\">",
        figure.name, markup_text(figure.title), markup_text(figure.note), heard);
    if (svg != drawn_.svg.end()) {
      html_ += svg->second;
    } else {
      add("<p class=\"note\">{}</p>", markup_text(figure.note));
    }
    add("</div>\n<script type=\"application/json\" id=\"spec-{}\">{}</script>\n", figure.name,
        script_json(figure.spec));
    figure_data(figure);
    html_ += "</figure>\n";
  }

  /// The first rows of the figure's numbers, and where all are.
  void figure_data(const Figure& figure) {
    Table rows;
    std::string_view text = figure.csv;
    while (!text.empty() && rows.rows.size() <= kStaticFigureRows) {
      const std::size_t end = text.find('\n');
      std::vector<std::string> cells = csv_cells(text.substr(0, end), figure.name);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (rows.columns.empty()) {
        for (const std::string& cell : cells) rows.columns.push_back({cell});
      } else if (cells.size() == rows.columns.size()) {
        rows.rows.push_back(std::move(cells));
      }
    }
    const auto lines = std::count(figure.csv.begin(), figure.csv.end(), '\n');
    add("<details><summary>Numbers ({} rows), files and command</summary>\n<p>",
        std::max<std::ptrdiff_t>(lines - 1, 0));
    for (const char* kind : {"svg", "pdf", "png"}) {
      if (drawn_.svg.contains(figure.name)) add("<a href=\"figures/{0}.{1}\">{1}</a> ", figure.name, kind);
    }
    add("<a href=\"figures/{0}.vl.json\">vl.json</a> <a href=\"figures/{0}.csv\">csv</a></p>\n", figure.name);
    if (!figure.command.empty()) add("<p><code>{}</code></p>\n", markup_text(figure.command));
    table(rows, kStaticFigureRows, "sortable");
    html_ += "</details>\n";
  }

  /// Workload, machine and number of each timeline.
  Json timeline_places() const {
    Json places = Json::array();
    for (std::size_t i = 0; i < context_.timelines.size(); ++i) {
      places.push_back({context_.timelines[i].workload, context_.timelines[i].machine, i});
    }
    return places;
  }

  static Json cell(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

  Json row_of(const Point& point, double predicted, double speed_up) const {
    const double error = !point.predicted && predicted > 0 && point.timed() ? predicted / point.seconds - 1 : kAbsent;
    return {point.workload,
            point.schedule,
            point.executor,
            point.machine,
            cell(point.seconds * 1e6),
            cell(predicted * 1e6),
            cell(error),
            cell(speed_up),
            cell(point.num_splits),
            cell(point.ctas),
            cell(point.waves),
            cell(point.occupancy),
            cell(point.bytes / point.seconds / 1e9),
            cell(point.joules),
            point.kernel,
            point.failure};
  }

  /// Records that figures point at come first where not all find room.
  std::vector<std::size_t> rows() const {
    std::vector<std::size_t> indices;
    const std::size_t count = data_.points().size();
    const std::size_t kept = std::min(count, kMostPageRecords);
    for (std::size_t i = 0; i < kept; ++i) indices.push_back(i * count / kept);
    return indices;
  }

  void records() {
    const BaselineTimes baseline(data_, context_.baseline);
    std::map<const Point*, double> predicted;
    for (const PointPair& pair : data_.pairs()) predicted.emplace(pair.measured, pair.predicted->seconds);
    Json list = Json::array();
    Json numbers = Json::array();
    std::set<std::uint32_t> used;
    for (const std::size_t index : rows()) {
      const Point& point = data_.points()[index];
      const auto found = predicted.find(&point);
      list.push_back(row_of(point, found == predicted.end() ? kAbsent : found->second, baseline.speed_up(point)));
      numbers.push_back(index);
      used.insert({point.workload, point.schedule, point.executor, point.machine, point.kernel, point.failure});
    }
    Json names = Json::object();
    for (const std::uint32_t one : used) names[fmt::format("{}", one)] = data_.name(one);
    const Json columns = {{{"title", "workload"}, {"kind", "name"}},
                          {{"title", "schedule"}, {"kind", "name"}},
                          {{"title", "executor"}, {"kind", "name"}},
                          {{"title", "machine"}, {"kind", "name"}},
                          {{"title", "time (µs)"}, {"kind", "number"}},
                          {{"title", "predicted (µs)"}, {"kind", "number"}},
                          {{"title", "error"}, {"kind", "percent"}},
                          {{"title", "speed-up over " + context_.baseline}, {"kind", "number"}},
                          {{"title", "splits"}, {"kind", "number"}},
                          {{"title", "CTAs"}, {"kind", "number"}},
                          {{"title", "waves"}, {"kind", "number"}},
                          {{"title", "occupancy"}, {"kind", "percent"}},
                          {{"title", "GB/s"}, {"kind", "number"}},
                          {{"title", "J"}, {"kind", "number"}},
                          {{"title", "kernel"}, {"kind", "name"}},
                          {{"title", "cannot run"}, {"kind", "name"}}};
    const std::size_t count = data_.points().size();
    add("<section id=\"records\"><h2>Records</h2>\n<p>{} records{}.</p>\n<div id=\"record-table\">\n", count,
        count > list.size()
            ? fmt::format("; here every {}th, all are in the files that this page was made from", count / list.size())
            : "");
    static_records(columns, list);
    add("</div>\n<script type=\"application/json\" id=\"record-data\">{}</script>\n</section>\n",
        page_text({{"columns", columns},
                   {"names", names},
                   {"rows", list},
                   {"numbers", numbers},
                   {"timelines", timeline_places()}}));
  }

  void static_records(const Json& columns, const Json& list) {
    Table rows;
    for (const Json& column : columns) {
      rows.columns.push_back({column["title"], column["kind"] == "name" ? Align::left : Align::right});
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(kStaticRows, list.size()); ++i) {
      std::vector<std::string> cells;
      for (std::size_t j = 0; j < columns.size(); ++j) {
        const Json& value = list[i][j];
        const std::string kind = columns[j]["kind"];
        cells.push_back(value.is_null()     ? ""
                        : kind == "name"    ? data_.name(value.get<std::uint32_t>())
                        : kind == "percent" ? format_percent(value.get<double>())
                                            : fmt::format("{:.4g}", value.get<double>()));
      }
      rows.rows.push_back(std::move(cells));
    }
    table(rows, kStaticRows, "");
    if (list.size() > kStaticRows) add("<p>The first {}; with JavaScript, all.</p>\n", kStaticRows);
  }

  void left_out() {
    if (!figures_.missing.empty()) {
      html_ += "<section id=\"missing\"><h2>Figures that these records do not allow</h2>\n<ul>\n";
      for (const MissingFigure& figure : figures_.missing) {
        add("<li><code>{}</code> needs {}</li>\n", markup_text(figure.name), markup_text(figure.needs));
      }
      html_ += "</ul></section>\n";
    }
    if (context_.read.skipped_lines == 0) return;
    add("<section id=\"skipped\"><h2>Lines that were left out</h2>\n<p>{} lines{}.</p>\n<ul>\n",
        context_.read.skipped_lines,
        static_cast<std::size_t>(context_.read.skipped_lines) > context_.read.skipped.size()
            ? fmt::format("; the first {}", context_.read.skipped.size())
            : "");
    for (const SkippedLine& line : context_.read.skipped) {
      add("<li>{}, line {}: {}</li>\n", markup_text(line.file), line.line, markup_text(line.reason));
    }
    html_ += "</ul></section>\n";
  }

  void foot() {
    html_ +=
        "</main>\n<footer><p>Made by splitwave. Figures: Vega and Vega-Lite (BSD 3-Clause), with D3 (ISC); their "
        "licences "
        "are in this page's program.</p></footer>\n";
    // What ends a script element early would be text of the program; the bundle has none (reports/page/bundle.mjs).
    if (!page_program().empty()) add("<script>\n{}</script>\n", page_program());
    html_ += "</body>\n</html>\n";
  }

  const Dataset& data_;
  const FigureSet& figures_;
  const DrawnFigures& drawn_;
  const PageContext& context_;
  std::string html_;
};

}  // namespace

std::string page_html(const Dataset& data, const FigureSet& figures, const DrawnFigures& drawn,
                      const PageContext& context) {
  return Page(data, figures, drawn, context).take();
}

}  // namespace splitwave::reports
