// Which lines, in which shape, stand in batch number k of a rank: what loader and workers agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/data/batch_plan.h"
#include "core/graph/batch.h"

namespace ocrtune {

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
