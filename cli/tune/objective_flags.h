// --objective and its constraints, as tune and replay take them.
#pragma once

#include <string>

#include "base/result.h"
#include "tuner/space/objective.h"

namespace CLI {
class App;
}

namespace ocrtune {

struct ObjectiveFlags {
  std::string objective = "throughput", max_latency, max_memory;
  double min_rate = 0;

  void declare(CLI::App& app);
  // usage: names the flag. unsupported: the goal energy where nothing counts energy.
  Result<Objective> read() const;
};

}  // namespace ocrtune
