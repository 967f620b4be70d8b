// What a trial starts, and how it is watched.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/process.h"
#include "trial/logs/log_reader.h"
#include "trial/observe/interference.h"
#include "trial/observe/rank_binding.h"
#include "trial/observe/shm_leftovers.h"
#include "trial/watch/stopping.h"

namespace ocrtune {

// One host's part of a trial that runs over several hosts at once.
struct TrialPart {
  bool follows = false;            // another part prints the speed; this one ends when it is told
  std::function<void()> measured;  // told once this part knows its speed; it goes on until `ended`
  std::function<bool()> ended;     // every part is to end now; empty: no part of anything
};

struct TrialPlan {
  std::vector<ProcessOptions> processes;  // process i is rank i, unless there is a reader
  LogReader* reader = nullptr;            // of a user command's output; null: event pipes
  bool listens = false;          // the reader measures nothing; stages are watched all the same
  std::string followed_file;     // read by `reader` instead of the output; may appear late
  RankBinder* binder = nullptr;  // finds and binds a user command's ranks
  int ranks = 0;                 // that the binder must have found, if it finds any; 0: any
  ShmLeftovers* shm = nullptr;   // removes what the trial leaves in /dev/shm
  // One process that speaks for so many ranks, each on its own clock; 0: each process is a rank.
  int event_ranks = 0;
  bool own_shares = false;  // each rank has its share of a whole: the slowest one ends it
  LoadDemand demand;
  std::vector<CpuSet> masks;      // that the ranks must report; empty: not checked
  std::vector<std::string> gpus;  // UUIDs that the ranks must report; empty: not checked
  bool watch_gpus = false;        // of a user command: which it used is noted
  std::string preload;            // library that the processes must have loaded; empty: none
  bool serves = false;            // the user's service, which one process asks and speaks for
  int server_port = 0;            // of a service on this machine that runs already; 0: none
  int threads = 0;                // team size that the ranks must report; 0: not checked
  // Of a trial whose losses are kept from the first one on and that only its time ends: samples
  // between two updates of the weights. 0: another trial.
  std::int64_t learning_batch = 0;
  SilenceRule silence;
  TrialPart part;  // of a job over several hosts
  double stop_grace_seconds = 0.5;
  int log_lines = 30;  // kept as Trial::log_tail

  // The environment that the first process starts with; a service's has its from there.
  Environment given() const {
    Environment all = process_environment();
    for (const auto& [name, value] : processes[0].environment) all[name] = value.value_or("");
    return all;
  }
  // The user's processes, and not our own workers, do the work.
  bool of_user() const { return reader != nullptr || serves; }
  int clocks() const {  // that report steps
    if (event_ranks > 0) return event_ranks;
    return reader != nullptr ? 1 : static_cast<int>(processes.size());
  }
};

}  // namespace ocrtune
