// What is tuned: one of five kinds, made once of the flags (cli/tune/job_flags.h) and stored as
// itself (tuner/job/stored_job.h).
//
// Each kind holds the options that its workload takes (tuner/job/job_workload.h). What a search
// adds to them, knobs and baseline, stands in SearchRequest.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "trial/workloads/command/user_command.h"
#include "trial/workloads/engine_infer/infer_runner.h"
#include "trial/workloads/engine_train/engine_training.h"
#include "tuner/job/search_request.h"

namespace ocrtune {

// The built-in engine trains.
struct TrainingJob {
  EngineTrainingOptions engine;
  std::uint64_t gpu_memory_bytes = 0;  // free on the fullest of its GPUs at the start
};

// The built-in engine recognises text lines, or a framework in its place.
struct ReadingJob {
  InferenceWorkload reading;
  int classes = 97;                    // its alphabet and one
  std::uint64_t gpu_memory_bytes = 0;  // as TrainingJob's
};

// A command of the user's that trains, or measures itself: it prints its speed or is timed.
struct CommandJob {
  UserCommandOptions user;
  std::vector<std::string> hosts;  // that it runs on, the master first; empty: this one
  std::string launcher;            // that starts programs on them: "ssh"
};

// A model of ours that a command of ours trains: the built-in engine over hosts, or PaddlePaddle.
struct ExternalJob : CommandJob {
  bool in_paddle = false;  // else by the built-in engine, over MPI
  TrainingWorkload training;
};

// A server of the user's that answers requests.
struct ServiceJob {
  InferenceWorkload requests;
  UserCommandOptions user;  // what starts it; without a command it runs already
};

struct Job {
  std::variant<TrainingJob, ReadingJob, CommandJob, ExternalJob, ServiceJob> kind;

  bool infers() const;  // it reads or answers requests; else it trains
  bool serves() const;  // it is a server of the user's
  bool prints() const;  // its command prints its speed, or is timed
  bool on_gpus() const { return !gpus().empty(); }

  // The parts of some kinds; null for the others.
  UserCommandOptions* user();
  const UserCommandOptions* user() const;
  InferenceWorkload* inference();
  const InferenceWorkload* inference() const;

  // The same parts to read from; of a kind without them, as a plain default.
  const CommandWorkload& program() const;
  const InferenceWorkload& requests() const;
  const TrainingWorkload& training() const;  // of a model of ours
  const CommandJob& command_job() const;

  const std::vector<std::string>& command() const { return program().command; }
  const std::string& url() const { return requests().url; }
  const std::string& slo() const { return requests().slo; }
  const std::string& model() const;  // of ours; lines are scaled to `height`
  int height() const;
  int width() const;
  const std::string& label_file() const;  // that a training reads; empty: none, or not known
  std::int64_t lines() const;             // of it; 0: not known
  double max_change() const;              // share of the characters that may be read otherwise

  const std::vector<std::string>& gpus() const;  // that the built-in engine computes on, by UUID
  std::uint64_t gpu_memory_bytes() const;        // free on the fullest of them
  int command_gpus() const;                      // that the user's command may use
};

// What a setting's memory counts against: the machine's, or one GPU's.
std::uint64_t limit_bytes(const Job& job, const SearchRequest& search);

}  // namespace ocrtune
