// What one inference trial is told to do: `ocrtune infer-trial --spec JSON`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "trial/load_point.h"
#include "trial/workloads/engine_infer/infer_spec.h"

namespace ocrtune {

struct InferTrialSpec {
  // The built-in core: processes that recognise the lines of a place.
  InferSpec infer;
  std::string place;               // folder or list of lines
  std::vector<std::string> masks;  // CPUs of each process; "" leaves one free
  bool exclusive = false;          // no two may share a CPU
  std::vector<std::string> gpus;   // UUID for each process; one that stands twice is shared
  double start_seconds = 0;        // silence of a reader before it is ready ...
  double silence_seconds = 120;    // ... and later: longer ones end a trial on GPUs
  std::string queue = "shared";    // shared | static
  int chunk = 32;
  int max_chunk = 0;
  // The user's own: a command that answers requests, or an address (with the command behind it).
  std::vector<std::string> command;
  std::string url;
  std::string metrics;              // of the server, as in metrics_place(); empty: not read
  int copies = 1;                   // servers behind it, told apart by {copy}
  std::vector<std::string> inputs;  // files to send, one kind each
  double request_seconds = 0;       // for an answer; 0: by the first one
  double first_answer_seconds = 0;  // for the first one of a server; 0: by what it computes
  int max_in_flight = 1024;
  // The answers of a service beside those of the present setting.
  std::string reference;  // file that holds these; empty, or not there yet: they are asked for
  bool learns = false;    // of the core's lines: this trial reads them for `reference`
  std::string truth;      // label file with the true texts of `inputs`; empty: none
  double max_change = 0;  // share of the characters that more in flight may change
  bool ask_only = false;  // writes `reference` and ends
  // What is asked.
  std::string slo;         // "p99=50ms"; empty: the most that it does
  std::string trace;       // file of recorded arrivals; empty: Poisson
  double seconds = 15;     // for the search for a rate
  double max_seconds = 0;  // of the whole trial, after which it is ended; 0: no end is known
  RateToProve proves;      // at full length, instead of a search
  int in_flight = 0;       // so many all the time, instead of a search
  std::uint64_t seed = 1;

  bool user_service() const { return !command.empty() || !url.empty(); }
};

std::string infer_trial_spec_text(const InferTrialSpec& spec);           // one line of JSON
Result<InferTrialSpec> parse_infer_trial_spec(const std::string& text);  // usage: what is wrong
Result<std::vector<CpuSet>> masks_of(const InferTrialSpec& spec);

}  // namespace ocrtune
