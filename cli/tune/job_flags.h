// What the flags of `tune` and `doctor` say of the job, as typed: the Job is made of it once, when
// all of them are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/onnx/onnx_recognizer.h"
#include "tuner/job/job.h"

namespace ocrtune {

inline constexpr const char* kBuiltInEngine = "built-in";
inline constexpr const char* kPaddleEngine = "paddle";

struct JobFlags {
  std::string mode;  // train | infer; empty: what the other flags ask for
  std::string engine = kBuiltInEngine;
  TrainingWorkload training;       // the model and its lines, of a reading as well
  std::int64_t lines = 0;          // usable ones of the label file
  int widest_bucket = 0;           // pixels; 0: no width buckets
  InferenceWorkload requests;      // what is read, or sent to a server
  CommandWorkload program;         // the command; one of ours where `external` is set
  bool external = false;           // it trains `training`
  std::vector<std::string> hosts;  // the master first; empty: this one
  std::string launcher;

  bool infers() const { return mode.empty() ? speaks_of_reading() : mode == "infer"; }
  // Some flag makes sense for reading alone.
  bool speaks_of_reading() const {
    return !requests.slo.empty() || !requests.url.empty() || !requests.trace.empty() ||
           !requests.inputs.empty() || !requests.checkpoint.empty() || !requests.metrics.empty() ||
           names_onnx_file(training.model);
  }
  // A server of the user's, or the built-in engine, is asked; else a command says how fast it is.
  bool serves() const {
    const bool silent =
        program.log_reader.empty() && program.metric.empty() && program.preset.empty();
    return infers() && (!requests.url.empty() || silent);
  }
  bool prints() const { return !program.command.empty() && !serves(); }
  bool built_in() const { return program.command.empty() && requests.url.empty(); }
};

Job job_of(const JobFlags& typed);

}  // namespace ocrtune
