// The part of a host whose ranks another host's command has started, as mpirun does: nothing is
// started on it and nothing of it measured, but it must not run out of memory.
#pragma once

#include <cstdint>
#include <functional>

#include "trial/trial.h"

namespace ocrtune {

// Looks at `available` (bytes) every 20 ms until `ended`. out_of_memory as soon as a hundredth of
// what there was is left; the job's first host then ends the ranks.
Trial guard_memory(const std::function<std::uint64_t()>& available,
                   const std::function<bool()>& ended);

}  // namespace ocrtune
