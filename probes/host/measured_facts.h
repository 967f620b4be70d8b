// Fills what no file tells: effective cores and memory bandwidth, measured on this machine.
#pragma once

#include <optional>

#include "probes/host/bandwidth.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// In about `seconds` at most, however busy the machine is: the cores, then the memory in what is
// left (a quarter of the free memory at most). The machine's CPU and memory facts must be filled in
// already.
void add_measured_facts(Machine& machine, double seconds);

// Each node's CPUs with the memory beside them, one node after the other, all of them in the time
// and with the memory of `all`; nothing where its CPUs are of one node. "node 0: 41.3 GB/s; node 1:
// ...".
std::optional<SystemSetting> measure_node_bandwidth(const CpuFacts& cpu,
                                                    const BandwidthOptions& all);

}  // namespace ocrtune
