// A short fixed calculation between trials: what does the machine itself do just now?
//
// A neighbour on another virtual machine, a hot package or a lowered clock leave no trace in /proc,
// yet slow every trial alike. The kernel does the same work on every usable CPU for a fixed time;
// a trial whose neighbours in time were clearly below what the kernel usually reaches is discarded.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "trial/runner.h"

namespace ocrtune {

// Work per second of `threads` threads together, over `seconds`; the unit is arbitrary. Arithmetic
// and a walk through 512 KiB a thread, so that clock, cache and sharing all show. 0: the system had
// no thread to spare.
double control_kernel_rate(int threads, double seconds);

// What the kernel reached before, and what a reading says beside it.
class ControlHistory {
 public:
  void add(double rate);
  // Reading over the usual one; 0: too few to tell what is usual.
  double share(double rate) const;
  // Below the usual by more than 10 % and by more than the readings' own spread explains.
  bool clearly_slow(double rate) const;

 private:
  std::vector<double> recent_;
};

// Runs `kernel` before and after each trial of `inner` (one reading serves two trials), notes the
// lower share in Trial::control_share, and marks the valid windows of a trial beside a clearly slow
// reading as discarded.
std::unique_ptr<Runner> make_controlled_runner(std::unique_ptr<Runner> inner,
                                               std::function<double()> kernel);

}  // namespace ocrtune
