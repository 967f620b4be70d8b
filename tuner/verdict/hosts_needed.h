// What several hosts would have needed to beat one, by calculation from what was measured.
//
// Of N hosts that bring S samples/s, of which each alone brings s with the same settings, a sample
// takes 1/S seconds where the compute takes 1/(N s): the rest, e, is exposed communication and
// waiting. With one host at R samples/s they are even where e shrinks to 1/R - 1/(N s). What moved
// B bytes in e then has to move them in that: a network that much faster, or gradients summed over
// so many steps before they are exchanged. Latency is not told from bandwidth.
#pragma once

#include <vector>

#include "trial/reason.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

struct HostsNeeded {
  int nodes = 0;             // of the fastest setting of several hosts; 0: there is none to compare
  double exposed_share = 0;  // of its time
  double allowed_share = 0;  // of a time at which both are even
  double times_faster = 0;   // the network, or steps between two exchanges
  double bytes_per_second = 0;  // that the exposed time carried; 0: unknown
};

HostsNeeded hosts_needed(const Setting& chosen, const std::vector<Setting>& settings);

// Empty where several hosts were chosen, did not run, or lose by more than the network.
Reason one_host_reason(const Setting& chosen, const std::vector<Setting>& settings);

}  // namespace ocrtune
