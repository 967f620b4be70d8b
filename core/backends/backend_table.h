// The rows of backends, and how one is made from its name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/graph/backend.h"

namespace ocrtune {

struct BackendRow {
  const char* name;
  const char* help;
};

const std::vector<BackendRow>& backend_table();

struct BackendOptions {
  std::string name = "onednn";
  std::string precision = "fp32";  // fp32 | bf16 | int8, for inference alone
};

// usage: no such backend or precision; unsupported: this CPU would only emulate the precision.
Result<std::unique_ptr<Backend>> make_backend(const BackendOptions& options);

}  // namespace ocrtune
