// Which settings may be launched: memory that fits with a margin, and no known failure below them.
//
// A setting is refused before launch when the upper bound of its predicted peak passes the limit
// less the margin, when a setting that needs no more of anything ran out of memory, when nproc is
// past a cap that crashes have shown, or when it has failed itself and the retry is used up.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tuner/models/ledger.h"
#include "tuner/models/memory_model.h"

namespace ocrtune {

struct SafetyOptions {
  std::uint64_t limit_bytes = 0;  // 0: unknown; learned from out-of-memory trials alone
  double margin = 0.05;           // share of the limit kept free
  std::uint64_t max_bytes = 0;    // that the user allows, without a margin; 0: no such bound
  double growth = 4;              // without a limit: at most this times the largest peak that ran
  FootprintPrior footprint;       // may be empty
  int memories = 1;  // peaks and limit are of the fullest of so many: GPUs, taken in turn
};

struct Admission {
  bool admitted = true;
  std::string reason;  // why not, in words
  MemoryForecast memory;
  bool may_work = true;  // not launched at this point of the search, and yet it may well fit
};

class Safety {
 public:
  Safety(const Space& space, SafetyOptions options);  // `space` must outlive this

  void tell(int point, const Trial& trial);
  // The first trial of all is admitted without a forecast only for the lightest points.
  Admission admit(int point) const;
  // The same without words and numbers: cheap, for whole spaces.
  bool admitted(int point) const;
  MemoryForecast forecast(int point) const { return memory_.forecast(point); }
  double usable_bytes() const;  // limit less margin, or what failures leave; 0: no limit known
  int process_cap() const { return process_cap_; }  // 0: none found
  // A crash at this point waits for its one confirming retry.
  int point_to_confirm() const { return point_to_confirm_; }
  int lightest() const { return lightest_; }  // least parallel, smallest batch

 private:
  const Space* space_;
  SafetyOptions options_;
  MemoryModel memory_;
  double largest_ok_peak_ = 0;
  double min_failed_bytes_ = 0;  // predicted need of the lightest out-of-memory setting; 0: none
  std::vector<int> out_of_memory_;
  std::vector<int> gpu_out_of_memory_;  // of a command whose GPUs are its own affair
  std::map<int, int> failures_;         // point -> trials that failed otherwise
  int process_cap_ = 0;
  int max_processes_ok_ = 0;
  int point_to_confirm_ = -1;
  int lightest_ = -1;
  int told_ = 0;

  void tell_failure(int point, const Trial& trial);

  // What failures say of a point: `by` is the point that failed.
  struct Refusal {
    enum Kind { none, failed_twice, capped, out_of_memory, dominated } kind = none;
    int by = -1;
  };
  Refusal ruled_out(int point) const;
  std::string words(const Refusal& refusal) const;
};

// x needs at least as much of everything that fills memory as y, and agrees on all else.
bool dominates_memory(const Space& space, int x, int y);

// The same of the memory of one GPU: the number of processes and what the host holds do not count.
bool dominates_gpu_memory(const Space& space, int x, int y);

}  // namespace ocrtune
