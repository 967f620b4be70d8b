// What the GPU driver told a child process, and the one line of JSON in which it comes back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "probes/machine/machine.h"

namespace ocrtune {

// A process that computes on a GPU.
struct GpuProcess {
  int gpu = 0, pid = 0;
  std::uint64_t bytes = 0;  // that it holds there, by the driver's books; 0: it does not say
};

struct GpuReport {
  std::string state;      // "2 GPUs, driver 550.54", or why there is none: in words
  bool answered = false;  // true: the driver was asked and answered, be it "none"
  int cuda_driver_version = 0;
  std::string nccl_version;  // of the library that the loader finds; "": none
  std::vector<GpuFacts> gpus;
  std::vector<GpuLink> links;
  std::vector<GpuProcess> processes;
  std::map<int, int> cuda_cores;  // by the GPU's number; without those whose driver does not say
  std::vector<std::string> unknowns;
};

std::string gpu_report_line(const GpuReport& report);  // with its newline
// The report within a child's output, whatever libraries printed around it. invalid: none there.
Result<GpuReport> find_gpu_report(const std::string& output);

// The parts, for documents that contain them (probes/machine/machine_json.h). Reading throws
// nlohmann::json::exception on wrong types.
nlohmann::ordered_json gpus_json(const std::vector<GpuFacts>& gpus);
nlohmann::ordered_json links_json(const std::vector<GpuLink>& links);
nlohmann::ordered_json seen_gpus_json(const std::vector<SeenGpu>& gpus);
std::vector<SeenGpu> seen_gpus_from_json(const nlohmann::ordered_json& list);
std::vector<GpuFacts> gpus_from_json(const nlohmann::ordered_json& list);
std::vector<GpuLink> links_from_json(const nlohmann::ordered_json& list);

}  // namespace ocrtune
