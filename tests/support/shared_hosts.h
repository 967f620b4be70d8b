// Hosts of 2 to 256 CPUs that others use too: with masks, nodes and cores of two threads, beside
// neighbours on and off the program's CPUs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.h"
#include "tests/support/busy_trial.h"

namespace ocrtune {

enum class Neighbours { anywhere, other_node, same_node, other_cpus, same_half };
inline constexpr std::array<Neighbours, 5> kNeighbours = {
    Neighbours::anywhere, Neighbours::other_node, Neighbours::same_node, Neighbours::other_cpus,
    Neighbours::same_half};

struct SharedHostCase {
  BusyHost host;
  ScheduledProgram program;
  StrangerLoad load;
  int own_cpus = 1;
};

inline SharedHostCase shared_host(int cpus, Neighbours kind, int run, Random& random) {
  SharedHostCase one;
  one.host.topology = {.cpus = cpus,
                       // What neighbours off the program's CPUs take from its caches and its
                       // memory is another question: they have a node of their own.
                       .nodes = cpus > 2 || kind != Neighbours::anywhere ? 2 : 1,
                       .smt = cpus > 2 && run % 2 == 1,
                       .sharing = random.uniform(0, 0.2),
                       .filled = random.uniform(0.25, 1)};
  // The cores of the first node, without their siblings: an SMT machine numbers these in the
  // second half.
  const int half = cpus / 2;
  const int of_node = one.host.topology.smt ? half / 2 : half;
  const CpuSet first = CpuSet::range(0, of_node - 1);
  const CpuSet rest = CpuSet::range(0, cpus - 1).minus(first);
  double own = cpus;
  if (kind == Neighbours::other_node || kind == Neighbours::same_node) {
    one.host.own = first;
    one.host.strangers =
        kind == Neighbours::other_node
            ? rest.minus(SmtSiblings(one.host.topology.cores()).with_siblings(first))
            : first;
    own = of_node;
  } else if (kind == Neighbours::other_cpus) {
    one.host.own = CpuSet::range(0, 0);
    one.host.strangers = rest;
    own = 1;
  } else if (kind == Neighbours::same_half) {
    one.host.own = CpuSet::range(0, half - 1);
    own = half;
  }
  one.own_cpus = static_cast<int>(own);
  const double crowding[] = {0.25, 0.5, 1};
  one.program.ranks = std::max(1, static_cast<int>(own * crowding[run % 3]));
  if (kind == Neighbours::other_cpus) one.program.ranks = 1 + 3 * (run % 2);  // wait for each other
  one.program.trial_noise = 0;
  one.load.threads = std::max(1, static_cast<int>(std::lround(cpus * random.uniform(0.02, 0.15))));
  one.load.share = random.uniform(0.2, 1);
  one.load.period_seconds = std::exp(random.uniform(std::log(0.3), std::log(6.0)));
  return one;
}

}  // namespace ocrtune
