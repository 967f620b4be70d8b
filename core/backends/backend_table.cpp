#include "core/backends/backend_table.h"

#include <fmt/core.h>

#include "base/text.h"
#include "core/backends/onednn/onednn_backend.h"
#include "core/backends/onednn/onednn_conv.h"
#include "core/backends/reference/reference_backend.h"

namespace ocrtune {
namespace {

Error unknown_backend(const std::string& name) {
  std::vector<std::string> names;
  for (const BackendRow& row : backend_table()) names.emplace_back(row.name);
  return Error{ErrorKind::usage,
               fmt::format("backend {}: there is {}", name, join(names, " and "))};
}

}  // namespace

const std::vector<BackendRow>& backend_table() {
  static const std::vector<BackendRow> table = {
      {"onednn", "oneDNN convolutions and products, own vector loops for the rest"},
      {"reference", "plain loops, the reference for the others; slow"},
  };
  return table;
}

Result<std::unique_ptr<Backend>> make_backend(const BackendOptions& options) {
  const bool bf16 = options.precision == "bf16";
  if (!bf16 && options.precision != "fp32") {
    return Error{ErrorKind::usage,
                 fmt::format("precision {}: there is fp32 and bf16", options.precision)};
  }
  if (options.name == "reference") {
    if (bf16) {
      return Error{ErrorKind::unsupported, "precision bf16: the reference backend has fp32 only"};
    }
    return make_reference_backend();
  }
  if (options.name != "onednn") return unknown_backend(options.name);
  if (bf16 && !has_native_bf16()) {
    return Error{ErrorKind::unsupported,
                 "precision bf16: this CPU has neither AVX512_BF16 nor AMX, so bfloat16 would only "
                 "be emulated, slower than fp32"};
  }
  return make_onednn_backend(bf16);
}

}  // namespace ocrtune
