// What a step's process was asked: its kind, its place among the ranks, options, and how it speaks.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "probes/p2p/steps/gpu_finding.h"

namespace ocrtune {

// How the processes of one step find each other: small files in the step's own folder.
class Rendezvous {
 public:
  Rendezvous(std::string folder, int rank, int world, double deadline_seconds)
      : folder_(std::move(folder)), rank_(rank), world_(world), seconds_(deadline_seconds) {}

  Status publish(const std::string& name, const std::string& bytes);
  // Waits for another rank to publish it; failed: not within the deadline.
  Result<std::string> fetch(const std::string& name);
  // All ranks meet; each name can be used once.
  Status meet(const std::string& name);

  int rank() const { return rank_; }
  int world() const { return world_; }

 private:
  std::string folder_;
  int rank_, world_;
  double seconds_;
};

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
