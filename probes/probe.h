// Fills the machine card: every probe in turn, live or over a saved tree, never a mix of both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "probes/machine/machine.h"

namespace ocrtune {

struct ProbeOptions {
  std::string root;              // a saved tree with /proc, /sys and cgroups; "": this machine
  std::string topology;          // hwloc XML file or synthetic description; "": of root
  bool quick = false;            // true: nothing is measured (under 1 s); false: under 4 s
  double measure_seconds = 3.3;  // for what is measured, at most; less where a driver was slow
  // Absent: of this process when live, of <root>/proc/self/environ otherwise.
  std::optional<Environment> environment;
  double gpu_deadline_seconds = 4;  // for the driver to answer; only a stuck one takes so long
  // Words of what will be started: `numactl --membind` among them binds the memory that it has.
  std::vector<std::string> command{};
};

// Over a saved tree or a described topology nothing live enters: no affinity, limits, environment
// or measurement of this machine; what the tree does not hold is unknown. Errors: missing (no such
// folder or file), usage (a bad topology description), invalid (damaged XML).
Result<Machine> probe_machine(const ProbeOptions& options);

}  // namespace ocrtune
