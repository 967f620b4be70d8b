// The frameworks that can compute a recogniser's network in place of the built-in engine.
#pragma once

#include <string_view>
#include <vector>

namespace ocrtune {

struct FrameworkRow {
  const char* backend;     // value of the knob "backend"
  const char* engine;      // its name for --engine: several backends may be one framework's
  const char* package;     // that pip installs
  const char* precisions;  // "fp32|bf16"
  const char* help;
};

const std::vector<FrameworkRow>& framework_table();
const FrameworkRow* find_framework(std::string_view backend);  // null: the built-in engine's own
bool computes_in(const FrameworkRow& framework, std::string_view precision);

}  // namespace ocrtune
