// A prepared command, filled for one setting.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {

struct FilledCommand {
  std::vector<std::string> arguments;
  std::vector<std::vector<std::string>> setup, cleanup;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string log_file;
  std::vector<CpuSet> masks;  // one for each rank; empty: no binding
};

struct TrialPlace {
  std::string trial_dir;
  int port = 0;
};

// Errors of placeholders and of binding.
Result<FilledCommand> fill_for(const CommandWorkload& workload, const Machine& machine,
                               const Knobs& knobs, const TrialPlace& place);

bool turns(const CommandWorkload& workload, const std::string& knob);

}  // namespace ocrtune
