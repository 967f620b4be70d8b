// What else the machine did in each window of a trial, and how the trial's threads used their time.
#pragma once

#include "trial/observe/interference.h"
#include "trial/observe/short_lives.h"
#include "trial/observe/thread_use.h"
#include "trial/proc/listening_ports.h"
#include "trial/stages/stage_meter.h"

namespace ocrtune {

class LoadWatch {
 public:
  // `server_port`: of a server that runs already on this machine and is measured; 0: none.
  LoadWatch(const ProcessTree& tree, const LoadDemand& demand, int server_port = 0)
      : tree_(tree), siblings_(FileRoot()), demand_(demand), server_(server_port) {
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
    stages_.look(now, members());
  }
  // Ends the window and begins the next; returns the seconds between the looks at its ends. The
  // tree's scan() should be fresh.
  double close(double now, Interference& found);

  ThreadUseMeter& threads() { return threads_; }
  const StageMeter& stages() const { return stages_; }

 private:
  const std::vector<ProcessFacts>& members();  // of the tree and of the server
  LoadSnapshot snapshot(double now);

  const ProcessTree& tree_;
  SmtSiblings siblings_;
  LoadDemand demand_;
  RunningServer server_;
  std::vector<ProcessFacts> beside_;  // of the server, when the open window began
  std::vector<ProcessFacts> both_;
  LoadSnapshot load_;  // at the start of the open window
  ShortLives short_lives_;
  ThreadUseMeter threads_;
  StageMeter stages_;
};

}  // namespace ocrtune
