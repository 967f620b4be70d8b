// The machine that runs the tests, without a probe: every CPU that this process may use, one core
// each.
#pragma once

#include "base/cpu_set.h"
#include "base/process.h"
#include "probes/machine/machine.h"

namespace ocrtune {

inline Machine this_machine() {
  Machine machine;
  machine.cpu.allowed = current_affinity();
  for (int cpu : machine.cpu.allowed.cpus()) {
    CpuPlace place;
    place.cpu = place.core = cpu;
    place.l3 = place.numa = place.package = 0;
    machine.cpu.places.push_back(place);
  }
  return machine;
}

}  // namespace ocrtune
