// Element-wise work of the GPU core: packs, tails, places that packs do not fit, spans and blocks.
#include "core/gpu/ops/device_map.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/host_executor.h"

namespace ocrtune {
namespace {

template <typename Value>
std::vector<Value> counted(std::size_t count) {
  std::vector<Value> out;
  for (std::size_t i = 0; i < count; ++i) out.emplace_back(static_cast<float>(i % 251));
  return out;
}

struct SquareRow {  // of a row of `count`, `shift` numbers behind an aligned place
  std::size_t count, shift;
  const Bf16* x;
  float* y;
  template <typename Lane>
  void operator()(Lane& lane, std::size_t) const {
    device::map_row(
        lane, count, [](float one) { return one * one; }, y + shift, x + shift);
  }
};

TEST(DeviceMap, PacksAndSinglesComputeTheSame) {
  for (const int lanes : {1, 5}) {
    for (const std::size_t count : {1, 3, 4, 8, 61, 64, 240}) {
      for (const std::size_t shift : {0, 1, 4}) {
        HostExecutor executor;
        executor.lanes = lanes;
        const auto x = counted<Bf16>(count + shift);
        std::vector<float> y(count + shift + 1, -1.0F);
        ASSERT_TRUE(executor.rows(1, SquareRow{count, shift, x.data(), y.data()}));
        for (std::size_t i = shift; i < count + shift; ++i) {
          ASSERT_EQ(y[i], static_cast<float>(x[i]) * x[i]) << count << " from " << shift;
        }
        EXPECT_EQ(y[count + shift], -1) << "beyond the row";
        if (shift > 0) {
          EXPECT_EQ(y[shift - 1], -1) << "before the row";
        }
      }
    }
  }
}

TEST(DeviceMap, SpansCoverTheWhole) {
  for (const std::size_t count : {std::size_t{1}, device::kSpan, 2 * device::kSpan + 5}) {
    HostExecutor executor;
    const auto from = counted<float>(count);
    std::vector<Bf16> to(count + 1);
    to[count] = 7.0F;
    ASSERT_TRUE(
        device::spans(executor, count, device::CastSpan<float, Bf16>{from.data(), to.data()}));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(to[i], from[i]) << i;
    EXPECT_EQ(to[count], 7) << "beyond the end";
  }
}

// [2, 3, size] to [3, 2, size] and back; blocks longer than a span.
TEST(DeviceMap, BlocksMoveThereAndBack) {
  for (const std::size_t size : {std::size_t{5}, device::kSpan + 12}) {
    HostExecutor executor;
    const auto from = counted<float>(6 * size);
    std::vector<float> apart(6 * size), back(6 * size);
    const device::BlockPlaces together{1, size, 0, 0}, split{3, size, 2 * size, 0};
    ASSERT_TRUE(device::move_blocks(executor, 6, size, from.data(), together, apart.data(), split));
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t k = 0; k < 3; ++k) {
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_EQ(apart[(k * 2 + n) * size + i], from[(n * 3 + k) * size + i]);
        }
      }
    }
    const float* middle = apart.data();
    ASSERT_TRUE(device::move_blocks(executor, 6, size, middle, split, back.data(), together));
    EXPECT_EQ(back, from);
  }
}

}  // namespace
}  // namespace ocrtune
