// Batch norm with activation and max-pool as plain loops: part of the reference (reference_ops.h).
//
// Source: Ioffe and Szegedy 2015; running variance unbiased and momentum 0.1, as PyTorch keeps it.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/backends/reference/reference_ops.h"

namespace ocrtune::reference {

// Moves running statistics towards those of `count` values, the variance without its bias.
template <typename Real>
void move_running(Real& running_mean, Real& running_variance, double mean, double variance,
                  double count) {
  constexpr double kMomentum = 0.1;
  const double unbiased = count > 1 ? variance * count / (count - 1) : 0;
  running_mean += static_cast<Real>(kMomentum * (mean - running_mean));
  running_variance += static_cast<Real>(kMomentum * (unbiased - running_variance));
}

// Mean and 1 / sqrt(variance + epsilon) of one channel.
struct ChannelScale {
  double mean = 0, inverse_stddev = 1, variance = 0;
};

template <typename Real>
ChannelScale measure_channel(const Shape& shape, int c, double epsilon, const Real* x) {
  const Indexer xi{shape};
  const std::size_t plane = Indexer{{1, 1, shape.h, shape.w}}.size();
  const double count = static_cast<double>(plane) * shape.n;
  double sum = 0, squares = 0;
  for (int n = 0; n < shape.n; ++n) {
    for (std::size_t p = 0; p < plane; ++p) sum += x[xi(n, c, 0, 0) + p];
  }
  const double mean = sum / count;
  for (int n = 0; n < shape.n; ++n) {
    for (std::size_t p = 0; p < plane; ++p) {
      const double d = x[xi(n, c, 0, 0) + p] - mean;
      squares += d * d;
    }
  }
  const double variance = squares / count;
  return {mean, 1 / std::sqrt(variance + epsilon), variance};
}

inline Extent resolve_pool(const BatchNorm& norm, const Shape& in) {
  return {norm.pool.h == 0 ? in.h : norm.pool.h, norm.pool.w};
}

// The first largest of a pool window at (oh, ow): its row and column.
template <typename Real>
Extent largest_in_window(const Indexer& xi, const Real* x, int n, int c, int oh, int ow,
                         const Extent& pool, double scale, double shift) {
  Extent best{oh * pool.h, ow * pool.w};
  double most = scale * x[xi(n, c, best.h, best.w)] + shift;
  for (int h = oh * pool.h; h < (oh + 1) * pool.h; ++h) {
    for (int w = ow * pool.w; w < (ow + 1) * pool.w; ++w) {
      const double z = scale * x[xi(n, c, h, w)] + shift;
      if (z > most) {
        most = z;
        best = {h, w};
      }
    }
  }
  return best;
}

// `measured` gets each channel's statistics in training; otherwise they come from running_*.
template <typename Real>
void norm_forward(const BatchNorm& norm, const Shape& in, bool training, const Real* x,
                  const Real* gamma, const Real* beta, Real* running_mean, Real* running_variance,
                  ChannelScale* measured, Real* y) {
  const Extent pool = resolve_pool(norm, in);
  const Shape out{in.n, in.c, in.h / pool.h, in.w / pool.w};
  const Indexer xi{in}, yi{out};
  const double count = static_cast<double>(xi.size()) / in.c;
#pragma omp parallel for schedule(static)
  for (int c = 0; c < in.c; ++c) {
    ChannelScale& channel = measured[c];
    if (training) {
      channel = measure_channel(in, c, norm.epsilon, x);
      move_running(running_mean[c], running_variance[c], channel.mean, channel.variance, count);
    } else {
      channel = {running_mean[c], 1 / std::sqrt(running_variance[c] + norm.epsilon), 0};
    }
    const double scale = gamma[c] * channel.inverse_stddev;
    const double shift = beta[c] - scale * channel.mean;
    for (int n = 0; n < out.n; ++n) {
      for (int oh = 0; oh < out.h; ++oh) {
        for (int ow = 0; ow < out.w; ++ow) {
          const Extent best = largest_in_window(xi, x, n, c, oh, ow, pool, scale, shift);
          const double z = scale * x[xi(n, c, best.h, best.w)] + shift;
          y[yi(n, c, oh, ow)] = static_cast<Real>(activate(norm.activation, z));
        }
      }
    }
  }
}

template <typename Real>
void norm_backward(const BatchNorm& norm, const Shape& in, const Real* x, const Real* gamma,
                   const Real* beta, const ChannelScale* measured, const Real* dy, Real* dx,
                   Real* dgamma, Real* dbeta) {
  const Extent pool = resolve_pool(norm, in);
  const Shape out{in.n, in.c, in.h / pool.h, in.w / pool.w};
  const Indexer xi{in}, yi{out};
  const Indexer plane{{in.n, 1, in.h, in.w}};
  const double count = static_cast<double>(plane.size());
#pragma omp parallel for schedule(static)
  for (int c = 0; c < in.c; ++c) {
    const ChannelScale& channel = measured[c];
    const double scale = gamma[c] * channel.inverse_stddev;
    const double shift = beta[c] - scale * channel.mean;
    std::vector<double> dz(plane.size(), 0.0);
    double sum = 0, product = 0;
    const auto normal = [&](int n, int h, int w) {
      return (x[xi(n, c, h, w)] - channel.mean) * channel.inverse_stddev;
    };
    for (int n = 0; n < out.n; ++n) {
      for (int oh = 0; oh < out.h; ++oh) {
        for (int ow = 0; ow < out.w; ++ow) {
          const Extent best = largest_in_window(xi, x, n, c, oh, ow, pool, scale, shift);
          const double z = scale * x[xi(n, c, best.h, best.w)] + shift;
          const double slope = activation_slope(norm.activation, z) * dy[yi(n, c, oh, ow)];
          dz[plane(n, 0, best.h, best.w)] = slope;
          sum += slope;
          product += slope * normal(n, best.h, best.w);
        }
      }
    }
    dgamma[c] = static_cast<Real>(product);
    dbeta[c] = static_cast<Real>(sum);
    if (dx == nullptr) continue;
    for (int n = 0; n < in.n; ++n) {
      for (int h = 0; h < in.h; ++h) {
        for (int w = 0; w < in.w; ++w) {
          dx[xi(n, c, h, w)] = static_cast<Real>(
              scale * (dz[plane(n, 0, h, w)] - (sum + normal(n, h, w) * product) / count));
        }
      }
    }
  }
}

}  // namespace ocrtune::reference
