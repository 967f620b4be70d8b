// The report page of a tune that is under way, written anew after each trial.
#pragma once

#include <limits>
#include <string>

#include "base/clock.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

class LivePage {
 public:
  // `folder` empty: no page.
  explicit LivePage(std::string folder, Clock& clock = steady_clock())
      : folder_(std::move(folder)), clock_(clock) {}

  void begins(const RunRecord& run) { run_ = run; }
  // The page's path when it is written for the first time, else empty. A page that cannot be
  // written is left out: the one at the end says why.
  std::string add(const Trial& trial);

 private:
  std::string folder_;
  Clock& clock_;
  RunRecord run_;
  bool written_ = false;
  double next_seconds_ = std::numeric_limits<double>::lowest();  // of the clock; not before
};

}  // namespace ocrtune
