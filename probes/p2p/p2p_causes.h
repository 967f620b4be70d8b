// Why P2P fails or shared memory falters, as far as versions and platform tell: likely causes, each
// with what to do. Hints for people; the verdict does not rest on them.
#pragma once

#include <string>
#include <vector>

#include "probes/p2p/steps/p2p_facts.h"

namespace ocrtune {

// Address translation or access control on the way, patched or old drivers, virtual machines.
void add_p2p_causes(const P2pFacts& facts, std::vector<std::string>& hints);

// NCCL 2.24 to 2.26.4 puts host buffers into cuMem with drivers that fail at it without P2P.
void add_cumem_host_hint(const P2pFacts& facts, std::vector<std::string>& hints);

// Compares "525.60.13" and the like part by part; suffixes behind '-' do not count.
bool older_version(const std::string& a, const std::string& b);

}  // namespace ocrtune
