// The gradient noise scale: how much the gradients of single samples differ, beside their mean.
//
// Source: McCandlish, Kaplan, Amodei et al. 2018, "An Empirical Model of Large-Batch Training",
// appendix A: squared norms at two batch sizes give |G|^2 and the trace of the samples' covariance
// without bias. A batch of B samples brings B / (1 + B / noise scale) samples' worth of progress
// where steps are as long as the curvature allows. Along a run the scale grows by ten and more;
// with its harmonic mean crnn agrees. Where steps are shorter, as those of svtrv2-small before its
// loss has fallen, noise matters less and the larger batch loses little: the formula is the lower
// end (bench/RESULTS.md, "What a sample is worth").
#pragma once

#include <cstdint>

#include "base/stats.h"
#include "trial/learning.h"

namespace ocrtune {

// Samples, over all points, at 95 %; all zero: not measured, infinite: no mean gradient was seen.
Interval noise_scale(const Learning& learning);

// Samples to the same progress by the batch of `learning` over those by `global_batch`, along the
// run that was measured: from what the noise says, at 95 %, to 1, as though it did not matter. All
// zero: not measured.
Interval noise_efficiency(const Learning& learning, std::int64_t global_batch);

}  // namespace ocrtune
