// An ONNX model as it stands in its file: nodes, weights, metadata. Nothing is computed.
//
// The few messages of onnx.proto3 that inference needs are read by a bounded protobuf reader of
// our own; docs/engine.md says why. Source: github.com/onnx/onnx, onnx/onnx.proto3.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// A constant: floats, or integers of any width. Other types have neither and keep their name.
struct OnnxTensor {
  enum class Type { floats, integers, other };
  Type type = Type::other;
  std::string type_name;  // of type other: "float16", "type 20"
  std::vector<std::int64_t> dims;
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
};

struct OnnxAttribute {
  float number = 0;
  std::int64_t integer = 0;
  std::string text;  // of a list of texts: each followed by a comma
  std::vector<std::int64_t> integers;
  OnnxTensor tensor;
};

struct OnnxNode {
  std::string operation;                     // "Conv"
  std::string domain;                        // empty: ONNX's own
  std::string name;                          // the node's, else its first output's
  std::vector<std::string> inputs, outputs;  // an input left out is ""
  std::map<std::string, OnnxAttribute> attributes;
};

struct OnnxValue {
  std::string name;
  std::vector<std::int64_t> dims;  // 0: not fixed
};

struct OnnxFile {
  std::int64_t opset = 0;  // of ONNX's own operators
  std::vector<OnnxNode> nodes;
  std::map<std::string, OnnxTensor> constants;  // initialisers
  std::vector<OnnxValue> inputs, outputs;
  std::map<std::string, std::string> metadata;
};

// invalid: not an ONNX model, truncated or damaged; unsupported: weights that lie in other files.
Result<OnnxFile> parse_onnx(std::string_view bytes);

// One entry of the metadata as bytes that may be appended to a model's: a later entry of the same
// key replaces the earlier one. Any ONNX reader reads the whole.
std::string onnx_metadata_bytes(std::string_view key, std::string_view value);

}  // namespace ocrtune
