// One attempt of a long run: the user's command started, watched until it ends, and nothing left.
//
// Unlike a trial (trial/watch/trial_watch.h) it measures nothing and stops nothing that still
// moves: it passes the output through to a file, listens for progress, and records what a diagnosis
// will ask for afterwards: memory, shared memory, descriptors, the kernel's out-of-memory counters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/cpu_set.h"
#include "base/process.h"
#include "diagnosis/failure_evidence.h"
#include "extras/supervise/background_writer.h"
#include "extras/supervise/stage_watch.h"
#include "trial/workloads/command/command_fill.h"

namespace ocrtune {

struct AttemptPlan {
  ProcessOptions process;
  LaunchSetting setting;                 // what it was filled from, for who fills it elsewhere
  std::string trial_dir;                 // ... with this {trial_dir}
  std::string log_path;                  // stdout and stderr are appended to it
  std::string trace_path;                // CSV of memory over time; empty: none
  double silence_seconds = 0;            // no output for so long: hung; 0: never
  double stall_seconds = 0;              // no progress for so long after the usual: hung; 0: never
  double stall_warning_seconds = 60;     // ... and for so long: a warning
  std::vector<CpuSet> masks;             // of the local ranks; empty: not bound
  std::uint64_t memory_limit_bytes = 0;  // the tree is stopped before it passes this; 0: none
  double stop_grace_seconds = 10;
  std::vector<std::string> kept_paths;  // files, prefixes and folders that stay after a failure
  StageTimes stages;
};

// How far a training says that it is; -1: it did not say.
struct TrainingPosition {
  double epoch = -1, step = -1;  // the step within the epoch
  double global_step = -1;       // over all epochs, or of lines that name no epoch
  bool known() const { return epoch >= 0 || global_step >= 0; }
  bool beyond(const TrainingPosition& other) const {
    return global_step > other.global_step ||
           std::tie(epoch, step) > std::tie(other.epoch, other.step);
  }
  void advance(const TrainingPosition& other);  // to what is further
};

// "epoch: [3/500], global_step: 120", "Epoch 3 step 17/900", " 12%|#  | 120/1000 [00:31<".
TrainingPosition position_of(std::string_view progress_line);

struct AttemptStatus {
  double seconds = 0;                 // since the start
  double silent_seconds = 0;          // since the last output
  std::uint64_t bytes = 0;            // PSS of the tree, shared memory included
  std::uint64_t available_bytes = 0;  // MemAvailable of its machine; 0: unknown
  std::uint64_t shm_bytes = 0, shm_limit_bytes = 0;
  int processes = 0;
  std::int64_t progress_lines = 0;
  double first_progress_seconds = -1;                 // -1: none yet
  std::string last_progress;                          // the last line that told of progress
  TrainingPosition furthest;                          // of all these lines
  std::int64_t open_files = 0, open_files_limit = 0;  // of the process nearest to its limit
  std::uint64_t gpu_bytes = 0, gpu_limit_bytes = 0;   // of the fullest GPU; 0: none known
  std::string idle_gpus;                              // that have nothing to do, in words
  std::string stall;                                  // why no step ends, in words; empty: they do
  std::vector<HeldBack> held;                         // what holds it back, by the last look
  std::string log_problem;                            // why the log is cut; empty: it is whole
  std::map<int, std::string> places;                  // local rank -> the CPUs that it may use
};

enum class AttemptStop { none, interrupted, silent, memory, stalled, host_lost };

struct AttemptEnd {
  ProcessExit exit;  // of the command itself
  AttemptStop stop = AttemptStop::none;
  std::string host;  // of several, whose end this is; empty: this one's, or all ended well
  AttemptStatus last;
  FailureEvidence evidence;
  std::string output;                     // its end, also where the log could not be written
  std::uint64_t peak_bytes = 0;           // as measured
  std::uint64_t possible_peak_bytes = 0;  // above it: may have been held between two readings
  std::vector<std::string> kernel_log;    // that names one of its processes; empty if unreadable
  std::vector<std::string> removed_shm;   // of /dev/shm, that killed processes left
  std::vector<std::string> links_down;    // "b: eth0": of several hosts, during the attempt
  int left_over = 0;                      // processes that outlived the command itself
  std::vector<std::string> survivors;     // stuck in the kernel

  bool clean() const { return stop == AttemptStop::none && exit.clean(); }
  std::string text() const;  // "exit code 3", "b: killed by SIGKILL", "stopped: silent for 30 min"
};

struct AttemptListeners {
  std::function<void(std::string_view)> on_output;      // may be empty
  std::function<void(const AttemptStatus&)> on_status;  // about once a second; may be empty
  std::function<bool()> ended;  // true: stop it, as Ctrl-C does; may be empty
};

// What the plan starts: its setting filled for this place, whose folder is made where it is named.
// Errors: of fill_for(), and of the folder.
Status fill_attempt(const Machine& machine, const TrialPlace& place, AttemptPlan& plan);

// What an attempt leaves on the disk: its output, and once a second a row of the trace. A file
// system that hangs does not hold up who writes.
class AttemptFiles {
 public:
  AttemptFiles();
  ~AttemptFiles();
  Status open(const AttemptPlan& plan);
  void write_output(std::string_view bytes);
  void write_status(const AttemptStatus& status);
  void finish();                    // waits until all is written, 10 s at most
  std::string log_problem() const;  // why the log is cut; empty: it is whole

 private:
  class Appender;
  std::shared_ptr<Appender> log_, trace_;
  BackgroundWriter writer_;
};

// Errors: the command cannot be started, or its log cannot be written.
Result<AttemptEnd> run_attempt(const AttemptPlan& plan, const AttemptListeners& listeners);

}  // namespace ocrtune
