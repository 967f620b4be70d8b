// A bidirectional LSTM as plain loops over [N, C, 1, T]: part of the reference (reference_ops.h).
//
// Source: Hochreiter and Schmidhuber 1997 with forget gates; gates in the order i, f, g, o.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/backends/reference/reference_ops.h"

namespace ocrtune::reference {

template <typename Real>
struct LstmWeights {
  const Real *weight_ih, *weight_hh, *bias_ih, *bias_hh;
};

template <typename Real>
struct LstmGradients {
  Real *weight_ih, *weight_hh, *bias_ih, *bias_hh;
};

// Gates [4h] and cell [h] of one time step.
struct LstmMoment {
  std::vector<double> gates, cell, hidden;
};

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One direction (0 forward, 1 backward) of one sample, in its own time order.
template <typename Real>
std::vector<LstmMoment> run_lstm(const Shape& in, int h, int direction, int n, const Real* x,
                                 const LstmWeights<Real>& weights) {
  const Indexer xi{in};
  const auto gates = 4 * static_cast<std::size_t>(h);
  const auto hidden = static_cast<std::size_t>(h);
  const auto d = static_cast<std::size_t>(direction);
  const auto channels = static_cast<std::size_t>(in.c);
  std::vector<LstmMoment> moments;
  LstmMoment before{{}, std::vector<double>(hidden, 0.0), std::vector<double>(hidden, 0.0)};
  for (int step = 0; step < in.w; ++step) {
    const int t = direction == 0 ? step : in.w - 1 - step;
    LstmMoment now{std::vector<double>(gates), std::vector<double>(hidden),
                   std::vector<double>(hidden)};
    for (std::size_t g = 0; g < gates; ++g) {
      const std::size_t row = d * gates + g;
      double sum = static_cast<double>(weights.bias_ih[row]) + weights.bias_hh[row];
      for (std::size_t c = 0; c < channels; ++c) {
        sum += static_cast<double>(weights.weight_ih[row * channels + c]) *
               x[xi(n, static_cast<int>(c), 0, t)];
      }
      for (std::size_t k = 0; k < hidden; ++k) {
        sum += weights.weight_hh[row * hidden + k] * before.hidden[k];
      }
      now.gates[g] = g / hidden == 2 ? std::tanh(sum) : sigmoid(sum);
    }
    for (std::size_t k = 0; k < hidden; ++k) {
      now.cell[k] =
          now.gates[hidden + k] * before.cell[k] + now.gates[k] * now.gates[2 * hidden + k];
      now.hidden[k] = now.gates[3 * hidden + k] * std::tanh(now.cell[k]);
    }
    moments.push_back(now);
    before = std::move(now);
  }
  return moments;
}

template <typename Real>
void lstm_forward(const Shape& in, int h, const Real* x, const LstmWeights<Real>& weights,
                  Real* y) {
  const Indexer yi{{in.n, 2 * h, 1, in.w}};
  for (int n = 0; n < in.n; ++n) {
    for (int direction = 0; direction < 2; ++direction) {
      const auto moments = run_lstm(in, h, direction, n, x, weights);
      for (int step = 0; step < in.w; ++step) {
        const int t = direction == 0 ? step : in.w - 1 - step;
        for (int k = 0; k < h; ++k) {
          y[yi(n, direction * h + k, 0, t)] = static_cast<Real>(
              moments[static_cast<std::size_t>(step)].hidden[static_cast<std::size_t>(k)]);
        }
      }
    }
  }
}

// Sums in double; the caller turns them into Real at the end.
struct LstmSums {
  std::vector<double> dx, weight_ih, weight_hh, bias;
};

// d(gates before their functions), and the cell's gradient carried to the step before.
inline void lstm_gate_gradients(const LstmMoment& now, const std::vector<double>& cell_before,
                                const std::vector<double>& dh, std::vector<double>& dc,
                                std::vector<double>& dgates) {
  const std::size_t h = dh.size();
  for (std::size_t k = 0; k < h; ++k) {
    const double i = now.gates[k], f = now.gates[h + k], g = now.gates[2 * h + k];
    const double o = now.gates[3 * h + k], squashed = std::tanh(now.cell[k]);
    const double dcell = dc[k] + dh[k] * o * (1 - squashed * squashed);
    dgates[k] = dcell * g * i * (1 - i);
    dgates[h + k] = dcell * cell_before[k] * f * (1 - f);
    dgates[2 * h + k] = dcell * i * (1 - g * g);
    dgates[3 * h + k] = dh[k] * squashed * o * (1 - o);
    dc[k] = dcell * f;
  }
}

template <typename Real>
void lstm_backward_sample(const Shape& in, int h, int direction, int n, const Real* x,
                          const LstmWeights<Real>& weights, const Real* dy, LstmSums& sums) {
  const Indexer xi{in}, yi{{in.n, 2 * h, 1, in.w}};
  const auto hidden = static_cast<std::size_t>(h);
  const auto channels = static_cast<std::size_t>(in.c);
  const std::size_t gates = 4 * hidden;
  const auto moments = run_lstm(in, h, direction, n, x, weights);
  const std::vector<double> zero(hidden, 0.0);
  std::vector<double> dh(hidden, 0.0), dc(hidden, 0.0), dgates(gates);
  for (int step = in.w - 1; step >= 0; --step) {
    const int t = direction == 0 ? step : in.w - 1 - step;
    const LstmMoment* before = step > 0 ? &moments[static_cast<std::size_t>(step) - 1] : nullptr;
    for (std::size_t k = 0; k < hidden; ++k) {
      dh[k] += dy[yi(n, direction * h + static_cast<int>(k), 0, t)];
    }
    lstm_gate_gradients(moments[static_cast<std::size_t>(step)],
                        before == nullptr ? zero : before->cell, dh, dc, dgates);
    std::fill(dh.begin(), dh.end(), 0.0);
    for (std::size_t g = 0; g < gates; ++g) {
      const std::size_t row = static_cast<std::size_t>(direction) * gates + g;
      sums.bias[row] += dgates[g];
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t at = xi(n, static_cast<int>(c), 0, t);
        sums.weight_ih[row * channels + c] += dgates[g] * x[at];
        sums.dx[at] += dgates[g] * weights.weight_ih[row * channels + c];
      }
      for (std::size_t k = 0; k < hidden; ++k) {
        if (before != nullptr) sums.weight_hh[row * hidden + k] += dgates[g] * before->hidden[k];
        dh[k] += dgates[g] * weights.weight_hh[row * hidden + k];
      }
    }
  }
}

template <typename Real>
void lstm_backward(const Shape& in, int h, const Real* x, const LstmWeights<Real>& weights,
                   const Real* dy, Real* dx, const LstmGradients<Real>& gradients) {
  const auto hidden = static_cast<std::size_t>(h);
  const auto channels = static_cast<std::size_t>(in.c);
  LstmSums sums{
      std::vector<double>(Indexer{in}.size(), 0.0), std::vector<double>(8 * hidden * channels, 0.0),
      std::vector<double>(8 * hidden * hidden, 0.0), std::vector<double>(8 * hidden, 0.0)};
  for (int n = 0; n < in.n; ++n) {
    for (int direction = 0; direction < 2; ++direction) {
      lstm_backward_sample(in, h, direction, n, x, weights, dy, sums);
    }
  }
  const auto store = [](const std::vector<double>& from, Real* to) {
    if (to == nullptr) return;
    std::transform(from.begin(), from.end(), to, [](double v) { return static_cast<Real>(v); });
  };
  store(sums.dx, dx);
  store(sums.weight_ih, gradients.weight_ih);
  store(sums.weight_hh, gradients.weight_hh);
  store(sums.bias, gradients.bias_ih);
  store(sums.bias, gradients.bias_hh);
}

}  // namespace ocrtune::reference
