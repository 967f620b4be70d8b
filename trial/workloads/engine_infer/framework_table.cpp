// A new framework needs a row here and its branch in share/ocrtune/frameworks/framework_engine.py.
#include "trial/workloads/engine_infer/framework_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

bool among(std::string_view list, std::string_view word) {
  const auto words = split(list, '|');
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

const std::vector<FrameworkRow>& framework_table() {
  static const std::vector<FrameworkRow> kTable = {
      {"onnxruntime", "onnxruntime", "onnxruntime", "fp32|int8",
       "no-arena|no-pattern|no-spin|parallel|graph-extended|graph-basic",
       "ONNX Runtime, on the CPUs"},
      {"openvino", "openvino", "openvino", "fp32|bf16|int8", "streams-2|streams-4|streams-8|pinned",
       "OpenVINO, on the CPUs"},
      {"paddle", "paddle", "paddlepaddle", "fp32", "", "Paddle Inference by its own kernels"},
      {"paddle-onednn", "paddle", "paddlepaddle", "fp32", "", "Paddle Inference with oneDNN"},
  };
  return kTable;
}

const FrameworkRow* find_framework(std::string_view backend) {
  const std::string_view name = backend.substr(0, backend.find('+'));
  for (const FrameworkRow& row : framework_table()) {
    if (name == row.backend) return &row;
  }
  return nullptr;
}

Status check_framework_options(std::string_view backend) {
  const FrameworkRow* row = find_framework(backend);
  const auto words = split(backend, '+');
  for (std::size_t i = 1; row != nullptr && i < words.size(); ++i) {
    if (among(row->options, words[i]) && !words[i].empty()) continue;
    const std::string known = join(split(row->options, '|'), ", ");
    return Error{ErrorKind::usage,
                 fmt::format("{}: {}", backend,
                             known.empty() ? "it has no options" : "its options are " + known)};
  }
  return Status();
}

bool computes_in(const FrameworkRow& framework, std::string_view precision) {
  return among(framework.precisions, precision);
}

std::string int8_file(const std::string& model) {
  const std::string_view ending = ".onnx";
  return (ends_with(model, ending) ? model.substr(0, model.size() - ending.size()) : model) +
         ".int8.onnx";
}

}  // namespace ocrtune
