// The machine card for a terminal: what limits a launch here, on at most 25 lines.
#pragma once

#include <string>

#include "probes/machine/machine.h"

namespace ocrtune {

// Long lists are cut with a count of what is left out; machine_json holds everything.
std::string machine_card(const Machine& machine);

}  // namespace ocrtune
