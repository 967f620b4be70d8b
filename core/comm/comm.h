// Ranks of one data-parallel job: who I am, and the mean of everybody's gradients.
//
// Rows: single (one rank), shm (one host, core/comm/shm_comm.h), mpi (mpirun,
// core/comm/mpi_comm.h). A peer that died or stays silent past the deadline ends every call with an
// error that names the rank; nobody spins forever.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/result.h"

namespace ocrtune {

struct RankPlace {
  int rank = 0, world_size = 1;        // over all nodes
  int local_rank = 0, local_size = 1;  // on this node
  int node = 0, node_count = 1;
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual RankPlace place() const = 0;

  // Memory for `count` floats in which the caller keeps its gradients, so that all_reduce_mean
  // need not copy them. Zeroed, 64-byte aligned, valid as long as the Comm. Call once.
  virtual Result<std::span<float>> gradient_buffer(std::size_t count) = 0;

  // Replaces buffer[first, first + count) by the mean over all ranks. All ranks call in the same
  // order with the same ranges. `wait_seconds` (may be null) gets the part spent waiting for peers.
  virtual Status all_reduce_mean(std::size_t first, std::size_t count, double* wait_seconds) = 0;

  // The same mean in parts, while the caller still computes: bits as all_reduce_mean gives them.
  // start_mean says that this rank's numbers of the range are final and hands them over until
  // finish_means; all ranks start the same ranges, which begin at multiples of 16, in the same
  // order. advance moves what all ranks have started and never waits for one that has not;
  // finish_means waits for all and moves the rest.
  virtual Status start_mean(std::size_t first, std::size_t count) = 0;
  virtual Status advance() = 0;
  virtual Status finish_means(double* wait_seconds) = 0;

  virtual Status barrier() = 0;
};

std::unique_ptr<Comm> make_single_comm();

}  // namespace ocrtune
