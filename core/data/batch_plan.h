// Which lines stand in which batch: a new order every epoch, the same for everybody who knows the
// seed, and computed line by line, so that no process keeps a list of a million numbers.
//
// One epoch is cut into global batches of world_size * batch lines, and each of those into one
// batch for each rank; what is left over waits for another epoch's order. N ranks with batch B
// thus see together what one rank with batch N * B sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/graph/batch.h"

namespace ocrtune {

struct BatchPlan {
  std::int64_t lines = 0;
  int batch = 1;
  int rank = 0, world_size = 1;
  std::uint64_t seed = 1;
  std::int64_t first_batch = 0;  // what sequence number 0 stands for: a resumed run goes on here

  std::int64_t batches_per_epoch() const;  // of this rank; 0: too few lines

  // The line at place `item` of this rank's batch number `sequence` (counted over epochs).
  // `attempt` above 0 gives the line that replaces it when it, and the attempts before, are bad.
  std::int64_t line(std::int64_t sequence, int item, int attempt) const;
};

// Which shape batch number `sequence` has: in each round every shape once, in an order that the
// seed alone decides, so that all ranks train on the same shape. A round is one batch of the plan.
struct BatchSchedule {
  std::vector<BatchShape> shapes;
  std::uint64_t seed = 1;
  std::int64_t first_batch = 0;  // what sequence number 0 stands for

  struct Place {
    BatchShape shape;
    std::int64_t round = 0;
    int first_item = 0;  // of the round's lines
  };
  Place place(std::int64_t sequence) const;
  int round_lines() const;
};

// A permutation of 0..size-1 that needs no memory: a Feistel network over the next power of four,
// walked until it falls inside. Source: Black and Rogaway, CT-RSA 2002.
std::int64_t permuted(std::int64_t index, std::int64_t size, std::uint64_t key);

// Which lines, in which shape, stand in batch number k of a rank: what loader and workers agree on.
class BatchOrder {
 public:
  virtual ~BatchOrder() = default;
  virtual BatchShape shape(std::int64_t sequence) const = 0;
  // The line at place `item`; `attempt` as BatchPlan::line.
  virtual std::int64_t line(std::int64_t sequence, int item, int attempt) const = 0;
  virtual std::int64_t batches_per_epoch() const = 0;         // of this rank; 0: too few lines
  virtual const std::vector<BatchShape>& shapes() const = 0;  // all that batches can have

  int max_images() const;
  std::size_t max_floats() const;  // of a batch of images
};

// Rounds of `plan`, cut into the shapes of `schedule`.
std::unique_ptr<BatchOrder> make_round_order(const BatchPlan& plan, const BatchSchedule& schedule);

}  // namespace ocrtune
