// A new framework needs a row here and its branch in share/ocrtune/frameworks/framework_engine.py.
#include "trial/workloads/engine_infer/framework_table.h"

#include <algorithm>

#include "base/text.h"

namespace ocrtune {

const std::vector<FrameworkRow>& framework_table() {
  static const std::vector<FrameworkRow> kTable = {
      {"onnxruntime", "onnxruntime", "onnxruntime", "fp32", "ONNX Runtime, on the CPUs"},
      {"openvino", "openvino", "openvino", "fp32|bf16", "OpenVINO, on the CPUs"},
      {"paddle", "paddle", "paddlepaddle", "fp32", "Paddle Inference by its own kernels"},
      {"paddle-onednn", "paddle", "paddlepaddle", "fp32", "Paddle Inference with oneDNN"},
  };
  return kTable;
}

const FrameworkRow* find_framework(std::string_view backend) {
  for (const FrameworkRow& row : framework_table()) {
    if (backend == row.backend) return &row;
  }
  return nullptr;
}

bool computes_in(const FrameworkRow& framework, std::string_view precision) {
  const auto precisions = split(framework.precisions, '|');
  return std::find(precisions.begin(), precisions.end(), precision) != precisions.end();
}

}  // namespace ocrtune
