// The peer-to-peer verdict for a terminal: pairs that fare alike on one line, then what to set.
#pragma once

#include <string>

#include "probes/machine/machine.h"
#include "probes/p2p/nccl_sweep.h"
#include "probes/p2p/p2p.h"

namespace ocrtune {

std::string p2p_card(const P2pVerdict& verdict, const Machine& machine);

// A line a setting, then what the best one gains.
std::string sweep_card(const SweepAnswer& sweep);

}  // namespace ocrtune
