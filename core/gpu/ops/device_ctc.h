// CTC on a GPU: the recursions of core/graph/ctc.h, a group of lanes for each sample, in log space
// and double. Source: Graves et al. 2006, section 4.
#pragma once

#include <cmath>
#include <cstddef>

#include "core/gpu/ops/device_rows.h"

namespace ocrtune::device {

// logits [N, T, K]; labels [N, max_label] padded, lengths [N]. Work areas: normalizer [N, T],
// alpha and beta [N, T, 2 max_label + 1].
template <typename Value>
struct CtcSizes {
  int count, steps, classes, max_label;
  const Value* logits;
  const int *labels, *lengths;
  double *normalizer, *alpha, *beta;
  double* loss;  // [N]; +inf where the label cannot be spelt

  OCRTUNE_BOTH int states() const { return 2 * max_label + 1; }
  OCRTUNE_BOTH int states_of(std::size_t n) const { return 2 * lengths[n] + 1; }
  OCRTUNE_BOTH int symbol(std::size_t n, int s) const {
    return s % 2 == 0 ? 0 : labels[n * many(max_label) + many(s / 2)];
  }
  // A blank between two different symbols may be left out.
  OCRTUNE_BOTH bool may_jump(std::size_t n, int s) const {
    return s % 2 == 1 && s >= 3 && symbol(n, s) != symbol(n, s - 2);
  }
  OCRTUNE_BOTH std::size_t row(std::size_t n, int t) const { return n * many(steps) + many(t); }
  OCRTUNE_BOTH std::size_t cell(std::size_t n, int t, int s) const {
    return row(n, t) * many(states()) + many(s);
  }
  OCRTUNE_BOTH double emission(std::size_t n, int t, int s) const {
    return static_cast<double>(logits[row(n, t) * many(classes) + many(symbol(n, s))]) -
           normalizer[row(n, t)];
  }
};

OCRTUNE_BOTH inline double log_sum(double a, double b, double c) {
  double most = a > b ? a : b;
  most = c > most ? c : most;
  if (most == -INFINITY) return most;
  return most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

// log of the softmax's denominator; a row is a time step of a sample.
template <typename Value>
struct CtcNormalizeRow {
  CtcSizes<Value> plan;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const Value* at = plan.logits + row * many(plan.classes);
    float most = -3.0e38F;
    for (int k = lane.index(); k < plan.classes; k += lane.count()) {
      most = at[k] > most ? at[k] : most;
    }
    most = lane.reduce_max(most);
    double sum = 0;
    for (int k = lane.index(); k < plan.classes; k += lane.count()) sum += expf(at[k] - most);
    sum = lane.sum(sum);
    if (lane.index() == 0) plan.normalizer[row] = most + log(sum);
  }
};

// Both recursions and the loss; a row is a sample. Each time step needs all states of the one
// before, so the lanes meet after every step.
template <typename Value>
struct CtcRecursionRow {
  CtcSizes<Value> plan;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t n) const {
    const int states = plan.states_of(n), last = plan.steps - 1;
    for (int t = 0; t < plan.steps; ++t) {
      for (int s = lane.index(); s < states; s += lane.count()) {
        if (t == 0) {
          plan.alpha[plan.cell(n, t, s)] = s <= 1 ? plan.emission(n, t, s) : -INFINITY;
          continue;
        }
        const double* before = plan.alpha + plan.cell(n, t - 1, 0);
        plan.alpha[plan.cell(n, t, s)] = log_sum(before[s], s > 0 ? before[s - 1] : -INFINITY,
                                                 plan.may_jump(n, s) ? before[s - 2] : -INFINITY) +
                                         plan.emission(n, t, s);
      }
      lane.sync();
    }
    for (int t = last; t >= 0; --t) {
      for (int s = lane.index(); s < states; s += lane.count()) {
        plan.beta[plan.cell(n, t, s)] =
            t == last ? (s >= states - 2 ? 0.0 : -INFINITY)
                      : log_sum(after(n, t, s), s + 1 < states ? after(n, t, s + 1) : -INFINITY,
                                s + 2 < states && plan.may_jump(n, s + 2) ? after(n, t, s + 2)
                                                                          : -INFINITY);
      }
      lane.sync();
    }
    if (lane.index() != 0) return;
    const double* end = plan.alpha + plan.cell(n, last, 0);
    plan.loss[n] = -log_sum(end[states - 1], states > 1 ? end[states - 2] : -INFINITY, -INFINITY);
  }
  OCRTUNE_BOTH double after(std::size_t n, int t, int s) const {
    return plan.beta[plan.cell(n, t + 1, s)] + plan.emission(n, t + 1, s);
  }
};

// d(sum of the finite losses / N) / d(logits); a row is a time step of a sample.
template <typename Value>
struct CtcGradientRow {
  CtcSizes<Value> plan;
  Value* gradient;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t n = row / many(plan.steps);
    const int t = static_cast<int>(row % many(plan.steps));
    const Value* logits = plan.logits + row * many(plan.classes);
    Value* out = gradient + row * many(plan.classes);
    const double loss = plan.loss[n];
    const bool finite = loss < INFINITY;
    const double scale = 1.0 / plan.count;
    const auto normalizer = static_cast<float>(plan.normalizer[row]);
    for (int k = lane.index(); k < plan.classes; k += lane.count()) {
      out[k] = finite ? static_cast<float>(scale * expf(logits[k] - normalizer)) : 0.0F;
    }
    lane.sync();
    if (!finite) return;
    for (int s = lane.index(); s < plan.states_of(n); s += lane.count()) {
      const int k = plan.symbol(n, s);
      if (!first_of_its_class(n, s)) continue;  // several states may share a class: one lane
      auto slope = static_cast<float>(scale * expf(logits[k] - normalizer));
      for (int like = s; like < plan.states_of(n); like += 2) {
        if (plan.symbol(n, like) != k) continue;
        const double share =
            plan.alpha[plan.cell(n, t, like)] + plan.beta[plan.cell(n, t, like)] + loss;
        if (share > -80) slope -= static_cast<float>(scale * exp(share));
      }
      out[k] = slope;  // rounded once: probability and share may be almost the same
    }
  }
  OCRTUNE_BOTH bool first_of_its_class(std::size_t n, int s) const {
    if (s % 2 == 0) return s == 0;
    for (int before = 1; before < s; before += 2) {
      if (plan.symbol(n, before) == plan.symbol(n, s)) return false;
    }
    return true;
  }
};

}  // namespace ocrtune::device
