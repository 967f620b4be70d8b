// What holds a running command back, while it runs: the looks of a trial (trial/stages) for half a
// minute every ten, and what its own log says of its steps.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_tree.h"
#include "diagnosis/context/step_costs.h"
#include "trial/watch/load_watch.h"
#include "tuner/recommendation.h"

namespace ocrtune {

struct StageTimes {
  double settle_seconds = 60;  // before the first look: imports, warm-up
  double look_seconds = 30;    // of one look
  double pause_seconds = 570;  // between two
};

class StageWatch {
 public:
  // `cpus` that the tree may use; 0: nothing is said. `fixed`: as of held_back().
  StageWatch(const ProcessTree& tree, double cpus, std::set<std::string> fixed,
             const StageTimes& times);
  ~StageWatch();

  void take_line(std::string_view line) { costs_.take_line(line); }  // that tells of progress
  // At least ten times a second while it looks; the tree's scan() should be fresh within seconds.
  // Gives the causes once, at the end of each look: at most two, none where nothing is clear.
  std::optional<std::vector<HeldBack>> look(double now);

 private:
  void close_window(double now);
  std::vector<HeldBack> judge(double now);

  const ProcessTree& tree_;
  double cpus_;
  std::set<std::string> fixed_;
  StageTimes times_;
  StepCostReader costs_;
  std::optional<LoadWatch> load_;  // while it looks
  double begun_ = -1, next_ = -1, window_end_ = 0, look_end_ = 0;
  int disturbed_ = 0;  // windows of this look
};

}  // namespace ocrtune
