// SPDX-License-Identifier: Apache-2.0
#include "reports/page_timelines.h"

#include <fmt/format.h>

#include "reports/markup.h"

namespace splitwave::reports {
namespace {

/// Of several pictures in one page each needs a name of its own for what its merges are filled with.
std::string with_own_names(std::string svg, std::size_t number) {
  for (const std::string_view name : {"id=\"merge\"", "url(#merge)"}) {
    const std::string own = fmt::format("{}-{}{}", name.substr(0, name.size() - 1), number, name.back());
    for (std::size_t at = svg.find(name); at != std::string::npos; at = svg.find(name, at + own.size())) {
      svg.replace(at, name.size(), own);
    }
  }
  return svg;
}

}  // namespace

std::string timelines_html(std::span<const PageTimeline> timelines) {
  if (timelines.empty()) return "";
  std::string html =
      "<section id=\"timelines\"><h2>Timelines</h2>\n"
      "<p>Who works when, and why it takes its time, as predicted: of the workloads whose schedules differ the "
      "most.</p>\n";
  for (std::size_t i = 0; i < timelines.size(); ++i) {
    const PageTimeline& one = timelines[i];
    html += fmt::format(
        "<details class=\"timeline\"><summary>{} on {}</summary>\n"
        "<div class=\"picture\" id=\"timeline-{}\" tabindex=\"-1\" role=\"img\" aria-label=\"Who works "
        "when\">{}</div>\n",
        markup_text(one.workload), markup_text(one.machine), i, with_own_names(one.svg, i));
    for (const auto& [headline, text] : one.schedules) {
      html += fmt::format("<details><summary>{}</summary><pre tabindex=\"0\">{}</pre></details>\n",
                          markup_text(headline), markup_text(text));
    }
    html += "</details>\n";
  }
  return html + "</section>\n";
}

}  // namespace splitwave::reports
