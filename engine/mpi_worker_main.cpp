// ocrtune-mpi-worker: one rank of the built-in engine, started by mpirun or srun on one of several
// hosts. The only program that links MPI.
//
//   mpirun -n 4 ocrtune-mpi-worker KNOB=VALUE ... --spec JSON
//   (trial/workloads/engine_train/worker_spec.h)
//
// Trains until SIGTERM and prints what happens as events (trial/ipc/events.h).
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/interrupt.h"
#include "base/text.h"
#include "core/comm/mpi_comm.h"
#include "trial/knobs.h"
#include "trial/workloads/engine_train/worker.h"

namespace ocrtune {
namespace {

constexpr int kPartKib = 256;           // gradients move while backward computes; bench/RESULTS.md
constexpr double kReportSeconds = 0.1;  // all ranks' lines pass through one mpirun
constexpr double kSilenceSeconds = 60;  // above any step's time

// Known before MPI starts, which is after the loader's processes are forked.
Result<RankPlace> place_by_launcher() {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK", "PMI_SIZE"},
      {"SLURM_PROCID", "SLURM_NTASKS"}};
  for (const auto& [rank_name, size_name] : kNames) {
    const char* rank = std::getenv(rank_name);
    const char* size = std::getenv(size_name);
    if (rank == nullptr || size == nullptr) continue;
    RankPlace place;
    place.rank = static_cast<int>(parse_integer(rank).value_or(-1));
    place.world_size = static_cast<int>(parse_integer(size).value_or(0));
    if (place.rank >= 0 && place.rank < place.world_size) return place;
  }
  return Error{ErrorKind::usage, "to be started by mpirun or srun"};
}

Result<WorkerSpec> read_arguments(int argc, char** argv) {
  Knobs knobs;
  WorkerSpec spec;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--spec" && i + 1 < argc) {
      spec = OCRTUNE_TRY(parse_spec(argv[++i]));
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return Error{ErrorKind::usage, word + ": not KNOB=VALUE"};
    OCRTUNE_TRY(set_knob(knobs, word.substr(0, equals), word.substr(equals + 1)));
  }
  spec.batch = knobs.batch;
  spec.accumulate = knobs.accumulate;
  spec.threads = knobs.threads;
  spec.loader_workers = knobs.workers;
  spec.bucket_kib = kPartKib;
  spec.report_seconds = kReportSeconds;
  spec.place = OCRTUNE_TRY(place_by_launcher());
  return spec;
}

int run(int argc, char** argv) {
  catch_interrupts();
  const auto spec = read_arguments(argc, argv);
  if (!spec) {
    std::fprintf(stderr, "ocrtune-mpi-worker: %s\n", spec.error().what.c_str());
    return 2;
  }
  const auto meet = [&] { return make_mpi_comm({spec->threads, kSilenceSeconds}); };
  return run_worker(*spec, STDOUT_FILENO, meet) ? 0 : 1;
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char** argv) {
  const int code = ocrtune::run(argc, argv);
  std::fflush(stdout);
  std::_Exit(code);  // MPI_Finalize would wait for ranks that are ended at another time
}
