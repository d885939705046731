// SPDX-License-Identifier: Apache-2.0
// Pictures of records, drawn by gnuplot.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "reports/record.h"

namespace splitwave::reports {

/// The text files that one picture is made of: NAME.dat holds the numbers, NAME.gnuplot draws NAME.svg and NAME.png.
struct Figure {
  std::string name;
  std::string title;  ///< what it shows, for the report
  std::string data;
  std::string script;
};

/// Speed-up over the baseline by schedule: the geometric mean over the workloads, with the least and the most, for
/// every executor and machine. `caption` goes below: machine, commit, date.
Figure speed_up_figure(std::span<const Record> records, const std::string& baseline, const std::string& caption);

/// Predicted against measured time, both on logarithmic axes, with y = x and a band of 10 %. One colour per schedule.
Figure predicted_measured_figure(std::span<const Record> records, const std::string& caption);

/// A measured value beside a predicted one.
struct Sample {
  double x = 0;
  double measured = 0;
  double predicted = 0;
};

/// Measured values as points and predicted ones as lines of the same colour, one colour per series, on a logarithmic y
/// axis.
struct Chart {
  struct Series {
    std::string name;
    std::vector<Sample> samples;
  };
  std::string name;  ///< of the files
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> x_names;  ///< what x = 0, 1, ... stand for; empty: x is a number on a logarithmic axis
  std::vector<Series> series;
};

/// `caption` goes below.
Figure chart_figure(const Chart& chart, const std::string& caption);

/// Writes each figure's data and script into `folder` (which must not exist; it appears only when complete) and has
/// gnuplot draw SVG and PNG. Returns an empty text, or one line that says why there are no pictures and how to get
/// them: a missing gnuplot is no error, the numbers are there. Throws InputError if the folder cannot be written.
std::string draw(const std::vector<Figure>& figures, const std::filesystem::path& folder);

}  // namespace splitwave::reports
