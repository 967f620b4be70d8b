// A recogniser of the engine as an ONNX file that any runtime reads: opset 17, any number of lines
// of any width, probabilities of the CTC classes, dictionary and height in the metadata.
//
// As PaddleOCR's exports have it: blue is the first channel, and a space that is the last character
// does not stand in the dictionary. read_onnx_recognizer() reads it back.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "core/data/alphabet.h"
#include "core/graph/graph.h"

namespace ocrtune {

// `graph`: an inference form (core/graph/inference_form.h) with its flat buffers. unsupported: a
// layer that ONNX has no plain form of; usage: lines of that height are too small.
Result<std::string> write_onnx_recognizer(const Graph& graph, std::span<const float> parameters,
                                          std::span<const float> statistics,
                                          const Alphabet& alphabet, int height);

}  // namespace ocrtune
