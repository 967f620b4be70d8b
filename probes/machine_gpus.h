// Fills the machine card's GPU part: devices, links, warnings and the peer-to-peer verdict so far.
#pragma once

#include <vector>

#include "base/files.h"
#include "probes/environment.h"
#include "probes/gpu_ids.h"
#include "probes/machine.h"

namespace ocrtune {

// Asks the driver through a child process; `deadline_seconds` is reached only when it hangs. Run
// after everything else that the verdict looks at (container, memory) is filled in.
void add_gpus(Machine& machine, const FileRoot& root, const Environment& environment,
              double deadline_seconds);

// The machine's GPUs as the id logic takes them.
std::vector<PhysicalGpu> physical_gpus(const std::vector<GpuFacts>& gpus);

}  // namespace ocrtune
