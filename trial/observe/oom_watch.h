// Was it the out-of-memory killer? The kernel's own counts before and after a trial, and its log.
//
// A kill is the trial's when the kernel log names one of its processes, or when the count of a
// control group that holds one of them grew: the kernel adds each kill to the victim's own group.
// The count of the whole machine (/proc/vmstat) and those of groups above also grow when somebody
// else is killed, so they prove nothing.
// Whose memory was full is another question: the victim's group counts kills for a full NUMA node
// and a full machine, too. Its own limit, or that of a group above, was reached where their "oom"
// grew (version 1: memory.failcnt).
// Source: cgroup-v2.rst, memory.events.local; mm/oom_kill.c.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/process_tree.h"
#include "diagnosis/failure_evidence.h"

namespace ocrtune {

struct OomCounts {
  std::optional<std::uint64_t> host;            // oom_kill of /proc/vmstat
  std::map<std::string, std::uint64_t> groups;  // folder of a control group -> its oom_kill
  // Of these groups and those above: how often the memory limit was reached.
  std::map<std::string, std::uint64_t> limits;
  bool hidden_limits = false;  // there are groups above that are not seen from here
  std::string nodes;           // NUMA nodes that the tree's memory is bound to, "1"; "": to none
};

struct KernelLog {
  // It can be read, and its pids are those of this process's namespace.
  bool readable = false;
  std::vector<std::string> lines;  // since the trial began
};

struct OomVerdict {
  bool killed = false;
  bool named = false;  // the kernel log names a process of the trial: nothing else is needed
  std::string cause;   // "cgroup", "numa_node" or "host"
  std::vector<std::string> evidence;
};

// `pids`: the tree's.
OomVerdict judge_oom(const OomCounts& before, const OomCounts& after, const KernelLog& log,
                     const std::set<int>& pids);

// The lines that name one of `pids` as killed.
std::vector<std::string> kills_of(const KernelLog& log, const std::set<int>& pids);

// How far the counts grew, for the diagnosis: a kill while they stood still was no lack of memory,
// and neither is one of a process that the kernel log names and that is not the run's.
void note_oom_growth(const OomCounts& before, const OomCounts& after, const KernelLog& log,
                     const std::set<int>& pids, FailureEvidence& evidence);

// What is counted for one tree: this process's own control group, and those of the tree's members.
class OomWatch {
 public:
  explicit OomWatch(FileRoot root = FileRoot());  // the machine's count as of now

  // A group that the tree will be in, by its file cgroup.procs.
  void add_group_file(const std::string& processes_file);
  void add_process(int pid) { seen_[pid].alive_at = steady_seconds(); }  // may die before a look
  // Groups of processes not seen before count from now on. Cheap for those that were.
  void look(const std::vector<ProcessFacts>& members, double now = steady_seconds());

  const OomCounts& before() const { return before_; }
  OomCounts now() const;
  // Of all that were looked at, less those that ended more than 10 minutes before the last look: in
  // weeks their numbers come back as others'.
  std::set<int> pids() const;

 private:
  void add_groups(const std::string& pid);
  void add_group(const std::string& folder);
  void look_at_nodes(const std::vector<ProcessFacts>& members, double now);

  FileRoot root_;
  OomCounts before_;
  bool has_nodes_ = false;  // several with memory
  double next_nodes_ = 0;
  struct Seen {
    std::uint64_t start_ticks = 0;  // 0: not looked at yet
    double alive_at = 0;
  };
  std::map<int, Seen> seen_;
  std::set<std::string> memberships_;  // texts of /proc/<pid>/cgroup that were seen
};

// Lines of the kernel's log with a time stamp at or after `since_seconds` of CLOCK_MONOTONIC, which
// is near the log's own clock.
KernelLog kernel_log_since(double since_seconds);

// The text of the log as klogctl gives it ("<6>[   12.345678] words"), cut at `since_seconds`.
std::vector<std::string> lines_since(const std::string& log, double since_seconds);

}  // namespace ocrtune
