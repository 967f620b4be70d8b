// One setting, measured once: the knobs, what became of it, and the raw numbers.
//
// A failed trial is a result with a reason. Produced by a Runner (trial/runner.h), kept by the
// store, judged by the tuner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnosis/failure_evidence.h"
#include "trial/knobs.h"
#include "trial/learning.h"
#include "trial/load_point.h"
#include "trial/same_result.h"
#include "trial/stage_use.h"

namespace ocrtune {

enum class Outcome {
  ok,
  out_of_memory,
  hung,
  timed_out,
  crashed,
  wrong_result,
  unsupported,
  skipped,
};

std::string_view outcome_name(Outcome outcome);
Result<Outcome> parse_outcome(std::string_view name);

// Where the seconds of one step went, averaged over the ranks; sums to the step time.
struct StepTimes {
  double data_seconds = 0;        // waiting for the loader
  double compute_seconds = 0;     // forward, backward, optimiser
  double all_reduce_seconds = 0;  // moving gradients
  double wait_seconds = 0;        // waiting for the slowest rank
};

// What else the machine did during a sample. Source of the thresholds: docs/trial.md.
struct Interference {
  double observed_seconds = 0;  // between the two looks at the counters; 0: nobody looked
  double cpu_seconds = 0;       // that the trial's threads ran in that time
  double available_cpus = 0;    // that the trial could get, quota included; 0: unknown
  // Waiting for a CPU that somebody else had: the sum over the trial's threads, and that of the
  // thread that waited longest. The wall time lost lies between the two.
  double external_wait_seconds = 0;
  double longest_external_wait_seconds = 0;
  double external_cpus = 0;         // busy CPUs in /proc/stat less the trial's own
  double run_queue_wait_share = 0;  // waiting to run / (running + waiting), trial's threads
  double pressure_share = 0;        // PSI cpu "some" growth / wall time
  double throttled_seconds = 0;     // cgroup quota throttling
  double steal_share = 0;           // stolen by the hypervisor
  std::uint64_t swapped_pages = 0;  // pswpin + pswpout growth
  std::string spoilt_by;            // empty: clean; else the first threshold that was passed
};

// One measuring window of one trial.
struct Sample {
  double samples = 0;  // that the whole setting processed (all ranks together)
  double seconds = 0;  // mean over the ranks
  std::int64_t steps = 0;
  StepTimes step;
  Interference interference;

  double samples_per_second() const { return seconds > 0 ? samples / seconds : 0; }
  bool clean() const { return interference.spoilt_by.empty(); }
};

// Clean samples that a rate may rest on alone, where there are others beside them.
inline constexpr int kEnoughClean = 5;

// What a trial's threads did while it was measured, means over its windows.
struct ThreadUse {
  int alive = 0;        // most at a window's end; 0: not observed
  double busy = 0;      // threads that ran for a twentieth of a window or more
  double cpus = 0;      // that they ran on, all together
  double runnable = 0;  // threads that ran or waited for a CPU
  double voluntary_switches_per_second = 0;
  double involuntary_switches_per_second = 0;
  double throttled_share = 0;         // of the time, by a quota
  std::vector<std::string> runtimes;  // thread_runtime_table() names that were loaded
};

struct MemoryPoint {
  double seconds = 0;  // since the measuring began
  std::uint64_t bytes = 0;
};

// How long single steps took while it was measured: one batch through one process, all ranks'
// steps together. Steps shorter than an event (WorkerSpec::report_seconds) count by their mean.
struct StepLatency {
  std::int64_t steps = 0;  // 0: not known
  double p50_seconds = 0;
  double p90_seconds = 0;
  double p95_seconds = 0;
  double p99_seconds = 0;
};

// The slope of a trial's memory while it measured (tuner/verdict/growth.h), with its 95 % interval.
struct MemoryGrowth {
  double watched_seconds = 0;  // 0: nobody watched
  double bytes_per_second = 0, low = 0, high = 0;
  std::uint64_t last_bytes = 0;
  bool certain = false;  // it grows, and had not stopped growing at the end
};

// One GPU that a trial could use. Of a user's command by the driver's books, of the built-in core
// as its ranks reported it.
struct GpuShare {
  int index = -1;      // the driver's number; -1: the fullest of those that the core was given
  int processes = 0;   // of the trial, the most at once; 0: none, or not known
  bool worked = true;  // false: the trial left it idle
  std::uint64_t peak_bytes = 0;  // the most in use, by all programs: what meets the GPU's end
  std::uint64_t size_bytes = 0;  // 0: unknown
  double busy_share = -1;        // of the time, by the driver's readings; below 0: not known
};

// What is nearest to a limit on a number of things.
struct CountUse {
  std::uint64_t peak = 0;   // 0: not observed
  std::uint64_t limit = 0;  // 0: none, or not known
};

// What the load generator found of a service.
struct ServiceFacts {
  int in_flight = 0;                        // as many as bring the most; 0: no closed load
  double p50_seconds = 0, p99_seconds = 0;  // of an answer at that number
  double alone_seconds = 0;  // one request alone: the SLO's percentile, else the median; 0: unknown
  bool ended_early = false;  // the search of the highest rate was out of time
  std::string server;        // what its own metrics said, in their words
  std::vector<LoadPoint> loads{};  // that were tried, in their order

  bool measured() const { return in_flight > 0 || alone_seconds > 0; }
};

// Of a job over several hosts: the one that the others wait for.
struct SlowHost {
  std::string name;       // empty: none
  std::string words;      // how its steps spend their time
  double cost_share = 0;  // of a step, that the others wait
};

struct Trial {
  std::int64_t id = 0;  // given by the store
  Knobs knobs;
  std::string phase;   // baseline | earlier | ladder | model | race | rule | sweep | verify
  std::string why;     // what this trial was to find out
  int repetition = 0;  // 0 for the first trial of these knobs in this run
  int round = 0;       // trials of one round ran side by side in time; 0: of no round

  Outcome outcome = Outcome::skipped;
  std::string cause;   // finer than outcome: "predicted", "cgroup", "host", "shm", "gpu", ...
  std::string reason;  // one line in words; empty when ok
  std::vector<std::string> evidence;  // for people: no code reads it
  std::string reproduce;              // a shell line that runs this setting again
  std::string kept_folder;            // of a failed one, with its files; empty: none

  std::vector<Sample> samples;    // discarded ones included
  double samples_per_second = 0;  // undisturbed: trial/observe/undisturbed_rate.h
  // Of a log that prints rates and counts its steps: samples by steps and clock over those by the
  // rates, up to a constant of the job; 0: not known.
  double counted_share = 0;
  double counts_to = 0;   // the total that its lines name, as in "12/375"; 0: none
  std::string lost_loss;  // the first line of its log whose loss is no number; empty: none
  // What the memory model learns from: the fullest GPU's where the core computes on GPUs, else the
  // host's.
  std::uint64_t peak_bytes = 0;
  std::uint64_t host_peak_bytes = 0;  // largest PSS of the whole tree, shared memory included
  // Above host_peak_bytes: what may have been held between two readings; 0: no more than was read.
  std::uint64_t possible_peak_bytes = 0;
  std::vector<GpuShare> gpus;  // empty: none, or the driver did not answer
  CountUse tasks;              // of a control group above the trial, or of its user
  CountUse files;              // open, of the process that is nearest to its own limit
  MemoryGrowth growth;
  ServiceFacts service;
  SlowHost slow_host;
  std::vector<std::string> links_down;    // network interfaces that went down meanwhile
  std::vector<MemoryPoint> memory_trace;  // while it measured; not stored
  double seconds = 0;                     // wall time, start-up and stop included
  double start_seconds = 0;               // until the first step
  StepLatency latency;
  ThreadUse threads;
  StageUse stages;
  SameResult same;                      // its answers beside those of the present setting
  Learning learning;                    // of a trial that trains to be compared
  double network_bytes_per_second = 0;  // of a job over several hosts, the first one's; 0: unknown
  double control_share = 0;  // control kernel beside this trial over its usual rate; 0: unknown
  std::string placement;     // CPUs that the ranks really had: "0:0-3 1:4-7"
  int launched_ranks = 0;    // of a user's command: ranks that a launcher numbered; not stored
  std::string log_tail;      // last lines of stdout and stderr
  FailureEvidence counters;  // of a failed trial, for its diagnosis
  std::string started;       // UTC, ISO 8601

  bool ok() const { return outcome == Outcome::ok; }
  double measured_seconds() const {  // of all samples
    double sum = 0;
    for (const Sample& sample : samples) sum += sample.seconds;
    return sum;
  }
  // Ok, but there are not enough clean samples: the rate rests on the disturbed ones as well.
  bool noisy() const;
};

}  // namespace ocrtune
