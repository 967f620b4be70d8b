#include "core/backends/onednn/gemm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/backends/onednn/gemm_tiles.h"
#include "core/backends/onednn/rows.h"
#include "core/backends/onednn/vector_activation.h"
#include "core/graph/activation.h"
#include "core/graph/tensor.h"

namespace ocrtune {
namespace {

std::vector<float> draw(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  return values;
}

TEST(SmallGemm, MatchesTheDefinitionForAllTileRests) {
  for (const std::size_t rows : {1U, 7U, 8U, 21U}) {
    for (const std::size_t columns : {1U, 15U, 16U, 48U, 83U}) {
      for (const std::size_t depth : {1U, 5U, 96U}) {
        for (const bool accumulate : {false, true}) {
          const std::size_t a_stride = depth + 3, b_stride = columns + 1, c_stride = columns + 2;
          const auto a = draw(rows * a_stride, 1), b = draw(depth * b_stride, 2);
          const auto before = draw(rows * c_stride, 3);
          auto c = before;
          small_gemm(rows, columns, depth, {a.data(), a_stride, false}, b.data(), b_stride,
                     accumulate, c.data(), c_stride);
          for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < c_stride; ++j) {
              double sum = accumulate || j >= columns ? before[i * c_stride + j] : 0;
              for (std::size_t k = 0; j < columns && k < depth; ++k) {
                sum += static_cast<double>(a[i * a_stride + k]) * b[k * b_stride + j];
              }
              ASSERT_NEAR(c[i * c_stride + j], sum, 1e-5) << rows << " " << columns << " " << depth;
            }
          }
        }
      }
    }
  }
}

#if defined(__x86_64__)
// The widths that this CPU has and would not choose.
TEST(SmallGemm, EveryRegisterWidthMatchesTheDefinition) {
  using Multiply = void (*)(const GemmTile&, std::size_t, std::size_t);
  std::vector<Multiply> all = {[](const GemmTile& tile, std::size_t rows, std::size_t columns) {
    multiply_tiles<16, 2, 8>(tile, rows, columns);
  }};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(multiply_avx2);
  for (const Multiply multiply : all) {
    for (const std::size_t rows : {1U, 13U}) {
      for (const std::size_t columns : {1U, 7U, 8U, 37U}) {
        const std::size_t depth = 9, stride = columns + 1;  // rows that start anywhere
        const auto a = draw(rows * depth, 1), b = draw(depth * stride, 2);
        std::vector<float> c(rows * stride, 0.5F);
        multiply({a.data(), depth, 1, b.data(), stride, c.data(), stride, depth, true}, rows,
                 columns);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < columns; ++j) {
            double sum = 0.5;
            for (std::size_t k = 0; k < depth; ++k) {
              sum += static_cast<double>(a[i * depth + k]) * b[k * stride + j];
            }
            ASSERT_NEAR(c[i * stride + j], sum, 1e-5) << rows << " " << columns;
          }
        }
      }
    }
  }
}
#endif

TEST(Gemm, MatchesTheDefinitionTransposed) {
  const std::size_t rows = 9, columns = 20, depth = 33;
  const auto a = draw(rows * depth, 1), b = draw(columns * depth, 2);
  std::vector<float> c(rows * columns, 1.0F);
  ASSERT_TRUE(gemm(rows, columns, depth, {a.data(), rows, true}, {b.data(), depth, true}, 2.0F,
                   c.data(), columns)
                  .ok());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      double sum = 2;
      for (std::size_t k = 0; k < depth; ++k) {
        sum += static_cast<double>(a[k * rows + i]) * b[j * depth + k];
      }
      EXPECT_NEAR(c[i * columns + j], sum, 1e-5);
    }
  }
}

TEST(Rows, SumsColumns) {
  const std::size_t rows = 1000, columns = 21, stride = 25;
  const auto from = draw(rows * stride, 1);
  std::vector<std::byte> scratch(column_sum_scratch_bytes(columns));
  std::vector<float> sums(columns);
  sum_columns(from.data(), rows, columns, stride, scratch.data(), sums.data());
  for (std::size_t j = 0; j < columns; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) sum += from[i * stride + j];
    EXPECT_NEAR(sums[j], sum, 1e-4);
  }
}

TEST(CopyLayout, GoesThereAndBackWithPaddingZero) {
  const Shape shape{2, 20, 3, 50};
  const ImageDesc plain{shape, Layout{1}};
  const auto values = draw(plain.floats(), 1);
  for (const int block : {8, 16, 20}) {
    const ImageDesc blocked{shape, Layout{block}};
    std::vector<float> there(blocked.floats(), 9.0F), back(plain.floats());
    copy_layout(values.data(), plain, there.data(), blocked.layout);
    copy_layout(there.data(), blocked, back.data(), plain.layout);
    EXPECT_EQ(back, values) << block;
    double sum = 0, expected = 0;
    for (const float value : there) sum += std::fabs(value);
    for (const float value : values) expected += std::fabs(value);
    EXPECT_NEAR(sum, expected, 1e-6 * expected) << block;
  }
}

template <Activation kActivation>
void expect_like_definition() {
  for (double x = -12; x < 12; x += 0.01) {
    const auto value = static_cast<float>(x);
    const double tolerance = 3e-7 * std::max(3.0, std::fabs(x));
    EXPECT_NEAR(vector_activate<kActivation>(value), activate(kActivation, double{value}),
                tolerance);
    EXPECT_NEAR(vector_slope<kActivation>(value), activation_slope(kActivation, double{value}),
                tolerance);
  }
}

TEST(VectorActivation, MatchesTheDefinitions) {
  expect_like_definition<Activation::none>();
  expect_like_definition<Activation::relu>();
  expect_like_definition<Activation::hard_swish>();
  expect_like_definition<Activation::hard_sigmoid>();
  expect_like_definition<Activation::gelu>();
  expect_like_definition<Activation::swish>();
}

TEST(VectorMath, ExpIsExactToSevenDigits) {
  for (double x = -87; x < 88; x += 0.037) {
    const auto value = static_cast<float>(x);
    EXPECT_NEAR(fast_exp(value) / std::exp(double{value}), 1, 3e-7) << x;
  }
  EXPECT_GT(fast_exp(-1000), 0);
  EXPECT_LT(fast_exp(1000), 1e39);
  EXPECT_NEAR(fast_tanh(0.3F), std::tanh(0.3), 2e-7);
  EXPECT_EQ(fast_tanh(50), 1);
  EXPECT_EQ(fast_tanh(-50), -1);
}

// Rows 2 KiB or more apart are copied, in parts of 256.
TEST(Gemm, MatchesTheDefinitionOverRowsThatCollide) {
  const std::size_t depth = 300;
  for (const std::size_t rows : {512U, 20U}) {
    for (const std::size_t columns : {512U, 24U}) {
      const auto a = draw(depth * rows, 1), b = draw(depth * columns, 2);
      std::vector<float> c(rows * columns, 1.0F);
      ASSERT_TRUE(gemm(rows, columns, depth, {a.data(), rows, true}, {b.data(), columns, false},
                       2.0F, c.data(), columns));
      for (std::size_t i = 0; i < rows; i += 7) {
        for (std::size_t j = 0; j < columns; j += 5) {
          double sum = 2;
          for (std::size_t k = 0; k < depth; ++k) {
            sum += static_cast<double>(a[k * rows + i]) * b[k * columns + j];
          }
          ASSERT_NEAR(c[i * columns + j], sum, 1e-4) << rows << " " << columns;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ocrtune
