// A short name for what makes figures of two runs comparable.
#pragma once

#include <string>

#include "probes/machine/machine.h"

namespace ocrtune {

// 16 hexadecimal digits over CPU model, topology, instruction set, usable CPUs, memory limit (to
// 1 GiB), and GPUs with their driver; not over host name, kernel or anything measured.
std::string fingerprint_of(const Machine& machine);

}  // namespace ocrtune
