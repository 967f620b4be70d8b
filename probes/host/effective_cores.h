// How many cores' worth of work this machine really does at once: the one fact that no file tells.
//
// The same multiply-add kernel runs on one CPU alone and then on 1, 2, 4 ... all allowed CPUs
// together; the speed of all over that of the fastest in a second of its own CPU time is the
// measured parallel capacity, which no load makes larger than the CPUs. It shows
// quotas set where they cannot be read, SMT siblings that look like cores, throttling and
// neighbours.
#pragma once

#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "probes/host/notes.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct EffectiveCores {
  Fact<double> cores;
  Fact<double> multiply_adds_per_second;        // in a CPU second of the fastest core
  std::vector<std::pair<int, double>> scaling;  // (threads, speed relative to one)
  double external_cpus = 0;                     // that others used on these CPUs meanwhile
};

// `order`: the allowed CPUs, whole cores first (all first SMT threads, then all second ones).
// Takes about `seconds`; a busy machine is named in the source and the notes.
EffectiveCores measure_effective_cores(const std::vector<int>& order, double seconds, Notes& notes);

// The allowed CPUs in that order.
std::vector<int> cores_before_siblings(const CpuFacts& cpu);

}  // namespace ocrtune
