// What the engine writes as ONNX, read back.
#include "core/onnx/onnx_export.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/backends/backend_table.h"
#include "core/graph/inference_form.h"
#include "core/graph/network.h"
#include "core/models/model.h"
#include "core/onnx/onnx_recognizer.h"
#include "tests/support/onnx_writer.h"

namespace ocrtune {
namespace {

struct Weighted {
  Graph graph;
  std::vector<float> parameters, statistics;
};

Weighted folded(const Graph& graph, const std::vector<float>& parameters,
                const std::vector<float>& statistics) {
  const InferenceForm form = make_inference_form(graph, true);
  Weighted made{form.graph, std::vector<float>(form.graph.parameter_floats),
                std::vector<float>(form.graph.statistic_floats)};
  fold_parameters(form, graph, parameters.data(), statistics.data(), made.parameters.data(),
                  made.statistics.data());
  return made;
}

Weighted seeded(const Graph& graph) {
  std::vector<float> parameters(graph.parameter_floats), statistics(graph.statistic_floats);
  fill_initial_parameters(graph, 5, parameters.data());
  fill_initial_statistics(graph, statistics.data());
  return folded(graph, parameters, statistics);
}

std::vector<float> logits_of(const Graph& graph, const std::vector<float>& parameters,
                             const std::vector<float>& statistics, int height) {
  const auto backend = make_backend({}).value();
  Network network(graph, *backend);
  Random random(3);
  const auto logits =
      network.infer(noise_batch({2, height, 128}, random), parameters, statistics).value();
  return {logits.begin(), logits.end()};
}

void expect_read_back(const Weighted& written, const Alphabet& alphabet, int height) {
  const auto bytes = write_onnx_recognizer(written.graph, written.parameters, written.statistics,
                                           alphabet, height);
  ASSERT_TRUE(bytes.ok()) << bytes.error().what;
  const auto read = read_onnx_recognizer(*bytes, {});
  ASSERT_TRUE(read.ok()) << read.error().what;
  EXPECT_EQ(read->alphabet.text(), alphabet.text());
  EXPECT_EQ(read->height, height);
  const auto expected = logits_of(written.graph, written.parameters, written.statistics, height);
  const auto ours = logits_of(read->graph, read->parameters, read->statistics, height);
  ASSERT_EQ(ours.size(), expected.size());
  const auto largest =
      std::abs(*std::max_element(expected.begin(), expected.end(),
                                 [](float a, float b) { return std::abs(a) < std::abs(b); }));
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_NEAR(ours[i], expected[i], 1e-4 * largest) << i;
  }
}

TEST(OnnxExport, EveryModelIsReadBackWithItsLogits) {
  const Alphabet alphabet = Alphabet::from_text("0123456789 ").value();
  for (const ModelRow& model : model_table()) {
    SCOPED_TRACE(model.name);
    expect_read_back(seeded(model.build(alphabet.classes())), alphabet, model.height);
  }
}

TEST(OnnxExport, AnImportedModelIsReadBackWithItsLogits) {
  const std::string dictionary = onnx_metadata_bytes("character", "0\n1\n2\n3");
  for (const std::string& bytes : {tiny_recognizer(5) + dictionary, tiny_crnn(5) + dictionary}) {
    const auto model = read_onnx_recognizer(bytes, {}).value();
    expect_read_back(folded(model.graph, model.parameters, model.statistics), model.alphabet, 16);
  }
}

TEST(OnnxExport, NamesALayerThatItCannotWrite) {
  const Graph trained = find_model("ppocr-mobile")->build(5);  // its branches are not joined yet
  const std::vector<float> parameters(trained.parameter_floats);
  const std::vector<float> statistics(trained.statistic_floats);
  const auto bytes = write_onnx_recognizer(trained, parameters, statistics,
                                           Alphabet::from_text("0123").value(), 48);
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().kind, ErrorKind::unsupported);
  EXPECT_NE(bytes.error().what.find("branches that have not been joined"), std::string::npos);
}

}  // namespace
}  // namespace ocrtune
