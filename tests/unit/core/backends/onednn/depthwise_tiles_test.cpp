// Every register width against plain loops; the backend's tests meet only the widest.
#include "core/backends/onednn/depthwise_tiles.h"

#include <utility>
#include <vector>

#include "core/backends/onednn/register_width.h"
#include "tests/support/single_layer.h"

namespace ocrtune {
namespace {

Floats plain_line(const DepthwiseLine& line) {
  Floats out(static_cast<std::size_t>(line.out_columns * line.block));
  for (int i = 0; i < line.out_columns * line.block; ++i) {
    const int lane = i % line.block;
    double sum = line.bias[lane];
    for (int row = 0; row < line.rows; ++row) {
      for (int k = 0; k < line.kernel; ++k) {
        const int column = i / line.block * line.stride - line.pad + k;
        if (column < 0 || column >= line.in_columns) continue;
        sum += double{line.weights[row][k * line.block + lane]} *
               line.in[row][column * line.block + lane];
      }
    }
    const double inner = std::clamp(sum / 6 + 0.5, 0.0, 1.0);
    out[static_cast<std::size_t>(i)] = static_cast<float>(sum * inner * line.scale + line.shift);
  }
  return out;
}

void check_line(void (*run)(const DepthwiseLine&), int kernel, int stride, int block, int columns) {
  SCOPED_TRACE(kernel * 10000 + stride * 1000 + block * 10 + columns);
  const auto row = static_cast<std::size_t>(columns * block);
  const Floats pixels = draw_floats(2 * row, 1, -3, 3);
  const Floats weights = draw_floats(static_cast<std::size_t>(2 * kernel * block), 2);
  const Floats bias = draw_floats(static_cast<std::size_t>(block), 3);
  DepthwiseLine line;
  line.kernel = kernel;
  line.stride = stride;
  line.block = block;
  line.rows = 2;
  line.in[0] = pixels.data();
  line.in[1] = pixels.data() + row;
  line.weights[0] = weights.data();
  line.weights[1] = weights.data() + kernel * block;
  line.pad = kernel / 2;
  line.in_columns = columns;
  line.out_columns = (columns - 1) / stride + 1;
  line.bias = bias.data();
  line.activation = Activation::hard_swish;
  line.scale = 1.5F;
  line.shift = 0.25F;
  const Floats wanted = plain_line(line);
  Floats found(wanted.size() + 1, 7);  // the last must stay
  line.out = found.data();
  run(line);
  EXPECT_EQ(found.back(), 7);
  found.pop_back();
  EXPECT_LT(relative_error(found, wanted), 1e-6);
}

void check_lines(void (*run)(const DepthwiseLine&)) {
  for (const auto& [kernel, stride] : {std::pair{3, 1}, {3, 2}, {5, 1}, {5, 2}}) {
    for (const int block : {8, 16}) {
      for (const int columns : {1, 3, 9, 16, 33}) check_line(run, kernel, stride, block, columns);
    }
  }
}

TEST(DepthwiseTiles, MatchPlainLoopsInPlainRegisters) { check_lines(depthwise_tiles<16>); }

TEST(DepthwiseTiles, MatchPlainLoopsByAvx2) {
#if defined(__x86_64__)
  if (register_bytes() < 32) GTEST_SKIP() << "this CPU has no AVX2";
  check_lines(depthwise_line_avx2);
#else
  GTEST_SKIP() << "this CPU has no AVX2";
#endif
}

TEST(DepthwiseTiles, MatchPlainLoopsByAvx512) {
#if defined(__x86_64__)
  if (register_bytes() < 64) GTEST_SKIP() << "this CPU has no AVX-512";
  check_lines(depthwise_line_avx512);
#else
  GTEST_SKIP() << "this CPU has no AVX-512";
#endif
}

}  // namespace
}  // namespace ocrtune
