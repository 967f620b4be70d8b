// Measuring windows told by their rate.
#pragma once

#include "trial/trial.h"

namespace ocrtune {

inline Sample window_of(double rate, double seconds = 1, const char* spoilt_by = "") {
  Sample sample;
  sample.samples = rate * seconds;
  sample.seconds = seconds;
  sample.interference.spoilt_by = spoilt_by;
  return sample;
}

}  // namespace ocrtune
