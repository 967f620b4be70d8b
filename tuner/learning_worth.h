// What a sample of another recipe is worth beside one of the present recipe.
#pragma once

#include <cstdint>

#include "base/stats.h"

namespace ocrtune {

struct LearningWorth {
  bool proved = false;  // both recipes were trained; false: by the noise of gradients
  int starts = 0;       // from which both were trained; 0: they were not
  // Samples to the same loss, of the present recipe over the other's. Where the other one did not
  // reach that loss, the interval's end is an upper bound and its begin 0.
  Interval efficiency;
  Interval speedup;          // to the same loss: the ratio of rates times that
  double loss = 0;           // that both reached, nats; 0: unknown
  std::int64_t samples = 0;  // of the present recipe, over which this was seen
  double noise_samples = 0;  // the gradient noise scale; 0: not measured
  double rate_factor =
      0;  // of the learning rate, that went with the other global batch; 0: the command sets it
};

}  // namespace ocrtune
