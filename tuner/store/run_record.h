// One run as the store keeps it: what was asked, on which machine, and every trial.
//
// The verdict is not stored: it is computed from the trials whenever it is shown
// (tuner/verdict/recommend.h), so the raw numbers stay the only truth.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/knobs.h"
#include "trial/trial.h"
#include "tuner/models/launch_gate.h"
#include "tuner/recommendation.h"
#include "tuner/space/objective.h"

namespace ocrtune {

// What the user asked for. Enough to start the run again, or to go on with it.
inline constexpr const char* kBaselineGiven = "given";
inline constexpr const char* kBaselineRead = "read from the command and its config";
inline constexpr const char* kBaselineFirst = "the first value of each list";
inline constexpr const char* kBaselinePlain = "one process on all usable CPUs";
inline constexpr const char* kBaselineGpu = "one process on one GPU";
inline constexpr const char* kBaselineWithin = "near one process on all usable CPUs, in your lists";

inline constexpr const char* kPaddleEngine = "paddle";

struct RunOptions {
  std::string mode = "train";       // train | infer
  std::string engine = "built-in";  // or kPaddleEngine: `command` trains `model` in PaddlePaddle
  // The built-in core's workload.
  std::string model = "crnn";
  std::string label_file;  // empty: synthetic batches without a data path
  int classes = 97;        // alphabet size + 1
  std::int64_t lines = 0;  // usable lines of the label file; 0: unknown, or synthetic
  int height = 32;
  int width = 320;
  std::vector<int> heights;  // multi-scale batches, see core/graph/batch.h; empty: `height` alone
  int width_buckets = 0;     // at most so many, see core/data/width_buckets.h
  int widest_bucket = 0;     // pixels, of the label file's lines; 0: no buckets
  int queue_depth = 2;       // batches ready or under way for each loader worker
  // GPUs that the built-in core trains on, by UUID, rank r on the r-th; empty: the CPUs.
  std::vector<std::string> gpus;
  std::uint64_t gpu_memory_bytes = 0;  // free on the fullest of them at the start
  bool tensor_cores = false;           // all have tf32 and bf16
  // Inference: the core's lines, and what is asked of the service.
  std::string place;       // folder or list of lines; empty: pictures of noise
  std::string checkpoint;  // empty: seeded weights
  std::string alphabet;    // its characters
  std::string slo;         // "p99=50ms": settings are judged by the highest rate that keeps it
  std::string trace;       // file of recorded arrivals; empty: Poisson
  std::string url;         // of the user's own server, with {placeholders}
  std::vector<std::string> inputs;  // files to send to it, or to its command
  std::string server_metrics;       // where its metrics are read; empty: they are not
  // The user's own command; empty: the built-in core.
  std::vector<std::string> command;  // with {placeholders}
  std::vector<std::string> launch;   // what its preset makes of it, to be launched for good
  std::vector<std::string>
      launch_gpus;            // that {gpus} takes its names from; empty: the visible ones
  int evaluation_steps = -1;  // PreparedCommand::evaluation_steps; -1: nothing to rehearse
  bool rehearses = false;     // not stored: of the trial that rehearses
  int command_gpus = 0;       // that it may use, one for each process; 0: CPUs
  std::string directory;      // where it runs
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<std::string> inherited;  // variables taken from ocrtune's own environment; no values
  std::vector<std::string> hosts;      // of --hosts, the master first; empty: this one
  std::string launcher;                // that starts programs on them: "ssh"
  std::string preset, log_reader;
  std::string metric, metric_of;  // NAME[:UNIT]; "", "rank" or "job"
  std::string log_file;           // read instead of the output
  std::string setup, cleanup;     // one command a line
  std::vector<std::string>
      answers;            // where the texts are that it reads: trial/answers/answer_places.h
  std::string truth;      // label file with the true texts; empty: none
  double max_change = 0;  // share of the characters that a setting may read otherwise
  // The search.
  std::map<std::string, std::vector<std::string>> axes;  // knob -> values, as the user set them
  std::set<std::string> given;           // the axes that the user named; the others are pinned
  std::vector<std::string> constraints;  // "nproc*threads<=16"
  Objective objective;                   // what is best, and the constraints on what is measured
  Knobs baseline;                        // the setting that the user has now
  std::string baseline_source;           // where it comes from: one of kBaseline...
  std::vector<Knobs> hints;              // what an earlier run found fastest, best first
  double budget_seconds = 300;
  double trial_seconds = 1.5;            // measuring time of one trial
  double soak_seconds = -1;              // of the winner; -1: as long as suits
  std::uint64_t memory_limit_bytes = 0;  // the machine's, or --memory-limit
  double memory_margin = kMemoryMargin;  // share of the limit that stays free
  std::uint64_t seed = 1;
  std::string policy = "measured";  // measured | cautious (the rules of thumb apply)
  std::string strategy = "ours";

  bool infers() const { return mode == "infer"; }
  // Nobody said, and nothing tells, which setting is used now.
  bool baseline_guessed() const {
    return baseline_source == kBaselineFirst || baseline_source == kBaselinePlain ||
           baseline_source == kBaselineWithin || baseline_source == kBaselineGpu;
  }
  bool on_gpus() const { return !gpus.empty(); }
  // What a setting's memory counts against: the machine's, or one GPU's.
  std::uint64_t limit_bytes() const { return on_gpus() ? gpu_memory_bytes : memory_limit_bytes; }
  // The user's command answers requests; else it prints its own speed, or there is none.
  bool serves() const {
    const bool silent = log_reader.empty() && metric.empty() && preset.empty();
    return infers() && (!url.empty() || silent);
  }
  // The user's command trains, or measures itself, and prints how fast it is.
  bool prints() const { return !command.empty() && !serves(); }
};

inline constexpr const char* kSoakPhase = "soak";            // of RunRecord::soaks
inline constexpr const char* kRehearsalPhase = "rehearsal";  // of RunRecord::rehearsals

struct RunRecord {
  std::string id;                               // "2026-11-21-a3f9": date and a short random part
  std::string name;                             // that the user gave it; empty: none
  std::string started;                          // UTC, ISO 8601
  std::string command_line;                     // as typed
  std::string state = "running";                // running | done | interrupted | failed
  std::string stop_reason;                      // why the search ended, in words
  std::map<std::string, std::string> versions;  // "ocrtune" -> "0.1.0", "oneDNN" -> "2.6.3", ...
  RunOptions options;
  Machine machine;
  std::vector<Trial> trials;  // in the order in which they ran
  // Of settings that won: an evaluation and a checkpoint within the trial. Their rates are no
  // trial's rates.
  std::vector<Trial> rehearsals;
  std::vector<Trial> soaks;  // of settings that won, at full load for longer (tuner/verdict/soak.h)
  TuneResult result;         // empty as loaded; filled by judge()
};

std::string new_run_id();

// usage: not 1 to 64 letters, digits, '.', '_' and '-', with a letter first; or "last".
Status check_run_name(const std::string& name);

// Without the values of secrets (base/secrets.h): a variable's name goes to `inherited`.
std::string run_options_json(const RunOptions& options);
Result<RunOptions> parse_run_options(const std::string& json);

// Knobs as the store keeps them: an object of those that are not at their default, as texts.
nlohmann::ordered_json stored_knobs(const Knobs& knobs);

// Into `knobs`, which keep what is not named. invalid: no such object; usage: a value that the
// table refuses.
Status read_stored_knobs(const nlohmann::ordered_json& json, Knobs& knobs);

}  // namespace ocrtune
