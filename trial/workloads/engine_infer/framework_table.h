// The frameworks that can compute a recogniser's network in place of the built-in engine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct FrameworkRow {
  const char* backend;     // value of the knob "backend", to which its options add "+OPTION"
  const char* engine;      // its name for --engine: several backends may be one framework's
  const char* package;     // that pip installs
  const char* precisions;  // "fp32|bf16"
  const char* options;     // "no-arena|parallel": of its session, each away from its own default
  const char* help;
};

const std::vector<FrameworkRow>& framework_table();
// Of "openvino" and of "openvino+pinned". Null: the built-in engine's own.
const FrameworkRow* find_framework(std::string_view backend);
// usage: an option that the framework of this backend does not have.
Status check_framework_options(std::string_view backend);
bool computes_in(const FrameworkRow& framework, std::string_view precision);

// rec.int8.onnx of rec.onnx: what the frameworks that round no weights themselves compute in int8.
std::string int8_file(const std::string& model);

}  // namespace ocrtune
