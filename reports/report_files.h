// Everything that a run leaves in a folder: report.html, the CSV files and ocrtune.env.
#pragma once

#include <string>

#include "base/result.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Makes the folder where needed and writes trials.csv, summary.csv, probe.csv, failures.csv,
// report.html and, where there is a recommendation, ocrtune.env. Each file is complete or not
// there; the first that cannot be written ends it with an error that names it.
Status write_reports(const RunRecord& run, const std::string& directory);

// Only the CSV files.
Status write_csv_files(const RunRecord& run, const std::string& directory);

}  // namespace ocrtune
