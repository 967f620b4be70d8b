// The GPU core's Machine as loops on the host. Work that is run again is kept and replayed, as a
// CUDA graph would be: what it was given the first time is what it computes with.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "core/device_operators.h"
#include "core/reference_ops.h"

#include "lane_team.h"

namespace ocrtune {

struct HostMachine {
  struct Buffer {
    std::vector<double> words;  // aligned for everything
    template <typename T>
    T* as() const {
      return reinterpret_cast<T*>(const_cast<double*>(words.data()));
    }
  };
  struct Recording {
    int runs = 0;
    std::vector<std::function<Status()>> kept;
  };

  int lanes = 1;           // of each row; more than one: as fibers
  bool backwards = false;  // the last lane first
  bool replays = true;
  int products = 0;
  int replayed = 0;
  double stamps[4] = {};
  Recording* recording = nullptr;

  int runs_until_replay() const { return replays ? 3 : 1; }

  // Plainly first, then kept and replayed.
  template <typename Work>
  Status again(Recording& into, const Work& work) {
    if (into.runs++ == 0 || !replays) return work();
    if (into.kept.empty()) {
      recording = &into;
      const Status recorded = work();
      recording = nullptr;
      if (!recorded) return recorded;
    }
    ++replayed;
    for (const auto& one : into.kept) {
      if (Status done = one(); !done) return done;
    }
    return Status();
  }

  template <typename Call>
  Status enqueue(const Call& call) {
    if (recording == nullptr) return call();
    recording->kept.emplace_back(call);
    return Status();
  }

  template <typename Work>
  Status each(std::size_t count, const Work& work) {
    return enqueue([count, work] {
#pragma omp parallel for schedule(static)
      for (std::size_t i = 0; i < count; ++i) work(i);
      return Status();
    });
  }
  template <typename Work>
  Status rows(std::size_t count, const Work& work) {
    return enqueue(
        [this, count, work] { return lanes > 1 ? team(count, work) : loop(count, work); });
  }
  Status product(const DeviceProduct& p) {
    return enqueue([this, p] { return multiply(p); });
  }
  Status clear(void* start, std::size_t bytes) {
    return enqueue([start, bytes] {
      std::memset(start, 0, bytes);
      return Status();
    });
  }
  Result<std::unique_ptr<ConvEngine>> make_conv(const ConvSizes& sizes);
  Result<Buffer> allocate(std::size_t bytes) {
    return Buffer{std::vector<double>((bytes + 7) / 8, std::nan(""))};
  }
  Status upload(void* to, const void* from, std::size_t bytes) {
    if (recording != nullptr) return Error{ErrorKind::failed, "a wait inside a recording"};
    if (bytes > 0) std::memcpy(to, from, bytes);
    return Status();
  }
  Status download(void* to, const void* from, std::size_t bytes) { return upload(to, from, bytes); }
  Status stamp(int slot) {
    stamps[slot] = steady_clock().now_seconds();
    return Status();
  }
  Result<double> seconds_between(int from, int to) { return stamps[to] - stamps[from]; }

 private:
  template <typename Work>
  static Status loop(std::size_t count, const Work& work) {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < count; ++i) {
      HostLane lane;
      work(lane, i);
    }
    return Status();
  }
  template <typename Work>
  Status team(std::size_t count, const Work& work) const {
    LaneTeam together(lanes, backwards);
    for (std::size_t i = 0; i < count; ++i) {
      if (!together.run(work, i)) return Error{ErrorKind::failed, "the lanes of a row parted"};
    }
    return Status();
  }
  Status multiply(const DeviceProduct& p) {
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
};

class HostConv final : public ConvEngine {
 public:
  HostConv(HostMachine& machine, const ConvSizes& sizes)
      : machine_(machine), loop_{sizes.conv, sizes.in, sizes.out} {
    loop_.conv.activation = Activation::none;  // the operator's, behind the bias
  }
  std::size_t scratch_bytes() const override { return 0; }
  Status forward(const float* x, const float* w, float* y, std::byte*) override {
    return machine_.enqueue([this, x, w, y] {
      reference::conv_forward(loop_, x, w, static_cast<const float*>(nullptr), y);
      return Status();
    });
  }
  Status backward_input(const float* w, const float* dy, float* dx, std::byte*) override {
    return machine_.enqueue([this, w, dy, dx] {
      reference::conv_backward_input(loop_, w, dy, dx);
      return Status();
    });
  }
  Status backward_weight(const float* x, const float* dy, float* dw, std::byte*) override {
    return machine_.enqueue([this, x, dy, dw] {
      reference::conv_backward_weight(loop_, x, dy, dw, static_cast<float*>(nullptr));
      return Status();
    });
  }

 private:
  HostMachine& machine_;
  reference::ConvLoop loop_;
};

inline Result<std::unique_ptr<ConvEngine>> HostMachine::make_conv(const ConvSizes& sizes) {
  return std::unique_ptr<ConvEngine>(std::make_unique<HostConv>(*this, sizes));
}

}  // namespace ocrtune
