// Convolutions of the GPU core as products, where the Executor's library has no engine for them:
// the pixels under each weight are laid out as a matrix, a few samples at a time.
#pragma once

#include <algorithm>

#include "core/gpu/ops/device_operator.h"

namespace ocrtune::device {

struct UnfoldSizes {
  int channels, in_h, in_w, out_h, out_w;
  Extent kernel, stride, pad;
  OCRTUNE_BOTH std::size_t in_plane() const { return many(in_h) * many(in_w); }
  OCRTUNE_BOTH std::size_t out_plane() const { return many(out_h) * many(out_w); }
  OCRTUNE_BOTH std::size_t taps() const { return many(kernel.h) * many(kernel.w); }
  std::size_t columns() const { return many(channels) * taps() * out_plane(); }  // of a sample
};

// x [n, C, H, W] to columns [n, C, taps, pixels of the output]; a row is one of them.
template <typename Value>
struct UnfoldRow {
  UnfoldSizes plan;
  const Value* x;
  Value* columns;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const int tap = static_cast<int>(row % plan.taps());
    const Value* from = x + row / plan.taps() * plan.in_plane();
    const int top = tap / plan.kernel.w - plan.pad.h, left = tap % plan.kernel.w - plan.pad.w;
    const int pixels = plan.out_h * plan.out_w;
    for (int p = lane.index(); p < pixels; p += lane.count()) {
      const int h = p / plan.out_w * plan.stride.h + top, w = p % plan.out_w * plan.stride.w + left;
      const bool inside = h >= 0 && h < plan.in_h && w >= 0 && w < plan.in_w;
      columns[row * plan.out_plane() + many(p)] = inside ? from[h * plan.in_w + w] : 0.0F;
    }
  }
};

// The way back: a pixel gets the sum of its places in the columns. A row is a channel of a sample.
template <typename Value>
struct FoldBackRow {
  UnfoldSizes plan;
  const Value* columns;
  Value* dx;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const Value* from = columns + row * plan.taps() * plan.out_plane();
    const int pixels = plan.in_h * plan.in_w;
    for (int p = lane.index(); p < pixels; p += lane.count()) {
      const int bottom = p / plan.in_w + plan.pad.h, right = p % plan.in_w + plan.pad.w;
      float sum = 0;
      for (int h = 0; h < plan.kernel.h; ++h) {
        const int line = (bottom - h) / plan.stride.h;
        if (bottom < h || (bottom - h) % plan.stride.h != 0 || line >= plan.out_h) continue;
        for (int w = 0; w < plan.kernel.w; ++w) {
          const int column = (right - w) / plan.stride.w;
          if (right < w || (right - w) % plan.stride.w != 0 || column >= plan.out_w) continue;
          sum += from[many(h * plan.kernel.w + w) * plan.out_plane() +
                      many(line * plan.out_w + column)];
        }
      }
      dx[row * plan.in_plane() + many(p)] = sum;
    }
  }
};

template <typename Executor, typename Value>
class UnfoldConv final : public ConvEngine {
 public:
  UnfoldConv(Executor& executor, const ConvSizes& sizes)
      : executor_(executor),
        groups_(sizes.conv.groups),
        count_(sizes.in.n),
        out_(sizes.out.c),
        plan_{sizes.in.c,  sizes.in.h,        sizes.in.w,        sizes.out.h,
              sizes.out.w, sizes.conv.kernel, sizes.conv.stride, sizes.conv.pad} {
    const std::size_t fit = executor.max_scratch() / (plan_.columns() * sizeof(Value));
    at_once_ = static_cast<int>(std::clamp<std::size_t>(fit, 1, many(count_)));
  }
  std::size_t scratch_bytes() const override {
    return many(at_once_) * plan_.columns() * sizeof(Value);
  }
  Status forward(const void* x, const void* w, void* y, std::byte* scratch) override {
    return parts([&](int first, int count) -> Status {
      auto* columns = reinterpret_cast<Value*>(scratch);
      OCRTUNE_TRY(unfold(x, first, count, columns));
      for (int g = 0; g < groups_; ++g) {
        OCRTUNE_TRY(
            executor_.product({count,
                               rows(),
                               pixels(),
                               depth(),
                               {static_cast<const Value*>(w) + group_weights(g), depth(), false, 0},
                               {columns + group_columns(g), pixels(), false, plan_.columns()},
                               static_cast<Value*>(y) + many(first) * out_step() + group_out(g),
                               pixels(),
                               out_step(),
                               1,
                               0}));
      }
      return Status();
    });
  }
  Status backward_input(const void* w, const void* dy, void* dx, std::byte* scratch) override {
    return parts([&](int first, int count) -> Status {
      auto* columns = reinterpret_cast<Value*>(scratch);
      for (int g = 0; g < groups_; ++g) {
        OCRTUNE_TRY(executor_.product(
            {count,
             depth(),
             pixels(),
             rows(),
             {static_cast<const Value*>(w) + group_weights(g), depth(), true, 0},
             {static_cast<const Value*>(dy) + many(first) * out_step() + group_out(g), pixels(),
              false, out_step()},
             columns + group_columns(g),
             pixels(),
             plan_.columns(),
             1,
             0}));
      }
      return executor_.rows(
          many(count) * many(plan_.channels),
          FoldBackRow<Value>{plan_, columns, static_cast<Value*>(dx) + many(first) * in_step()});
    });
  }
  // Samples one after another into the same sums, all groups at once.
  Status backward_weight(const void* x, const void* dy, float* dw, std::byte* scratch) override {
    return parts([&](int first, int count) -> Status {
      auto* columns = reinterpret_cast<Value*>(scratch);
      OCRTUNE_TRY(unfold(x, first, count, columns));
      for (int n = 0; n < count; ++n) {
        OCRTUNE_TRY(executor_.product(
            {groups_,
             rows(),
             depth(),
             pixels(),
             {static_cast<const Value*>(dy) + many(first + n) * out_step(), pixels(), false,
              group_out(1)},
             {columns + many(n) * plan_.columns(), pixels(), true, group_columns(1)},
             dw,
             depth(),
             group_weights(1),
             1,
             first + n == 0 ? 0.0F : 1.0F}));
      }
      return Status();
    });
  }

 private:
  int rows() const { return out_ / groups_; }
  int depth() const { return plan_.channels / groups_ * static_cast<int>(plan_.taps()); }
  int pixels() const { return static_cast<int>(plan_.out_plane()); }
  std::size_t group_weights(int g) const { return many(g) * many(rows()) * many(depth()); }
  std::size_t group_columns(int g) const { return many(g) * many(depth()) * plan_.out_plane(); }
  std::size_t group_out(int g) const { return many(g) * many(rows()) * plan_.out_plane(); }
  std::size_t in_step() const { return many(plan_.channels) * plan_.in_plane(); }
  std::size_t out_step() const { return many(out_) * plan_.out_plane(); }

  template <typename Part>
  Status parts(const Part& part) const {
    for (int first = 0; first < count_; first += at_once_) {
      OCRTUNE_TRY(part(first, std::min(at_once_, count_ - first)));
    }
    return Status();
  }
  Status unfold(const void* x, int first, int count, Value* columns) const {
    return executor_.rows(
        many(count) * many(plan_.channels) * plan_.taps(),
        UnfoldRow<Value>{plan_, static_cast<const Value*>(x) + many(first) * in_step(), columns});
  }

  Executor& executor_;
  int groups_, count_, out_, at_once_ = 1;
  UnfoldSizes plan_;
};

}  // namespace ocrtune::device
