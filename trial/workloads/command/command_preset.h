// Presets: what ocrtune knows about a program's command line, so that the user need not.
#pragma once

#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {

struct PresetRow {
  const char* name;
  const char* help;
  Status (*apply)(PreparedCommand& command, const Machine& machine);
};

const std::vector<PresetRow>& preset_table();

// Applies command.workload.preset. usage: no such preset.
Status apply_preset(PreparedCommand& command, const Machine& machine);

}  // namespace ocrtune
