// Which files of a folder are the logs of a run.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// Log files in a run's folder, at most 4 levels down and 2,000 in number, sorted: workerlog.N,
// *.log, *.out, *.err, *.txt, stdout, stderr, journal. Launcher dumps of the environment are left
// out.
Result<std::vector<std::string>> find_logs(const std::string& directory);

}  // namespace ocrtune
