// Trials name causes in words of their own; most are names of rows already, and kKnown holds the
// others. Only a process that ended badly has its log read for signatures.
#include "tuner/verdict/trial_cause.h"

#include <string_view>

#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

struct Known {
  Outcome outcome;
  std::string_view cause;  // as trials name it
  const char* row;
};

constexpr Known kKnown[] = {
    {Outcome::out_of_memory, "cgroup", "cgroup_out_of_memory"},
    {Outcome::out_of_memory, "numa_node", "numa_node_full"},
    {Outcome::out_of_memory, "host", "host_out_of_memory"},
    {Outcome::out_of_memory, "shm", "shm_full"},
    {Outcome::out_of_memory, "gpu", "gpu_out_of_memory"},
    {Outcome::hung, "p2p", "nccl_p2p_broken"},
};

const CauseRow* row_named(std::string_view name) {
  for (const CauseRow& row : cause_table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

const CauseRow* cause_row_of(const Trial& trial) {
  if (trial.ok()) return nullptr;
  if (const CauseRow* row = row_named(trial.cause)) return row;
  for (const Known& known : kKnown) {
    if (trial.outcome == known.outcome && trial.cause == known.cause) return row_named(known.row);
  }
  const bool ended_badly = trial.outcome == Outcome::crashed || trial.outcome == Outcome::hung ||
                           trial.outcome == Outcome::timed_out;
  // A signature in the log of a trial that was stopped for another reason may be of no matter.
  if (!ended_badly || trial.log_tail.empty()) return nullptr;
  const Diagnosis found = diagnose_text(trial.log_tail, trial.counters);
  return found.failed && found.causes[0].row != &find_cause("unknown") ? found.causes[0].row
                                                                       : nullptr;
}

}  // namespace ocrtune
