// SPDX-License-Identifier: Apache-2.0
// Measures the errors of docs/numerics.md: CSV files and figures into a new folder (scripts/numerics).
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/output_files.h"
#include "benchmarks/exit_status.h"
#include "benchmarks/numerics/studies.h"
#include "reports/draw_figures.h"

namespace {

using namespace splitwave;

void write_all(const std::filesystem::path& folder) {
  namespace study = numerics_study;
  const auto contexts = study::over_contexts();
  const auto splits = study::over_splits();
  const auto distributions = study::over_distributions();
  const std::string missing = reports::draw(study::figures(contexts, splits, distributions), folder).note;
  if (!missing.empty()) fmt::print(stderr, "{}\n", missing);
  base::write_file(folder / "context.csv", study::to_csv(contexts));
  base::write_file(folder / "splits.csv", study::to_csv(splits));
  base::write_file(folder / "distribution.csv", study::to_csv(distributions));
  base::write_file(folder / "latent_attention.csv", study::to_csv(study::with_latent_attention()));
  base::write_file(folder / "latent_factors.csv", study::to_csv(study::over_latent_factors()));
  base::write_file(folder / "outliers.csv", study::to_csv(study::with_outliers()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: numerics NEW_FOLDER\n");
    return 2;
  }
  return benchmarks::exit_status("numerics", [&] {
    write_all(argv[1]);
    return 0;
  });
}
