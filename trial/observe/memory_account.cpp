// The account is kept apart from the reading so that tests can play any tree. It carries three
// values: the estimate, the bound by page faults, and what may have been missed between two
// readings. The rules come from trees that were told wrong;
// tests/unit/trial/observe/memory_account_test.cpp plays them.
#include "trial/observe/memory_account.h"

#include <algorithm>

namespace ocrtune {
namespace {

constexpr double kPssSeconds = 0.5;      // between two readings that nothing calls for
constexpr double kPssCostShare = 0.003;  // of all CPUs, for those
// Of one CPU, while the figures suggest that the limit, or the peak, was passed; the last is for
// what is known from RSS already, and for what only the machine's available memory suggests: other
// programs may have taken it.
constexpr double kLimitShare = 0.25, kPeakShare = 0.05, kHintShare = 0.02;
constexpr double kPeakTolerance = 0.01, kHintTolerance = 0.03;
// A peak that counts as sure is within 5 % of the truth, page tables and stacks included.
constexpr double kUnsure = 0.04;
constexpr double kMaxPatience = 64;
// Readings are due ten times a second; processes do much between two that are this far apart.
constexpr double kLateSeconds = 0.3;
constexpr double kMegabyte = 1048576;
constexpr double kSmall = 4 * kMegabyte, kSmallHint = 32 * kMegabyte;

double real(std::uint64_t bytes) { return static_cast<double>(bytes); }

std::uint64_t grown(std::uint64_t then, std::uint64_t now) { return now > then ? now - then : 0; }

bool maps_no_shm(const ProcessMemory& process) { return real(process.shm_rss_bytes) < kMegabyte; }

}  // namespace

bool ProcessMemory::shares_nothing() const {
  // A megabyte of tolerance, because the kernel's RSS counters lag behind (proc(5), statm).
  return real(pss_bytes) + kMegabyte >= real(rss_bytes) && maps_no_shm(*this);
}

bool is_unsure_peak(std::uint64_t peak, std::uint64_t possible) {
  return real(possible) > (1 + kUnsure) * real(peak) + kSmall;
}

std::uint64_t doubtful_bytes(const MemoryReading& before, const MemoryReading& reading,
                             const MemoryReading& after) {
  std::uint64_t doubtful = 0;
  for (std::size_t at = 0; at < reading.processes.size(); ++at) {
    const ProcessMemory& process = reading.processes[at];
    // Its pages cannot be in another process's share.
    if (process.shares_nothing() && maps_no_shm(after.processes[at])) continue;
    const std::uint64_t then = before.processes[at].rss_bytes;
    const std::uint64_t now = after.processes[at].rss_bytes;
    const std::uint64_t top = std::max({then, process.rss_bytes, now});
    const std::uint64_t change = top - std::min(then, now);
    // One alone shares with nobody: what it has taken it has.
    const bool joins = reading.processes.size() > 1 && real(now) > real(then) + kMegabyte;
    const bool leaves = real(now) + kMegabyte < real(top);
    if (joins || leaves) doubtful += std::min(change, process.pss_bytes);
  }
  return doubtful;
}

MemoryAccount::MemoryAccount(double cpus) : cpus_(std::max(1.0, cpus)) {}

// PSS then, and what RSS has grown by since; PSS is never above RSS.
std::uint64_t MemoryAccount::estimate_of(const Known& then, const ProcessMemory& now) {
  return std::min(then.pss + grown(then.rss, now.rss_bytes), now.rss_bytes);
}

std::uint64_t MemoryAccount::bound_of(const Known& then, const ProcessMemory& now) {
  const std::uint64_t faulted = grown(then.faulted, now.faulted_bytes);
  // A fault brings one page at most, and nothing is held beyond RSS.
  const std::uint64_t copied = std::min(then.pss + faulted, now.rss_bytes);
  return then.read ? std::max(estimate_of(then, now), copied) : copied;
}

MemoryAccount::Known* MemoryAccount::find_read(const ProcessMemory& process) {
  const auto found = known_.find({process.pid, process.start_ticks});
  return found == known_.end() || !found->second.read ? nullptr : &found->second;
}

void MemoryAccount::take_rss(const MemoryReading& reading, double now_seconds) {
  note_unread(reading, now_seconds, false);
  note_exchange(reading);
  measured_ = false;
  bytes_ = bound_ = beside_;
  unread_rss_ = 0;
  alone_ = true;
  available_ = reading.available_bytes;
  max_hidden_ = std::max(max_hidden_, hidden_growth());
  for (const ProcessMemory& process : reading.processes) {
    const Known* then = find_read(process);
    if (then == nullptr) {
      unread_rss_ += process.rss_bytes;
      continue;
    }
    bytes_ += estimate_of(*then, process);
    bound_ += bound_of(*then, process);
    alone_ = alone_ && then->alone && maps_no_shm(process);
  }
  alone_ = alone_ && unread_rss_ == 0;
  // RSS is as good as PSS here, so it may become the peak without a full reading.
  if (alone_) peak_ = std::max(peak_, bytes_);
  pending_ = std::max(pending_, bytes_);
  note_spikes(reading, false);
}

// Brings what is known of each process up to this reading.
void MemoryAccount::follow(const MemoryReading& reading, bool late) {
  // First all that are in the reading, so that new ones have an entry.
  std::map<Identity, const ProcessMemory*> here;
  for (const ProcessMemory& process : reading.processes) {
    here[{process.pid, process.start_ticks}] = &process;
    const auto [known, is_new] = known_.try_emplace({process.pid, process.start_ticks});
    if (!is_new) continue;
    known->second.last_faulted = process.unseen ? 0 : process.faulted_bytes;
    known->second.last_reaped = process.reaped_bytes;
  }
  std::uint64_t missed = 0;
  std::int64_t unclaimed = 0;
  for (auto& [identity, known] : known_) {
    known.left = known.gone;
    const auto found = here.find(identity);
    const ProcessMemory now = found == here.end() ? ProcessMemory() : *found->second;
    // It lives: the bound is the most since the last full reading.
    if (now.rss_bytes > 0) {
      known.bound = std::max(known.bound, bound_of(known, now));
      given_back_ = given_back_ || (late && real(now.rss_bytes) + kSmall < real(known.last_rss));
      known.last_rss = now.rss_bytes;
    } else if (now.faulted_bytes > 0) {
      // It has ended and is not reaped: its faults since the last reading tell what it took.
      missed += grown(known.last_faulted, now.faulted_bytes);
    } else {
      // It is gone: its parent's count of reaped children will rise by its faults, now or next
      // time.
      unclaimed -= static_cast<std::int64_t>(known.last_faulted + known.last_reaped);
    }
    known.gone = known.gone || now.rss_bytes == 0;
    unclaimed += static_cast<std::int64_t>(grown(known.last_reaped, now.reaped_bytes));
    known.last_faulted = now.faulted_bytes;
    known.last_reaped = now.reaped_bytes;
  }
  // One that ends while the others are read is missing now, and in its parent's count next time.
  const std::int64_t all = unclaimed_ + unclaimed;
  unclaimed_ = std::clamp<std::int64_t>(all, std::min<std::int64_t>(unclaimed, 0), 0);
  if (all > 0) missed += static_cast<std::uint64_t>(all);
  // What came in time and is little was seen by the readings.
  if (late || real(missed) > kSmallHint) unseen_ += missed;
}

// The sum of the most that each process may have held since the last full reading, less those that
// had left before: what they shared is their sharers' now. What those that live hold still is in
// the next full reading.
std::uint64_t MemoryAccount::held_at_most(const MemoryReading& reading, bool with_pss) const {
  std::uint64_t held = beside_ + unseen_, left = 0, room = 0;
  for (const auto& [identity, known] : known_) (known.left ? left : held) += known.bound;
  for (const ProcessMemory& process : reading.processes) {
    const Known& known = known_.at({process.pid, process.start_ticks});
    room += grown(known.bound, process.rss_bytes);
    if (with_pss && known.bound <= process.rss_bytes) held -= grown(process.pss_bytes, known.bound);
  }
  return with_pss ? held : held + std::min(left, room);
}

std::uint64_t MemoryAccount::held_at_mark(const MemoryReading& reading, bool with_pss) const {
  std::uint64_t held = mark_;
  for (const ProcessMemory& process : reading.processes) {
    const std::uint64_t bound = known_.at({process.pid, process.start_ticks}).at_mark;
    if (with_pss && bound <= process.rss_bytes) held -= grown(process.pss_bytes, bound);
  }
  return held;
}

// Memory that was taken after the last full reading and given back before this one.
void MemoryAccount::note_unread(const MemoryReading& reading, double now_seconds, bool with_pss) {
  const bool late = last_look_ >= 0 && now_seconds - last_look_ > kLateSeconds;
  last_look_ = now_seconds;
  late_ = late_ || late;
  follow(reading, late);
  bool gone = false, ends = false;
  for (const auto& [identity, known] : known_) {
    gone = gone || (known.gone && known.bound > 0);
    ends = ends || (known.gone && known.bound > 0 && !known.left);
  }
  pending_unread_ = 0;
  // Nothing to be missed: no full reading yet, or all live and none gave back.
  if (last_pss_ < 0 || !(gone || given_back_ || unseen_ > 0)) return;
  const std::uint64_t held = held_at_most(reading, with_pss);
  if (ends && !with_pss && held > mark_) {
    mark_ = held;
    for (auto& [identity, known] : known_) known.at_mark = known.left ? 0 : known.bound;
  }
  pending_unread_ = std::max(held, held_at_mark(reading, with_pss));
  // Where pages come and go all the time, faults say little: unless more than the reading before
  // the last one may have been missed, the machine's available memory tells as much.
  if (!late_ && bound_patience_ > 1 && read_available_ > 0) {
    pending_unread_ = std::min(pending_unread_, read_bytes_ + max_hidden_);
  }
}

// While some give memory back and others take it, both may have been held: the sum of the larger of
// the two readings of each process.
void MemoryAccount::note_exchange(const MemoryReading& reading) {
  std::uint64_t now = beside_, then = beside_, either = beside_;
  std::map<Identity, std::uint64_t> estimates;
  for (const ProcessMemory& process : reading.processes) {
    const Known* known = find_read(process);
    if (known == nullptr) continue;
    estimates[{process.pid, process.start_ticks}] = estimate_of(*known, process);
  }
  for (auto& [identity, known] : known_) {
    if (!known.read) continue;
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
  std::uint64_t held = with_pss ? reading.beside_bytes() : beside_;
  for (const ProcessMemory& process : reading.processes) {
    const std::uint64_t peak = grown(process.file_rss_bytes, process.peak_rss_bytes);
    seen_peak_rss_ = std::max(seen_peak_rss_, process.peak_rss_bytes);
    Known* then = find_read(process);
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
  note_unread(reading, now_seconds, true);
  possible_ = std::max(possible_, pending_unread_);
  // What was high before and has not been given back since, be it just before this reading, is what
  // this reading shows.
  std::uint64_t kept = beside_;
  // The estimates of the same processes, from just before this reading.
  for (const ProcessMemory& process : reading.processes) {
    const Known* then = find_read(process);
    if (then != nullptr) kept += estimate_of(*then, process);
  }
  kept = std::min(kept, bytes_);
  // The estimate was high and has been given back, so the full reading came too late to see it.
  if (pending_ > kept && is_unsure_peak(kept, pending_)) possible_ = std::max(possible_, pending_);
  note_spikes(reading, true);
  forget_unread();
  for (const ProcessMemory& process : reading.processes) {
    Known& known = known_[{process.pid, process.start_ticks}];
    known.last_faulted = known.faulted = process.faulted_bytes;
    known.last_reaped = process.reaped_bytes;
    known.gone = process.rss_bytes == 0;
    if (known.gone) continue;
    known.read = true;
    known.alone = process.shares_nothing();
    known.rss = known.last_rss = process.rss_bytes;
    known.pss = known.estimate = known.bound = process.pss_bytes;
    known.peak_rss = grown(process.file_rss_bytes, process.peak_rss_bytes);
  }
  last_pss_ = now_seconds;
  cost_ = cost_cpu_seconds;
  if (passes_peak(reading.bytes())) {
    // The bound was right, so the next one is believed at once.
    bound_patience_ = 1;
  } else if (passes_peak(bound_)) {
    // The bound was too high: full readings that it asks for become rarer.
    bound_patience_ = std::min(2 * bound_patience_, kMaxPatience);
  }
  beside_ = reading.beside_bytes();
  bytes_ = bound_ = read_bytes_ = reading.bytes();
  available_ = read_available_ = reading.available_bytes;
  unread_rss_ = 0;
  pending_ = 0;
  measured_ = true;
  peak_ = confirmed_ = std::max(peak_, bytes_);
}

void MemoryAccount::forget_unread() {
  known_.clear();
  late_ = given_back_ = false;
  unseen_ = max_hidden_ = pending_unread_ = mark_ = 0;
}

void MemoryAccount::take_ended(std::uint64_t peak_rss_bytes) {
  if (peak_rss_bytes <= seen_peak_rss_) return;
  // It may have held that much beside everything else.
  possible_ = possible_peak_bytes() + (peak_rss_bytes - seen_peak_rss_);
  seen_peak_rss_ = peak_rss_bytes;
}

// Growth that RSS does not show: pages copied on write, files in shared memory, unread processes.
std::uint64_t MemoryAccount::hidden_growth() const {
  if (available_ == 0 || available_ >= read_available_) return 0;
  return read_available_ - available_;
}

bool MemoryAccount::passes_peak(std::uint64_t bytes) const {
  return real(bytes) > (1 + kPeakTolerance) * real(confirmed_) + kSmall;
}

bool MemoryAccount::wants_pss(double now_seconds, std::uint64_t limit_bytes) const {
  if (last_pss_ < 0) return true;
  const double since = now_seconds - last_pss_;
  // Processes never read count with their whole RSS: they may share nothing.
  const std::uint64_t all = bytes_ + unread_rss_;
  const std::uint64_t with_hidden = read_bytes_ + hidden_growth();
  // From the most urgent to the regular reading; each waits by what the last one cost.
  if (limit_bytes > 0 && since >= cost_ / kLimitShare &&
      std::max(all, with_hidden) >= limit_bytes) {
    return true;
  }
  if (limit_bytes > 0 && bound_ >= limit_bytes && since >= cost_ / kPeakShare) return true;
  const double at_once = cost_ / (alone_ ? kHintShare : kPeakShare);
  if (passes_peak(all) && since >= at_once) return true;
  if (passes_peak(bound_) && since >= bound_patience_ * at_once) return true;
  if (real(with_hidden) > (1 + kHintTolerance) * real(peak_) + kSmallHint &&
      since >= cost_ / kHintShare) {
    return true;
  }
  return since >= std::max(kPssSeconds, cost_ / (kPssCostShare * cpus_));
}

std::uint64_t MemoryAccount::possible_peak_bytes() const {
  return std::max({peak_, possible_, pending_, pending_unread_});
}

}  // namespace ocrtune
