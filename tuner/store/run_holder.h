// Which process is measuring a run, so that another one does not take the run over while it lives,
// and so that a run whose process died is told from one that goes on.
//
// A pid is reused and means something else in another PID namespace or on another host, so start
// time, boot, namespace and host go with it. Where they cannot be compared the answer is unknown.
#pragma once

#include <cstdint>
#include <string>

namespace ocrtune {

struct RunHolder {
  int pid = 0;
  std::uint64_t start_ticks = 0;  // since boot
  std::string boot_id, pid_namespace, host;
};

enum class HolderState { alive, dead, unknown };

RunHolder this_holder();
HolderState holder_state(const RunHolder& holder);

}  // namespace ocrtune
