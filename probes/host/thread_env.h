// Every environment variable that limits, places or slows threads, and which one wins where.
//
// Getters lie (OMP_THREAD_LIMIT=1 leaves omp_get_max_threads at 2), so workers report the team they
// really got; this room says beforehand what to expect. Sources: OpenMP 5.2 chapter 21, libgomp
// and oneMKL manuals, OpenBLAS README, Slurm srun(1).
#pragma once

#include <vector>

#include "base/environment.h"
#include "probes/host/notes.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// Only variables that are set. `usable_cpus` decides which of them bind; 0 when unknown. A team
// larger than that is warned of: its threads wait for one another at every barrier.
std::vector<ThreadEnvFact> read_thread_env(const Environment& environment, double usable_cpus,
                                           Notes& notes);

}  // namespace ocrtune
