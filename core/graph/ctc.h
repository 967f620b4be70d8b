// Connectionist temporal classification: the loss of unsegmented label sequences.
//
// Source: Graves et al. 2006, section 4; the recursions are kept in log space.
#pragma once

#include <span>
#include <vector>

namespace ocrtune {

struct CtcLoss {
  std::vector<double> sample_loss;  // [N], nats; +inf where the label cannot be spelt in T steps,
                                    // NaN where a logit is infinite or no number
  double mean = 0;                  // over the samples that can be spelt; 0 when there is none
  int impossible = 0;               // samples with loss +inf
};

// `mean` and `impossible` from `sample_loss`.
void sum_up(CtcLoss& loss);

// loss[n] = -log p(labels[n] | logits[n]); logits [N, T, K], class 0 is the blank, labels in
// [1, K). `gradient` [N, T, K] (may be null) gets d(sum of the finite losses / N) / d(logits);
// rows of samples without a finite loss are zero. Runs on the OpenMP team, a sample per thread.
CtcLoss ctc_loss(std::span<const float> logits, int steps, int classes,
                 std::span<const std::vector<int>> labels, float* gradient);

}  // namespace ocrtune
