// The ranks of a user command: found by the variables that launchers give them, bound to CPU
// masks although no launcher binds them, and proved from /proc.
//
// Binding happens from outside, as soon as a rank is seen (every tenth of a second at the start;
// imports take longer), on all its threads and workers; later threads inherit it. A command that
// runs its ranks through `ocrtune rank-exec` is bound before its first instruction instead.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/process_tree.h"

namespace ocrtune {

inline constexpr const char* kRankCpusVariable = "OCRTUNE_RANK_CPUS";  // "0-3:4-7": rank 0, rank 1

// Variables that hold a process's rank on its node, in the order in which they are believed.
const std::vector<const char*>& local_rank_variables();

// The local rank in an environment ("NAME=value" lines ended by NUL), leaving out variables that
// `inherited` (ours) has with the same value: a job step of Slurm gives them to everybody.
std::optional<int> local_rank_of(const std::string& environment, const std::string& inherited);

std::string rank_cpus_text(const std::vector<CpuSet>& masks);
// usage: not such a list. Empty entries are empty masks.
Result<std::vector<CpuSet>> parse_rank_cpus(const std::string& text);

class RankBinder {
 public:
  // masks[r]: of local rank r; empty: only looks.
  explicit RankBinder(std::vector<CpuSet> masks);

  // Finds and binds ranks among the tree's members. Cheap once they are known.
  void look(const std::vector<ProcessFacts>& members);
  // Binds them all again: threads that were started while their process was being bound.
  void bind_again(const std::vector<ProcessFacts>& members) const;
  // A command whose processes carry no rank is one rank: its first process.
  void take_as_rank(const ProcessFacts& process);
  // The CPUs that each rank really has now, read from /proc: rank -> "0-3".
  std::map<int, std::string> places(const std::vector<ProcessFacts>& members) const;
  // The local rank that a process was found to be, or to belong to.
  std::optional<int> rank_of(const ProcessFacts& process) const;
  int ranks_seen() const { return static_cast<int>(first_pids_.size()); }
  // Ranks of which a thread may leave the mask: "rank 1 runs on CPUs 0-7 instead of 4-7". Threads
  // and loader workers that a program has pinned within its mask are in order.
  std::vector<std::string> misplaced(const std::vector<ProcessFacts>& members) const;

 private:
  const CpuSet* mask_of(const ProcessFacts& process) const;  // null: none

  std::vector<CpuSet> masks_;
  std::string inherited_;
  std::map<std::pair<int, std::uint64_t>, int> ranks_;  // process -> local rank
  std::map<int, int> first_pids_;                       // rank -> its first process
};

}  // namespace ocrtune
