// mpirun starts the same worker on all hosts; its events go through its output, where log reader
// "ocrtune" finds them. mpirun's own binding is off, because it may put all threads of a rank on
// one core.
#include "trial/workloads/engine_train/mpi_training.h"

#include <unistd.h>

#include "base/files.h"
#include "base/process.h"

namespace ocrtune {

Result<std::vector<std::string>> training_over_mpi(const TrainingWorkload& workload) {
  const std::string program = join_path(parent_path(own_program()), "ocrtune-mpi-worker");
  if (!path_exists(program)) {
    return Error{ErrorKind::missing,
                 "the built-in engine on several hosts needs " + program +
                     ": build ocrtune where MPI is (libopenmpi-dev, openmpi-bin)"};
  }
  if (!find_executable("mpirun")) {
    return Error{ErrorKind::missing,
                 "the built-in engine on several hosts needs mpirun, which is not in PATH "
                 "(openmpi-bin)"};
  }
  // --oversubscribe: mpirun refuses more ranks than it counts slots, and counts cores.
  std::vector<std::string> command = {
      "mpirun",           "--host",          "{hostlist}", "--map-by",
      "ppr:{nproc}:node", "--oversubscribe", "--bind-to",  "none"};
  // Containers run as root, where mpirun refuses to start without this.
  if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
  command.insert(command.end(),
                 {program, "batch={batch}", "threads={threads}", "accumulate={accumulate}"});
  if (!workload.label_file.empty()) command.emplace_back("workers={workers}");
  // Of the first rank with default knobs: what the knobs say stands before it as words.
  command.insert(command.end(), {"--spec", short_spec_text(rank_spec(workload, Knobs(), 0))});
  return command;
}

}  // namespace ocrtune
