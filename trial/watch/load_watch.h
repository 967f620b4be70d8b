// What else the machine did in each window of a trial, and how the trial's threads used their time.
#pragma once

#include "trial/observe/interference.h"
#include "trial/observe/short_lives.h"
#include "trial/observe/thread_use.h"
#include "trial/stages/stage_meter.h"

namespace ocrtune {

class LoadWatch {
 public:
  LoadWatch(const ProcessTree& tree, const LoadDemand& demand)
      : tree_(tree), siblings_(FileRoot()), demand_(demand) {
    demand_.siblings = &siblings_;
  }
  LoadWatch(const LoadWatch&) = delete;
  LoadWatch& operator=(const LoadWatch&) = delete;

  void open(double now);  // a window begins
  // The first one of the measuring. `left_out`: a process whose stages are not of interest.
  // `given`: to the user's command, whose launchers may set more; empty: it is no such command.
  void begin(double now, int left_out = 0, Environment given = {});
  void look(double now) {
    short_lives_.look(now);
    stages_.look(now, tree_.members());
  }
  // Ends the window and begins the next; returns the seconds between the looks at its ends. The
  // tree's scan() should be fresh.
  double close(double now, Interference& found);

  ThreadUseMeter& threads() { return threads_; }
  const StageMeter& stages() const { return stages_; }

 private:
  const ProcessTree& tree_;
  SmtSiblings siblings_;
  LoadDemand demand_;
  LoadSnapshot load_;  // at the start of the open window
  ShortLives short_lives_;
  ThreadUseMeter threads_;
  StageMeter stages_;
};

}  // namespace ocrtune
