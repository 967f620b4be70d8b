// How near a trial comes to limits on numbers of things: open files of a process (`ulimit -n`), and
// processes and threads, by pids.max of a control group, which counts all that runs in it, or by
// `ulimit -u`, which counts all of the user's. Sources: getrlimit(2), and "Process Number
// Controller" in the kernel's documentation.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/process_tree.h"
#include "trial/trial.h"

namespace ocrtune {

// Open files of the process that is nearest to its soft limit, which each has of its own: `ulimit
// -n` of its shell. Empty when none may be read.
std::optional<CountUse> fullest_file_table(const std::vector<ProcessFacts>& members);

// The nearest limit of the control groups that this process sits in. limit 0: none has one.
CountUse tasks_of_control_groups(const FileRoot& root);

// Threads of `user`, of all processes that can be read, and `limit`.
CountUse tasks_of_user(const FileRoot& root, unsigned user, std::uint64_t limit);

// Fills Trial::files and Trial::tasks with what was nearest to its limit.
class CountWatch {
 public:
  // Counts every two seconds.
  void look(double now, const std::vector<ProcessFacts>& members, Trial& trial);
  // The last count, with the user's tasks where a limit binds them: never the super user's.
  void finish(const std::vector<ProcessFacts>& members, Trial& trial) const;

 private:
  double counted_ = 0;
};

}  // namespace ocrtune
