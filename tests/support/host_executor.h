// The GPU core's Executor as loops on the host. Work that is run again is kept and replayed, as a
// CUDA graph would be: what it was given the first time is what it computes with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "core/backends/reference/reference_ops.h"
#include "core/gpu/ops/device_operator.h"
#include "tests/support/lane_team.h"

namespace ocrtune {

struct HostExecutor {
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
  std::size_t scratch = device::kMaxScratch;
  bool convs = true;  // else it has no engine for any convolution
  int products = 0;
  int replayed = 0;
  double stamps[4] = {};
  Recording* recording = nullptr;

  int runs_until_replay() const { return replays ? 3 : 1; }

  // Plainly first, then kept and replayed.
  template <typename Work>
  Status capture_or_replay(Recording& into, const Work& work) {
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
  Status for_each(std::size_t count, const Work& work) {
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
  std::size_t max_scratch() const { return scratch; }
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
    if (p.a.element != p.b.element) return Error{ErrorKind::failed, "factors of two types"};
    const bool small = p.a.element == Element::bf16, into_small = p.c.element == Element::bf16;
    if (small) return into_small ? multiply<Bf16, Bf16>(p) : multiply<Bf16, float>(p);
    if (into_small) return Error{ErrorKind::failed, "a product of floats rounded to bf16"};
    return multiply<float, float>(p);
  }
  template <typename Factor, typename Out>
  static Status multiply(const DeviceProduct& p) {
    const auto at = [](const DeviceMatrix& m, int batch, int row, int column) {
      const std::size_t r = device::many(m.transposed ? column : row);
      const std::size_t c = device::many(m.transposed ? row : column);
      return static_cast<const Factor*>(m.start) + device::many(batch) * m.step +
             r * device::many(m.stride) + c;
    };
#pragma omp parallel for collapse(2) schedule(static)
    for (int batch = 0; batch < p.batch; ++batch) {
      for (int i = 0; i < p.rows; ++i) {
        std::vector<double> sums(device::many(p.columns), 0.0);
        const std::size_t next = device::many(p.b.transposed ? p.b.stride : 1);
        for (int k = 0; k < p.depth; ++k) {
          const double a = *at(p.a, batch, i, k);
          const Factor* b = at(p.b, batch, k, 0);
          for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += a * b[j * next];
        }
        Out* c = static_cast<Out*>(p.c.start) + device::many(batch) * p.c_step +
                 device::many(i) * device::many(p.c_stride);
        for (std::size_t j = 0; j < sums.size(); ++j) {
          c[j] = static_cast<float>(p.scale * sums[j]) + (p.beta == 0 ? 0 : p.beta * c[j]);
        }
      }
    }
    return Status();
  }
};

// The reference's loops over floats, and over bf16 by way of floats.
class HostConv final : public ConvEngine {
 public:
  HostConv(HostExecutor& executor, const ConvSizes& sizes)
      : executor_(executor), sizes_(sizes), loop_{sizes.conv, sizes.in, sizes.out} {
    loop_.conv.activation = Activation::none;  // the operator's, behind the bias
  }
  std::size_t scratch_bytes() const override { return 0; }
  Status forward(const void* x, const void* w, void* y, std::byte*) override {
    return executor_.enqueue([this, x, w, y] {
      const Floats from = floats_at(x, in()), weight = floats_at(w, weights());
      Floats to(out());
      reference::conv_forward(loop_, from.data(), weight.data(), static_cast<const float*>(nullptr),
                              to.data());
      store(to, y);
      return Status();
    });
  }
  Status backward_input(const void* w, const void* dy, void* dx, std::byte*) override {
    return executor_.enqueue([this, w, dy, dx] {
      const Floats weight = floats_at(w, weights()), slopes = floats_at(dy, out());
      Floats to(in());
      reference::conv_backward_input(loop_, weight.data(), slopes.data(), to.data());
      store(to, dx);
      return Status();
    });
  }
  Status backward_weight(const void* x, const void* dy, float* dw, std::byte*) override {
    return executor_.enqueue([this, x, dy, dw] {
      const Floats from = floats_at(x, in()), slopes = floats_at(dy, out());
      reference::conv_backward_weight(loop_, from.data(), slopes.data(), dw,
                                      static_cast<float*>(nullptr));
      return Status();
    });
  }

 private:
  using Floats = std::vector<float>;
  std::size_t in() const { return device::floats(sizes_.in); }
  std::size_t out() const { return device::floats(sizes_.out); }
  std::size_t weights() const { return loop_.weight(sizes_.out.c, 0, 0, 0); }
  Floats floats_at(const void* start, std::size_t count) const {
    if (sizes_.element == Element::fp32) {
      const auto* from = static_cast<const float*>(start);
      return {from, from + count};
    }
    const auto* from = static_cast<const Bf16*>(start);
    return {from, from + count};
  }
  void store(const Floats& from, void* to) const {
    if (sizes_.element == Element::fp32) {
      std::copy(from.begin(), from.end(), static_cast<float*>(to));
    } else {
      std::copy(from.begin(), from.end(), static_cast<Bf16*>(to));
    }
  }

  HostExecutor& executor_;
  ConvSizes sizes_;
  reference::ConvLoop loop_;
};

inline Result<std::unique_ptr<ConvEngine>> HostExecutor::make_conv(const ConvSizes& sizes) {
  if (!convs) return Error{ErrorKind::unsupported, "no engine"};
  return std::unique_ptr<ConvEngine>(std::make_unique<HostConv>(*this, sizes));
}

}  // namespace ocrtune
