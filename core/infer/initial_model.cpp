// A model is a row of the table or an ONNX file. Both ways give the same two things: a graph, and
// weights for it.
#include "core/infer/initial_model.h"

#include <algorithm>
#include <utility>

#include "core/models/model.h"
#include "core/onnx/onnx_recognizer.h"

namespace ocrtune {

Result<Graph> recognition_graph(const std::string& model, int height, int classes) {
  if (names_onnx_file(model)) {
    return std::move(OCRTUNE_TRY(load_onnx_recognizer(model, {height, ""})).graph);
  }
  const ModelRow* row = find_model(model);
  if (row != nullptr) return row->build(classes);
  return Error{ErrorKind::usage, "no model " + model + " (see ocrtune list models)"};
}

Status fill_initial_weights(const std::string& model, int height, const Graph& graph,
                            std::uint64_t seed, float* parameters, float* statistics) {
  if (!names_onnx_file(model)) {
    fill_initial_parameters(graph, seed, parameters);
    fill_initial_statistics(graph, statistics);
    return Status();
  }
  const auto file = OCRTUNE_TRY(load_onnx_recognizer(model, {height, ""}));
  // The file is read twice, for the graph and for the weights.
  if (graph_hash(file.graph) != graph_hash(graph)) {
    return Error{ErrorKind::invalid, model + " has changed while it was read"};
  }
  std::copy(file.parameters.begin(), file.parameters.end(), parameters);
  std::copy(file.statistics.begin(), file.statistics.end(), statistics);
  return Status();
}

CheckpointOwner checkpoint_owner(const std::string& model, const Graph& graph) {
  return {names_onnx_file(model) ? kImportedModel : model, graph_hash(graph)};
}

}  // namespace ocrtune
