// Comm of ranks that mpirun or srun started, on one host or on many, through MPI.
//
// Every rank averages its share of a range: the others send it theirs, and get the mean back. It
// adds in the order of the ranks, as core/comm/shm_comm.h does, so both give the
// same bits. Messages go from rank to rank and not through a collective call, so that a wait that
// takes too long can name the rank it waits for. Not part of the floor: a library of its own, for
// builds that found MPI.
#pragma once

#include <memory>

#include "base/result.h"
#include "core/comm/comm.h"

namespace ocrtune {

struct MpiCommOptions {
  int threads = 1;               // OpenMP team that adds long ranges
  double silence_seconds = 300;  // longest wait for a peer: above any step's time
};

// Initialises MPI if nobody did; it is finalised when the process ends. All calls of the Comm come
// from the thread that made it. failed: MPI refused, with its words.
Result<std::unique_ptr<Comm>> make_mpi_comm(const MpiCommOptions& options);

}  // namespace ocrtune
