// The peer-to-peer verdict for a terminal: pairs that fare alike on one line, then what to set.
#pragma once

#include <string>

#include "probes/machine.h"
#include "probes/p2p.h"

namespace ocrtune {

std::string p2p_card(const P2pVerdict& verdict, const Machine& machine);

}  // namespace ocrtune
