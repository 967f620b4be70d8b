// How much memory a trial's process tree takes, shared pages counted once.
//
// Reads /proc for a MemoryAccount (trial/observe/memory_account.h), which says when. RSS and
// page faults are read ten times a second, PSS when it is due. Of files in memory (/dev/shm, other
// tmpfs) only those count that the tree has open or mapped or was seen writing, and of those that
// were there before only their growth. Source: proc(5), smaps_rollup, stat, statm and status.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/process_tree.h"
#include "trial/observe/memory_account.h"
#include "trial/proc/tmpfs_files.h"

namespace ocrtune {

// Reads the members that still live; `with_pss` false leaves the PSS fields 0. A process whose
// smaps_rollup may not be read (another user's) counts with its RSS.
MemoryReading read_memory(const std::vector<ProcessFacts>& members, bool with_pss);

class MemorySampler {
 public:
  // `cpus`: how many there are; reading takes at most 0.3 % of them, unless a limit may be passed.
  explicit MemorySampler(double cpus);

  // Reads what is due. Before PSS is read the tree is scanned: a new child shares pages that would
  // be missing. `limit_bytes`: that the tree must not pass, 0 for none; `force` takes the PSS now,
  // whatever it costs.
  void update(ProcessTree& tree, double now_seconds, std::uint64_t limit_bytes, bool force = false);

  // A root of the tree has ended: the kernel says how much it once held, if that is more than what
  // it inherited from this process before exec, and how many pages its children took.
  void note_exit(const ProcessTree& tree, const ProcessExit& exit, double now_seconds);

  std::uint64_t bytes() const { return account_.bytes(); }  // latest estimate
  std::uint64_t peak_bytes() const { return account_.peak_bytes(); }
  std::uint64_t possible_peak_bytes() const { return account_.possible_peak_bytes(); }
  double bytes_per_second() const { return growth_; }  // between the last two updates
  // True when the last update has measured, not estimated, that the tree is at the limit.
  bool reached(std::uint64_t limit_bytes) const {
    return limit_bytes > 0 && account_.measured() && account_.bytes() >= limit_bytes;
  }
  // When the next reading is due; sooner while memory grows towards `limit_bytes` (0: none).
  double next_seconds(std::uint64_t limit_bytes) const;
  // Names in /dev/shm that the tree had open or mapped to write at one of the readings, of files
  // that are there.
  const std::set<std::string>& shm_names() const { return shm_names_; }

 private:
  MemoryReading read_all(ProcessTree& tree, std::uint64_t limit_bytes);
  void add_unmapped_shm(const std::vector<ProcessFacts>& members, MemoryReading& reading);
  void add_ended(const ProcessTree& tree, MemoryReading& reading);
  void forget_names_without_files();

  double cpus_;
  MemoryAccount account_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> shm_before_;  // device, inode
  TmpfsFiles tmpfs_;
  std::set<std::string> shm_names_;
  std::map<int, std::uint64_t> looked_at_;  // pid, start time: of the reading before
  double last_ = -1, rss_cost_ = 0, growth_ = 0;
};

std::uint64_t shm_used_bytes();        // of /dev/shm; 0 when it cannot be read
std::uint64_t host_available_bytes();  // MemAvailable; the largest number when unknown

// "the memory peak is not sure: 712 MiB were read, 900 MiB are possible between readings"; empty
// when it is sure.
std::string unsure_peak_words(std::uint64_t peak_bytes, std::uint64_t possible_peak_bytes);

}  // namespace ocrtune
