// Every operator of the onednn backend against the reference, in every layout that it meets.
#include "core/backends/onednn/onednn_backend.h"

#include <tuple>

#include "core/backends/onednn/int8_kernels.h"
#include "core/graph/inference_form.h"
#include "core/graph/plan.h"
#include "core/models/model.h"
#include "tests/support/single_layer.h"

namespace ocrtune {
namespace {

// Both round to float: sums of a few thousand terms differ by this much of the largest value.
constexpr double kTolerance = 2e-5;

LayerCase conv_case(const Shape& in, const Conv& conv, Layout offered = Layout{1}) {
  GraphBuilder net("test", in.c);
  return {net.finish(net.conv("conv", 0, conv)), {in}, offered, true};
}

void expect_like_reference(const LayerCase& test, double tolerance = kTolerance) {
  expect_same(run_layer(test, "onednn"), run_layer(test, "reference"), tolerance);
}

Conv make_conv(int out, Extent kernel, Extent stride, int groups, bool bias) {
  Conv conv;
  conv.out_channels = out;
  conv.kernel = kernel;
  conv.stride = stride;
  conv.pad = {kernel.h / 2, kernel.w / 2};
  conv.groups = groups;
  conv.bias = bias;
  return conv;
}

TEST(OnednnConv, MatchesReferenceOnImages) {
  expect_like_reference(conv_case({2, 3, 8, 20}, make_conv(32, {3, 3}, {1, 1}, 1, false)));
}

TEST(OnednnConv, MatchesReferenceWithBlockedChannels) {
  expect_like_reference(
      conv_case({2, 32, 6, 10}, make_conv(64, {3, 3}, {1, 1}, 1, true), Layout{16}));
}

TEST(OnednnConv, MatchesReferenceWithPaddedChannels) {
  expect_like_reference(
      conv_case({2, 24, 6, 10}, make_conv(40, {1, 1}, {1, 1}, 1, true), Layout{16}));
}

TEST(OnednnConv, MatchesReferenceWithStridesAndOddSizes) {
  expect_like_reference(
      conv_case({1, 16, 7, 11}, make_conv(32, {3, 3}, {2, 1}, 1, true), Layout{16}));
}

TEST(OnednnConv, MatchesReferenceOnGroupedTokens) {
  expect_like_reference(
      conv_case({2, 64, 4, 9}, make_conv(64, {5, 5}, {1, 1}, 2, true), Layout{64}));
}

TEST(OnednnConv, MatchesReferenceOnOneSampleOfOneRow) {
  expect_like_reference(
      conv_case({1, 20, 1, 5}, make_conv(12, {1, 3}, {1, 1}, 1, false), Layout{20}));
}

// As inference has it, with what was joined to the convolution.
LayerCase followed_case(const Shape& in, Conv conv, Activation activation, bool affine,
                        Layout offered) {
  conv.activation = activation;
  conv.affine = affine;
  LayerCase test = conv_case(in, conv, offered);
  test.training = false;
  return test;
}

TEST(OnednnConv, MatchesReferenceWithWhatFollows) {
  for (const Activation activation : {Activation::none, Activation::hard_swish}) {
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(bias);
      const auto check = [&](const Shape& in, const Conv& conv, int block) {
        expect_like_reference(followed_case(in, conv, activation, true, Layout{block}));
      };
      check({2, 24, 6, 10}, make_conv(40, {1, 1}, {1, 1}, 1, bias), 16);
      check({2, 24, 6, 10}, make_conv(24, {5, 5}, {2, 1}, 24, bias), 16);
      check({1, 3, 6, 10}, make_conv(12, {3, 3}, {2, 2}, 1, bias), 1);
      check({1, 20, 1, 9}, make_conv(12, {1, 3}, {1, 1}, 1, bias), 20);
    }
  }
}

// Each factor is off by at most half a step of 255 or 127, and errors cancel: of the largest number
// of the result a few thousandths are left.
TEST(Int8Conv, IsNearTheReferenceInEveryLayout) {
  if (!has_native_int8()) GTEST_SKIP() << "this CPU has no AVX512_VNNI";
  constexpr double kInt8Tolerance = 0.02;
  for (const Activation activation : {Activation::none, Activation::hard_swish, Activation::gelu}) {
    for (const bool bias : {false, true}) {
      const auto check = [&](const Shape& in, const Conv& conv, int block, bool affine) {
        SCOPED_TRACE(in.c * 1000 + conv.out_channels);
        const LayerCase test = followed_case(in, conv, activation, affine, Layout{block});
        const Floats ours = run_layer(test, "onednn", "int8").output;
        const Floats exact = run_layer(test, "reference").output;
        EXPECT_LT(relative_error(ours, exact), kInt8Tolerance);
        EXPECT_NE(ours, run_layer(test, "onednn").output) << "it was computed in floats";
      };
      check({2, 32, 6, 10}, make_conv(64, {1, 1}, {1, 1}, 1, bias), 16, true);
      check({2, 24, 5, 13}, make_conv(40, {1, 1}, {1, 1}, 1, bias), 16, true);
      check({1, 48, 7, 11}, make_conv(130, {3, 3}, {2, 1}, 1, bias), 16, false);
      check({3, 20, 2, 9}, make_conv(37, {1, 3}, {1, 1}, 1, bias), 20, true);
    }
  }
}

TEST(Int8Conv, ReadsALineAlikeWhateverItsBatch) {
  if (!has_native_int8()) GTEST_SKIP() << "this CPU has no AVX512_VNNI";
  const Conv conv = make_conv(32, {1, 1}, {1, 1}, 1, true);
  const LayerCase one = followed_case({1, 32, 2, 16}, conv, Activation::none, false, Layout{16});
  const LayerCase two = followed_case({2, 32, 2, 16}, conv, Activation::none, false, Layout{16});
  const Floats alone = run_layer(one, "onednn", "int8").output;
  Floats first = run_layer(two, "onednn", "int8").output;
  first.resize(alone.size());
  EXPECT_EQ(alone, first);
}

TEST(OnednnBackend, TrainsInNoEightBits) {
  if (!has_native_int8()) GTEST_SKIP() << "this CPU has no AVX512_VNNI";
  const LayerCase test = conv_case({1, 16, 4, 4}, make_conv(16, {1, 1}, {1, 1}, 1, false));
  const auto backend = make_backend({"onednn", "int8"});
  const auto made = (*backend)->create(
      {test.graph.layers[0], {{test.inputs[0], Layout{16}}}, {1, 16, 4, 4}, true, true});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::unsupported);
  EXPECT_NE(made.error().what.find("int8 is for inference"), std::string::npos);
}

LayerCase depthwise_case(const Shape& in, int kernel, Extent stride, int branches, int block,
                         bool bias = false) {
  Conv conv = make_conv(branches * in.c, {kernel, kernel}, stride, in.c, bias);
  conv.branches = branches;
  return conv_case(in, conv, Layout{block});
}

TEST(FastDepthwise, MatchesReferenceWithEveryKernelAndStride) {
  for (const int kernel : {1, 3, 5}) {
    for (const Extent stride : {Extent{1, 1}, Extent{2, 1}, Extent{1, 2}, Extent{2, 2}}) {
      SCOPED_TRACE(kernel * 100 + stride.h * 10 + stride.w);
      expect_like_reference(depthwise_case({2, 16, 7, 19}, kernel, stride, 1, 8));
      expect_like_reference(depthwise_case({2, 16, 6, 18}, kernel, stride, 4, 16));
    }
  }
}

TEST(FastDepthwise, MatchesReferenceOnImagesNarrowerThanTheKernel) {
  for (const int width : {1, 2, 3, 4}) {
    SCOPED_TRACE(width);
    expect_like_reference(depthwise_case({1, 8, 2, width}, 5, {1, 1}, 2, 8));
    expect_like_reference(depthwise_case({1, 8, 3, width}, 5, {2, 2}, 1, 8));
  }
}

TEST(FastDepthwise, MatchesReferenceWithPaddedChannels) {
  expect_like_reference(depthwise_case({2, 20, 5, 9}, 3, {1, 1}, 1, 8));
  expect_like_reference(depthwise_case({2, 20, 5, 9}, 5, {2, 1}, 1, 8, true));
  expect_like_reference(depthwise_case({3, 32, 5, 9}, 3, {1, 1}, 1, 16, true));
  expect_like_reference(depthwise_case({2, 24, 5, 9}, 5, {1, 1}, 2, 16));  // falls back to 8
}

TEST(DepthwiseInference, MatchesReferenceWithWhatFollows) {
  for (const Activation activation : {Activation::none, Activation::relu, Activation::hard_swish}) {
    const bool follows = activation != Activation::none;
    for (const int kernel : {3, 5}) {
      for (const Extent stride : {Extent{1, 1}, Extent{2, 1}, Extent{1, 2}}) {
        SCOPED_TRACE(kernel * 100 + stride.h * 10 + stride.w);
        const Conv conv = make_conv(32, {kernel, kernel}, stride, 32, follows);
        for (const int width : {1, 21}) {
          expect_like_reference(
              followed_case({2, 32, 5, width}, conv, activation, follows, Layout{16}));
        }
      }
    }
  }
}

TEST(OnednnBackend, RefusesBranchesThatItCannotTakeApart) {
  Conv conv = make_conv(3 * 12, {3, 3}, {1, 1}, 12, false);
  conv.branches = 3;
  const LayerCase test = conv_case({1, 12, 4, 4}, conv);
  const auto backend = make_backend({"onednn", "fp32"});
  const OperatorRequest request{
      test.graph.layers[0], {{test.inputs[0], Layout{1}}}, {1, 36, 4, 4}, true, true};
  const auto made = (*backend)->create(request);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::unsupported);
  EXPECT_NE(made.error().what.find("multiple of 8"), std::string::npos);
}

LayerCase norm_sum_case(const std::vector<Shape>& inputs, int channels, int block) {
  GraphBuilder net("test", inputs[0].c);
  std::vector<int> values = {0};
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    values.push_back(
        net.conv("other" + std::to_string(i), 0, make_conv(inputs[i].c, {1, 1}, {1, 1}, 1, false)));
  }
  Graph whole = net.finish(net.norm_sum("sum", values, channels));
  // The sum alone: its parameters stand behind those of the convolutions.
  Graph graph = whole;
  graph.layers = {whole.layers.back()};
  const std::size_t convs = inputs.size() - 1;
  graph.parameters.erase(graph.parameters.begin(),
                         graph.parameters.begin() + static_cast<std::ptrdiff_t>(convs));
  return {graph, inputs, Layout{block}, true};
}

TEST(FastNormSum, MatchesReferenceWithBranchesAndIdentity) {
  for (const int block : {1, 8, 16}) {
    SCOPED_TRACE(block);
    const Shape one{2, 32, 5, 7}, four{2, 128, 5, 7};
    expect_like_reference(norm_sum_case({one}, 32, block));
    expect_like_reference(norm_sum_case({four, one, one}, 32, block));
    expect_like_reference(norm_sum_case({{2, 24, 5, 7}, {2, 12, 5, 7}}, 12, block));
  }
}

TEST(FastNormSum, MatchesReferenceInInference) {
  LayerCase test = norm_sum_case({{2, 32, 3, 4}, {2, 16, 3, 4}}, 16, 8);
  test.training = false;
  expect_like_reference(test);
}

TEST(FastAffine, MatchesReferenceInEveryLayout) {
  for (const int block : {1, 8, 16, 20}) {
    for (const Activation activation : {Activation::none, Activation::hard_swish}) {
      SCOPED_TRACE(block);
      GraphBuilder net("test", 20);
      const int y = net.affine("affine", 0, activation);
      expect_like_reference({net.finish(y), {{2, 20, 5, 7}}, Layout{block}, true}, 1e-4);
    }
  }
}

LayerCase norm_case(const Shape& in, Activation activation, Extent pool, int block) {
  GraphBuilder net("test", in.c);
  BatchNorm norm;
  norm.activation = activation;
  norm.pool = pool;
  return {net.finish(net.batch_norm("norm", 0, norm)), {in}, Layout{block}, true};
}

TEST(FastNorm, MatchesReferenceInEveryLayout) {
  for (const int block : {1, 8, 16, 40}) {
    SCOPED_TRACE(block);
    expect_like_reference(norm_case({3, 40, 5, 7}, Activation::none, {1, 1}, block));
  }
}

TEST(FastNorm, MatchesReferenceWithEveryActivation) {
  for (const Activation activation :
       {Activation::relu, Activation::hard_swish, Activation::hard_sigmoid, Activation::gelu,
        Activation::swish}) {
    for (const int block : {16, 32}) {
      SCOPED_TRACE(static_cast<int>(activation));
      expect_like_reference(norm_case({2, 32, 4, 6}, activation, {1, 1}, block));
    }
  }
}

TEST(FastNorm, MatchesReferenceWithEveryPool) {
  for (const Extent pool : {Extent{2, 2}, Extent{2, 1}, Extent{0, 1}, Extent{1, 3}}) {
    for (const int block : {1, 8, 16}) {
      SCOPED_TRACE(pool.h * 100 + pool.w * 10 + block);
      expect_like_reference(norm_case({2, 24, 6, 10}, Activation::relu, pool, block));
      expect_like_reference(norm_case({2, 24, 6, 10}, Activation::none, pool, block));
    }
  }
}

TEST(FastNorm, MatchesReferenceWherePoolLeavesARest) {
  expect_like_reference(norm_case({2, 16, 5, 7}, Activation::relu, {2, 2}, 16));
}

TEST(FastNorm, MatchesReferenceInInference) {
  LayerCase test = norm_case({2, 16, 4, 6}, Activation::relu, {2, 2}, 16);
  test.training = false;
  expect_like_reference(test);
}

TEST(FastNorm, StaysExactFarFromZero) {
  // A mean of 100 deviations: the difference of large squares must not eat the variance.
  LayerCase test = norm_case({2, 16, 8, 8}, Activation::none, {1, 1}, 16);
  const ImageDesc desc{test.inputs[0], Layout{16}};
  BatchNorm norm;
  const auto backend = make_backend({"onednn", "fp32"});
  OperatorRequest request{test.graph.layers[0], {desc}, desc.shape, true, true};
  const auto op = (*backend)->create(request);
  ASSERT_TRUE(op.ok());
  const Memory saved = std::move(*Memory::allocate((*op)->needs().saved_bytes));
  const Memory scratch = std::move(*Memory::allocate((*op)->needs().forward_scratch_bytes));
  Floats x = draw_floats(desc.floats(), 5), y(x.size()), ones(16, 1.0F), zeros(16, 0.0F);
  Floats mean(16, 0.0F), variance(16, 1.0F);
  for (float& value : x) value += 58;
  const float* input = x.data();
  const float* parameters[] = {ones.data(), zeros.data()};
  float* statistics[] = {mean.data(), variance.data()};
  OperatorCall call;
  call.inputs = {&input, 1};
  call.output = y.data();
  call.parameters = parameters;
  call.statistics = statistics;
  call.saved = saved.bytes();
  call.scratch = scratch.bytes();
  ASSERT_TRUE((*op)->forward(call).ok());
  double squares = 0;
  for (const float value : y) squares += static_cast<double>(value) * value;
  EXPECT_NEAR(squares / static_cast<double>(y.size()), 1.0, 1e-3);
}

TEST(FastLstm, MatchesReference) {
  for (const int hidden : {96, 5, 16}) {
    SCOPED_TRACE(hidden);
    GraphBuilder net("test", 20);
    LayerCase test{net.finish(net.bi_lstm("lstm", 0, BiLstm{hidden})), {{3, 20, 1, 7}}};
    expect_like_reference(test);
  }
}

TEST(FastLstm, MatchesReferenceOnManySamples) {
  GraphBuilder net("test", 4);
  LayerCase test{net.finish(net.bi_lstm("lstm", 0, BiLstm{8})), {{37, 4, 1, 3}}};
  expect_like_reference(test);
}

TEST(FastLinear, MatchesReference) {
  for (const bool bias : {true, false}) {
    GraphBuilder net("test", 33);
    LayerCase test{net.finish(net.linear("linear", 0, Linear{17, bias})), {{3, 33, 2, 5}}};
    expect_like_reference(test);
  }
}

TEST(FastSum, MatchesReferenceForTwoAndMore) {
  for (const int count : {2, 5}) {
    GraphBuilder net("test", 24);
    const Shape shape{2, 24, 3, 50};
    const std::vector<int> inputs(static_cast<std::size_t>(count), 0);
    LayerCase test{net.finish(net.sum("sum", inputs)),
                   std::vector<Shape>(static_cast<std::size_t>(count), shape), Layout{16}};
    expect_like_reference(test);
  }
}

TEST(FastSum, TakesAllInputsInTheLayoutOfTheFirst) {
  GraphBuilder net("test", 24);
  const Layer layer = net.finish(net.sum("sum", {0, 0})).layers[0];
  const Shape shape{1, 24, 2, 2};
  const std::vector<ImageDesc> offered = {{shape, Layout{16}}, {shape, Layout{24}}};
  EXPECT_EQ(make_onednn_backend(OnednnPrecision::fp32)->wanted_layout(layer, offered, shape, 1),
            Layout{16});
}

TEST(FastLayerNorm, MatchesReference) {
  for (const int channels : {20, 48}) {
    GraphBuilder net("test", channels);
    LayerCase test{net.finish(net.layer_norm("norm", 0, LayerNorm{})), {{3, channels, 5, 31}}};
    expect_like_reference(test);
  }
}

TEST(FastAttention, MatchesReferenceForAllSizes) {
  // Tokens below, at and beyond a block of rows; head sizes that fill a vector and that do not.
  for (const auto& [heads, size, h, w] :
       {std::tuple{2, 32, 3, 37}, {8, 15, 1, 40}, {1, 16, 6, 8}, {3, 5, 1, 1}}) {
    SCOPED_TRACE(w);
    GraphBuilder net("test", 3 * heads * size);
    LayerCase test{net.finish(net.attention("attention", 0, Attention{heads})),
                   {{2, 3 * heads * size, h, w}}};
    expect_like_reference(test);
  }
}

TEST(FastActivate, MatchesReference) {
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::swish,
                                      Activation::hard_swish, Activation::hard_sigmoid}) {
    GraphBuilder net("test", 16);
    LayerCase test{net.finish(net.activate("act", 0, activation)), {{3, 16, 20, 30}}, Layout{16}};
    expect_like_reference(test);
  }
}

TEST(FastConcat, MatchesReference) {
  GraphBuilder net("test", 12);
  LayerCase test{net.finish(net.concat("concat", {0, 0, 0})),
                 {{2, 12, 3, 4}, {2, 12, 3, 4}, {2, 12, 3, 4}}};
  expect_like_reference(test);
}

TEST(FastPool, MatchesReferenceInEveryLayout) {
  for (const Extent kernel : {Extent{3, 2}, Extent{0, 2}, Extent{0, 0}, Extent{2, 2}}) {
    for (const int block : {1, 16, 24}) {
      SCOPED_TRACE(kernel.h * 100 + kernel.w * 10 + block);
      GraphBuilder average("test", 24), maximum("test", 24);
      expect_like_reference({average.finish(average.average_pool("pool", 0, AveragePool{kernel})),
                             {{2, 24, 5, 7}},
                             Layout{block}});
      expect_like_reference({maximum.finish(maximum.max_pool("pool", 0, MaxPool{kernel})),
                             {{2, 24, 5, 7}},
                             Layout{block}});
    }
  }
}

TEST(FastScale, MatchesReferenceInEveryLayout) {
  for (const int block : {1, 16, 24}) {
    GraphBuilder net("test", 24);
    LayerCase test{
        net.finish(net.scale("scale", 0, 0)), {{2, 24, 5, 7}, {2, 24, 1, 1}}, Layout{block}};
    expect_like_reference(test);
  }
}

// oneDNN's own plain loops are a hundred times slower: a layer that falls to them is a fault of
// the layouts we chose.
void expect_kernels(const Graph& graph, const Shape& image, bool training) {
  const auto backend = make_backend({"onednn", "fp32"});
  const auto plan = make_plan(graph, **backend, image, training);
  ASSERT_TRUE(plan.ok());
  for (const PlanStep& step : plan->steps) {
    if (step.op == nullptr) continue;
    EXPECT_FALSE(step.op->needs().runs_plain_loops) << graph.name << ": " << step.layer->name;
  }
}

TEST(OnednnBackend, RunsNoLayerOfAnyModelOnPlainLoops) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "oneDNN has few kernels without AVX2";
#else
  GTEST_SKIP() << "oneDNN's kernels for other processors are another matter";
#endif
  for (const ModelRow& model : model_table()) {
    const Graph graph = model.build(97);
    for (const int count : {1, 8}) {
      const Shape image{count, 3, model.height, model.width};
      expect_kernels(graph, image, true);
      expect_kernels(make_inference_form(graph).graph, image, false);
      expect_kernels(make_inference_form(graph, true).graph, image, false);
    }
  }
}

}  // namespace
}  // namespace ocrtune
