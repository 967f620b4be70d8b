// One search over a recorded table, scored against the truth that the table holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trial/table_runner.h"
#include "tuner/search/search.h"
#include "tuner/verdict/recommend.h"

namespace ocrtune {

struct ReplayOptions {
  SearchMaker make = make_search;
  int trials = 60;
  std::uint64_t seed = 1;
  double margin = 0;  // memory kept free; recorded peaks do not move between runs
  ReplayFaults faults;
  std::vector<Knobs> hints;  // SearchOptions::hints
};

struct ReplayScore {
  bool found = false;
  Knobs knobs;
  double true_samples_per_second = 0;
  double claimed_samples_per_second = 0;
  double regret = 1;        // 1 - true rate of the chosen setting / true rate of the best
  double tried_regret = 1;  // of the best setting that was run, chosen or not
  int out_of_memory_trials = 0;
  int guarded_stops = 0;  // of trials that were watched for what they would need
  int trials = 0;         // really run
  // Over the 50 fastest settings that were not run: root mean square of the forecast's error (a
  // logarithm), and of that error in its own standard deviations.
  double forecast_error = 0;
  double forecast_surprise = 0;
  TuneResult result;
  std::vector<Trial> run;
};

// invalid: the table has no setting that works.
Result<ReplayScore> replay(const RecordedTable& table, const ReplayOptions& options);

Space space_of(const RecordedTable& table);
// What a search of the table is told.
SearchOptions replay_search(const RecordedTable& table, const ReplayOptions& options);

}  // namespace ocrtune
