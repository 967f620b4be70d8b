// graph_dump: a model as JSON, layer by layer, so that other frameworks can run the same network:
// paddle_engine.py here, and bench/frameworks/compare_frameworks.py.
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/graph/inference_form.h"
#include "core/models/model.h"

namespace {

using namespace ocrtune;

const char* activation_name(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::hard_swish:
      return "hard_swish";
    case Activation::hard_sigmoid:
      return "hard_sigmoid";
    case Activation::gelu:
      return "gelu";
    case Activation::swish:
      return "swish";
  }
  return "none";
}

std::string extent_text(const Extent& extent) {
  return fmt::format("[{}, {}]", extent.h, extent.w);
}

// "op": ..., and what the operation is made with.
struct OperationText {
  std::string operator()(const Conv& conv) const {
    return fmt::format(
        R"("op": "conv", "out": {}, "kernel": {}, "stride": {}, "pad": {}, "groups": {}, "branches": {}, "bias": {}, "activation": "{}")",
        conv.out_channels, extent_text(conv.kernel), extent_text(conv.stride),
        extent_text(conv.pad), conv.groups, conv.branches, conv.bias,
        activation_name(conv.activation));
  }
  std::string operator()(const BatchNorm& norm) const {
    return fmt::format(R"("op": "batch_norm", "activation": "{}", "pool": {}, "epsilon": {})",
                       activation_name(norm.activation), extent_text(norm.pool), norm.epsilon);
  }
  std::string operator()(const NormSum& norm) const {
    return fmt::format(R"("op": "norm_sum", "channels": {}, "epsilon": {})", norm.channels,
                       norm.epsilon);
  }
  std::string operator()(const Affine& affine) const {
    return fmt::format(R"("op": "affine", "activation": "{}")", activation_name(affine.activation));
  }
  std::string operator()(const BiLstm& lstm) const {
    return fmt::format(R"("op": "bi_lstm", "hidden": {})", lstm.hidden);
  }
  std::string operator()(const Linear& linear) const {
    return fmt::format(R"("op": "linear", "out": {}, "bias": {})", linear.out_channels,
                       linear.bias);
  }
  std::string operator()(const LayerNorm& norm) const {
    return fmt::format(R"("op": "layer_norm", "epsilon": {})", norm.epsilon);
  }
  std::string operator()(const Attention& attention) const {
    return fmt::format(R"("op": "attention", "heads": {})", attention.heads);
  }
  std::string operator()(const Activate& activate) const {
    return fmt::format(R"("op": "activate", "activation": "{}")",
                       activation_name(activate.activation));
  }
  std::string operator()(const AveragePool& pool) const {
    return fmt::format(R"("op": "average_pool", "kernel": {})", extent_text(pool.kernel));
  }
  std::string operator()(const MaxPool& pool) const {
    return fmt::format(R"("op": "max_pool", "kernel": {})", extent_text(pool.kernel));
  }
  std::string operator()(const Sum&) const { return R"("op": "sum")"; }
  std::string operator()(const Concat&) const { return R"("op": "concat")"; }
  std::string operator()(const Scale&) const { return R"("op": "scale")"; }
};

// Of each parameter its name, its shape and the range of its initial values.
std::string tensors_text(const std::vector<Parameter>& tensors, const std::vector<int>& which) {
  std::vector<std::string> texts;
  for (const int index : which) {
    const Parameter& tensor = tensors[static_cast<std::size_t>(index)];
    texts.push_back(fmt::format(R"({{"name": "{}", "extent": [{}], "low": {}, "high": {}}})",
                                tensor.name, fmt::join(tensor.extent, ", "), tensor.low,
                                tensor.high));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = "crnn";
  int classes = 97;
  bool inference = false;
  CLI::App app("Prints a model as JSON: its layers, parameters and usual input.");
  app.add_option("--model", name);
  app.add_option("--classes", classes);
  app.add_flag("--inference", inference, "The folded form");
  CLI11_PARSE(app, argc, argv);
  const ModelRow* model = find_model(name);
  if (model == nullptr || classes < 2) {
    fmt::print(stderr, "graph_dump: no such model, or fewer than 2 classes\n");
    return 2;
  }
  Graph graph = model->build(classes);
  if (inference) graph = make_inference_form(graph).graph;
  fmt::print("{{\"model\": \"{}\", \"height\": {}, \"width\": {}, \"output\": {}, \"layers\": [\n",
             name, model->height, model->width, graph.output);
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const Layer& layer = graph.layers[i];
    fmt::print("{{\"name\": \"{}\", {}, \"inputs\": [{}], \"output\": {}, \"parameters\": {}}}{}\n",
               layer.name, std::visit(OperationText(), layer.operation),
               fmt::join(layer.inputs, ", "), layer.output,
               tensors_text(graph.parameters, layer.parameters),
               i + 1 < graph.layers.size() ? "," : "");
  }
  fmt::print("]}}\n");
  return 0;
}
