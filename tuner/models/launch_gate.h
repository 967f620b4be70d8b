// Which settings may be launched: memory that fits with a margin, and no known failure below them.
//
// A setting is refused before launch when the upper bound of its predicted peak passes the limit
// less the margin, or when a failure speaks against it. What a failure teaches depends on what ran
// out: memory, /dev/shm, processes, descriptors, the memory of one rank, samples. A precision, an
// engine or a flag that reads another text in two shapes of a launch, one of them a shape in which
// others read the same, does so in all. A success that contradicts such a lesson cancels it.
//
// Where memory is tight the bound refuses what nobody has tried. Such a setting may be explored
// under a guard: one step from a setting that ran, and stopped by the watch at the usable memory.
// A guarded stop is a lower bound of the need and no failure of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "trial/reason.h"
#include "tuner/models/ledger.h"
#include "tuner/models/memory_model.h"

namespace ocrtune {

// Share of a memory limit that is to stay free: what grows after a trial of seconds (fragments,
// wider lines, page tables) was below a tenth in all programs of bench/RESULTS.md. One default for
// admission, choice and verdict.
inline constexpr double kMemoryMargin = 0.1;

struct LaunchGateOptions {
  std::uint64_t limit_bytes = 0;  // 0: unknown; learned from out-of-memory trials alone
  double margin = kMemoryMargin;  // share of the limit kept free
  std::uint64_t max_bytes = 0;    // that the user allows, without a margin; 0: no such bound
  double growth = 4;              // without a limit: at most this times the largest peak that ran
  WorkloadMemory memory;          // without a prior: by observation alone
};

struct Admission {
  bool admitted = true;
  Reason reason;  // why not
  MemoryForecast memory;
  bool may_work = true;  // not launched at this point of the search, and yet it may well fit
};

// What a trial ran out of.
enum class Shortage {
  none,         // it works, or nothing is known of why it does not
  memory,       // of all processes together
  gpu_memory,   //
  rank_memory,  // one process met a limit of its own
  shm,          // /dev/shm is full
  processes,    // processes or descriptors: what grows with their number
  samples,      // the data set is smaller than what a step takes
};
Shortage shortage_of(const Trial& trial);

class LaunchGate {
 public:
  LaunchGate(const Space& space, LaunchGateOptions options);  // `space` must outlive this

  void tell(int point, const Trial& trial);
  // The first trial of all is admitted without a forecast only for the lightest points.
  Admission admit(int point) const;
  // The same without words and numbers: cheap, for whole spaces.
  bool admitted(int point) const;
  // Not admitted for want of knowledge, one step from a setting that ran, and at least so likely to
  // fit: may run under a guard.
  static constexpr double kWorthAGuard = 0.15;  // below it a guarded trial most likely is a stop
  bool guardable(int point, double min_chance = kWorthAGuard) const;
  // The least chance to fit of what may still work: as a rival of the answer it counts, and a trial
  // that its certificate waits for may run.
  static constexpr double kFaintChance = 0.005;
  // Nothing has run and nothing is planned: no forecast says anything yet.
  bool knows_nothing() const { return told_ == 0 && !memory_.forecast(lightest_).known; }
  // That the setting stays within usable_bytes(); 1 where it is admitted or no limit is known.
  double chance_to_fit(int point) const;
  MemoryForecast forecast(int point) const { return memory_.forecast(point); }
  double usable_bytes() const;  // limit less margin, or what failures leave; 0: no limit known
  int process_cap() const;      // 0: none found
  // A crash at this point waits for its one confirming retry.
  int point_to_confirm() const { return point_to_confirm_; }
  int lightest() const { return lightest_; }  // least parallel, smallest batch

 private:
  struct Failure {
    int point = -1;
    Shortage shortage = Shortage::none;
    Outcome outcome = Outcome::crashed;
    bool stopped = false;  // by the guard: it needs more than is usable, nobody knows how much
  };

  const Space* space_;
  LaunchGateOptions options_;
  MemoryModel memory_;
  double largest_ok_peak_ = 0;
  double min_failed_bytes_ = 0;     // need of the lightest out-of-memory setting; 0: none
  std::vector<Failure> shortages_;  // that no success has contradicted
  std::vector<Failure> crashes_;    // twice, or too dear to repeat; nobody knows why
  std::map<int, int> failures_;     // point -> trials that failed for no known shortage
  std::set<int> works_, near_works_;
  std::vector<std::size_t> text_axes_;  // what decides the text, whatever the shape of a launch
  std::set<int> other_text_;            // points that read another text than the present setting
  std::vector<int> blamed_;             // points whose choice of text_axes_ does so in any shape
  std::vector<int> blamed_shapes_;      // whose choice does so in their own shape at least
  int max_processes_ok_ = 0;
  int point_to_confirm_ = -1;
  int lightest_ = -1;
  int told_ = 0;

  void tell_success(int point, const Trial& trial);
  void tell_failure(int point, const Trial& trial);
  bool speaks_against(const Failure& failure, int point) const;
  bool about_as_large(int point, int stopped) const;  // by the forecasts of their memory
  bool same_text_axes(int x, int y) const;
  void blame_texts();

  // What failures say of a point: `by` is the point that failed.
  struct Refusal {
    enum Kind { none, failed_twice, capped, ran_short, dominated, other_text } kind = none;
    int by = -1;
    Shortage shortage = Shortage::none;
  };
  Refusal ruled_out(int point) const;
  Reason reason_of(const Refusal& refusal) const;
};

// x needs at least as much of everything that fills memory as y, and agrees on all else.
bool dominates_memory(const Space& space, int x, int y);

// The same of the memory of one GPU: what the host holds does not count, and the number of
// processes only where they share so many GPUs (0: each has one for itself).
bool dominates_gpu_memory(const Space& space, int x, int y, int shared_gpus = 0);

}  // namespace ocrtune
