// Every process that a trial has started, down to double-forked daemons, and the end of them all.
//
// A root is started in a session of its own; launchers give each rank another session, and workers
// fork on, so a process group reaches almost nothing. Each root has a guard for its parent
// (base/orphan_guard.h), which is the subreaper of all that descends from the root, and which kills
// it should this process die. A process belongs to the tree when
//   - it is a root, or its parent belongs to the tree or is a root's guard, or
//   - it was seen in the tree before (pid and start time).
// So what this process had for children before (a script's background jobs before `exec ocrtune`)
// and strangers that PID 1 of a container inherits belong to no tree; never by name. A process that
// a daemon starts for the trial (docker run) is not in the tree.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"

namespace ocrtune {

// One line of /proc/<pid>/stat.
struct ProcessFacts {
  int pid = 0, parent = 0, session = 0;
  char state = '?';
  std::uint64_t start_ticks = 0;    // since boot: with the pid, a process's identity
  double cpu_seconds = 0;           // its own threads, those that have ended included
  double children_cpu_seconds = 0;  // of its children that have ended, and theirs
  std::string name;                 // as the kernel has it; for people only
};

Result<ProcessFacts> parse_process_stat(const std::string& line);  // invalid: not such a line
std::vector<ProcessFacts> all_processes();                         // of this PID namespace

struct StopReport {
  int killed = 0;                      // needed SIGKILL
  std::vector<std::string> forced;     // "1234 (python)", those that needed SIGKILL, at most 20
  std::vector<std::string> survivors;  // still there 5 s after SIGKILL: stuck in the kernel
};

class ProcessTree {
 public:
  ProcessTree();
  ~ProcessTree();  // stop(0)
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;

  // Starts a root, with the mark in its environment. The reference stays valid as long as the tree.
  Result<Process*> start(ProcessOptions options);
  const std::vector<std::unique_ptr<Process>>& roots() const { return roots_; }

  // Looks for the living members (ended ones are not listed) from the guards down, about 10 us a
  // thread of theirs, however many other processes there are. On a kernel that does not tell a
  // thread's children (CONFIG_PROC_CHILDREN), through all of /proc.
  const std::vector<ProcessFacts>& scan();
  // Reads the known members' states and CPU times again, without looking for new ones: cheap.
  const std::vector<ProcessFacts>& refresh();
  const std::vector<ProcessFacts>& members() const { return members_; }  // of the last scan
  // Those of the last scan that have ended and that nobody has waited for yet.
  const std::vector<ProcessFacts>& unreaped() const { return unreaped_; }
  double gone_cpu_seconds() const { return gone_cpu_seconds_; }  // of members that have ended

  // SIGTERM from the top down: to the roots, then to processes that lost their parent, for a shell
  // that wraps a training dies at once, while a training that saves its state still needs its
  // loader workers. Near the end of the grace every member is told (a shell with a trap waits for
  // its child). Who is left after it, or once `cut` is true, is frozen by SIGSTOP and killed by
  // SIGKILL. Returns once nobody is left, or 5 s after the grace.
  StopReport stop(double grace_seconds, const std::function<bool()>& cut = {},
                  Clock& clock = steady_clock());

 private:
  using Identity = std::pair<int, std::uint64_t>;
  const std::vector<ProcessFacts>& take_members(const std::vector<ProcessFacts>& processes);
  void replace_members(std::vector<ProcessFacts> alive);
  const std::vector<ProcessFacts>& scan_all();  // of all of /proc
  bool empty();                                 // drains the output and scans, too
  bool wait_for_end(double grace_seconds, const std::function<bool()>& cut, Clock& clock);
  void kill_all(StopReport& report, Clock& clock);

  std::string mark_;
  std::vector<std::unique_ptr<Process>> roots_;
  std::vector<ProcessFacts> members_, unreaped_;
  std::set<Identity> seen_;
  bool roots_alone_ = false;  // at the last scan(): nobody else was their guards' child
  double gone_cpu_seconds_ = 0;
};

}  // namespace ocrtune
