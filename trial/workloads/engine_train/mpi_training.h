// The built-in engine over several hosts: a command of mpirun's, tuned as a user's command is.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "trial/workloads/engine_train/training_workload.h"

namespace ocrtune {

// With {hostlist}, {nproc} of each host, {threads}, {batch} and {workers}; its output is for the
// log reader "ocrtune". missing: no mpirun here, or no ocrtune-mpi-worker beside this program.
Result<std::vector<std::string>> training_over_mpi(const TrainingWorkload& workload);

}  // namespace ocrtune
