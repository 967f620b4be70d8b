// Element-wise work of the GPU core: lanes take four neighbours at a time where number and places
// allow it, and nobody divides to find out where he is. A row is a plane (a channel of a sample) or
// a span of the whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/gpu/ops/device_rows.h"
#include "core/gpu/ops/device_value.h"

namespace ocrtune::device {

inline constexpr std::size_t kPack = 4;

template <typename Value>
struct alignas(kPack * sizeof(Value)) Pack {
  Value at[kPack];
};

template <typename Value>
OCRTUNE_BOTH bool holds_packs(const Value* start) {
  return reinterpret_cast<std::uintptr_t>(start) % sizeof(Pack<Value>) == 0;
}

template <typename To, typename Function, typename... From>
OCRTUNE_BOTH Pack<To> map_pack(const Function& function, Pack<From>... from) {
  Pack<To> out;
  for (std::size_t k = 0; k < kPack; ++k) out.at[k] = function(static_cast<float>(from.at[k])...);
  return out;
}

// to[p] = function(from[p]...) for p below count; `to` may be one of the others.
template <typename Lane, typename Function, typename To, typename... From>
OCRTUNE_BOTH void map_row(Lane& lane, std::size_t count, const Function& function, To* to,
                          const From*... from) {
  if (count % kPack == 0 && holds_packs(to) && (holds_packs(from) && ...)) {
    for (std::size_t i = many(lane.index()); i < count / kPack; i += many(lane.count())) {
      reinterpret_cast<Pack<To>*>(to)[i] =
          map_pack<To>(function, reinterpret_cast<const Pack<From>*>(from)[i]...);
    }
    return;
  }
  for (std::size_t p = many(lane.index()); p < count; p += many(lane.count())) {
    to[p] = function(static_cast<float>(from[p])...);
  }
}

// --- spans of [count]: `work(lane, first, size)` for each ----------------------------------------

inline constexpr std::size_t kSpan = 2048;

template <typename Work>
struct SpanRow {
  std::size_t count;
  Work work;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t first = row * kSpan, left = count - first;
    work(lane, first, left < kSpan ? left : kSpan);
  }
};

template <typename Executor, typename Work>
Status spans(Executor& executor, std::size_t count, const Work& work) {
  return executor.rows((count + kSpan - 1) / kSpan, SpanRow<Work>{count, work});
}

template <typename From, typename To>
struct CastSpan {
  const From* from;
  To* to;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t first, std::size_t size) const {
    map_row(
        lane, size, [](float one) { return one; }, to + first, from + first);
  }
};

template <typename Value>
using CopySpan = CastSpan<Value, Value>;

template <typename Value>
struct SumSpan {  // y may be a
  const Value *a, *b;
  Value* y;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t first, std::size_t size) const {
    map_row(
        lane, size, [](float one, float other) { return one + other; }, y + first, a + first,
        b + first);
  }
};

template <typename Value>
struct ActivateSpan {  // y may be x
  Activation kind;
  const Value* x;
  Value* y;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t first, std::size_t size) const {
    map_row(
        lane, size, [this](float one) { return activated(kind, one); }, y + first, x + first);
  }
};

template <typename Value>
struct ActivateBackSpan {
  Activation kind;
  const Value *x, *dy;
  Value* dx;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t first, std::size_t size) const {
    map_row(
        lane, size, [this](float one, float slope) { return activated_slope(kind, one) * slope; },
        dx + first, x + first, dy + first);
  }
};

// --- planes: a row is a channel of a sample -----------------------------------------------------

// y += bias of its channel, then the activation.
template <typename Value>
struct BiasRow {
  const float* bias;
  int channels;
  std::size_t plane;
  Activation kind;
  Value* y;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const float shift = bias[row % many(channels)];
    Value* at = y + row * plane;
    map_row(
        lane, plane, [&](float one) { return activated(kind, one + shift); }, at, at);
  }
};

template <typename Value>
struct ScaleRow {
  std::size_t plane;
  const Value *x, *factors;
  Value* y;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const float factor = factors[row];
    map_row(
        lane, plane, [&](float one) { return one * factor; }, y + row * plane, x + row * plane);
  }
};

// Blocks of `size` from one order to another: block i lies `from_at(i)` and goes to `to_at(i)`,
// where each is an index split in two: i / inner * outer step + i % inner * inner step + start.
struct BlockPlaces {
  std::size_t inner, outer_step, inner_step, start;
  OCRTUNE_BOTH std::size_t of(std::size_t i) const {
    return i / inner * outer_step + i % inner * inner_step + start;
  }
};

// A row is a span of a block; blocks are cut into `cuts` of them.
template <typename Value>
struct MoveBlocksRow {
  std::size_t size, cuts;
  const Value* from;
  BlockPlaces from_places;
  Value* to;
  BlockPlaces to_places;
  template <typename Lane>
  OCRTUNE_BOTH void operator()(Lane& lane, std::size_t row) const {
    const std::size_t block = row / cuts, first = row % cuts * kSpan, left = size - first;
    map_row(
        lane, left < kSpan ? left : kSpan, [](float one) { return one; },
        to + to_places.of(block) + first, from + from_places.of(block) + first);
  }
};

template <typename Executor, typename Value>
Status move_blocks(Executor& executor, std::size_t blocks, std::size_t size, const Value* from,
                   const BlockPlaces& from_places, Value* to, const BlockPlaces& to_places) {
  const std::size_t cuts = (size + kSpan - 1) / kSpan;
  return executor.rows(blocks * cuts,
                       MoveBlocksRow<Value>{size, cuts, from, from_places, to, to_places});
}

}  // namespace ocrtune::device
