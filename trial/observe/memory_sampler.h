// How much memory a trial's process tree takes, shared pages counted once.
//
// PSS divides each shared page among its users, so its sum over the tree is what the tree costs;
// RSS counts a page that four forked workers share four times. PSS is dear to read (some
// milliseconds a GiB, under the process's memory lock) and RSS is not, so RSS is read ten times a
// second and tells how far to scale the last PSS until the next one. Memory in /dev/shm that nobody
// has mapped (a loader's queue) is added from the growth of the filesystem's use.
// Source: proc(5), smaps_rollup and statm.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/process_tree.h"

namespace ocrtune {

struct MemoryReading {
  std::uint64_t rss_bytes = 0;         // sum over the tree, shared pages counted again and again
  std::uint64_t pss_bytes = 0;         // sum over the tree; 0 when it was not read
  std::uint64_t pss_shared_bytes = 0;  // of it, shared memory (tmpfs, shm, System V)
};

// Reads the members that still live; `with_pss` false leaves the PSS fields 0. A process whose
// smaps_rollup may not be read (another user's) counts with its RSS.
MemoryReading read_memory(const std::vector<ProcessFacts>& members, bool with_pss);

class MemorySampler {
 public:
  // `cpus`: how many there are; reading takes at most 0.3 % of them.
  explicit MemorySampler(double cpus);

  // Reads what is due. `force` takes the PSS now, whatever it costs.
  void update(const std::vector<ProcessFacts>& members, double now_seconds, bool force = false);

  std::uint64_t bytes() const { return bytes_; }  // latest estimate
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  double bytes_per_second() const { return growth_; }  // between the last two readings
  // When the next reading is due; sooner while memory grows towards `limit_bytes` (0: none).
  double next_seconds(std::uint64_t limit_bytes) const;

 private:
  double cpus_;
  std::uint64_t shm_before_;
  double last_ = -1, last_pss_ = -1;
  double rss_cost_ = 0, pss_cost_ = 0;  // CPU seconds of one reading
  double pss_per_rss_ = 1;
  std::uint64_t rss_at_pss_ = 0;
  std::uint64_t unmapped_shm_ = 0;
  std::uint64_t bytes_ = 0, peak_bytes_ = 0;
  double growth_ = 0;
};

std::uint64_t shm_used_bytes();        // of /dev/shm; 0 when it cannot be read
std::uint64_t host_available_bytes();  // MemAvailable; the largest number when unknown

}  // namespace ocrtune
