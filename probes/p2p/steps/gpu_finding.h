// What a GPU step says: one JSON object a line on its stdout, each true by itself, so that whatever
// a step finished before it hung or died is kept. The last line of a process is an "end".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ocrtune {

struct GpuFinding {
  std::string what;     // "device", "peer", "copy", "handshake", "nccl", "sweep", "versions", "end"
  std::string outcome;  // "passed", "wrong_data", "hung", "failed", "unsupported", "refused" (peer)
  int rank = 0;
  int from = -1, to = -1;                    // positions in the step's list of devices; -1: all
  std::string detail;                        // in words
  std::map<std::string, double> figures;     // "bytes_per_second", "free_bytes", "tried", ...
  std::map<std::string, std::string> words;  // "nccl_version", "name", ...

  double figure(const std::string& name, double otherwise = 0) const;
  std::string word(const std::string& name) const;
};

std::string gpu_finding_line(const GpuFinding& finding);  // with its newline

// All findings within a process's output; what is none (library noise, half lines) is passed over.
std::vector<GpuFinding> find_gpu_findings(std::string_view output);

}  // namespace ocrtune
