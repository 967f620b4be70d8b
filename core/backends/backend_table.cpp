// The only file that names the libraries of the backends. Precisions that this CPU would only
// emulate are refused here, before anything is allocated.
#include "core/backends/backend_table.h"

#include <fmt/core.h>

#include "base/text.h"
#include "core/backends/onednn/int8_kernels.h"
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

Result<std::unique_ptr<Backend>> make_backend(const BackendOptions& options) {
  const bool bf16 = options.precision == "bf16", int8 = options.precision == "int8";
  if (!bf16 && !int8 && options.precision != "fp32") {
    return Error{ErrorKind::usage,
                 fmt::format("precision {}: there is fp32, bf16 and, for inference, int8",
                             options.precision)};
  }
  if (options.name == "reference") {
    if (bf16 || int8) {
      return Error{
          ErrorKind::unsupported,
          fmt::format("precision {}: the reference backend has fp32 only", options.precision)};
    }
    return make_reference_backend();
  }
  if (options.name != "onednn") return unknown_backend(options.name);
  if (bf16 && !has_native_bf16()) {
    return Error{ErrorKind::unsupported,
                 "precision bf16: this CPU has neither AVX512_BF16 nor AMX, so bfloat16 would only "
                 "be emulated, slower than fp32"};
  }
  if (int8 && !has_native_int8()) {
    return Error{ErrorKind::unsupported,
                 "precision int8: this CPU has no AVX512_VNNI; read in fp32"};
  }
  return make_onednn_backend(bf16   ? OnednnPrecision::bf16
                             : int8 ? OnednnPrecision::int8
                                    : OnednnPrecision::fp32);
}

}  // namespace ocrtune
