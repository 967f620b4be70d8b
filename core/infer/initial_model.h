// What a model begins with, before a checkpoint: its graph, and weights that are seeded or, of an
// ONNX file, its own.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "core/graph/checkpoint.h"
#include "core/graph/graph.h"

namespace ocrtune {

// `model`: a row of the table, or an ONNX file (core/onnx); `height` of its lines, pixels.

// As it is trained; of an ONNX file `classes` are its own. usage: no such model; missing, invalid,
// unsupported: the file.
Result<Graph> recognition_graph(const std::string& model, int height, int classes);

// The flat buffers of that graph. invalid: the file is another one meanwhile.
Status fill_initial_weights(const std::string& model, int height, const Graph& graph,
                            std::uint64_t seed, float* parameters, float* statistics);

// Checkpoints of imported models carry the name "imported", whatever their file is called.
inline constexpr const char* kImportedModel = "imported";
CheckpointOwner checkpoint_owner(const std::string& model, const Graph& graph);

}  // namespace ocrtune
