// Recorded tables: settings whose outcome is already known, replayed as if they were run.
//
// A table is a CSV with one column per knob (any others are the user's own dimensions), then
// samples_per_second, peak_bytes, outcome, noise_sigma and, if known, cause. Its first line may be
// "# cores=64 memory_bytes=137438953472"; with "gpus=2" processes take turns on so many GPUs, and
// memory and peaks are of the fullest one. A replayed trial returns the recorded rate times
// exp(normal(0, noise_sigma)), so repeats differ as they would on the machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "trial/runner.h"

namespace ocrtune {

struct TableRow {
  Knobs knobs;
  double samples_per_second = 0;  // 0 unless ok
  std::uint64_t peak_bytes = 0;   // 0: not recorded
  Outcome outcome = Outcome::ok;
  double noise_sigma = 0;  // of the logarithm of a repeat's rate
  std::string cause;       // of a failure, as Trial::cause; empty: not known
};

struct RecordedTable {
  std::vector<TableRow> rows;
  std::vector<std::string> columns;  // knobs and dimensions, as the file orders them
  double cores = 0;                  // 0: not stated
  std::uint64_t memory_bytes = 0;    // 0: not stated
  int gpus = 0;                      // 0: none

  const TableRow* best() const;  // fastest that is ok; null when all failed
};

// invalid: names `name`, the line and the column. Refused: missing columns, no rows, a setting
// twice, rates of ok rows that are not positive numbers, unknown outcomes.
Result<RecordedTable> parse_table(std::string_view csv, const std::string& name);
Result<RecordedTable> read_table(const std::string& path);

// A clock that stands still until someone sleeps: replayed seconds cost no time.
class CountingClock : public Clock {
 public:
  double now_seconds() override { return now_seconds_; }
  void sleep_seconds(double seconds) override { now_seconds_ += seconds; }

 private:
  double now_seconds_ = 0;
};

// What a machine adds to the recorded noise.
struct ReplayFaults {
  double drift = 0;          // relative amplitude of a slow wave over the run
  double drift_trials = 40;  // its period
  double outlier_share = 0;  // of trials that other load slowed, unnoticed
  double outlier_loss = 0;   // what such a trial loses at most, relative
};

// Each trial takes one second of `clock`. A setting that is not in the table is unsupported. One
// that ran out of memory under a limit of its own is a stop by the guard, not an event of the
// machine.
class TableRunner : public Runner {
 public:
  // `table` and `clock` must outlive the runner.
  TableRunner(const RecordedTable& table, Clock& clock, std::uint64_t seed,
              ReplayFaults faults = {});
  Trial run(const Knobs& knobs, const TrialLimits& limits) override;
  int out_of_memory_trials() const { return out_of_memory_trials_; }
  int guarded_stops() const { return guarded_stops_; }

 private:
  const RecordedTable* table_;
  Clock* clock_;
  Random random_;
  ReplayFaults faults_;
  double drift_phase_;
  int trials_ = 0;
  std::map<Knobs, std::size_t> rows_;
  int out_of_memory_trials_ = 0;
  int guarded_stops_ = 0;

  double disturbed(const TableRow& row);
};

}  // namespace ocrtune
