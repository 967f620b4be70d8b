// Sums of batch norms and trained scalars around an activation, as plain loops: part of the
// reference (reference_ops.h).
#pragma once

#include <cstddef>
#include <vector>

#include "core/backends/reference/reference_norm.h"

namespace ocrtune::reference {

// Channel `channel` of input `input`.
struct NormedChannel {
  std::size_t input = 0, index = 0;  // index: over the channels of all inputs
  int channel = 0;
};

// For each channel of the result, the channels that are summed.
inline std::vector<std::vector<NormedChannel>> summed_channels(const std::vector<Shape>& inputs,
                                                               int channels) {
  std::vector<std::vector<NormedChannel>> sources(static_cast<std::size_t>(channels));
  std::size_t index = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (int c = 0; c < inputs[i].c; ++c) {
      sources[static_cast<std::size_t>(c % channels)].push_back({i, index++, c});
    }
  }
  return sources;
}

inline std::size_t all_channels(const std::vector<Shape>& inputs) {
  std::size_t count = 0;
  for (const Shape& shape : inputs) count += static_cast<std::size_t>(shape.c);
  return count;
}

// parameters: scale and shift of each input; statistics: running mean and variance of each input.
template <typename Real>
struct NormSumLoop {
  NormSum norm;
  std::vector<Shape> inputs;
  Shape out;

  std::size_t plane() const { return Indexer{{1, 1, out.h, out.w}}.size(); }
  std::size_t at(std::size_t input, int n, int c) const {
    return Indexer{inputs[input]}(n, c, 0, 0);
  }
};

template <typename Real>
void norm_sum_forward(const NormSumLoop<Real>& loop, bool training, const Real* const* x,
                      const Real* const* parameters, Real* const* statistics,
                      ChannelScale* measured, Real* y) {
  const auto sources = summed_channels(loop.inputs, loop.norm.channels);
#pragma omp parallel for schedule(static)
  for (int target = 0; target < loop.norm.channels; ++target) {
    std::vector<double> sums(static_cast<std::size_t>(loop.out.n) * loop.plane(), 0.0);
    for (const NormedChannel& source : sources[static_cast<std::size_t>(target)]) {
      const std::size_t i = source.input;
      const int c = source.channel;
      Real &mean = statistics[2 * i][c], &variance = statistics[2 * i + 1][c];
      ChannelScale& channel = measured[source.index];
      if (training) {
        channel = measure_channel(loop.inputs[i], c, loop.norm.epsilon, x[i]);
        move_running(mean, variance, channel.mean, channel.variance,
                     static_cast<double>(sums.size()));
      } else {
        channel = {mean, 1 / std::sqrt(variance + loop.norm.epsilon), 0};
      }
      const double scale = parameters[2 * i][c] * channel.inverse_stddev;
      const double shift = parameters[2 * i + 1][c] - scale * channel.mean;
      for (int n = 0; n < loop.out.n; ++n) {
        const Real* from = x[i] + loop.at(i, n, c);
        double* to = sums.data() + static_cast<std::size_t>(n) * loop.plane();
        for (std::size_t p = 0; p < loop.plane(); ++p) to[p] += scale * from[p] + shift;
      }
    }
    for (int n = 0; n < loop.out.n; ++n) {
      const double* from = sums.data() + static_cast<std::size_t>(n) * loop.plane();
      Real* to = y + Indexer{loop.out}(n, target, 0, 0);
      for (std::size_t p = 0; p < loop.plane(); ++p) to[p] = static_cast<Real>(from[p]);
    }
  }
}

template <typename Real>
void norm_sum_backward(const NormSumLoop<Real>& loop, const Real* const* x,
                       const Real* const* parameters, const ChannelScale* measured, const Real* dy,
                       Real* const* dx, Real* const* parameter_gradients) {
  const auto sources = summed_channels(loop.inputs, loop.norm.channels);
  const double count = static_cast<double>(loop.plane()) * loop.out.n;
#pragma omp parallel for schedule(static)
  for (int target = 0; target < loop.norm.channels; ++target) {
    for (const NormedChannel& source : sources[static_cast<std::size_t>(target)]) {
      const std::size_t i = source.input;
      const int c = source.channel;
      const ChannelScale& channel = measured[source.index];
      const auto normal = [&](int n, std::size_t p) {
        return (x[i][loop.at(i, n, c) + p] - channel.mean) * channel.inverse_stddev;
      };
      double sum = 0, product = 0;
      for (int n = 0; n < loop.out.n; ++n) {
        const Real* slope = dy + Indexer{loop.out}(n, target, 0, 0);
        for (std::size_t p = 0; p < loop.plane(); ++p) {
          sum += slope[p];
          product += slope[p] * normal(n, p);
        }
      }
      parameter_gradients[2 * i][c] = static_cast<Real>(product);
      parameter_gradients[2 * i + 1][c] = static_cast<Real>(sum);
      if (dx[i] == nullptr) continue;
      const double scale = parameters[2 * i][c] * channel.inverse_stddev;
      for (int n = 0; n < loop.out.n; ++n) {
        const Real* slope = dy + Indexer{loop.out}(n, target, 0, 0);
        Real* to = dx[i] + loop.at(i, n, c);
        for (std::size_t p = 0; p < loop.plane(); ++p) {
          to[p] = static_cast<Real>(scale * (slope[p] - (sum + normal(n, p) * product) / count));
        }
      }
    }
  }
}

// parameters: s0, t0, s1, t1.
template <typename Real>
void affine_forward(Activation activation, std::size_t count, const Real* x,
                    const Real* const* parameters, Real* y) {
  for (std::size_t i = 0; i < count; ++i) {
    const double inner = static_cast<double>(*parameters[0]) * x[i] + *parameters[1];
    y[i] = static_cast<Real>(*parameters[2] * activate(activation, inner) + *parameters[3]);
  }
}

template <typename Real>
void affine_backward(Activation activation, std::size_t count, const Real* x,
                     const Real* const* parameters, const Real* dy, Real* dx,
                     Real* const* parameter_gradients) {
  const double s0 = *parameters[0], t0 = *parameters[1], s1 = *parameters[2];
  double sums[4] = {0, 0, 0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    const double inner = s0 * x[i] + t0;
    const double slope = s1 * activation_slope(activation, inner) * dy[i];
    sums[0] += slope * x[i];
    sums[1] += slope;
    sums[2] += activate(activation, inner) * dy[i];
    sums[3] += dy[i];
    if (dx != nullptr) dx[i] = static_cast<Real>(slope * s0);
  }
  for (int k = 0; k < 4; ++k) *parameter_gradients[k] = static_cast<Real>(sums[k]);
}

}  // namespace ocrtune::reference
