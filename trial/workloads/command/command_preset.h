// Presets: what ocrtune knows about a program's command line, so that the user need not.
//
// Most are files (trial/workloads/command/preset_file.h); code is for programs whose config has to
// be read.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_workload.h"
#include "trial/workloads/command/preset_file.h"

namespace ocrtune {

struct PresetRow {
  std::string name, help;
  std::string tried;  // "5.3.0 (2026-11-22)"; empty: not told
  std::string file;   // empty: built in
};

// Errors: a preset file that is wrong.
Result<std::vector<PresetRow>> preset_table();

// What a server's preset says of its addresses, with {placeholders}; empty: it is no server's, or
// there is no such preset, which apply_preset() tells. Errors: a preset file that is wrong.
Result<PresetService> preset_service(const std::string& name);

// False: the preset's program reads or serves. True of a name that no preset has.
bool preset_trains(const std::string& name);

// Applies command.workload.preset: reads what the command says, lets `choose` (may be empty) set
// the knobs, and works them in. usage: no such preset; invalid: a preset file that is wrong; what
// `choose` gives. Without a preset, the variables of a program that is recognised.
Status apply_preset(PreparedCommand& command, const Machine& machine, const KnobChoice& choose);

}  // namespace ocrtune
