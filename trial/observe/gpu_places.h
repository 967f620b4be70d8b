// On which GPUs a user command's processes really compute, as the driver tells while they run.
//
// The driver's list of processes says it; where its process ids are others (a container), the
// memory that a GPU has gained since the command began does.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/process.h"
#include "probes/machine/gpu_report.h"
#include "trial/trial.h"

namespace ocrtune {

struct GpuUse {
  int processes = 0;  // of the command, the most at once; 0: none, or not to be told
  std::map<int, std::uint64_t> process_bytes;  // the most of each of them, by pid, as far as told
  std::uint64_t gained_bytes = 0;              // the most beyond what was taken before it began
  std::uint64_t used_bytes = 0, size_bytes = 0;
  double busy_percents = 0;  // sum over the readings that tell it
  int busy_readings = 0;
};

// What `now` adds to what is known of each GPU, by the driver's number.
void note_gpu_use(const GpuReport& before, const GpuReport& now, const std::set<int>& pids,
                  std::map<int, GpuUse>& use);

// What became of each GPU, in the order of their numbers.
std::vector<GpuShare> gpu_shares(const std::map<int, GpuUse>& use);
// "where it computed: GPU 0: 2 processes (1.0 GiB and 1.2 GiB), 3 GiB of 24 GiB in use; ...";
// empty: none was used.
std::string gpu_use_words(const std::map<int, GpuUse>& use);
// "GPUs without work: 1, 2 ..., " and what to do; empty: all had work.
std::string idle_gpus_words(const std::vector<GpuShare>& shares);

// The reports of one command's run. GPUs that its environment hides are left out.
class GpuUseNotes {
 public:
  explicit GpuUseNotes(const ProcessOptions& command);
  // `working`: the command is past its start. The first report is what was before.
  void take(GpuReport report, const std::set<int>& pids, bool working);
  // All of the command's, at its end: some may have been seen by the driver before they were by us.
  void know(const std::set<int>& pids);
  bool any() const { return !use_.empty(); }
  std::vector<GpuShare> shares() const { return gpu_shares(use_); }
  std::string words() const { return gpu_use_words(use_); }

 private:
  Environment environment_;
  std::set<int> allowed_;
  bool began_ = false;
  GpuReport before_, last_;
  std::map<int, GpuUse> use_;
};

// Asks the driver beside a trial's own loop, through the GPU worker: one that hangs costs the
// answer and nothing else.
class GpuPlaces {
 public:
  explicit GpuPlaces(const ProcessOptions& command) : notes_(command) {}

  // `pids`: of the trial until now. Takes an answer that is there; asks at the start, when the
  // measuring begins and every few seconds from then on.
  void look(double now_seconds, bool measuring, const std::set<int>& pids);
  // Before the processes are ended: the answer on its way is waited for, briefly, and where none
  // was of their work, one more.
  void finish(const std::set<int>& pids);
  std::vector<GpuShare> shares() const { return notes_.shares(); }
  std::string words() const { return notes_.words(); }

 private:
  GpuUseNotes notes_;
  std::future<GpuReport> asked_;
  bool asked_while_measuring_ = false, hung_ = false;
  double asked_at_ = -1;

  void ask(bool measuring);
  void take(const std::set<int>& pids);
};

}  // namespace ocrtune
