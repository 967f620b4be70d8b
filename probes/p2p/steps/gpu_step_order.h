// What a step's process was asked: its kind, its place among the ranks, options, and how it speaks.
#pragma once

#include <map>
#include <string>

#include "probes/p2p/steps/gpu_finding.h"
#include "probes/p2p/steps/rendezvous.h"

namespace ocrtune {

struct GpuStepOrder {
  std::string kind;
  int rank = 0, world = 1;
  std::string folder;
  int device = -1;  // of CUDA, that this rank computes on; -1: the one with its rank's number
  std::map<std::string, std::string> options;  // "--seconds=60" is {"seconds", "60"}

  double number(const std::string& name, double otherwise) const;
  std::string text(const std::string& name) const;
  Rendezvous rendezvous() const { return {folder, rank, world, 45}; }
  GpuFinding finding(const std::string& what, const std::string& outcome) const;
};

// argv behind the program: "step", kind, options. usage: anything else.
Result<GpuStepOrder> parse_gpu_step(int argc, char** argv);

// Writes the line at once: what follows may hang.
void say(const GpuFinding& finding);
// The last line; gives the exit code of the process.
int say_end(const GpuStepOrder& order, const std::string& outcome, const std::string& detail);

}  // namespace ocrtune
