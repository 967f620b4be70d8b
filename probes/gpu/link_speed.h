// What a link between GPUs should carry, so that a slow one is seen: bytes per second, one way.
//
// The figures are NCCL's own model of a link (graph/topo.h), which healthy machines reach within
// about 10 %; the signalling rates on data sheets are a quarter higher.
#pragma once

#include "probes/machine/machine.h"

namespace ocrtune {

// Lanes x rate of the generation (1 to 6); 0 where either is unknown. 16 lanes of gen 4: 24e9.
double pcie_bytes_per_second(int generation, int width);

// `links` NVLinks of a GPU with this compute capability ("9.0"); 0 where unknown.
double nvlink_bytes_per_second(const std::string& compute_capability, int links);

// Of the slower end, at the link's highest speed (idle links run slower).
double expected_link_bytes_per_second(const GpuFacts& from, const GpuFacts& to, bool nvlink);

struct CpuMaker {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD"; "" unknown
  int family = 0, model = 0;
};

// What is left of that where the way leads through a processor (PHB) or from one package to another
// (SYS): NCCL's figures (src/graph/topo.h). Makers that it does not tell apart change nothing.
double bounded_by_cpu(double bytes_per_second, const CpuMaker& cpu, const std::string& level);

}  // namespace ocrtune
