// The worker and this program speak by one line of JSON, found by its mark among whatever drivers
// and libraries print.
#include "probes/machine/gpu_report.h"

#include "probes/machine/gpu_fields.h"

namespace ocrtune {
namespace {

constexpr const char* kName = "ocrtune_gpu_report";
constexpr const char* kMark = "{\"ocrtune_gpu_report\":";

template <typename Io, Like<GpuReport> T>
void list_fields(const Io& visit, T& report) {
  OCRTUNE_VISIT(report, state, answered, cuda_driver_version, nccl_version, gpus, links, processes,
                cuda_cores, unknowns);
}

}  // namespace

template <Like<GpuProcess> T>
auto row_of(T& process) {
  return std::tie(process.gpu, process.pid, process.bytes);
}

std::string gpu_report_line(const GpuReport& report) {
  FactJson body = FactJson::object(), no_sources;
  list_fields(FactWriter{body, no_sources}, report);
  const FactJson line = {{kName, std::move(body)}};
  return line.dump(-1, ' ', false, FactJson::error_handler_t::replace) + "\n";
}

Result<GpuReport> find_gpu_report(const std::string& output) {
  const std::size_t at = output.rfind(kMark);
  const std::size_t end = at == std::string::npos ? at : output.find('\n', at);
  if (end == std::string::npos) {
    return Error{ErrorKind::invalid, "the GPU worker ended without a report"};
  }
  try {
    const FactJson line = FactJson::parse(output.substr(at, end - at));
    const FactJson& body = line.at(kName);
    (void)body.get_ref<const FactJson::object_t&>();  // throws
    GpuReport report;
    list_fields(FactReader{body, body}, report);
    return report;
  } catch (const FactJson::exception& error) {
    return Error{ErrorKind::invalid, std::string("the GPU worker's report: ") + error.what()};
  }
}

}  // namespace ocrtune
