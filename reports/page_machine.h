// The machine card of the page: what was found, where each fact came from, what is unknown.
#pragma once

#include <string>

#include "probes/machine.h"

namespace ocrtune {

std::string machine_section(const Machine& machine);

}  // namespace ocrtune
