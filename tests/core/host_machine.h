// The GPU core's Machine as loops on the host.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "core/device_operators.h"
#include "core/reference_ops.h"

namespace ocrtune {

class HostConv final : public ConvEngine {
 public:
  explicit HostConv(const ConvSizes& sizes) : loop_{sizes.conv, sizes.in, sizes.out} {
    loop_.conv.activation = Activation::none;  // the operator's, behind the bias
  }
  std::size_t scratch_bytes() const override { return 0; }
  Status forward(const float* x, const float* w, float* y, std::byte*) override {
    reference::conv_forward(loop_, x, w, static_cast<const float*>(nullptr), y);
    return Status();
  }
  Status backward_input(const float* w, const float* dy, float* dx, std::byte*) override {
    reference::conv_backward_input(loop_, w, dy, dx);
    return Status();
  }
  Status backward_weight(const float* x, const float* dy, float* dw, std::byte*) override {
    reference::conv_backward_weight(loop_, x, dy, dw, static_cast<float*>(nullptr));
    return Status();
  }

 private:
  reference::ConvLoop loop_;
};

struct HostMachine {
  struct Buffer {
    std::vector<double> words;  // aligned for everything
    template <typename T>
    T* as() const {
      return reinterpret_cast<T*>(const_cast<double*>(words.data()));
    }
  };
  int products = 0;
  double stamps[4] = {};

  template <typename Work>
  Status each(std::size_t count, const Work& work) {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < count; ++i) work(i);
    return Status();
  }
  template <typename Work>
  Status rows(std::size_t count, const Work& work) {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < count; ++i) {
      HostLane lane;
      work(lane, i);
    }
    return Status();
  }
  Status product(const DeviceProduct& p) {
    ++products;
    const auto at = [](const DeviceMatrix& m, int batch, int row, int column) {
      const std::size_t r = device::many(m.transposed ? column : row);
      const std::size_t c = device::many(m.transposed ? row : column);
      return m.start + device::many(batch) * m.step + r * device::many(m.stride) + c;
    };
#pragma omp parallel for collapse(2) schedule(static)
    for (int batch = 0; batch < p.batch; ++batch) {
      for (int i = 0; i < p.rows; ++i) {
        std::vector<double> sums(device::many(p.columns), 0.0);
        const std::size_t next = device::many(p.b.transposed ? p.b.stride : 1);
        for (int k = 0; k < p.depth; ++k) {
          const double a = *at(p.a, batch, i, k);
          const float* b = at(p.b, batch, k, 0);
          for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += a * b[j * next];
        }
        float* c =
            p.c + device::many(batch) * p.c_step + device::many(i) * device::many(p.c_stride);
        for (std::size_t j = 0; j < sums.size(); ++j) {
          c[j] = static_cast<float>(p.scale * sums[j]) + (p.beta == 0 ? 0 : p.beta * c[j]);
        }
      }
    }
    return Status();
  }
  Status clear(void* start, std::size_t bytes) {
    std::memset(start, 0, bytes);
    return Status();
  }
  Result<std::unique_ptr<ConvEngine>> make_conv(const ConvSizes& sizes) {
    return std::unique_ptr<ConvEngine>(std::make_unique<HostConv>(sizes));
  }
  Result<Buffer> allocate(std::size_t bytes) {
    return Buffer{std::vector<double>((bytes + 7) / 8, std::nan(""))};
  }
  Status upload(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return Status();
  }
  Status download(void* to, const void* from, std::size_t bytes) { return upload(to, from, bytes); }
  Status stamp(int slot) {
    stamps[slot] = steady_clock().now_seconds();
    return Status();
  }
  Result<double> seconds_between(int from, int to) { return stamps[to] - stamps[from]; }
};

}  // namespace ocrtune
