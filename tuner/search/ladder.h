// The first trials of a large space: few, light before heavy, each to expose another effect.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/space/space.h"

namespace ocrtune {

class Ladder {
 public:
  Ladder(const Space& space, double cores);  // `space` must outlive the ladder

  // The admitted point nearest to the next rung; nothing past the last. Each call is one rung.
  std::optional<int> next(const std::function<bool(int)>& admitted);
  int step() const { return step_; }
  const std::string& why() const { return why_; }

 private:
  struct Rung {
    double n, t, b, w;
    const char* why;
  };
  const Space* space_;
  std::vector<Rung> rungs_;
  int step_ = 0;
  std::string why_;

  double distance(std::size_t rung, int point) const;
};

}  // namespace ocrtune
