// Every operator as plain loops over [N, C, H, W], sums in double: the reference for the fast ones.
//
// Templates, so that tests can run them in double against central differences. `backward`
// functions skip results whose pointer is null, and write (not add to) the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/graph/activation.h"
#include "core/graph/graph.h"

namespace ocrtune::reference {

// The index of [n][c][h][w] in a plain tensor.
struct Indexer {
  Shape shape;
  std::size_t operator()(int n, int c, int h, int w) const {
    return ((static_cast<std::size_t>(n) * static_cast<std::size_t>(shape.c) +
             static_cast<std::size_t>(c)) *
                static_cast<std::size_t>(shape.h) +
            static_cast<std::size_t>(h)) *
               static_cast<std::size_t>(shape.w) +
           static_cast<std::size_t>(w);
  }
  std::size_t size() const { return (*this)(shape.n, 0, 0, 0); }
};

// The geometry of one convolution, and which output columns a kernel column touches.
struct ConvLoop {
  Conv conv;
  Shape in, out;

  int in_per_group() const { return in.c / conv.groups; }
  int branch_channels() const { return out.c / conv.branches; }
  int out_per_group() const { return branch_channels() / conv.groups; }
  // The first input channel that output channel `oc` sees.
  int first_input(int oc) const {
    return oc % branch_channels() / out_per_group() * in_per_group();
  }
  int row(int oh, int kh) const { return oh * conv.stride.h - conv.pad.h + kh; }
  int column(int ow, int kw) const { return ow * conv.stride.w - conv.pad.w + kw; }
  bool has_row(int oh, int kh) const { return row(oh, kh) >= 0 && row(oh, kh) < in.h; }
  // Output columns [first, last) whose input column lies in the image.
  int first_column(int kw) const {
    const int short_by = conv.pad.w - kw;
    return short_by <= 0 ? 0 : (short_by + conv.stride.w - 1) / conv.stride.w;
  }
  int last_column(int kw) const {
    const int room = in.w - 1 + conv.pad.w - kw;
    return room < 0 ? 0 : std::min(out.w, room / conv.stride.w + 1);
  }
  std::size_t weight(int oc, int ic, int kh, int kw) const {
    return ((static_cast<std::size_t>(oc) * static_cast<std::size_t>(in_per_group()) +
             static_cast<std::size_t>(ic)) *
                static_cast<std::size_t>(conv.kernel.h) +
            static_cast<std::size_t>(kh)) *
               static_cast<std::size_t>(conv.kernel.w) +
           static_cast<std::size_t>(kw);
  }
};

template <typename Real>
void conv_forward(const ConvLoop& loop, const Real* x, const Real* weight, const Real* bias,
                  Real* y) {
  const Indexer xi{loop.in}, yi{loop.out};
#pragma omp parallel for collapse(2) schedule(static)
  for (int n = 0; n < loop.out.n; ++n) {
    for (int oc = 0; oc < loop.out.c; ++oc) {
      const int first_ic = loop.first_input(oc);
      std::vector<double> sums(static_cast<std::size_t>(loop.out.w));
      for (int oh = 0; oh < loop.out.h; ++oh) {
        std::fill(sums.begin(), sums.end(), bias == nullptr ? 0.0 : static_cast<double>(bias[oc]));
        for (int ic = 0; ic < loop.in_per_group(); ++ic) {
          for (int kh = 0; kh < loop.conv.kernel.h; ++kh) {
            if (!loop.has_row(oh, kh)) continue;
            for (int kw = 0; kw < loop.conv.kernel.w; ++kw) {
              const double w = weight[loop.weight(oc, ic, kh, kw)];
              const Real* row = x + xi(n, first_ic + ic, loop.row(oh, kh), 0);
              for (int ow = loop.first_column(kw); ow < loop.last_column(kw); ++ow) {
                sums[static_cast<std::size_t>(ow)] += w * row[loop.column(ow, kw)];
              }
            }
          }
        }
        for (int ow = 0; ow < loop.out.w; ++ow) {
          y[yi(n, oc, oh, ow)] =
              static_cast<Real>(activate(loop.conv.activation, sums[static_cast<std::size_t>(ow)]));
        }
      }
    }
  }
}

template <typename Real>
void conv_backward_input(const ConvLoop& loop, const Real* weight, const Real* dy, Real* dx) {
  const Indexer xi{loop.in}, yi{loop.out};
#pragma omp parallel for collapse(2) schedule(static)
  for (int n = 0; n < loop.in.n; ++n) {
    for (int c = 0; c < loop.in.c; ++c) {
      const int ic = c % loop.in_per_group();
      std::vector<double> sums(Indexer{{1, 1, loop.in.h, loop.in.w}}.size(), 0.0);
      for (int oc = 0; oc < loop.out.c; ++oc) {
        if (loop.first_input(oc) != c - ic) continue;
        for (int oh = 0; oh < loop.out.h; ++oh) {
          for (int kh = 0; kh < loop.conv.kernel.h; ++kh) {
            if (!loop.has_row(oh, kh)) continue;
            double* row = sums.data() + static_cast<std::ptrdiff_t>(loop.row(oh, kh)) * loop.in.w;
            for (int kw = 0; kw < loop.conv.kernel.w; ++kw) {
              const double w = weight[loop.weight(oc, ic, kh, kw)];
              for (int ow = loop.first_column(kw); ow < loop.last_column(kw); ++ow) {
                row[loop.column(ow, kw)] += w * dy[yi(n, oc, oh, ow)];
              }
            }
          }
        }
      }
      std::transform(sums.begin(), sums.end(), dx + xi(n, c, 0, 0),
                     [](double sum) { return static_cast<Real>(sum); });
    }
  }
}

template <typename Real>
void conv_backward_weight(const ConvLoop& loop, const Real* x, const Real* dy, Real* dweight,
                          Real* dbias) {
  const Indexer xi{loop.in}, yi{loop.out};
#pragma omp parallel for schedule(static)
  for (int oc = 0; oc < loop.out.c; ++oc) {
    const int first_ic = loop.first_input(oc);
    for (int ic = 0; ic < loop.in_per_group(); ++ic) {
      for (int kh = 0; kh < loop.conv.kernel.h; ++kh) {
        for (int kw = 0; kw < loop.conv.kernel.w; ++kw) {
          double sum = 0;
          for (int n = 0; n < loop.out.n; ++n) {
            for (int oh = 0; oh < loop.out.h; ++oh) {
              if (!loop.has_row(oh, kh)) continue;
              const Real* row = x + xi(n, first_ic + ic, loop.row(oh, kh), 0);
              const Real* grad = dy + yi(n, oc, oh, 0);
              for (int ow = loop.first_column(kw); ow < loop.last_column(kw); ++ow) {
                sum += static_cast<double>(grad[ow]) * row[loop.column(ow, kw)];
              }
            }
          }
          dweight[loop.weight(oc, ic, kh, kw)] = static_cast<Real>(sum);
        }
      }
    }
    if (dbias == nullptr) continue;
    double sum = 0;
    for (int n = 0; n < loop.out.n; ++n) {
      for (int oh = 0; oh < loop.out.h; ++oh) {
        for (int ow = 0; ow < loop.out.w; ++ow) sum += dy[yi(n, oc, oh, ow)];
      }
    }
    dbias[oc] = static_cast<Real>(sum);
  }
}

// The channels of pixel p of sample n.
template <typename Real>
void gather_pixel(const Shape& in, int n, std::size_t p, const Real* x, std::vector<double>& row) {
  const Indexer xi{in};
  row.resize(static_cast<std::size_t>(in.c));
  for (int c = 0; c < in.c; ++c) row[static_cast<std::size_t>(c)] = x[xi(n, c, 0, 0) + p];
}

template <typename Real>
void linear_forward(const Shape& in, int out_channels, const Real* x, const Real* weight,
                    const Real* bias, Real* y) {
  const Indexer yi{{in.n, out_channels, in.h, in.w}};
  const std::size_t plane = yi(0, 1, 0, 0), channels = static_cast<std::size_t>(in.c);
#pragma omp parallel for collapse(2) schedule(static)
  for (int n = 0; n < in.n; ++n) {
    for (std::size_t p = 0; p < plane; ++p) {
      std::vector<double> row;
      gather_pixel(in, n, p, x, row);
      for (int o = 0; o < out_channels; ++o) {
        const Real* w = weight + static_cast<std::size_t>(o) * channels;
        double sum = bias == nullptr ? 0 : static_cast<double>(bias[o]);
        for (std::size_t c = 0; c < channels; ++c) sum += row[c] * w[c];
        y[yi(n, o, 0, 0) + p] = static_cast<Real>(sum);
      }
    }
  }
}

// dx = W^T dy at every pixel.
template <typename Real>
void linear_backward_input(const Shape& in, int out_channels, const Real* weight, const Real* dy,
                           Real* dx) {
  const Shape out{in.n, out_channels, in.h, in.w};
  const Indexer xi{in};
  const std::size_t plane = xi(0, 1, 0, 0), channels = static_cast<std::size_t>(in.c);
#pragma omp parallel for collapse(2) schedule(static)
  for (int n = 0; n < in.n; ++n) {
    for (std::size_t p = 0; p < plane; ++p) {
      std::vector<double> slopes, sums(channels, 0.0);
      gather_pixel(out, n, p, dy, slopes);
      for (std::size_t o = 0; o < slopes.size(); ++o) {
        const Real* w = weight + o * channels;
        for (std::size_t c = 0; c < channels; ++c) sums[c] += slopes[o] * w[c];
      }
      for (int c = 0; c < in.c; ++c) {
        dx[xi(n, c, 0, 0) + p] = static_cast<Real>(sums[static_cast<std::size_t>(c)]);
      }
    }
  }
}

template <typename Real>
void linear_backward(const Shape& in, int out_channels, const Real* x, const Real* weight,
                     const Real* dy, Real* dx, Real* dweight, Real* dbias) {
  if (dx != nullptr) linear_backward_input(in, out_channels, weight, dy, dx);
  const Indexer yi{{in.n, out_channels, in.h, in.w}};
  const std::size_t plane = yi(0, 1, 0, 0), channels = static_cast<std::size_t>(in.c);
#pragma omp parallel for schedule(static)
  for (int o = 0; o < out_channels; ++o) {
    std::vector<double> row, sums(channels, 0.0);
    double bias_sum = 0;
    for (int n = 0; n < in.n; ++n) {
      for (std::size_t p = 0; p < plane; ++p) {
        const double slope = dy[yi(n, o, 0, 0) + p];
        gather_pixel(in, n, p, x, row);
        for (std::size_t c = 0; c < channels; ++c) sums[c] += slope * row[c];
        bias_sum += slope;
      }
    }
    for (std::size_t c = 0; c < channels; ++c) {
      dweight[static_cast<std::size_t>(o) * channels + c] = static_cast<Real>(sums[c]);
    }
    if (dbias != nullptr) dbias[o] = static_cast<Real>(bias_sum);
  }
}

}  // namespace ocrtune::reference
