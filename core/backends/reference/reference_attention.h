// Attention, layer norm and pools as plain loops over [N, C, H, W]: part of the reference
// (reference_ops.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/backends/reference/reference_ops.h"

namespace ocrtune::reference {

// Mean and 1 / deviation over the channels of one pixel.
template <typename Real>
void measure_pixel(const Shape& in, const Real* x, std::size_t first, std::size_t plane,
                   double epsilon, double& mean, double& inverse) {
  double sum = 0, squares = 0;
  for (int c = 0; c < in.c; ++c) sum += x[first + static_cast<std::size_t>(c) * plane];
  mean = sum / in.c;
  for (int c = 0; c < in.c; ++c) {
    const double d = x[first + static_cast<std::size_t>(c) * plane] - mean;
    squares += d * d;
  }
  inverse = 1 / std::sqrt(squares / in.c + epsilon);
}

template <typename Real>
void layer_norm_forward(const Shape& in, double epsilon, const Real* x, const Real* gamma,
                        const Real* beta, Real* y) {
  const Indexer xi{in};
  const std::size_t plane = xi(0, 1, 0, 0);
  for (int n = 0; n < in.n; ++n) {
    for (std::size_t p = 0; p < plane; ++p) {
      const std::size_t first = xi(n, 0, 0, 0) + p;
      double mean = 0, inverse = 0;
      measure_pixel(in, x, first, plane, epsilon, mean, inverse);
      for (int c = 0; c < in.c; ++c) {
        const std::size_t at = first + static_cast<std::size_t>(c) * plane;
        y[at] = static_cast<Real>((x[at] - mean) * inverse * gamma[c] + beta[c]);
      }
    }
  }
}

template <typename Real>
void layer_norm_backward(const Shape& in, double epsilon, const Real* x, const Real* gamma,
                         const Real* dy, Real* dx, Real* dgamma, Real* dbeta) {
  const Indexer xi{in};
  const std::size_t plane = xi(0, 1, 0, 0);
  std::vector<double> gamma_sums(static_cast<std::size_t>(in.c), 0.0), beta_sums = gamma_sums;
  for (int n = 0; n < in.n; ++n) {
    for (std::size_t p = 0; p < plane; ++p) {
      const std::size_t first = xi(n, 0, 0, 0) + p;
      double mean = 0, inverse = 0, sum = 0, product = 0;
      measure_pixel(in, x, first, plane, epsilon, mean, inverse);
      for (int c = 0; c < in.c; ++c) {
        const std::size_t at = first + static_cast<std::size_t>(c) * plane;
        const double normal = (x[at] - mean) * inverse;
        gamma_sums[static_cast<std::size_t>(c)] += dy[at] * normal;
        beta_sums[static_cast<std::size_t>(c)] += dy[at];
        sum += static_cast<double>(dy[at]) * gamma[c];
        product += static_cast<double>(dy[at]) * gamma[c] * normal;
      }
      for (int c = 0; dx != nullptr && c < in.c; ++c) {
        const std::size_t at = first + static_cast<std::size_t>(c) * plane;
        const double normal = (x[at] - mean) * inverse;
        dx[at] = static_cast<Real>(
            inverse * (static_cast<double>(dy[at]) * gamma[c] - (sum + normal * product) / in.c));
      }
    }
  }
  std::transform(gamma_sums.begin(), gamma_sums.end(), dgamma,
                 [](double v) { return static_cast<Real>(v); });
  std::transform(beta_sums.begin(), beta_sums.end(), dbeta,
                 [](double v) { return static_cast<Real>(v); });
}

// One head of one sample: q, k, v and the probabilities as small matrices.
struct Head {
  std::size_t tokens = 0, size = 0;
  double factor = 1;
  std::vector<double> q, k, v;  // [tokens, size]
  std::vector<double> weights;  // softmax(q k^T factor) [tokens, tokens]
};

template <typename Real>
Head read_head(const Shape& in, int heads, int n, int head, const Real* qkv) {
  const Indexer xi{in};
  const int channels = in.c / 3, size = channels / heads;
  Head h;
  h.tokens = xi(0, 1, 0, 0);
  h.size = static_cast<std::size_t>(size);
  h.factor = 1 / std::sqrt(static_cast<double>(size));
  std::vector<double>* parts[] = {&h.q, &h.k, &h.v};
  for (int part = 0; part < 3; ++part) {
    parts[part]->resize(h.tokens * h.size);
    for (std::size_t t = 0; t < h.tokens; ++t) {
      for (int d = 0; d < size; ++d) {
        const int c = part * channels + head * size + d;
        (*parts[part])[t * h.size + static_cast<std::size_t>(d)] = qkv[xi(n, c, 0, 0) + t];
      }
    }
  }
  h.weights.resize(h.tokens * h.tokens);
  for (std::size_t i = 0; i < h.tokens; ++i) {
    double* row = &h.weights[i * h.tokens];
    for (std::size_t j = 0; j < h.tokens; ++j) {
      row[j] = 0;
      for (std::size_t d = 0; d < h.size; ++d) row[j] += h.q[i * h.size + d] * h.k[j * h.size + d];
      row[j] *= h.factor;
    }
    const double most = *std::max_element(row, row + h.tokens);
    double sum = 0;
    for (std::size_t j = 0; j < h.tokens; ++j) sum += row[j] = std::exp(row[j] - most);
    for (std::size_t j = 0; j < h.tokens; ++j) row[j] /= sum;
  }
  return h;
}

template <typename Real>
void attention_forward(const Shape& in, int heads, const Real* qkv, Real* y) {
  const Indexer yi{{in.n, in.c / 3, in.h, in.w}};
#pragma omp parallel for collapse(2) schedule(static)
  for (int n = 0; n < in.n; ++n) {
    for (int head = 0; head < heads; ++head) {
      const Head h = read_head(in, heads, n, head, qkv);
      for (std::size_t d = 0; d < h.size; ++d) {
        Real* out = y + yi(n, head * static_cast<int>(h.size) + static_cast<int>(d), 0, 0);
        for (std::size_t i = 0; i < h.tokens; ++i) {
          double sum = 0;
          for (std::size_t j = 0; j < h.tokens; ++j) {
            sum += h.weights[i * h.tokens + j] * h.v[j * h.size + d];
          }
          out[i] = static_cast<Real>(sum);
        }
      }
    }
  }
}

// Gradients of q, k and v of one head, given that of its output [tokens, size].
inline void head_backward(const Head& h, const std::vector<double>& dout, std::vector<double>& dq,
                          std::vector<double>& dk, std::vector<double>& dv) {
  for (std::size_t i = 0; i < h.tokens; ++i) {
    std::vector<double> dweights(h.tokens, 0.0);
    double mean = 0;
    for (std::size_t j = 0; j < h.tokens; ++j) {
      const double weight = h.weights[i * h.tokens + j];
      for (std::size_t d = 0; d < h.size; ++d) {
        dweights[j] += dout[i * h.size + d] * h.v[j * h.size + d];
        dv[j * h.size + d] += weight * dout[i * h.size + d];
      }
      mean += weight * dweights[j];
    }
    for (std::size_t j = 0; j < h.tokens; ++j) {
      const double slope = h.weights[i * h.tokens + j] * (dweights[j] - mean) * h.factor;
      for (std::size_t d = 0; d < h.size; ++d) {
        dq[i * h.size + d] += slope * h.k[j * h.size + d];
        dk[j * h.size + d] += slope * h.q[i * h.size + d];
      }
    }
  }
}

template <typename Real>
void attention_backward(const Shape& in, int heads, const Real* qkv, const Real* dy, Real* dqkv) {
  const Indexer xi{in}, yi{{in.n, in.c / 3, in.h, in.w}};
#pragma omp parallel for collapse(2) schedule(static)
  for (int n = 0; n < in.n; ++n) {
    for (int head = 0; head < heads; ++head) {
      const Head h = read_head(in, heads, n, head, qkv);
      std::vector<double> dout(h.q.size()), dparts[3];
      for (auto& part : dparts) part.assign(h.q.size(), 0.0);
      const int first = head * static_cast<int>(h.size);
      for (std::size_t t = 0; t < h.tokens; ++t) {
        for (std::size_t d = 0; d < h.size; ++d) {
          dout[t * h.size + d] = dy[yi(n, first + static_cast<int>(d), 0, 0) + t];
        }
      }
      head_backward(h, dout, dparts[0], dparts[1], dparts[2]);
      for (int part = 0; part < 3; ++part) {
        for (std::size_t t = 0; t < h.tokens; ++t) {
          for (std::size_t d = 0; d < h.size; ++d) {
            const int c = part * in.c / 3 + first + static_cast<int>(d);
            dqkv[xi(n, c, 0, 0) + t] = static_cast<Real>(dparts[part][t * h.size + d]);
          }
        }
      }
    }
  }
}

// The kernel with 0 replaced by the whole side.
inline Extent resolve_kernel(const Extent& kernel, const Shape& in) {
  return {kernel.h == 0 ? in.h : kernel.h, kernel.w == 0 ? in.w : kernel.w};
}

inline std::size_t pooled_count(const Shape& in, const Extent& kernel) {
  return Indexer{{in.n, in.c, in.h / kernel.h, in.w / kernel.w}}.size();
}

// Calls visit(input index, output index) for every pixel that lies in a window.
template <typename Visit>
void over_windows(const Shape& in, const Extent& kernel, const Visit& visit) {
  const Shape out{in.n, in.c, in.h / kernel.h, in.w / kernel.w};
  const Indexer xi{in}, yi{out};
  const int kh = kernel.h, kw = kernel.w;
  for (int n = 0; n < out.n; ++n) {
    for (int c = 0; c < out.c; ++c) {
      for (int h = 0; h < out.h * kh; ++h) {
        for (int w = 0; w < out.w * kw; ++w) visit(xi(n, c, h, w), yi(n, c, h / kh, w / kw));
      }
    }
  }
}

template <typename Real>
void average_pool_forward(const Shape& in, const Extent& kernel, const Real* x, Real* y) {
  std::vector<double> sums(pooled_count(in, kernel), 0.0);
  const double share = 1.0 / (kernel.h * kernel.w);
  over_windows(in, kernel, [&](std::size_t from, std::size_t to) { sums[to] += x[from]; });
  std::transform(sums.begin(), sums.end(), y,
                 [&](double v) { return static_cast<Real>(v * share); });
}

template <typename Real>
void average_pool_backward(const Shape& in, const Extent& kernel, const Real* dy, Real* dx) {
  std::fill_n(dx, Indexer{in}.size(), Real(0));
  const double share = 1.0 / (kernel.h * kernel.w);
  over_windows(in, kernel, [&](std::size_t to, std::size_t from) {
    dx[to] = static_cast<Real>(dy[from] * share);
  });
}

// The first largest pixel of each window.
template <typename Real>
std::vector<std::size_t> largest_places(const Shape& in, const Extent& kernel, const Real* x) {
  std::vector<std::size_t> places(pooled_count(in, kernel), SIZE_MAX);
  over_windows(in, kernel, [&](std::size_t from, std::size_t to) {
    if (places[to] == SIZE_MAX || x[from] > x[places[to]]) places[to] = from;
  });
  return places;
}

template <typename Real>
void max_pool_forward(const Shape& in, const Extent& kernel, const Real* x, Real* y) {
  for (const std::size_t place : largest_places(in, kernel, x)) *y++ = x[place];
}

template <typename Real>
void max_pool_backward(const Shape& in, const Extent& kernel, const Real* x, const Real* dy,
                       Real* dx) {
  std::fill_n(dx, Indexer{in}.size(), Real(0));
  for (const std::size_t place : largest_places(in, kernel, x)) dx[place] = *dy++;
}

// Numbers of one channel of one image; at least 1, for it divides.
inline std::size_t plane_of(const Shape& in) {
  return std::max<std::size_t>(1, Indexer{in}(0, 1, 0, 0));
}

template <typename Real>
void scale_forward(const Shape& in, const Real* x, const Real* factors, Real* y) {
  const std::size_t plane = plane_of(in);
  for (std::size_t i = 0; i < Indexer{in}.size(); ++i) y[i] = x[i] * factors[i / plane];
}

template <typename Real>
void scale_backward(const Shape& in, const Real* x, const Real* factors, const Real* dy, Real* dx,
                    Real* dfactors) {
  const std::size_t plane = plane_of(in), count = Indexer{in}.size();
  for (std::size_t i = 0; dx != nullptr && i < count; ++i) dx[i] = dy[i] * factors[i / plane];
  for (std::size_t first = 0; dfactors != nullptr && first < count; first += plane) {
    double sum = 0;
    for (std::size_t i = first; i < first + plane; ++i) sum += static_cast<double>(dy[i]) * x[i];
    dfactors[first / plane] = static_cast<Real>(sum);
  }
}

}  // namespace ocrtune::reference
