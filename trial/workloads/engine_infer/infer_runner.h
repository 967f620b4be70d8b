// The Runner of inference: the built-in core over line images, or the user's own service.
//
// A trial is one `ocrtune infer-trial` process, which starts the workers or the service and drives
// them; it is watched, measured and ended like any other trial (trial/watch/trial_watch.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/knobs.h"
#include "trial/runner.h"
#include "trial/workloads/command/command_workload.h"
#include "trial/workloads/launch.h"

namespace ocrtune {

struct InferenceWorkload {
  std::string model = "crnn";
  std::string checkpoint;  // empty: seeded weights
  std::string alphabet;    // its characters
  int height = 32;
  int width = 320;
  std::uint64_t seed = 1;
  std::string place;  // folder or list of lines; empty: pictures of noise of every width
  // GPUs that the core reads on, by UUID: process i on the i-th, and again from the first; empty:
  // the CPUs. A reader that is silent for so long - until it is ready, and later - is a hung trial.
  std::vector<std::string> gpus;
  double start_seconds = 120;
  double silence_seconds = 30;
  // The user's own service; without both, the core.
  PreparedCommand command;          // its workload's command may be empty
  std::string url;                  // with {placeholders}
  std::vector<std::string> inputs;  // files to send
  std::string metrics;              // of the server, beside each trial; empty: not read
  double request_timeout_seconds = 0, start_timeout_seconds = 0;  // 0: by what is seen
  int max_in_flight = 0;                                          // 0: as many as bring more
  // Answers are compared with those of `present`, which is started for them where no trial of it
  // came first.
  Knobs present;
  std::string truth;      // label file with the true texts of `inputs`; empty: none
  double max_change = 0;  // share of the characters that may change
  // What is asked.
  std::string slo;  // empty: the most lines a second
  std::string trace;
  std::string program;  // the ocrtune that has infer-trial; empty: this one

  bool user_service() const { return !url.empty() || !command.workload.command.empty(); }
};

// Lines handed out at a time for this batch, as `ocrtune infer` does unless it is told.
int chunk_for(int batch);
int max_chunk_for(int batch);  // and what it may grow to

// exhausted, denied: no place for the noise pictures.
Result<std::unique_ptr<Runner>> make_infer_runner(const InferenceWorkload& workload,
                                                  const Machine& machine);

// What starts `knobs`: `ocrtune infer DIR --nproc 2 ...`, the command of the service, or nothing
// for a server that runs already.
Result<Launch> infer_launch(const InferenceWorkload& workload, const Machine& machine,
                            const Knobs& knobs);

}  // namespace ocrtune
