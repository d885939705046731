// SPDX-License-Identifier: Apache-2.0
#include "reports/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "reports/statistics.h"

namespace splitwave::reports {
namespace {

/// Colours that people with any colour vision can tell apart (Okabe and Ito 2008); yellow last, it is faint on white.
constexpr std::array<std::string_view, 8> kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                      "#56B4E9", "#E69F00", "#000000", "#F0E442"};
/// gnuplot's point types: discs, squares, triangles, diamonds; filled and open.
constexpr std::array<int, 8> kShapes = {7, 5, 9, 13, 6, 4, 8, 12};

std::string gnuplot_text(std::string_view text) {
  std::string result = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      result += '\'';
    }
    result += letter == '\n' ? ' ' : letter;
  }
  return result + '\'';
}

std::string style(std::size_t index) {
  const std::string_view colour = kColours[index % kColours.size()];
  const int shape = kShapes[(index + index / kColours.size()) % kShapes.size()];
  return fmt::format("lc rgb '{}' pt {} ps 0.7", colour, shape);
}

/// Draws the curves once for each picture format. noenhanced: names hold underscores. No text is in double quotes or in
/// a macro: there gnuplot runs what stands between backticks.
std::string drawn_twice(const std::string& name, const std::string& caption, const std::string& commands,
                        const std::vector<std::string>& plots) {
  return fmt::format(
      "# Run in this folder: gnuplot {0}.gnuplot\n"
      "set encoding utf8\n"
      "set grid lc rgb '#DDDDDD'\n"
      "set key outside right top noenhanced\n"
      "set bmargin 8\n"
      "set label 1 {1} at screen 0.02, 0.03 noenhanced tc rgb '#555555'\n"
      "{2}"
      "set terminal svg size 1000,600 font 'sans,12' background rgb 'white' noenhanced\n"
      "set output '{0}.svg'\n"
      "plot {3}\n"
      "set terminal pngcairo size 1000,600 font 'sans,10' background rgb 'white' noenhanced\n"
      "set output '{0}.png'\n"
      "plot {3}\n"
      "set output\n",
      name, gnuplot_text(caption), commands, fmt::join(plots, ", "));
}

std::string series_name(const ScheduleSummary& summary) {
  return fmt::format("{}, {}", summary.executor == kSimulator ? "predicted" : "measured (" + summary.executor + ")",
                     summary.machine);
}

template <typename Value>
std::size_t index_of(std::vector<Value>& values, const Value& value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found != values.end()) {
    return static_cast<std::size_t>(found - values.begin());
  }
  values.push_back(value);
  return values.size() - 1;
}

}  // namespace

Figure speed_up_figure(std::span<const Record> records, const std::string& baseline, const std::string& caption) {
  const std::vector<ScheduleSummary> summaries = summarize(records, baseline);
  std::vector<std::string> schedules;
  std::vector<std::string> series;
  double low = 1;
  double high = 1;
  std::string data =
      "# Speed-up over " + baseline + ": one block per series\n# position\tgeometric mean\tleast\tmost\tschedule\n";
  for (const ScheduleSummary& summary : summaries) {
    const bool same_series = !series.empty() && series.back() == series_name(summary);
    if (!same_series) {
      data += fmt::format("{}# {}\n", series.empty() ? "" : "\n\n", series_name(summary));
      series.push_back(series_name(summary));
    }
    low = std::min(low, summary.least);
    high = std::max(high, summary.most);
    data += fmt::format("{}\t{:.6g}\t{:.6g}\t{:.6g}\t\"{}\"\n", index_of(schedules, summary.schedule),
                        summary.geometric_mean, summary.least, summary.most, summary.schedule);
  }
  std::vector<std::string> tics;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    tics.push_back(fmt::format("{} {}", gnuplot_text(schedules[i]), i));
  }
  std::vector<std::string> plots = {"1 with lines lc rgb '#888888' dt 2 notitle"};
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double shift = (static_cast<double>(i) - (static_cast<double>(series.size()) - 1) / 2) * 0.15;
    plots.push_back(fmt::format("'speed_up.dat' index {} using ($1+{:.3f}):2:3:4 with yerrorbars {} title {}", i, shift,
                                style(i), gnuplot_text(series[i])));
  }
  const std::string commands = fmt::format(
      "set title {}\n"
      "set ylabel 'speed-up (times, log scale)'\n"
      "set xlabel 'schedule (point: geometric mean over workloads; bar: least and most)'\n"
      "set logscale y 2\n"
      "set yrange [{:.6g}:{:.6g}]\n"
      "set xrange [-0.6:{}.6]\n"
      "set xtics ({}) rotate by -25 noenhanced\n",
      gnuplot_text("Speed-up over " + baseline), low / 1.1, high * 1.1, schedules.empty() ? 0 : schedules.size() - 1,
      fmt::join(tics, ", "));
  return Figure{"speed_up", "Speed-up over " + baseline + " by schedule", data,
                drawn_twice("speed_up", caption, commands, plots)};
}

Figure predicted_measured_figure(std::span<const Record> records, const std::string& caption) {
  std::vector<std::string> schedules;
  std::vector<std::string> blocks;
  for (const Pair& pair : pair_up(records)) {
    const std::size_t block = index_of(schedules, pair.measured->schedule);
    if (block == blocks.size()) {
      blocks.push_back(fmt::format("# {}\n", pair.measured->schedule));
    }
    blocks[block] += fmt::format("{:.6g}\t{:.6g}\t\"{}\"\n", *pair.measured->seconds * 1e3,
                                 *pair.predicted->seconds * 1e3, pair.measured->workload);
  }
  const std::string data =
      fmt::format("# One block per schedule\n# measured ms\tpredicted ms\tworkload\n{}", fmt::join(blocks, "\n\n"));
  std::vector<std::string> plots = {"'+' using 1:($1*0.9):($1*1.1) with filledcurves fc rgb '#E8E8E8' title '±10 %'",
                                    "x with lines lc rgb '#888888' title 'y = x'"};
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    plots.push_back(fmt::format("'predicted_measured.dat' index {} using 1:2 with points {} title {}", i, style(i),
                                gnuplot_text(schedules[i])));
  }
  const std::string commands =
      "set title 'Predicted against measured'\n"
      "set xlabel 'measured time (ms)'\n"
      "set ylabel 'predicted time (ms)'\n"
      "set logscale xy\n"
      "stats 'predicted_measured.dat' using 1 nooutput name 'M'\n"
      "stats 'predicted_measured.dat' using 2 nooutput name 'P'\n"
      "low = 0.7 * (M_min < P_min ? M_min : P_min)\n"
      "high = 1.4 * (M_max > P_max ? M_max : P_max)\n"
      "set xrange [low:high]\n"
      "set yrange [low:high]\n";
  return Figure{"predicted_measured", "Predicted against measured time", data,
                drawn_twice("predicted_measured", caption, commands, plots)};
}

Figure chart_figure(const Chart& chart, const std::string& caption) {
  std::string data = "# One block per series\n# x\tmeasured\tpredicted\n";
  std::vector<std::string> plots;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Chart::Series& series = chart.series[i];
    data += fmt::format("{}# {}\n", i == 0 ? "" : "\n\n", series.name);
    for (const Sample& sample : series.samples) {
      data += fmt::format("{:.6g}\t{:.6g}\t{:.6g}\n", sample.x, sample.measured, sample.predicted);
    }
    plots.push_back(fmt::format("'{}.dat' index {} using 1:2 with points {} title {}", chart.name, i, style(i),
                                gnuplot_text(series.name)));
    plots.push_back(fmt::format("'{}.dat' index {} using 1:3 with lines lc rgb '{}' lw 1.5 notitle", chart.name, i,
                                kColours[i % kColours.size()]));
  }
  std::vector<std::string> tics;
  for (std::size_t i = 0; i < chart.x_names.size(); ++i) {
    tics.push_back(fmt::format("{} {}", gnuplot_text(chart.x_names[i]), i));
  }
  const std::string x_axis = tics.empty() ? "set logscale x 2\n"
                                          : fmt::format("set xrange [-0.5:{}.5]\nset xtics ({}) noenhanced\n",
                                                        tics.size() - 1, fmt::join(tics, ", "));
  const std::string commands = fmt::format(
      "set title {}\n"
      "set xlabel {}\n"
      "set ylabel {}\n"
      "set logscale y\n"
      "set format y '%.0e'\n"
      "{}",
      gnuplot_text(chart.title), gnuplot_text(chart.x_label), gnuplot_text(chart.y_label), x_axis);
  return Figure{chart.name, chart.title, data, drawn_twice(chart.name, caption, commands, plots)};
}

}  // namespace splitwave::reports
