// What a process tree's memory is between two dear readings, and when the next one is due: numbers
// only, nothing is read here.
//
// PSS divides each shared page among its users, so its sum over the tree is what the tree costs. It
// is dear to read (some milliseconds a GiB, under the process's memory lock); RSS is cheap, but
// counts a page that four forked workers share four times. So:
//   - Only measured PSS becomes the peak.
//   - Between two readings a known process counts its last PSS plus the growth of its RSS, and a
//     process that was never read counts nothing.
//   - A page that is copied on write costs memory and shows in no RSS. It takes a minor fault: PSS
//     plus a page for each fault, at most RSS, bounds what a process may hold.
//   - Whenever that estimate, that bound, the RSS of unread processes, or the fall of what the
//     machine has available says that a limit or the peak may have been passed, PSS is due at once.
//     A program that takes pages and gives them back all the time raises the bound alone: each time
//     that a reading does not confirm it, the next one waits twice as long.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ocrtune {

struct ProcessMemory {
  int pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t rss_bytes = 0;
  std::uint64_t faulted_bytes = 0;     // a page for each minor fault since its start
  std::uint64_t peak_rss_bytes = 0;    // the kernel's own high-water mark
  std::uint64_t pss_bytes = 0;         // of a full reading only, like the next
  std::uint64_t pss_shared_bytes = 0;  // of it, shared memory (tmpfs, shm, System V)
};

struct MemoryReading {
  std::vector<ProcessMemory> processes;
  std::uint64_t rss_bytes = 0;  // sums over the tree
  std::uint64_t pss_bytes = 0;
  std::uint64_t pss_shared_bytes = 0;
  std::uint64_t unmapped_shm_bytes = 0;  // in files that the tree has open and not mapped
  std::uint64_t available_bytes = 0;     // MemAvailable of the machine; 0: unknown

  std::uint64_t bytes() const { return pss_bytes + unmapped_shm_bytes; }
};

class MemoryAccount {
 public:
  // `cpus`: how many there are; readings that nothing calls for take at most 0.3 % of them.
  explicit MemoryAccount(double cpus);

  // `now_seconds` never runs backwards. The PSS fields of a cheap reading are not looked at.
  void take_rss(const MemoryReading& reading, double now_seconds);
  void take_pss(const MemoryReading& reading, double now_seconds, double cost_cpu_seconds);
  // A process of the tree has ended that once held so much: what no reading has seen of it may
  // have been held beside the peak.
  void take_ended(std::uint64_t peak_rss_bytes);
  // Whether the next step must be a full reading. `limit_bytes` 0: none.
  bool wants_pss(double now_seconds, std::uint64_t limit_bytes) const;

  std::uint64_t bytes() const { return bytes_; }  // latest estimate, or reading
  std::uint64_t peak_bytes() const { return peak_; }
  // Above peak_bytes() by more than 4 %: so much may have been held between two readings.
  std::uint64_t possible_peak_bytes() const;
  // True after a full reading, until the next cheap one.
  bool measured() const { return measured_; }

 private:
  struct Known {
    std::uint64_t rss = 0, faulted = 0, pss = 0, peak_rss = 0,
                  estimate = 0;  // the last two: of any reading
  };
  static std::uint64_t estimate_of(const Known& then, const ProcessMemory& now);
  void note_spikes(const MemoryReading& reading, bool with_pss);
  void note_exchange(const MemoryReading& reading);
  std::uint64_t hidden_growth() const;
  bool passes_peak(std::uint64_t bytes) const;  // by more than a reading is worth

  double cpus_;
  std::map<std::pair<int, std::uint64_t>, Known> known_;  // of the last full reading
  double last_pss_ = -1, cost_ = 0;
  std::uint64_t read_bytes_ = 0, read_available_ = 0;  // of the last full reading
  std::uint64_t unmapped_ = 0;
  std::uint64_t bytes_ = 0, unread_rss_ = 0, available_ = 0;
  std::uint64_t bound_ = 0;    // bytes_, had every fault copied a page
  double bound_patience_ = 1;  // doubles with each bound that was not confirmed
  std::uint64_t peak_ = 0;
  std::uint64_t pending_ = 0;        // highest estimate since the last full reading
  std::uint64_t possible_ = 0;       // highest that was never read
  std::uint64_t seen_peak_rss_ = 0;  // of one process
  bool measured_ = false;
};

// True when `possible` is worth a word beside the measured `peak`.
bool is_unsure_peak(std::uint64_t peak, std::uint64_t possible);

}  // namespace ocrtune
