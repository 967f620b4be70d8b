// Each sample is a lattice of time steps by symbols (the label with blanks between). alpha and beta
// are log-probabilities in double; their sum at a cell gives the gradient.
#include "core/graph/ctc.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/check.h"

namespace ocrtune {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// log(e^a + e^b + e^c)
double log_add(double a, double b, double c) {
  const double most = std::max({a, b, c});
  if (most == kNever) return kNever;
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
}

// One sample: the label with blanks between, its log-probabilities and the two recursions.
class Lattice {
 public:
  Lattice(const float* logits, int steps, int classes, const std::vector<int>& label)
      : steps_(steps), classes_(classes), states_(2 * static_cast<int>(label.size()) + 1) {
    symbols_.assign(static_cast<std::size_t>(states_), 0);
    for (std::size_t i = 0; i < label.size(); ++i) {
      OCRTUNE_CHECK(label[i] > 0 && label[i] < classes);
      symbols_[2 * i + 1] = label[i];
    }
    const auto cells = static_cast<std::size_t>(steps) * static_cast<std::size_t>(states_);
    emission_.resize(cells);
    normalizer_.resize(static_cast<std::size_t>(steps));
    for (int t = 0; t < steps; ++t) normalize(logits, t);
  }

  // False where a logit is infinite or no number: the recursions would say anything.
  bool finite() const {
    return std::all_of(normalizer_.begin(), normalizer_.end(),
                       [](double normalizer) { return std::isfinite(normalizer); });
  }

  // log p(label, and the path is in state s at time t, up to and with t)
  void forward() {
    alpha_.assign(emission_.size(), kNever);
    alpha_[0] = emission_[0];
    if (states_ > 1) alpha_[1] = emission_[1];
    for (int t = 1; t < steps_; ++t) {
      for (int s = 0; s < states_; ++s) {
        const double* before = &alpha_[cell(t - 1, 0)];
        const double step = s > 0 ? before[s - 1] : kNever;
        const double jump = may_jump(s) ? before[s - 2] : kNever;
        alpha_[cell(t, s)] = log_add(before[s], step, jump) + emission_[cell(t, s)];
      }
    }
  }

  // log p(the rest of the label | state s at time t), without the emission at t
  void backward() {
    beta_.assign(emission_.size(), kNever);
    beta_[cell(steps_ - 1, states_ - 1)] = 0;
    if (states_ > 1) beta_[cell(steps_ - 1, states_ - 2)] = 0;
    for (int t = steps_ - 2; t >= 0; --t) {
      const auto after = [&](int s) { return beta_[cell(t + 1, s)] + emission_[cell(t + 1, s)]; };
      for (int s = 0; s < states_; ++s) {
        const double step = s + 1 < states_ ? after(s + 1) : kNever;
        const double jump = s + 2 < states_ && may_jump(s + 2) ? after(s + 2) : kNever;
        beta_[cell(t, s)] = log_add(after(s), step, jump);
      }
    }
  }

  double loss() const {
    const double last = alpha_[cell(steps_ - 1, states_ - 1)];
    const double before = states_ > 1 ? alpha_[cell(steps_ - 1, states_ - 2)] : kNever;
    return -log_add(last, before, kNever);
  }

  // softmax minus the expected share of each class, times `scale`
  void gradient(const float* logits, double scale, double loss, float* out) const {
    std::vector<double> share(static_cast<std::size_t>(classes_));
    for (int t = 0; t < steps_; ++t) {
      std::fill(share.begin(), share.end(), 0.0);
      for (int s = 0; s < states_; ++s) {
        const double log_share = alpha_[cell(t, s)] + beta_[cell(t, s)] + loss;
        // Shares below e^-80 vanish beside a share of 1.
        if (log_share > -80) share[symbol(s)] += std::exp(log_share);
      }
      const std::size_t row = static_cast<std::size_t>(t) * static_cast<std::size_t>(classes_);
      const auto normalizer = static_cast<float>(normalizer_[static_cast<std::size_t>(t)]);
      for (std::size_t k = 0; k < share.size(); ++k) {
        const double softmax = std::exp(logits[row + k] - normalizer);
        out[row + k] = static_cast<float>(scale * (softmax - share[k]));
      }
    }
  }

 private:
  std::size_t cell(int t, int s) const {
    return static_cast<std::size_t>(t) * static_cast<std::size_t>(states_) +
           static_cast<std::size_t>(s);
  }
  std::size_t symbol(int s) const {
    return static_cast<std::size_t>(symbols_[static_cast<std::size_t>(s)]);
  }
  // A blank between two different symbols may be left out.
  bool may_jump(int s) const { return s % 2 == 1 && s >= 3 && symbol(s) != symbol(s - 2); }

  void normalize(const float* logits, int t) {
    const float* row = logits + static_cast<std::size_t>(t) * static_cast<std::size_t>(classes_);
    const float most = *std::max_element(row, row + classes_);
    double sum = 0;
    for (int k = 0; k < classes_; ++k) sum += std::exp(row[k] - most);
    normalizer_[static_cast<std::size_t>(t)] = most + std::log(sum);
    for (int s = 0; s < states_; ++s) {
      emission_[cell(t, s)] = row[symbol(s)] - normalizer_[static_cast<std::size_t>(t)];
    }
  }

  int steps_, classes_, states_;
  std::vector<int> symbols_;
  std::vector<double> emission_, normalizer_, alpha_, beta_;
};

}  // namespace

void sum_up(CtcLoss& result) {
  double sum = 0;
  result.impossible = 0;
  for (const double loss : result.sample_loss) {
    if (loss == -kNever) {
      ++result.impossible;
    } else {
      sum += loss;
    }
  }
  const std::size_t possible =
      result.sample_loss.size() - static_cast<std::size_t>(result.impossible);
  result.mean = possible == 0 ? 0 : sum / static_cast<double>(possible);
}

CtcLoss ctc_loss(std::span<const float> logits, int steps, int classes,
                 std::span<const std::vector<int>> labels, float* gradient) {
  const std::size_t count = labels.size();
  const auto sample = static_cast<std::size_t>(steps) * static_cast<std::size_t>(classes);
  OCRTUNE_CHECK(logits.size() == count * sample && steps > 0 && count > 0);
  CtcLoss result;
  result.sample_loss.assign(count, 0.0);
  const double scale = 1.0 / static_cast<double>(count);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t n = 0; n < count; ++n) {
    const float* rows = logits.data() + n * sample;
    Lattice lattice(rows, steps, classes, labels[n]);
    lattice.forward();
    const double loss = lattice.finite() ? lattice.loss() : kNoNumber;
    result.sample_loss[n] = loss;
    if (gradient == nullptr) continue;
    if (std::isfinite(loss)) {
      lattice.backward();
      lattice.gradient(rows, scale, loss, gradient + n * sample);
    } else {
      std::fill_n(gradient + n * sample, sample, 0.0F);
    }
  }
  sum_up(result);
  return result;
}

}  // namespace ocrtune
