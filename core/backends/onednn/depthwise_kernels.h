// The vector loops of depthwise convolutions: rows of pixels in one channel block of 8 or 16.
#pragma once

namespace ocrtune {

// One weight (a run of lanes) and the first pixel that it multiplies.
struct DepthwiseTap {
  const float* in = nullptr;
  const float* weight = nullptr;
};

struct DepthwiseRow {
  int lanes = 8;                  // 8 or 16
  int pixels = 0;                 // of the result
  int in_step = 1, out_step = 1;  // pixels between one and the next
};

// out[j] = sum over taps of weight * in[j]
void depthwise_row(const DepthwiseRow& row, const DepthwiseTap* taps, int tap_count, float* out);

// sums[k] += sum over j of dy[j] * x[j * in_step + k] for k < kernel, each a run of lanes; the
// kernel is 1, 3 or 5.
void depthwise_weight_row(const DepthwiseRow& row, int kernel, const float* x, const float* dy,
                          float* sums);

}  // namespace ocrtune
