#include "core/graph/inference_form.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/backends/backend_table.h"
#include "core/graph/network.h"
#include "core/models/model.h"

namespace ocrtune {
namespace {

// Weights and statistics as after some training: norms away from the identity.
void vary(const std::vector<Parameter>& tensors, std::uint64_t seed, std::vector<float>& floats) {
  Random random(seed);
  for (const Parameter& tensor : tensors) {
    if (tensor.low != tensor.high) continue;
    for (std::size_t i = 0; i < tensor.count; ++i) {
      floats[tensor.offset + i] =
          static_cast<float>(random.uniform(tensor.low - 0.3, tensor.high + 0.3));
    }
  }
}

struct TrainedNetwork {
  Graph graph;
  std::vector<float> parameters, statistics;

  explicit TrainedNetwork(Graph made)
      : graph(std::move(made)),
        parameters(graph.parameter_floats),
        statistics(graph.statistic_floats) {
    fill_initial_parameters(graph, 3, parameters.data());
    fill_initial_statistics(graph, statistics.data());
    vary(graph.parameters, 4, parameters);
    vary(graph.statistics, 5, statistics);
  }
};

Batch draw_images(int count, int height, int width) {
  Random random(7);
  Batch batch;
  batch.count = count;
  batch.height = height;
  batch.width = width;
  batch.images.resize(static_cast<std::size_t>(count * 3 * height * width));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  return batch;
}

std::vector<float> infer(const Graph& graph, const Batch& batch,
                         const std::vector<float>& parameters, const std::vector<float>& statistics,
                         const char* backend_name) {
  const auto backend = make_backend({backend_name, "fp32"});
  Network network(graph, **backend);
  const auto logits = network.infer(batch, parameters, statistics);
  EXPECT_TRUE(logits.ok()) << logits.error().what;
  return {logits->begin(), logits->end()};
}

std::vector<float> infer_folded(const TrainedNetwork& trained, const Batch& batch,
                                const char* backend, bool join_affines = false) {
  const InferenceForm form = make_inference_form(trained.graph, join_affines);
  std::vector<float> parameters(form.graph.parameter_floats);
  std::vector<float> statistics(form.graph.statistic_floats);
  fold_parameters(form, trained.graph, trained.parameters.data(), trained.statistics.data(),
                  parameters.data(), statistics.data());
  return infer(form.graph, batch, parameters, statistics, backend);
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0, difference = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    squares += static_cast<double>(b[i]) * b[i];
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
  }
  return std::sqrt(difference / squares);
}

TEST(InferenceForm, GivesTheLogitsOfTheTrainedFormForEveryModel) {
  for (const ModelRow& model : model_table()) {
    SCOPED_TRACE(model.name);
    const TrainedNetwork trained(model.build(11));
    const Batch batch = draw_images(2, model.height, 2 * model.check_width);
    const auto expected =
        infer(trained.graph, batch, trained.parameters, trained.statistics, "onednn");
    EXPECT_LT(relative_error(infer_folded(trained, batch, "onednn"), expected), 1e-4);
    EXPECT_LT(relative_error(infer_folded(trained, batch, "onednn", true), expected), 1e-4);
  }
}

TEST(InferenceForm, JoinsAffinesToTheConvolutionsBeforeThem) {
  const auto affines = [](const Graph& graph) {
    return std::count_if(graph.layers.begin(), graph.layers.end(), [](const Layer& layer) {
      return std::holds_alternative<Affine>(layer.operation);
    });
  };
  const Graph mobile = find_model("ppocr-mobile")->build(11);
  EXPECT_GT(affines(make_inference_form(mobile).graph), 0);
  EXPECT_EQ(affines(make_inference_form(mobile, true).graph), 0);
  // One convolution with a bias and without a norm, one whose result is read twice.
  GraphBuilder net("test", 3);
  Conv conv;
  conv.out_channels = 8;
  conv.bias = true;
  int x = net.affine("joined", net.conv("conv1", net.image(), conv), Activation::hard_swish);
  const int y = net.conv("conv2", x, conv);
  x = net.sum("sum", {net.affine("kept", y, Activation::none), y});
  const TrainedNetwork trained(net.finish(net.linear("classes", x, Linear{5})));
  EXPECT_EQ(affines(make_inference_form(trained.graph, true).graph), 1);
  const Batch batch = draw_images(2, 1, 6);
  const auto expected =
      infer(trained.graph, batch, trained.parameters, trained.statistics, "reference");
  for (const char* backend : {"reference", "onednn"}) {
    EXPECT_LT(relative_error(infer_folded(trained, batch, backend, true), expected), 1e-5);
  }
}

TEST(InferenceForm, AgreesWithTheReferenceBackend) {
  for (const char* name : {"crnn", "crnn-mv3"}) {
    SCOPED_TRACE(name);
    const TrainedNetwork trained(find_model(name)->build(11));
    const Batch batch = draw_images(2, 32, 32);
    const auto expected =
        infer(trained.graph, batch, trained.parameters, trained.statistics, "reference");
    EXPECT_LT(relative_error(infer_folded(trained, batch, "onednn"), expected), 1e-4);
    EXPECT_LT(relative_error(infer_folded(trained, batch, "reference"), expected), 1e-4);
  }
}

TEST(InferenceForm, LeavesNoNormOfAConvolution) {
  for (const ModelRow& model : model_table()) {
    SCOPED_TRACE(model.name);
    const InferenceForm form = make_inference_form(model.build(11));
    EXPECT_TRUE(form.graph.statistics.empty());
    EXPECT_FALSE(form.convs.empty());
  }
}

TEST(InferenceForm, MergesTheBranchesOfPpocrMobile) {
  const InferenceForm form = make_inference_form(find_model("ppocr-mobile")->build(6625));
  std::size_t backbone = 0;
  for (const Parameter& parameter : form.graph.parameters) {
    const bool other =
        parameter.name.rfind("neck", 0) == 0 || parameter.name.rfind("classes", 0) == 0;
    if (!other) backbone += parameter.count;
  }
  EXPECT_EQ(backbone, 1'320'708U);
}

TEST(InferenceForm, KeepsANormWhoseConvolutionIsReadTwice) {
  GraphBuilder net("test", 3);
  Conv conv;
  conv.out_channels = 8;
  const int x = net.conv("conv", net.image(), conv);
  const int y = net.batch_norm("norm", x, BatchNorm{});
  const TrainedNetwork trained(net.finish(net.sum("sum", {x, y})));
  const InferenceForm form = make_inference_form(trained.graph);
  EXPECT_TRUE(form.convs.empty());
  EXPECT_EQ(form.graph.layers.size(), 3U);
  const Batch batch = draw_images(1, 1, 6);
  const auto expected =
      infer(trained.graph, batch, trained.parameters, trained.statistics, "onednn");
  EXPECT_LT(relative_error(infer_folded(trained, batch, "onednn"), expected), 1e-6);
}

}  // namespace
}  // namespace ocrtune
