// The machine card for people: what limits a launch here, on at most 25 lines where they are wide.
#pragma once

#include <string>

#include "probes/machine/machine.h"

namespace ocrtune {

// Lines are wrapped to `width` columns, at least 60. Long lists are cut with a count of what is
// left out; machine_json holds everything.
std::string machine_card(const Machine& machine, int width = 100000);

}  // namespace ocrtune
