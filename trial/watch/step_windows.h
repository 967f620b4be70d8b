// The ranks' steps, gathered into windows of the whole setting.
//
// Ranks of one data-parallel job move in lock step, so a window's rate is the sum over the ranks of
// samples / seconds, each rank over its own clock: no clock is compared with another's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "trial/ipc/events.h"
#include "trial/trial.h"

namespace ocrtune {

class StepWindows {
 public:
  // `window_seconds`: the least length; a window has at least one step of each rank.
  StepWindows(int ranks, double window_seconds);

  // A closed window (its interference still empty), when this step completes one.
  std::optional<Sample> add(const StepEvent& step);
  void restart();  // forgets the steps of the open window

 private:
  struct Share {
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    double seconds = 0;
    StepTimes total;  // sums
  };
  Sample close() const;

  std::vector<Share> ranks_;
  double window_seconds_;
};

// The least length of a window where a trial measures for so long.
double window_seconds(double measure_seconds);

// Several windows, one after the other, as one; `windows` is not empty.
Sample merged(const std::vector<Sample>& windows);

// A first window unlike all that follow (of at least 4, by more than 3 of their robust deviations
// and 2 %) was still warm-up: it is taken out of the trial's samples, and its evidence says so.
void leave_out_warm_up(Trial& trial);

// What a rank has done since the measuring began.
struct RankShare {
  double samples = 0, seconds = 0;
};

// What a whole takes when each of `ranks` has its own share of it: as long as the slowest one. Puts
// the rates of the trial's samples right and says so in its evidence, if all ranks are known.
void weigh_shares(const std::map<int, RankShare>& shares, int ranks, Trial& trial);

}  // namespace ocrtune
