// The judge against central differences, in double.
#include "core/backends/reference/reference_ops.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/backends/reference/reference_branches.h"
#include "core/backends/reference/reference_lstm.h"
#include "core/backends/reference/reference_norm.h"
#include "tests/support/central_difference.h"

namespace ocrtune {
namespace {

using namespace reference;

constexpr double kTolerance = 1e-7;

Doubles draw(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Doubles values(count);
  for (double& value : values) value = random.uniform(-1, 1);
  return values;
}

std::size_t count_of(const Shape& shape) { return Indexer{shape}.size(); }

// tensors: x, weight, bias
double conv_error(const Shape& in, const Conv& conv) {
  Layer layer{"conv", conv, {0}, 1, {}, {}};
  const ConvLoop loop{conv, in, *output_shape(layer, std::vector<Shape>{in})};
  const std::size_t weights = static_cast<std::size_t>(conv.out_channels * loop.in_per_group() *
                                                       conv.kernel.h * conv.kernel.w);
  const std::vector<Doubles> tensors = {draw(count_of(in), 1), draw(weights, 2),
                                        draw(static_cast<std::size_t>(conv.out_channels), 3)};
  const Doubles dy = draw(count_of(loop.out), 4);
  std::vector<Doubles> gradients = tensors;
  conv_backward_input(loop, tensors[1].data(), dy.data(), gradients[0].data());
  conv_backward_weight(loop, tensors[0].data(), dy.data(), gradients[1].data(),
                       gradients[2].data());
  return central_difference_error(tensors, gradients, [&](const std::vector<Doubles>& at) {
    Doubles y(dy.size());
    conv_forward(loop, at[0].data(), at[1].data(), at[2].data(), y.data());
    return dot(y, dy);
  });
}

TEST(ReferenceConv, GradientsMatchCentralDifferences) {
  Conv plain;
  plain.out_channels = 3;
  EXPECT_LT(conv_error({2, 2, 4, 5}, plain), kTolerance);
  Conv strided = plain;
  strided.stride = {2, 1};
  strided.kernel = {3, 5};
  strided.pad = {1, 2};
  EXPECT_LT(conv_error({1, 2, 5, 7}, strided), kTolerance);
  Conv grouped = plain;
  grouped.groups = 2;
  grouped.out_channels = 4;
  EXPECT_LT(conv_error({2, 4, 3, 4}, grouped), kTolerance);
  Conv branched = grouped;
  branched.groups = 4;
  branched.branches = 2;
  branched.out_channels = 8;
  EXPECT_LT(conv_error({1, 4, 3, 4}, branched), kTolerance);
  Conv wide = plain;  // a kernel wider than the image
  wide.kernel = {1, 7};
  wide.pad = {0, 3};
  EXPECT_LT(conv_error({1, 2, 2, 2}, wide), kTolerance);
}

TEST(ReferenceConv, MatchesAHandComputedSum) {
  Conv conv;
  conv.out_channels = 1;
  const ConvLoop loop{conv, {1, 1, 2, 3}, {1, 1, 2, 3}};
  const Doubles x = {1, 2, 3, 4, 5, 6}, weight = {0, 1, 0, 1, 10, 1, 0, 1, 0};
  const Doubles bias = {0.5};
  Doubles y(6);
  conv_forward(loop, x.data(), weight.data(), bias.data(), y.data());
  EXPECT_EQ(y, (Doubles{10 + 2 + 4 + 0.5, 20 + 1 + 3 + 5 + 0.5, 30 + 2 + 6 + 0.5, 40 + 1 + 5 + 0.5,
                        50 + 2 + 4 + 6 + 0.5, 60 + 3 + 5 + 0.5}));
}

// tensors: x, gamma, beta
double norm_error(const Shape& in, const BatchNorm& norm) {
  const auto channels = static_cast<std::size_t>(in.c);
  Layer layer{"norm", norm, {0}, 1, {}, {}};
  const Shape out = *output_shape(layer, std::vector<Shape>{in});
  std::vector<Doubles> tensors = {draw(count_of(in), 1), draw(channels, 2), draw(channels, 3)};
  for (double& gamma : tensors[1]) gamma += 1.5;
  const Doubles dy = draw(count_of(out), 4);
  std::vector<Doubles> gradients = tensors;
  std::vector<ChannelScale> measured(channels);
  const auto forward = [&](const std::vector<Doubles>& at) {
    Doubles y(dy.size()), mean(channels), variance(channels);
    norm_forward(norm, in, true, at[0].data(), at[1].data(), at[2].data(), mean.data(),
                 variance.data(), measured.data(), y.data());
    return dot(y, dy);
  };
  forward(tensors);
  norm_backward(norm, in, tensors[0].data(), tensors[1].data(), tensors[2].data(), measured.data(),
                dy.data(), gradients[0].data(), gradients[1].data(), gradients[2].data());
  return central_difference_error(tensors, gradients, forward);
}

TEST(ReferenceNorm, GradientsMatchCentralDifferences) {
  for (const Activation activation : {Activation::none, Activation::relu, Activation::hard_swish,
                                      Activation::gelu, Activation::swish}) {
    SCOPED_TRACE(static_cast<int>(activation));
    BatchNorm norm;
    norm.activation = activation;
    EXPECT_LT(norm_error({2, 3, 3, 4}, norm), 1e-6);
  }
  BatchNorm pooled;
  pooled.activation = Activation::relu;
  pooled.pool = {2, 2};
  EXPECT_LT(norm_error({2, 3, 4, 5}, pooled), 1e-6);
}

TEST(ReferenceNorm, KeepsRunningStatistics) {
  const Shape in{1, 1, 1, 4};
  const Doubles x = {1, 2, 3, 6}, one = {1}, zero = {0};
  Doubles mean = {0}, variance = {1}, y(4);
  std::vector<ChannelScale> measured(1);
  norm_forward(BatchNorm{}, in, true, x.data(), one.data(), zero.data(), mean.data(),
               variance.data(), measured.data(), y.data());
  EXPECT_NEAR(mean[0], 0.3, 1e-12);
  EXPECT_NEAR(variance[0], 0.9 + 0.1 * 14.0 / 3, 1e-12);  // unbiased
  norm_forward(BatchNorm{}, in, false, x.data(), one.data(), zero.data(), mean.data(),
               variance.data(), measured.data(), y.data());
  EXPECT_NEAR(y[0], (1 - mean[0]) / std::sqrt(variance[0] + 1e-5), 1e-9);
}

TEST(ReferenceNormSum, GradientsMatchCentralDifferences) {
  const Shape two{2, 6, 2, 3}, one{2, 3, 2, 3};
  const NormSumLoop<double> loop{NormSum{3}, {two, one}, one};
  std::vector<Doubles> tensors = {draw(count_of(two), 1),
                                  draw(count_of(one), 2),
                                  draw(6, 3),
                                  draw(6, 4),
                                  draw(3, 5),
                                  draw(3, 6)};
  const Doubles dy = draw(count_of(one), 7);
  std::vector<ChannelScale> measured(9);
  const auto forward = [&](const std::vector<Doubles>& at) {
    Doubles y(dy.size());
    std::vector<Doubles> statistics = {Doubles(6), Doubles(6), Doubles(3), Doubles(3)};
    const double* inputs[] = {at[0].data(), at[1].data()};
    const double* parameters[] = {at[2].data(), at[3].data(), at[4].data(), at[5].data()};
    double* moving[] = {statistics[0].data(), statistics[1].data(), statistics[2].data(),
                        statistics[3].data()};
    norm_sum_forward(loop, true, inputs, parameters, moving, measured.data(), y.data());
    return dot(y, dy);
  };
  forward(tensors);
  std::vector<Doubles> g = tensors;
  const double* inputs[] = {tensors[0].data(), tensors[1].data()};
  const double* parameters[] = {tensors[2].data(), tensors[3].data(), tensors[4].data(),
                                tensors[5].data()};
  double* input_gradients[] = {g[0].data(), g[1].data()};
  double* parameter_gradients[] = {g[2].data(), g[3].data(), g[4].data(), g[5].data()};
  norm_sum_backward(loop, inputs, parameters, measured.data(), dy.data(), input_gradients,
                    parameter_gradients);
  EXPECT_LT(central_difference_error(tensors, g, forward), 1e-6);
}

TEST(ReferenceAffine, GradientsMatchCentralDifferences) {
  std::vector<Doubles> tensors = {draw(12, 1), {1.2}, {0.3}, {-0.7}, {0.1}};
  const Doubles dy = draw(12, 2);
  const auto pointers = [](auto& at) {
    return std::vector{at[1].data(), at[2].data(), at[3].data(), at[4].data()};
  };
  const auto forward = [&](const std::vector<Doubles>& at) {
    Doubles y(dy.size());
    affine_forward(Activation::hard_swish, y.size(), at[0].data(), pointers(at).data(), y.data());
    return dot(y, dy);
  };
  std::vector<Doubles> g = tensors;
  const std::vector<Doubles>& fixed = tensors;
  affine_backward(Activation::hard_swish, dy.size(), fixed[0].data(), pointers(fixed).data(),
                  dy.data(), g[0].data(), pointers(g).data());
  EXPECT_LT(central_difference_error(tensors, g, forward), kTolerance);
}

TEST(ReferenceLstm, GradientsMatchCentralDifferences) {
  const Shape in{2, 3, 1, 4};
  const int h = 2;
  const Doubles dy = draw(count_of({in.n, 2 * h, 1, in.w}), 9);
  const std::vector<Doubles> tensors = {draw(count_of(in), 1), draw(8 * 2 * 3, 2),
                                        draw(8 * 2 * 2, 3), draw(16, 4), draw(16, 5)};
  const auto weights = [](const std::vector<Doubles>& at) {
    return LstmWeights<double>{at[1].data(), at[2].data(), at[3].data(), at[4].data()};
  };
  std::vector<Doubles> g = tensors;
  lstm_backward(in, h, tensors[0].data(), weights(tensors), dy.data(), g[0].data(),
                LstmGradients<double>{g[1].data(), g[2].data(), g[3].data(), g[4].data()});
  const double error = central_difference_error(tensors, g, [&](const std::vector<Doubles>& at) {
    Doubles y(dy.size());
    lstm_forward(in, h, at[0].data(), weights(at), y.data());
    return dot(y, dy);
  });
  EXPECT_LT(error, kTolerance);
}

TEST(ReferenceLinear, GradientsMatchCentralDifferences) {
  const Shape in{2, 3, 2, 2};
  const Doubles dy = draw(count_of({2, 4, 2, 2}), 9);
  const std::vector<Doubles> tensors = {draw(count_of(in), 1), draw(12, 2), draw(4, 3)};
  std::vector<Doubles> g = tensors;
  linear_backward(in, 4, tensors[0].data(), tensors[1].data(), dy.data(), g[0].data(), g[1].data(),
                  g[2].data());
  const double error = central_difference_error(tensors, g, [&](const std::vector<Doubles>& at) {
    Doubles y(dy.size());
    linear_forward(in, 4, at[0].data(), at[1].data(), at[2].data(), y.data());
    return dot(y, dy);
  });
  EXPECT_LT(error, kTolerance);
}

}  // namespace
}  // namespace ocrtune
