#include "trial/observe/memory_account.h"

#include <algorithm>

namespace ocrtune {
namespace {

constexpr double kPssSeconds = 0.5;   // between two readings that nothing calls for
constexpr double kCostShare = 0.003;  // of all CPUs, for those
// Of one CPU, while the figures suggest that the limit, or the peak, was passed; the last is for
// what only the machine's available memory suggests: other programs may have taken it.
constexpr double kLimitShare = 0.25, kPeakShare = 0.05, kHintShare = 0.02;
constexpr double kPeakTolerance = 0.01, kHintTolerance = 0.03;
// A peak that counts as sure is within 5 % of the truth, page tables and stacks included.
constexpr double kUnsure = 0.04;
constexpr double kMaxPatience = 64;
constexpr double kMegabyte = 1048576;
constexpr double kSmall = 4 * kMegabyte, kSmallHint = 32 * kMegabyte;

double real(std::uint64_t bytes) { return static_cast<double>(bytes); }

}  // namespace

bool is_unsure_peak(std::uint64_t peak, std::uint64_t possible) {
  return real(possible) > (1 + kUnsure) * real(peak) + kSmall;
}

MemoryAccount::MemoryAccount(double cpus) : cpus_(std::max(1.0, cpus)) {}

// PSS then, and what RSS has grown by since; PSS is never above RSS.
std::uint64_t MemoryAccount::estimate_of(const Known& then, const ProcessMemory& now) {
  const std::uint64_t grown = now.rss_bytes > then.rss ? now.rss_bytes - then.rss : 0;
  return std::min(then.pss + grown, now.rss_bytes);
}

void MemoryAccount::take_rss(const MemoryReading& reading, double) {
  note_exchange(reading);
  measured_ = false;
  bytes_ = bound_ = unmapped_;
  unread_rss_ = 0;
  available_ = reading.available_bytes;
  for (const ProcessMemory& process : reading.processes) {
    const auto found = known_.find({process.pid, process.start_ticks});
    if (found == known_.end()) {
      unread_rss_ += process.rss_bytes;
      continue;
    }
    const Known& then = found->second;
    const std::uint64_t faulted =
        process.faulted_bytes > then.faulted ? process.faulted_bytes - then.faulted : 0;
    const std::uint64_t estimate = estimate_of(then, process);
    bytes_ += estimate;
    bound_ += std::max(estimate, std::min(then.pss + faulted, process.rss_bytes));
  }
  pending_ = std::max(pending_, bytes_);
  note_spikes(reading, false);
}

// While some give memory back and others take it, both may have been held: the sum of the larger of
// the two readings of each process.
void MemoryAccount::note_exchange(const MemoryReading& reading) {
  std::uint64_t now = unmapped_, then = unmapped_, either = unmapped_;
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> estimates;
  for (const ProcessMemory& process : reading.processes) {
    const auto found = known_.find({process.pid, process.start_ticks});
    if (found == known_.end()) continue;
    estimates[found->first] = estimate_of(found->second, process);
  }
  for (auto& [identity, known] : known_) {
    const auto found = estimates.find(identity);
    const std::uint64_t estimate = found == estimates.end() ? 0 : found->second;
    now += estimate;
    then += known.estimate;
    either += std::max(estimate, known.estimate);
    known.estimate = estimate;
  }
  if (real(either) > real(std::max(now, then)) + kSmall) possible_ = std::max(possible_, either);
}

// A high-water mark that has risen and stands above what is held now: a spike between two readings.
// It counts from what is held now, or from the last full reading: while pages are given back, RSS
// falls behind PSS.
void MemoryAccount::note_spikes(const MemoryReading& reading, bool with_pss) {
  bool risen = false;
  std::uint64_t held = with_pss ? reading.unmapped_shm_bytes : unmapped_;
  for (const ProcessMemory& process : reading.processes) {
    const std::uint64_t peak = process.peak_rss_bytes;
    seen_peak_rss_ = std::max(seen_peak_rss_, peak);
    const auto found = known_.find({process.pid, process.start_ticks});
    Known* then = found == known_.end() ? nullptr : &found->second;
    std::uint64_t now = 0;
    if (with_pss) now = process.pss_bytes;
    if (!with_pss && then != nullptr) now = std::min(then->pss, process.rss_bytes);
    const std::uint64_t before = then == nullptr ? 0 : then->peak_rss;
    if (peak > std::max(before, process.rss_bytes)) {
      risen = true;
      now += peak - process.rss_bytes;
      if (then != nullptr && peak > then->rss) now = std::max(now, then->pss + peak - then->rss);
    }
    if (then != nullptr) then->peak_rss = std::max(before, peak);
    held += now;
  }
  if (risen) possible_ = std::max(possible_, held);
}

void MemoryAccount::take_pss(const MemoryReading& reading, double now_seconds,
                             double cost_cpu_seconds) {
  // What was high before and has not been given back since, be it just before this reading, is what
  // this reading shows.
  std::uint64_t kept = unmapped_;
  for (const ProcessMemory& process : reading.processes) {
    const auto found = known_.find({process.pid, process.start_ticks});
    if (found != known_.end()) kept += estimate_of(found->second, process);
  }
  kept = std::min(kept, bytes_);
  if (pending_ > kept && is_unsure_peak(kept, pending_)) {
    possible_ = std::max(possible_, pending_);
  }
  note_spikes(reading, true);
  std::map<std::pair<int, std::uint64_t>, Known> known;
  for (const ProcessMemory& process : reading.processes) {
    known[{process.pid, process.start_ticks}] = {process.rss_bytes, process.faulted_bytes,
                                                 process.pss_bytes, process.peak_rss_bytes,
                                                 process.pss_bytes};
  }
  known_ = std::move(known);
  last_pss_ = now_seconds;
  cost_ = cost_cpu_seconds;
  if (passes_peak(reading.bytes())) {
    bound_patience_ = 1;
  } else if (passes_peak(bound_)) {
    bound_patience_ = std::min(2 * bound_patience_, kMaxPatience);
  }
  unmapped_ = reading.unmapped_shm_bytes;
  bytes_ = bound_ = read_bytes_ = reading.bytes();
  available_ = read_available_ = reading.available_bytes;
  unread_rss_ = 0;
  pending_ = 0;
  measured_ = true;
  peak_ = std::max(peak_, bytes_);
}

void MemoryAccount::take_ended(std::uint64_t peak_rss_bytes) {
  if (peak_rss_bytes <= seen_peak_rss_) return;
  possible_ = possible_peak_bytes() + (peak_rss_bytes - seen_peak_rss_);
  seen_peak_rss_ = peak_rss_bytes;
}

// Growth that RSS does not show: pages copied on write, files in shared memory, unread processes.
std::uint64_t MemoryAccount::hidden_growth() const {
  if (available_ == 0 || available_ >= read_available_) return 0;
  return read_available_ - available_;
}

bool MemoryAccount::passes_peak(std::uint64_t bytes) const {
  return real(bytes) > (1 + kPeakTolerance) * real(peak_) + kSmall;
}

bool MemoryAccount::wants_pss(double now_seconds, std::uint64_t limit_bytes) const {
  if (last_pss_ < 0) return true;
  const double since = now_seconds - last_pss_;
  const std::uint64_t all = bytes_ + unread_rss_;
  const std::uint64_t with_hidden = read_bytes_ + hidden_growth();
  if (limit_bytes > 0 && since >= cost_ / kLimitShare &&
      std::max(all, with_hidden) >= limit_bytes) {
    return true;
  }
  if (limit_bytes > 0 && bound_ >= limit_bytes && since >= cost_ / kPeakShare) return true;
  if (passes_peak(all) && since >= cost_ / kPeakShare) return true;
  if (passes_peak(bound_) && since >= bound_patience_ * cost_ / kPeakShare) return true;
  if (real(with_hidden) > (1 + kHintTolerance) * real(peak_) + kSmallHint &&
      since >= cost_ / kHintShare) {
    return true;
  }
  return since >= std::max(kPssSeconds, cost_ / (kCostShare * cpus_));
}

std::uint64_t MemoryAccount::possible_peak_bytes() const {
  return std::max({peak_, possible_, pending_});
}

}  // namespace ocrtune
