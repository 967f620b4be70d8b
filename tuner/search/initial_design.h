// The first trials of a large space: few, light before heavy, each to expose another effect; and
// before them, where the user's setting is known, how the CPUs are best shared out around it.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace ocrtune {

// 1 to `cpus` processes that share out the CPUs as threads, all else as in `own`: one process a CPU
// first, then halfway, then one process, then the rest. Without those that `own` is.
std::vector<int> cpu_shares(const Space& space, const Knobs& own, int cpus);

class InitialDesign {
 public:
  InitialDesign(const Space& space, double cores);  // `space` must outlive the design

  // The admitted point nearest to the next step; nothing past the last. Each call is one step.
  std::optional<int> next(const std::function<bool(int)>& admitted);
  int step() const { return step_; }
  void skip_lightest() { step_ = std::max(step_, 1); }
  const std::string& why() const { return why_; }

 private:
  struct DesignStep {
    double n, t, b, w;
    const char* why;
  };
  const Space* space_;
  std::vector<DesignStep> steps_;
  int step_ = 0;
  std::string why_;

  double distance(std::size_t design_step, int point) const;
};

}  // namespace ocrtune
