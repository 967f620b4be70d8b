// --objective and its constraints, as tune and replay take them.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/flags.h"
#include "tuner/space/objective.h"

namespace ocrtune {

struct ObjectiveFlags {
  std::string objective = "throughput", max_latency, max_memory;
  double min_rate = 0;

  void declare(Flags& cli);
  // usage: names the flag.
  Result<Objective> read() const;
};

}  // namespace ocrtune
