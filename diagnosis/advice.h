// The fixes of a cause, in the numbers of the run's own configuration where its log prints them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "diagnosis/causes.h"
#include "diagnosis/log_scan.h"

namespace ocrtune {

// "Train.loader.num_workers" -> "8", from the first log that prints its configuration.
std::map<std::string, std::string> printed_config(const std::vector<LogScan>& logs);

// "Train.loader.num_workers=2" becomes half of what the run had; what it already has is left out.
std::vector<std::string> fixes_of(const CauseRow& cause,
                                  const std::map<std::string, std::string>& config);

}  // namespace ocrtune
