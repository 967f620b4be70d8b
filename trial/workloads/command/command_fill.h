// A command filled for one setting: the one way from a user's command to what is started.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_workload.h"
#include "trial/workloads/launch.h"

namespace ocrtune {

struct FilledCommand {
  Launch launch;
  std::vector<std::vector<std::string>> setup, cleanup;
  std::string log_file;
  std::vector<CpuSet> masks;  // one for each rank; empty: no binding
};

// A command and the knobs that fill it.
struct LaunchSetting {
  CommandWorkload workload;
  Knobs knobs;
};

struct TrialPlace {
  std::string trial_dir;
  int port = 0;
};

// Errors of placeholders and of binding.
Result<FilledCommand> fill_for(const CommandWorkload& workload, const Machine& machine,
                               const Knobs& knobs, const TrialPlace& place);

// Every placeholder that the command, its setup and its environment use; {global_batch} stands for
// nproc and batch as well, {gpus} for nproc.
std::set<std::string> names_used(const CommandWorkload& workload);

bool turns(const CommandWorkload& workload, const std::string& knob);

}  // namespace ocrtune
