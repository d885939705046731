// SPDX-License-Identifier: Apache-2.0
#include "reports/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "reports/markup.h"
#include "reports/table.h"

namespace splitwave::reports {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 76;    ///< of the time axis: row labels stand before it
constexpr double kRight = 940;  ///< end of the time axis
constexpr double kTitle = 34;   ///< height of a panel's title
constexpr double kAxis = 30;    ///< height of a panel's time axis
constexpr double kTop = 30;     ///< height of the legend

/// Okabe and Ito, "Color Universal Design" (2008), without black; text on each is black or white by its lightness.
struct Colour {
  const char* fill;
  const char* text;
};
constexpr std::array<Colour, 7> kItemColours = {{{"#0072B2", "#fff"},
                                                 {"#E69F00", "#000"},
                                                 {"#009E73", "#fff"},
                                                 {"#CC79A7", "#000"},
                                                 {"#56B4E9", "#000"},
                                                 {"#D55E00", "#fff"},
                                                 {"#F0E442", "#000"}}};

/// The time axis goes on so far beyond the median run.
constexpr double kLongestOverMedian = 1.5;

/// 1, 2 or 5 times a power of ten, so that at most ten of them make `span`.
double tick_step(double span) {
  const double power = std::pow(10, std::floor(std::log10(span / 10)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (span / (power * factor) <= 10) return power * factor;
  }
  return power * 10;
}

class Drawing {
 public:
  /// microseconds: of the common time axis; what goes on longer is cut there.
  Drawing(std::span<const TracedRun> runs, double microseconds)
      : scale_((kRight - kLeft) / microseconds), microseconds_(microseconds) {
    double height = kTop;
    for (const TracedRun& run : runs) height += kTitle + row_height(run) * rows(run) + kAxis;
    begin(height);
    legend();
    for (const TracedRun& run : runs) panel(run);
    svg_ += "</svg>\n";
  }

  std::string take() { return std::move(svg_); }

 private:
  static std::int32_t rows(const TracedRun& run) { return std::min(run.sms * run.slots_per_sm, kMostGanttRows); }
  static double row_height(const TracedRun& run) { return std::clamp(320.0 / rows(run), 1.5, 22.0); }
  double x(double seconds) const { return std::min(kLeft + seconds * 1e6 * scale_, kRight); }

  template <typename... Values>
  void add(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(svg_), form, std::forward<Values>(values)...);
  }

  void begin(double height) {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" viewBox=\"0 0 {0} {1:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n",
        kWidth, height);
    add("<defs><pattern id=\"merge\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"5\" height=\"5\" fill=\"#fff\"/>"
        "<rect width=\"2\" height=\"5\" fill=\"#333\"/></pattern></defs>\n");
    add("<rect width=\"{}\" height=\"{:.0f}\" fill=\"#fff\"/>\n", kWidth, height);
  }

  void legend() {
    add("<g><rect x=\"{0:.2f}\" y=\"9\" width=\"22\" height=\"12\" fill=\"{1}\"/><text x=\"{2:.2f}\" y=\"19\">"
        "an item, by its request and query heads; cuts: KV tiles</text>",
        kLeft, kItemColours[0].fill, kLeft + 28);
    add("<rect x=\"{0:.2f}\" y=\"9\" width=\"22\" height=\"12\" fill=\"url(#merge)\" stroke=\"#333\" "
        "stroke-width=\"0.5\"/><text x=\"{1:.2f}\" y=\"19\">merge</text>",
        kLeft + 400, kLeft + 428);
    add("<rect x=\"{0:.2f}\" y=\"9\" width=\"22\" height=\"12\" fill=\"#eee\"/><text x=\"{1:.2f}\" "
        "y=\"19\">idle</text>",
        kLeft + 490, kLeft + 518);
    add("</g>\n");
  }

  void panel(const TracedRun& run) {
    const double row = row_height(run);
    const bool cut = rows(run) < run.sms * run.slots_per_sm;
    const double seconds = run.timeline->seconds;
    add("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"13\" font-weight=\"bold\">{}: {}{}{}</text>\n", kLeft, y_ + 24,
        markup_text(run.title), format_seconds(seconds), seconds * 1e6 > microseconds_ ? ", cut" : "",
        cut ? fmt::format(" (the first {} of {} SM slots)", rows(run), run.sms * run.slots_per_sm) : "");
    y_ += kTitle;
    add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#eee\"/>\n", kLeft, y_,
        kRight - kLeft, row * rows(run));
    labels(run);
    for (const schedules::Span& span : drawn_spans(run)) bar(run, span);
    y_ += row * rows(run);
    axis(run.timeline->seconds);
    y_ += kAxis;
  }

  void labels(const TracedRun& run) {
    const double row = row_height(run);
    const int every = std::max(1, static_cast<int>(std::ceil(14 / row)));
    for (std::int32_t i = 0; i < rows(run); i += every) {
      const std::string slot = run.slots_per_sm > 1 ? fmt::format(".{}", i % run.slots_per_sm) : "";
      add("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"end\" font-size=\"11\">SM {}{}</text>\n", kLeft - 6,
          y_ + (i + 0.5) * row + 4, i / run.slots_per_sm, slot);
    }
  }

  void bar(const TracedRun& run, const schedules::Span& span) {
    const std::int32_t place = span.sm * run.slots_per_sm + span.slot;
    if (place >= rows(run) || span.begin_seconds * 1e6 >= microseconds_) return;
    const double row = row_height(run);
    const double gap = row > 8 ? 1 : 0.2;
    const double top = y_ + place * row + gap;
    const double left = x(span.begin_seconds);
    const double width = std::max(x(span.end_seconds) - left, 0.3);  // an empty item is still seen
    const double height = row - 2 * gap;
    if (span.item < 0) {
      add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"url(#merge)\" stroke=\"#333\" "
          "stroke-width=\"0.5\"/>\n",
          left, top, width, height);
      return;
    }
    const schedules::Item& item = run.plan->items[static_cast<std::size_t>(span.item)];
    const Colour& colour = kItemColours[static_cast<std::size_t>(item.output) % kItemColours.size()];
    add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"><title>{}, KV {} to {}, "
        "{:.3f} to {:.3f} µs</title></rect>\n",
        left, top, width, height, colour.fill, words(run, item), item.kv_begin, item.kv_end, span.begin_seconds * 1e6,
        span.end_seconds * 1e6);
    tile_lines(run, item, left, top, width, height);
    const std::string label = fitting_words(run, item, width);
    if (height >= 10 && !label.empty()) {
      // Drawn with an outline of the bar's colour, so that no cut goes through the words.
      add("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\" font-size=\"10\" fill=\"{}\" stroke=\"{}\" "
          "stroke-width=\"5\" paint-order=\"stroke\">{}</text>\n",
          left + width / 2, top + height / 2 + 3.5, colour.text, colour.fill, label);
    }
  }

  /// "request 0, head 3", "request 0, heads 8-15".
  static std::string words(const TracedRun& run, const schedules::Item& item) {
    return fmt::format("request {}, {}", run.plan->outputs[static_cast<std::size_t>(item.output)].request,
                       heads(run, item));
  }

  static std::string heads(const TracedRun& run, const schedules::Item& item) {
    const schedules::OutputTile& output = run.plan->outputs[static_cast<std::size_t>(item.output)];
    const std::int32_t last = output.head_begin + output.head_count - 1;
    return output.head_count == 1 ? fmt::format("head {}", output.head_begin)
                                  : fmt::format("heads {}-{}", output.head_begin, last);
  }

  /// As much of it as fits; nothing if none does.
  static std::string fitting_words(const TracedRun& run, const schedules::Item& item, double width) {
    const bool one_request = run.workload != nullptr && run.workload->requests.size() == 1;
    const std::string request = std::to_string(run.plan->outputs[static_cast<std::size_t>(item.output)].request);
    const std::string of_heads = heads(run, item);
    const std::string number = of_heads.substr(of_heads.find(' ') + 1);
    const std::vector<std::string> choices = one_request
                                                 ? std::vector<std::string>{of_heads, number}
                                                 : std::vector<std::string>{words(run, item), request + ": " + number};
    for (const std::string& choice : choices) {
      if (width >= 6.5 * static_cast<double>(choice.size())) return choice;
    }
    return "";
  }

  /// Cuts between the KV tiles of an item, where they are at least 3 pixels apart and the bar is tall enough to show
  /// them.
  void tile_lines(const TracedRun& run, const schedules::Item& item, double left, double top, double width,
                  double height) {
    const std::int64_t tiles = schedules::tiles(*run.plan, item);
    if (tiles < 2 || height < 5 || width / static_cast<double>(tiles) < 3) return;
    const std::int64_t tile = run.plan->tile_kv;
    std::string path;
    for (std::int64_t cut = (item.kv_begin / tile + 1) * tile; cut < item.kv_end; cut += tile) {
      const double share = static_cast<double>(cut - item.kv_begin) / item.tokens();
      if (left + share * width > kRight) break;
      fmt::format_to(std::back_inserter(path), "M{:.2f} {:.2f}v{:.2f}", left + share * width, top, height);
    }
    add("<path d=\"{}\" stroke=\"#fff\" stroke-width=\"1.6\"/>\n", path);
  }

  void axis(double seconds) {
    const double step = tick_step(microseconds_);
    add("<path d=\"M{:.2f} {:.2f}H{:.2f}\" stroke=\"#000\"/>\n", kLeft, y_, kRight);
    for (double tick = 0; tick <= microseconds_ * (1 + 1e-9); tick += step) {
      const double at = kLeft + tick * scale_;
      add("<path d=\"M{0:.2f} {1:.2f}v4\" stroke=\"#000\"/><text x=\"{0:.2f}\" y=\"{2:.2f}\" text-anchor=\"middle\" "
          "font-size=\"11\">{3:.6g}</text>\n",
          at, y_, y_ + 16, tick);
    }
    add("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"end\" font-size=\"11\">µs</text>\n", kLeft - 6, y_ + 16);
    const double rows_end = x(seconds);
    if (seconds * 1e6 > microseconds_) return;
    add("<path d=\"M{0:.2f} {1:.2f}v-6\" stroke=\"#000\" stroke-width=\"2\"/>\n", rows_end, y_);
  }

  std::string svg_;
  double scale_;
  double microseconds_;
  double y_ = kTop;
};

}  // namespace

std::string gantt_svg(std::span<const TracedRun> runs) {
  double seconds = 0;
  std::size_t spans = 0;
  std::vector<double> ends;
  for (const TracedRun& run : runs) {
    spans += run.timeline->spans.size() + run.plan->merges.size();
    double end = run.timeline->seconds;
    for (const schedules::Span& span : run.timeline->spans) end = std::max(end, span.end_seconds);
    ends.push_back(end);
    seconds = std::max(seconds, end);
  }
  if (spans > static_cast<std::size_t>(kMostGanttSpans)) {
    throw base::InputError(
        fmt::format("--gantt: {} items and merges; allowed: at most {}. --trace takes more", spans, kMostGanttSpans));
  }
  // One slow run must not squeeze the others: it is cut, and its panel says so.
  std::sort(ends.begin(), ends.end());
  if (!ends.empty()) seconds = std::min(seconds, kLongestOverMedian * ends[(ends.size() - 1) / 2]);
  return Drawing(runs, std::max(seconds * 1e6, 1e-3)).take();
}

}  // namespace splitwave::reports
