// The worker and this program speak by one line of JSON, found by its mark among whatever drivers
// and libraries print. The tables of fields serve both directions, so a new field is one row.
#include "probes/machine/gpu_report.h"

#include <iterator>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMark = "{\"ocrtune_gpu_report\":";

// One row for each field: what is written is what is read.
template <typename T>
struct Field {
  const char* name;
  T GpuFacts::*member;
};

constexpr Field<int> kNumbers[] = {{"index", &GpuFacts::index},
                                   {"numa", &GpuFacts::numa},
                                   {"pcie_generation", &GpuFacts::pcie_generation},
                                   {"pcie_width", &GpuFacts::pcie_width},
                                   {"pcie_generation_most", &GpuFacts::pcie_generation_most},
                                   {"pcie_width_most", &GpuFacts::pcie_width_most},
                                   {"nvlinks", &GpuFacts::nvlinks},
                                   {"sm_clock_mhz", &GpuFacts::sm_clock_mhz},
                                   {"sm_clock_most_mhz", &GpuFacts::sm_clock_most_mhz},
                                   {"temperature_celsius", &GpuFacts::temperature_celsius},
                                   {"busy_percent", &GpuFacts::busy_percent}};

constexpr Field<std::string> kTexts[] = {{"name", &GpuFacts::name},
                                         {"uuid", &GpuFacts::uuid},
                                         {"pci_bus_id", &GpuFacts::pci_bus_id},
                                         {"near_cpus", &GpuFacts::near_cpus},
                                         {"driver", &GpuFacts::driver},
                                         {"compute_capability", &GpuFacts::compute_capability},
                                         {"compute_mode", &GpuFacts::compute_mode},
                                         {"persistence", &GpuFacts::persistence},
                                         {"ecc", &GpuFacts::ecc},
                                         {"mig", &GpuFacts::mig}};

constexpr Field<std::uint64_t> kSizes[] = {{"memory_bytes", &GpuFacts::memory_bytes},
                                           {"memory_used_bytes", &GpuFacts::memory_used_bytes}};

constexpr Field<double> kMeasures[] = {{"power_watts", &GpuFacts::power_watts},
                                       {"power_limit_watts", &GpuFacts::power_limit_watts}};

template <typename T>
// A field that is missing keeps its default: cards and reports of older versions are read too.
void read_value(const Json& at, const char* name, T& value) {
  if (at.contains(name) && !at[name].is_null()) at[name].get_to(value);
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(valid_utf8(text));
  return list;
}

}  // namespace

Json gpus_json(const std::vector<GpuFacts>& gpus) {
  Json list = Json::array();
  for (const GpuFacts& gpu : gpus) {
    Json at = Json::object();
    for (const auto& field : kTexts) at[field.name] = valid_utf8(gpu.*field.member);
    for (const auto& field : kNumbers) at[field.name] = gpu.*field.member;
    for (const auto& field : kSizes) at[field.name] = gpu.*field.member;
    for (const auto& field : kMeasures) at[field.name] = gpu.*field.member;
    at["slices"] = texts_json(gpu.slices);
    at["pids"] = gpu.pids;
    at["drawing_pids"] = gpu.drawing_pids;
    list.push_back(std::move(at));
  }
  return list;
}

std::vector<GpuFacts> gpus_from_json(const Json& list) {
  std::vector<GpuFacts> gpus;
  for (const Json& at : list) {
    GpuFacts gpu;
    for (const auto& field : kTexts) read_value(at, field.name, gpu.*field.member);
    for (const auto& field : kNumbers) read_value(at, field.name, gpu.*field.member);
    for (const auto& field : kSizes) read_value(at, field.name, gpu.*field.member);
    for (const auto& field : kMeasures) read_value(at, field.name, gpu.*field.member);
    read_value(at, "slices", gpu.slices);
    read_value(at, "pids", gpu.pids);
    read_value(at, "drawing_pids", gpu.drawing_pids);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

Json links_json(const std::vector<GpuLink>& links) {
  Json list = Json::array();
  for (const GpuLink& link : links) {
    list.push_back({{"from", link.from},
                    {"to", link.to},
                    {"level", link.level},
                    {"nvlink", link.nvlink},
                    {"read", link.read},
                    {"write", link.write},
                    {"atomics", link.atomics}});
  }
  return list;
}

std::vector<GpuLink> links_from_json(const Json& list) {
  std::vector<GpuLink> links;
  for (const Json& at : list) {
    GpuLink link;
    read_value(at, "from", link.from);
    read_value(at, "to", link.to);
    read_value(at, "level", link.level);
    read_value(at, "nvlink", link.nvlink);
    read_value(at, "read", link.read);
    read_value(at, "write", link.write);
    read_value(at, "atomics", link.atomics);
    links.push_back(std::move(link));
  }
  return links;
}

Json seen_gpus_json(const std::vector<SeenGpu>& gpus) {
  Json list = Json::array();
  for (const SeenGpu& gpu : gpus) {
    list.push_back({{"logical", gpu.logical},
                    {"physical", gpu.physical < 0 ? Json(nullptr) : Json(gpu.physical)},
                    {"uuid", valid_utf8(gpu.uuid)}});
  }
  return list;
}

std::vector<SeenGpu> seen_gpus_from_json(const Json& list) {
  std::vector<SeenGpu> gpus;
  for (const Json& at : list) {
    SeenGpu gpu;
    read_value(at, "logical", gpu.logical);
    read_value(at, "physical", gpu.physical);
    read_value(at, "uuid", gpu.uuid);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

namespace {

Json processes_json(const std::vector<GpuProcess>& processes) {
  Json list = Json::array();
  for (const GpuProcess& one : processes) list.push_back({one.gpu, one.pid, one.bytes});
  return list;
}

std::vector<GpuProcess> processes_from_json(const Json& list) {
  std::vector<GpuProcess> processes;
  for (const Json& at : list) {
    processes.push_back({at.at(0).get<int>(), at.at(1).get<int>(), at.at(2).get<std::uint64_t>()});
  }
  return processes;
}

Json cores_json(const std::map<int, int>& cores) {
  Json list = Json::array();
  for (const auto& [gpu, count] : cores) list.push_back({gpu, count});
  return list;
}

std::map<int, int> cores_from_json(const Json& list) {
  std::map<int, int> cores;
  for (const Json& at : list) cores[at.at(0).get<int>()] = at.at(1).get<int>();
  return cores;
}

}  // namespace

std::string gpu_report_line(const GpuReport& report) {
  Json body = {{"state", valid_utf8(report.state)},
               {"answered", report.answered},
               {"cuda_driver_version", report.cuda_driver_version},
               {"nccl_version", valid_utf8(report.nccl_version)},
               {"gpus", gpus_json(report.gpus)},
               {"links", links_json(report.links)},
               {"processes", processes_json(report.processes)},
               {"cuda_cores", cores_json(report.cuda_cores)},
               {"unknowns", texts_json(report.unknowns)}};
  const Json line = {{"ocrtune_gpu_report", std::move(body)}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<GpuReport> find_gpu_report(const std::string& output) {
  const std::size_t at = output.rfind(kMark);
  const std::size_t end = at == std::string::npos ? at : output.find('\n', at);
  if (end == std::string::npos) {
    return Error{ErrorKind::invalid, "the GPU worker ended without a report"};
  }
  try {
    const Json line = Json::parse(output.substr(at, end - at));
    const Json& body = line.at("ocrtune_gpu_report");
    GpuReport report;
    read_value(body, "state", report.state);
    read_value(body, "answered", report.answered);
    read_value(body, "cuda_driver_version", report.cuda_driver_version);
    read_value(body, "nccl_version", report.nccl_version);
    report.gpus = gpus_from_json(body.value("gpus", Json::array()));
    report.links = links_from_json(body.value("links", Json::array()));
    report.processes = processes_from_json(body.value("processes", Json::array()));
    report.cuda_cores = cores_from_json(body.value("cuda_cores", Json::array()));
    read_value(body, "unknowns", report.unknowns);
    return report;
  } catch (const Json::exception& error) {
    return Error{ErrorKind::invalid, std::string("the GPU worker's report: ") + error.what()};
  }
}

}  // namespace ocrtune
