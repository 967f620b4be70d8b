// What the GPU driver told a child process, and the one line of JSON in which it comes back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

}  // namespace ocrtune
