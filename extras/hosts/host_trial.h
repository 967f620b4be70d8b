// A trial over several hosts: what each host's agent is asked, what it answers, and the trial that
// the answers make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trial/runner.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_workload.h"

namespace ocrtune {

// One host's part. Each host measures its own ranks' CPUs and memory; the first one reads the speed
// of the whole job.
struct HostTrial {
  CommandWorkload workload;  // of prepare_command()
  std::optional<int> print_interval;
  Knobs knobs;
  TrialLimits limits;
  TrialPlace place;     // without folder and port
  Variables inherited;  // of workload.inherited, with the values that the asking process has
  bool guards = false;  // another host's command starts the ranks here: host_guard.h
  bool follows() const { return place.node_rank != "0"; }
};

// With the values of the variables that the workload takes from this process's environment.
std::string host_trial_json(const HostTrial& trial);
Result<HostTrial> parse_host_trial(const std::string& text);
// Sets them in this process, so that they are no words of the command, which are stored.
void inherit(const HostTrial& trial);

std::string part_json(const Trial& trial);  // what a host's part came to, less its knobs
Result<Trial> parse_part(const std::string& text);

struct AnsweredPart {
  std::string host;
  Trial trial;
  int order = 0;      // in which they were answered
  bool lost = false;  // the host was, `trial.reason` says why
};

// The first host's trial, with the memory of the fullest host and what was seen on each. Any host's
// failure is the trial's, named by host: one of memory first, then a lost host, then the earliest;
// links that went down are named with it, for it is another host that waits for them.
Trial merge_parts(std::vector<AnsweredPart> parts);

}  // namespace ocrtune
