// What a process tree's memory is between two dear readings, and when the next one is due: numbers
// only, nothing is read here.
//
// PSS divides each shared page among its users, so its sum over the tree is what the tree costs. It
// is dear to read (some milliseconds a GiB, under the process's memory lock); RSS is cheap, but
// counts a page that four forked workers share four times. Both are of anonymous and shared memory:
// pages of mapped files are cache that the kernel takes back (an LMDB data set would count as
// memory as far as it was read), and only the programs' code counts beside them. So:
//   - Only measured PSS becomes the peak, and the RSS of a tree whose processes share nothing: a
//     full reading found their PSS to be their RSS. It is confirmed by a full reading all the same,
//     which sees children, but not in haste: it takes time from the very ranks that are timed.
//   - Between two readings a known process counts its last PSS plus the growth of its RSS, and a
//     process that was never read counts nothing.
//   - A page that is copied on write costs memory and shows in no RSS. It takes a minor fault: PSS
//     plus a page for each fault, at most RSS, bounds what a process may hold.
//   - Whenever that estimate, that bound, the RSS of unread processes, or the fall of what the
//     machine has available says that a limit or the peak may have been passed, PSS is due at once.
//     A program that takes pages and gives them back all the time raises the bound alone: each time
//     that a reading does not confirm it, the next one waits twice as long.
//   - What a process took after the last reading and gave back before the next one is in neither.
//     Faults bound it: of those that ended, of those that nobody saw (their parents' counts of
//     reaped children), and on a busy machine, where readings come late, of all. Such a bound above
//     the peak makes the peak unsure.
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
  std::uint64_t faulted_bytes = 0;     // a page for each minor fault since its start; 0: it is gone
  std::uint64_t reaped_bytes = 0;      // the same of all its children that it has waited for
  std::uint64_t code_bytes = 0;        // size of the program and its libraries in memory
  bool unseen = false;                 // has ended before any reading saw it
  std::uint64_t peak_rss_bytes = 0;    // the kernel's own high-water mark, mapped files included
  std::uint64_t file_rss_bytes = 0;    // of mapped files, which are not in rss_bytes
  std::uint64_t shm_rss_bytes = 0;     // of rss_bytes, shared memory
  std::uint64_t pss_bytes = 0;         // of a full reading only, like the next
  std::uint64_t pss_shared_bytes = 0;  // of it, shared memory (tmpfs, shm, System V)

  bool shares_nothing() const;  // of a full reading
};

struct MemoryReading {
  std::vector<ProcessMemory> processes;
  std::uint64_t rss_bytes = 0;  // sums over the tree
  std::uint64_t pss_bytes = 0;
  std::uint64_t pss_shared_bytes = 0;
  std::uint64_t unmapped_shm_bytes = 0;  // in files that the tree has open and not mapped
  std::uint64_t code_bytes = 0;          // of mapped files, as far as they can be code
  std::uint64_t available_bytes = 0;     // MemAvailable of the machine; 0: unknown

  std::uint64_t beside_bytes() const { return unmapped_shm_bytes + code_bytes; }
  std::uint64_t bytes() const { return pss_bytes + beside_bytes(); }
};

class MemoryAccount {
 public:
  // `cpus`: how many there are; readings that nothing calls for take at most 0.3 % of them.
  explicit MemoryAccount(double cpus);

  // `now_seconds`, when a reading was complete, never runs backwards. The PSS fields of a cheap
  // reading are not looked at. A process that has ended and was not waited for yet may stand in a
  // reading with no RSS and its faults.
  void take_rss(const MemoryReading& reading, double now_seconds);
  void take_pss(const MemoryReading& reading, double now_seconds, double cost_cpu_seconds);
  // A process of the tree has ended that once held so much: what no reading has seen of it may
  // have been held beside the peak.
  void take_ended(std::uint64_t peak_rss_bytes);
  // A cheap reading after the last one of all: what ended since counts, bytes() stays.
  void take_last(const MemoryReading& reading, double now_seconds) {
    note_unread(reading, now_seconds, false);
  }
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
    bool read = false;                            // by the last full reading, which gave these
    bool alone = false;                           // and shared nothing
    std::uint64_t rss = 0, faulted = 0, pss = 0;  //
    std::uint64_t peak_rss = 0, estimate = 0;     // of the last reading of any kind, like the next
    std::uint64_t last_rss = 0, last_faulted = 0, last_reaped = 0;
    std::uint64_t bound = 0;  // the most since the last full reading, had every fault copied a page
    bool gone = false;
    bool left = false;          // gone before the reading before this one
    std::uint64_t at_mark = 0;  // its bound at the mark
  };
  using Identity = std::pair<int, std::uint64_t>;
  using Processes = std::map<Identity, Known>;
  static std::uint64_t estimate_of(const Known& then, const ProcessMemory& now);
  static std::uint64_t bound_of(const Known& then, const ProcessMemory& now);
  Known* find_read(const ProcessMemory& process);
  void note_unread(const MemoryReading& reading, double now_seconds, bool with_pss);
  void follow(const MemoryReading& reading, bool late);
  void forget_unread();
  std::uint64_t held_at_most(const MemoryReading& reading, bool with_pss) const;
  std::uint64_t held_at_mark(const MemoryReading& reading, bool with_pss) const;
  void note_spikes(const MemoryReading& reading, bool with_pss);
  void note_exchange(const MemoryReading& reading);
  std::uint64_t hidden_growth() const;
  bool passes_peak(std::uint64_t bytes) const;  // confirmed_, by more than a reading is worth

  double cpus_;
  Processes known_;  // of the last full reading, and who was seen since
  double last_pss_ = -1, cost_ = 0;
  std::uint64_t read_bytes_ = 0, read_available_ = 0;  // of the last full reading
  std::uint64_t beside_ = 0;                           // the processes' own
  std::uint64_t bytes_ = 0, unread_rss_ = 0, available_ = 0;
  std::uint64_t bound_ = 0;    // bytes_, had every fault copied a page
  double bound_patience_ = 1;  // doubles with each bound that was not confirmed
  bool alone_ = false;         // at the last reading, nobody shared anything
  std::uint64_t peak_ = 0;
  std::uint64_t confirmed_ = 0;      // peak_ after the last full reading
  std::uint64_t pending_ = 0;        // highest estimate since the last full reading
  std::uint64_t possible_ = 0;       // highest that was never read
  std::uint64_t seen_peak_rss_ = 0;  // of one process
  bool measured_ = false;

  // Since the last full reading, for what it and the next one may both have missed:
  double last_look_ = -1;
  std::int64_t unclaimed_ = 0;    // below 0: faults of the dead that no parent has counted yet
  bool late_ = false;             // a reading came late
  bool given_back_ = false;       // and a process had less than before
  std::uint64_t unseen_ = 0;      // that the dead took after their last reading, or unseen
  std::uint64_t max_hidden_ = 0;  // fall of the machine's available memory
  std::uint64_t pending_unread_ = 0;
  std::uint64_t mark_ = 0;  // most that was held where one ends: what comes later is not beside it
};

// What may be twice in the PSS sum of `reading`, with cheap readings of the same processes before
// and after it: while a process ends, gives memory back or begins to share what another has mapped,
// those read before and after that count the same pages. Each process counts less by as much as its
// RSS has changed, if that is more than 1 MiB; so much the tree did hold.
std::uint64_t doubtful_bytes(const MemoryReading& before, const MemoryReading& reading,
                             const MemoryReading& after);

// True when `possible` is worth a word beside the measured `peak`.
bool is_unsure_peak(std::uint64_t peak, std::uint64_t possible);

}  // namespace ocrtune
