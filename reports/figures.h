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

/// Writes each figure's data and script into `folder` (which must not exist; it appears only when complete) and has
/// gnuplot draw SVG and PNG. Returns an empty text, or one line that says why there are no pictures and how to get
/// them: a missing gnuplot is no error, the numbers are there. Throws InputError if the folder cannot be written.
std::string draw(const std::vector<Figure>& figures, const std::filesystem::path& folder);

}  // namespace splitwave::reports
