// SPDX-License-Identifier: Apache-2.0
#include "studies/reproduction/page.h"

#include <fmt/format.h>

#include <vector>

#include "base/build_info.h"
#include "reports/dataset.h"
#include "studies/measured_h200.h"
#include "studies/records.h"
#include "studies/reproduction/pictures.h"

namespace splitwave::reproduction {
namespace {

/// Seconds of a cell in the figure's unit.
double seconds_of(const Figure& figure, const Cell& cell, const workloads::Workload& workload) {
  return figure.unit == Unit::teraflops ? workloads::flops(workload) / (cell.value * 1e12) : cell.value * 1e-6;
}

std::vector<reports::Record> records_of(const PredictedFigure& one) {
  const Figure& figure = *one.figure;
  std::vector<reports::Record> records;
  for (const Point& point : one.points) {
    const std::string workload = figure.id + ": " + point.workload.name;
    for (std::size_t i = 0; i < figure.contenders.size(); ++i) {
      reports::Record record =
          studies::start_record(workload, figure.contenders[i].name, reports::kSimulator, figure.machine);
      record.seconds = point.outcomes[i].seconds;
      record.num_splits = point.outcomes[i].num_splits;
      records.push_back(std::move(record));
    }
    for (const Cell& cell : figure.cells) {
      if (cell.workload != point.workload.name) continue;
      reports::Record record = studies::start_record(workload, figure.contenders[cell.contender].name,
                                                     "peer:" + figure.cell_source, figure.machine);
      record.seconds = seconds_of(figure, cell, point.workload);
      records.push_back(std::move(record));
    }
  }
  return records;
}

}  // namespace

studies::ReportResult write_reproduction_page(const std::string& date, const std::string& command,
                                              const std::filesystem::path& folder) {
  studies::expect_place_for_page(folder);
  const std::vector<PredictedFigure> predicted = predict_all();
  reports::FigureSet set{pictures(predicted), {}};
  for (reports::Figure& figure : set.figures) reports::set_command(figure, command);
  reports::DatasetBuilder builder;
  for (const PredictedFigure& one : predicted) {
    for (const reports::Record& record : records_of(one)) builder.add(record);
  }
  const reports::Dataset data = std::move(builder).finish(reports::Shapes());
  std::size_t claims = 0;
  for (const PredictedFigure& one : predicted) claims += one.figure->claims.size();
  reports::PageContext context;
  context.title = "The papers' claims, predicted and measured";
  context.baseline = "FD today";  // which most figures have
  context.facts = {{"Claims", fmt::format("{}, of {} figures and tables", claims, predicted.size())},
                   {"Sources", "studies/reproduction/published.json; prose and tables: docs/reproduction.md"},
                   {"Measured",
                    "one NVIDIA H200 (docs/gpu/h200_energy.csv, h200_merge_share.csv); of other kernels, as "
                    "their figure's title says"},
                   {"Page made", date},
                   {"By", fmt::format("splitwave {} ({})", base::version(), base::commit())},
                   {"Command", command}};
  return studies::write_page_of(data, set, std::move(context), folder);
}

}  // namespace splitwave::reproduction
