// From what a run was asked for and its machine to what the search and the verdict need: the same
// for a tune that starts, one that goes on, and one that is judged again from the store.
#pragma once

#include <memory>

#include "base/result.h"
#include "trial/runner.h"
#include "tuner/search/search.h"
#include "tuner/space/space.h"
#include "tuner/store/run_record.h"
#include "tuner/verdict/recommend.h"

namespace ocrtune {

struct TuneSetup {
  Space space;
  SearchOptions search;
  RecommendOptions recommend;
};

// The built-in engine computes it, and this program does not hold the engine.
bool lacks_engine(const Job& job);

// usage: axes, constraints or a baseline that make no sense; names the one.
Result<TuneSetup> tune_setup(const Job& job, const SearchRequest& search, const Machine& machine);
int tune_setups_made();  // by this process, for tests

// What a trial of these options may take.
TrialLimits trial_limits(const Job& job, const SearchRequest& search);

// A search that was told every trial of a run, and the space that it searches.
struct Judgement {
  TuneSetup setup;
  std::unique_ptr<Search> search;  // refers to setup.space
};

// Fills run.result from run.trials.
Result<std::unique_ptr<Judgement>> judge_run(RunRecord& run);
Status judge(RunRecord& run);  // where the search is not needed any more
// The same by the setup that the run's own search has.
Status judge(RunRecord& run, const TuneSetup& setup);
// The part of run.result that settle() of tuner/verdict/recommend.h gives, in a fraction of the
// time. Errors: as of judge_run.
Status settle(RunRecord& run);

}  // namespace ocrtune
