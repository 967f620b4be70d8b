// A small process that outlives this one by a moment: when this process is gone, by whatever end,
// it kills every process that carries this process's mark in its environment.
#pragma once

#include <string>

namespace ocrtune {

inline constexpr const char* kTreeVariable = "OCRTUNE_TREE";

// The mark of this process: children get kTreeVariable=<mark>.<anything>. Unique on this machine.
const std::string& process_mark();

// Starts the guard, once for this process; later calls do nothing. False: it could not be started.
bool start_orphan_guard();

}  // namespace ocrtune
