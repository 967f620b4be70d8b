// CPU time of the whole tree is the sign of work; it is looked at once a second, because shorter
// stretches are a tick or none.
#include "trial/workloads/service/start_patience.h"

namespace ocrtune {
namespace {

constexpr double kPatienceLookSeconds = 1;  // a shorter stretch says little of a share
constexpr double kWorkShare = 0.05;         // of a CPU: less is waiting

}  // namespace

void StartPatience::look(double now_seconds, double cpu_seconds) {
  const double passed = now_seconds - last_look_;
  if (passed < kPatienceLookSeconds) return;
  if (cpu_seconds - cpu_seconds_ >= kWorkShare * passed) last_work_ = now_seconds;
  cpu_seconds_ = cpu_seconds;
  last_look_ = now_seconds;
}

double cpu_seconds_of(ProcessTree& tree) {
  double seconds = tree.gone_cpu_seconds();
  for (const ProcessFacts& process : tree.scan()) seconds += process.cpu_seconds;
  return seconds;
}

}  // namespace ocrtune
