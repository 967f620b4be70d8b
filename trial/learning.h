// How a trial's training learned: a part of Trial, and what such a trial is told.
#pragma once

#include <cstdint>
#include <vector>

namespace ocrtune {

// Of a trial that trains to be compared, not to be timed alone.
struct LearningAsk {
  bool watches = false;    // losses are kept from the first step on
  bool gradients = false;  // and the gradients' noise
  std::uint64_t seed = 1;  // of the weights and of the order
  double rate_factor = 1;  // of the learning rate; 0: the command sets it

  friend bool operator==(const LearningAsk&, const LearningAsk&) = default;
};

// Means of the losses of some updates.
struct LearningPoint {
  double samples = 0;  // that the weights had learned from when these losses were computed
  double weight = 0;   // samples of these updates
  double loss = 0;     // nats
  // Squared norms of gradients: of one of the equal parts of a global batch, and of the mean over
  // all its parts. 0: not looked at.
  double part_square = 0;
  double whole_square = 0;
};

struct Learning {
  std::int64_t global_batch = 0;
  int parts = 0;  // of a global batch, whose gradients were looked at apart; 0: none
  std::uint64_t seed = 0;
  double rate_factor = 0;             // over the learning rate of the present recipe; 0: unknown
  std::vector<LearningPoint> points;  // in order; empty: nobody looked
};

}  // namespace ocrtune
