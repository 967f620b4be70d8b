#include "core/models/model.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/backends/backend_table.h"
#include "core/comm/comm.h"
#include "core/graph/plan.h"
#include "core/train/trainer.h"

namespace ocrtune {
namespace {

// Parameters of the layers whose name begins with none of the given words.
std::size_t parameters_without(const Graph& graph, const std::vector<std::string>& words) {
  std::size_t count = 0;
  for (const Parameter& parameter : graph.parameters) {
    bool left_out = false;
    for (const std::string& word : words) left_out |= parameter.name.rfind(word, 0) == 0;
    if (!left_out) count += parameter.count;
  }
  return count;
}

Graph build(const char* name, int classes) { return find_model(name)->build(classes); }

TEST(Model, Svtrv2HasTheParametersOfPaddleOcr) {
  const Graph graph = build("svtrv2", 6625);
  EXPECT_EQ(parameters_without(graph, {"neck", "classes"}), 17'935'232U);
  EXPECT_EQ(parameters_without(graph, {"classes"}), 17'935'232U + 1'345'472U);
  EXPECT_EQ(graph.parameter_count(), 20'983'329U);
}

TEST(Model, Svtrv2SmallHasTheParametersOfTheClassDefaults) {
  const Graph graph = build("svtrv2-small", 97);
  EXPECT_EQ(parameters_without(graph, {"neck", "classes"}), 4'311'552U);
  EXPECT_EQ(graph.parameter_count(), 4'669'817U);
}

TEST(Model, CrnnMv3HasTheParametersOfPaddleOcr) {
  const Graph graph = build("crnn-mv3", 37);
  EXPECT_EQ(parameters_without(graph, {"lstm", "classes"}), 778'022U);
  EXPECT_EQ(graph.parameter_count(), 1'451'787U);
}

TEST(Model, PpocrMobileHasTheParametersOfPaddleOcr) {
  const Graph graph = build("ppocr-mobile", 6625);
  EXPECT_EQ(parameters_without(graph, {"neck", "classes"}), 4'891'620U);
  EXPECT_EQ(graph.parameter_count(), 4'891'620U + 566'160U + 801'625U);
}

TEST(Model, NamesAreUniqueAndWidthsGiveTheSteps) {
  std::set<std::string> names;
  for (const ModelRow& model : model_table()) {
    SCOPED_TRACE(model.name);
    EXPECT_TRUE(names.insert(model.name).second);
    const Graph graph = model.build(11);
    EXPECT_EQ(graph.name, model.name);
    std::set<std::string> parameters;
    for (const Parameter& parameter : graph.parameters) {
      EXPECT_TRUE(parameters.insert(parameter.name).second) << parameter.name;
    }
    const auto shapes = infer_shapes(graph, {1, 3, model.height, model.width});
    ASSERT_TRUE(shapes.ok()) << shapes.error().what;
    const Shape out = (*shapes)[static_cast<std::size_t>(graph.output)];
    EXPECT_EQ(out, (Shape{1, 11, 1, model.width / model.width_per_step}));
  }
  EXPECT_EQ(find_model("alexnet"), nullptr);
}

TEST(Model, EachTrainsAndAgreesWithTheReference) {
  for (const ModelRow& model : model_table()) {
    SCOPED_TRACE(model.name);
    if (model.build(11).parameter_count() > 10'000'000) continue;  // slow; golden_test has it
    TrainerOptions options;
    options.model = model.name;
    options.classes = 11;
    options.batch = 2;
    options.height = model.height;
    options.width = 2 * model.check_width;
    const auto comm = make_single_comm();
    const auto trainer = Trainer::create(options, *comm);
    ASSERT_TRUE(trainer.ok()) << trainer.error().what;
    const auto error = (*trainer)->check_against_reference();
    ASSERT_TRUE(error.ok());
    EXPECT_LT(*error, 0.01);
    Batch batch;
    batch.count = 2;
    batch.height = options.height;
    batch.width = options.width;
    batch.images.assign(static_cast<std::size_t>(2 * 3 * batch.height * batch.width), 0.1F);
    batch.labels = {{1, 2}, {3}};
    const auto first = (*trainer)->step(batch);
    ASSERT_TRUE(first.ok()) << first.error().what;
    double last = 0;
    for (int i = 0; i < 4; ++i) last = (*trainer)->step(batch)->loss;
    EXPECT_LT(last, first->loss);
    EXPECT_TRUE((*trainer)->logits(batch).ok());
  }
}

TEST(Model, MemoryGrowsLinearlyWithTheBatch) {
  const auto backend = make_backend({"onednn", "fp32"});
  for (const ModelRow& model : model_table()) {
    SCOPED_TRACE(model.name);
    const Graph graph = model.build(97);
    const auto arena = [&](int batch) {
      return static_cast<double>(
          make_plan(graph, **backend, {batch, 3, model.height, model.width}, true)->arena_bytes);
    };
    const double at4 = arena(4), at8 = arena(8), at16 = arena(16);
    EXPECT_NEAR((at16 - at8) / (2 * (at8 - at4)), 1, 0.1);
  }
}

}  // namespace
}  // namespace ocrtune
