// Loss and gradients of whole models against float64 PyTorch (tests/support/golden_models.py), on
// both backends.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/backends/backend_table.h"
#include "core/graph/network.h"
#include "core/models/lcnet_model.h"
#include "core/models/mobile_model.h"
#include "core/models/model.h"
#include "core/models/svtr_model.h"

namespace ocrtune {
namespace {

struct GoldenTensor {
  std::string name;
  std::size_t count = 0;
  double norm = 0;
  std::vector<double> values;  // evenly spaced
};

struct Golden {
  int count = 0, height = 0, width = 0, classes = 0, label_length = 0;
  double loss = 0;
  std::vector<GoldenTensor> tensors;
};

Golden read_golden(const std::string& name) {
  std::ifstream file(std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/golden/" + name + ".txt");
  EXPECT_TRUE(file.good()) << name;
  Golden golden;
  std::string line, word;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    in >> word;
    if (word == "batch") {
      in >> golden.count >> golden.height >> golden.width >> golden.classes >> golden.label_length;
    } else if (word == "loss") {
      in >> golden.loss;
    } else if (word == "tensor") {
      GoldenTensor tensor;
      std::size_t size = 0;
      in >> tensor.name >> tensor.count >> tensor.norm >> size;
      tensor.values.resize(size);
      for (double& value : tensor.values) in >> value;
      EXPECT_FALSE(in.fail()) << tensor.name;
      golden.tensors.push_back(std::move(tensor));
    }
  }
  return golden;
}

Batch draw_batch(const Golden& golden) {
  Random random(99);
  return noise_batch({golden.count, golden.height, golden.width}, random, golden.label_length,
                     golden.classes);
}

// Norms start at the identity; here they start beside it, so that a mistake in them shows.
std::vector<float> varied_parameters(const Graph& graph) {
  std::vector<float> parameters(graph.parameter_floats);
  fill_initial_parameters(graph, 1, parameters.data());
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const Parameter& parameter = graph.parameters[i];
    if (parameter.low != parameter.high) continue;
    Random random(mix_bits(mix_bits(2) + i));
    for (std::size_t j = 0; j < parameter.count; ++j) {
      parameters[parameter.offset + j] =
          static_cast<float>(random.uniform(parameter.low - 0.3, parameter.high + 0.3));
    }
  }
  return parameters;
}

struct GoldenCase {
  const char* name;
  std::function<Graph(int classes)> build;
  double tolerance;  // of values, relative to the tensor's largest; of norms and loss
  std::vector<const char*> backends;
};

void PrintTo(const GoldenCase& test, std::ostream* out) { *out << test.name; }

class GoldenTest : public testing::TestWithParam<GoldenCase> {};

void expect_golden(const Golden& golden, const Graph& graph, const CtcLoss& loss,
                   const std::vector<float>& gradients, double tolerance) {
  EXPECT_NEAR(loss.mean / golden.loss, 1, tolerance);
  ASSERT_EQ(graph.parameters.size(), golden.tensors.size());
  double largest_norm = 0;
  for (const GoldenTensor& tensor : golden.tensors) {
    largest_norm = std::max(largest_norm, tensor.norm);
  }
  double worst = 0;
  for (std::size_t i = 0; i < golden.tensors.size(); ++i) {
    const GoldenTensor& tensor = golden.tensors[i];
    const Parameter& parameter = graph.parameters[i];
    EXPECT_EQ(parameter.name, tensor.name);
    ASSERT_EQ(parameter.count, tensor.count) << tensor.name;
    const float* ours = gradients.data() + parameter.offset;
    double squares = 0, most = 0, difference = 0;
    for (std::size_t j = 0; j < parameter.count; ++j) {
      squares += static_cast<double>(ours[j]) * ours[j];
    }
    const std::size_t step = tensor.count / tensor.values.size();
    for (std::size_t j = 0; j < tensor.values.size(); ++j) {
      most = std::max(most, std::fabs(tensor.values[j]));
      difference = std::max(difference, std::fabs(ours[j * step] - tensor.values[j]));
    }
    // Gradients that are zero but for rounding have no relative error of their own.
    const double least = 1e-4 * largest_norm;
    const double value_error = difference / std::max(most, least);
    const double norm_error =
        std::fabs(std::sqrt(squares) - tensor.norm) / std::max(tensor.norm, least);
    EXPECT_LT(value_error, tolerance) << tensor.name;
    EXPECT_LT(norm_error, tolerance) << tensor.name;
    worst = std::max({worst, value_error, norm_error});
  }
  testing::Test::RecordProperty("worst_relative_error", std::to_string(worst));
}

TEST_P(GoldenTest, LossAndGradientsMatchPyTorch) {
  const GoldenCase& test = GetParam();
  const Golden golden = read_golden(test.name);
  const Graph graph = test.build(golden.classes);
  const std::vector<float> parameters = varied_parameters(graph);
  for (const char* name : test.backends) {
    SCOPED_TRACE(name);
    const auto backend = make_backend({name, "fp32"});
    ASSERT_TRUE(backend.ok());
    Network network(graph, **backend);
    std::vector<float> statistics(graph.statistic_floats), gradients(graph.parameter_floats);
    fill_initial_statistics(graph, statistics.data());
    const auto loss = network.train(draw_batch(golden), parameters, statistics, gradients);
    ASSERT_TRUE(loss.ok()) << loss.error().what;
    expect_golden(golden, graph, *loss, gradients, test.tolerance);
  }
}

Graph narrow_mv3(int classes) {
  constexpr Activation kRelu = Activation::relu, kSwish = Activation::hard_swish;
  const Mv3Sizes sizes{4,
                       {{3, 4, 4, false, kRelu, {1, 1}},
                        {3, 12, 8, true, kRelu, {2, 1}},
                        {5, 20, 12, true, kSwish, {2, 1}},
                        {5, 24, 12, true, kSwish, {2, 1}}},
                       24,
                       6};
  return build_crnn_mv3("mv3", classes, sizes);
}

Graph narrow_lcnet(int classes) {
  const LcnetSizes sizes{
      8, {{3, 16, {1, 2}, false}, {5, 16, {2, 1}, true}, {5, 16, {1, 1}, false}}, 12, 4, 3};
  return build_lcnet("lcnet", classes, sizes);
}

// At the kinks of hard swish rounding alone moves gradients by percents; lcnet_narrow has it.
Graph smooth_ppocr_mobile(int classes) {
  LcnetSizes sizes = ppocr_mobile_sizes();
  sizes.activation = Activation::swish;
  return build_lcnet("smooth", classes, sizes);
}

// The scale of an activation is one number: a sum over whole maps that cancels to a thousandth of
// its terms, so that the order of adding, which differs with the instruction set, shows.
constexpr double kCancelling = 0.01;

INSTANTIATE_TEST_SUITE_P(
    Models, GoldenTest,
    testing::Values(GoldenCase{"crnn_narrow",
                               [](int classes) {
                                 return build_crnn(classes, CrnnSizes{{4, 8, 8, 16}, 8});
                               },
                               1e-4,
                               {"reference", "onednn"}},
                    GoldenCase{"crnn_full",
                               [](int classes) { return build_crnn(classes, CrnnSizes{}); },
                               1e-4,
                               {"onednn"}},
                    GoldenCase{"mv3_narrow", narrow_mv3, 1e-3, {"reference", "onednn"}},
                    GoldenCase{"crnn-mv3_full", find_model("crnn-mv3")->build, 1e-3, {"onednn"}},
                    GoldenCase{"lcnet_narrow", narrow_lcnet, kCancelling, {"reference", "onednn"}},
                    GoldenCase{"ppocr-mobile_smooth", smooth_ppocr_mobile, kCancelling, {"onednn"}},
                    GoldenCase{"svtr_narrow",
                               [](int classes) {
                                 return build_svtr(
                                     "svtr", classes,
                                     {{{16, 2, 1, 0}, {32, 4, 1, 1}, {48, 3, 0, 1}}, 24, 20, 4});
                               },
                               1e-3,
                               {"reference", "onednn"}},
                    GoldenCase{
                        "svtrv2-small_full", find_model("svtrv2-small")->build, 1e-3, {"onednn"}},
                    GoldenCase{"svtrv2_full", find_model("svtrv2")->build, 1e-3, {"onednn"}}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace ocrtune
