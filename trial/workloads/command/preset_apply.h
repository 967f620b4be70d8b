// A preset file worked into a command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_workload.h"
#include "trial/workloads/command/preset_file.h"

namespace ocrtune {

// Flags and variables of the knobs that are turned, what a short trial needs, how it is read; knobs
// of its own that `machine` and the program offer. What the user has said wins. usage: a flag of
// `files` that the command lacks; missing: what it names; what `choose` gives (see apply_preset).
Status apply_preset_file(PreparedCommand& command, const PresetFile& preset,
                         const Machine& machine = Machine(), const KnobChoice& choose = {});

// The preset whose words the command holds, in its own words or in a script that it names.
std::optional<PresetFile> recognised_preset(const CommandWorkload& workload,
                                            const std::vector<PresetFile>& presets);

// Of a program that was recognised without being named: the variables of the knobs alone, and a
// note that says so.
void add_recognised_variables(PreparedCommand& command, const PresetFile& preset);

// Where a program that failed has `said` a flag that the preset put into its command: whose flags
// they are, and with which versions the preset was tried. Empty: it names none.
std::string preset_words(const PreparedCommand& command, const std::string& said);

}  // namespace ocrtune
