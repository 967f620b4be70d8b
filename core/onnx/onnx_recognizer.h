// A text recogniser that was exported to ONNX, as a graph of the engine with its weights.
//
// Read are recognisers of the kind of PaddleOCR's: convolutions, an SVTR neck or none, CTC classes
// of which class 0 is the blank; the image as three channels (blue, green, red) from -1 to 1.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/data/alphabet.h"
#include "core/graph/graph.h"

namespace ocrtune {

struct OnnxRecognizer {
  Graph graph;
  std::vector<float> parameters, statistics;  // flat, as the graph's
  Alphabet alphabet;
  bool space_added = false;  // the dictionary lacks the space, the model's last class
  int height = 0;            // of lines, in pixels
  enum class HeightFrom { model, metadata, caller, usual } height_from = HeightFrom::usual;
  int opset = 0;
  std::map<std::string, int> operators;  // nodes of the file by operator, shapes' included
};

// Keys of the metadata: one character a line (RapidOCR writes it as well), and a number.
inline constexpr const char* kDictionaryKey = "character";
inline constexpr const char* kHeightKey = "ocrtune_line_height";

// What the user says about a model; each may be left out.
struct OnnxFacts {
  int height = 0;          // pixels; 0: the model's, else 48 as PP-OCRv3 and later have
  std::string dictionary;  // characters, one a line; empty: the model's own
};

// `bytes` is an ONNX file. invalid: damaged, or a dictionary of another length; unsupported: no
// recogniser, or the first operator that the engine lacks.
Result<OnnxRecognizer> read_onnx_recognizer(std::string_view bytes, const OnnxFacts& facts);

// The same of a file; errors name it. missing, denied: no such file.
Result<OnnxRecognizer> load_onnx_recognizer(const std::string& path, const OnnxFacts& facts);

// What lines and texts of a file are, whether or not the engine has its operators.
struct OnnxHead {
  Alphabet alphabet;
  int height = 0;
};

// unsupported: no recogniser, or one that does not say how many classes it has.
Result<OnnxHead> load_onnx_head(const std::string& path, const OnnxFacts& facts);

// Whether --model names a file and not a row of the table of models: what ends in ".onnx".
bool names_onnx_file(std::string_view model);

}  // namespace ocrtune
