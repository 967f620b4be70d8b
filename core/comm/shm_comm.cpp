// A barrier is a counter for each rank: I raise mine and wait until all others have reached it.
// Waiting spins first and then sleeps on the other rank's counter; look_around() runs between
// sleeps. The first failure is written into the segment once and ends all ranks.
#include "core/comm/shm_comm.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <vector>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/text.h"
#include "core/comm/futex.h"
#include "core/comm/gradient_mean.h"
#include "core/comm/rank_watch.h"
#include "core/comm/shm_segment.h"

namespace ocrtune {
namespace {

// These three are guesses; 20 ms between looks are the 50 a second of shm_comm.h.
constexpr double kSpinSeconds = 30e-6;
constexpr int kSpinRounds = 64;
constexpr int kSleepMilliseconds = 20;

enum class Failure : std::uint32_t { none, died, silent, left, interrupted };

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Counters wrap; `reached` is at or past `goal` while they differ by less than half the range.
bool at_or_past(std::uint32_t reached, std::uint32_t goal) {
  return static_cast<std::int32_t>(reached - goal) >= 0;
}

// True once `word` is at `goal`; gives up after about a microsecond.
bool spin_for(const std::atomic<std::uint32_t>& word, std::uint32_t goal) {
  for (int round = 0; round < kSpinRounds; ++round) {
    if (at_or_past(word.load(std::memory_order_acquire), goal)) return true;
    pause_briefly();
  }
  return false;
}

class ShmComm final : public Comm {
 public:
  ShmComm(const ShmCommOptions& options, ShmSegment segment)
      : options_(options), segment_(std::move(segment)) {}
  ~ShmComm() override;

  Status wait_for_all();
  RankPlace place() const override { return options_.place; }
  Result<std::span<float>> gradient_buffer(std::size_t count) override;
  Status all_reduce_mean(std::size_t first, std::size_t count, double* wait_seconds) override;
  Status start_mean(std::size_t first, std::size_t count) override;
  Status advance() override;
  Status finish_means(double* wait_seconds) override;
  Status barrier() override;

 private:
  int rank() const { return options_.place.rank; }
  int world_size() const { return options_.place.world_size; }
  RankSlot& slot(int rank) { return segment_.control().slots[rank]; }

  Status meet(double* wait_seconds = nullptr);
  Status wait_for_peer(int peer, std::uint32_t goal, double started);
  Status attach_trouble(double waited_seconds);
  Status look_around(int peer, double waited_seconds);
  Status fail(int peer, Failure reason, double waited_seconds);
  Status failure_text(double waited_seconds);
  Status same_range(std::size_t first, std::size_t count);
  void average_own_share(std::size_t first, std::size_t count);
  bool all_started(std::uint32_t goal);
  Status same_count(std::size_t count);
  Status reservation_outcome(std::size_t bytes);

  ShmCommOptions options_;
  ShmSegment segment_;
  RankWatch watch_;
  std::vector<float*> slices_;
  std::size_t count_ = 0;
  std::uint64_t free_before_ = 0;

  // Parts that were started and are not averaged yet, in their order.
  struct Part {
    std::size_t first = 0, count = 0;
  };
  std::deque<Part> parts_;
  std::uint32_t averaged_ = 0;  // parts, over all steps
  std::uint64_t parts_hash_ = 0;
  std::size_t step_parity_ = 0;
};

ShmComm::~ShmComm() {
  RankSlot& mine = slot(rank());
  // Ranks that still wait for this one are woken and see that it has left.
  mine.left = 1;
  wake_all(mine.arrivals);
}

Status ShmComm::attach_trouble(double waited_seconds) {
  if (interrupted()) return Error{ErrorKind::interrupted, "interrupted while ranks attached"};
  std::vector<std::string> missing;
  for (int r = 0; r < world_size(); ++r) {
    const int pid = slot(r).pid;
    if (pid == 0) missing.push_back(std::to_string(r));
    if (pid != 0 && process_ended(pid)) return fail(r, Failure::died, waited_seconds);
  }
  if (waited_seconds < options_.attach_seconds) return Status();
  return Error{ErrorKind::failed, "rank " + join(missing, ", ") + " did not attach to " +
                                      options_.segment + " within " +
                                      format_duration(options_.attach_seconds)};
}

Status ShmComm::wait_for_all() {
  SegmentControl& control = segment_.control();
  wake_all(control.attached);
  const double started = steady_clock().now_seconds();
  for (std::uint32_t seen = control.attached; seen < static_cast<std::uint32_t>(world_size());
       seen = control.attached) {
    if (Status trouble = attach_trouble(steady_clock().now_seconds() - started); !trouble) {
      // No other rank removes it once this one gives up.
      (void)segment_.remove_name();
      return trouble;
    }
    sleep_on(control.attached, seen, kSleepMilliseconds);
  }
  std::vector<int> pids;
  for (int r = 0; r < world_size(); ++r) pids.push_back(slot(r).pid);
  watch_.watch(pids);
  return segment_.remove_name();
}

Status ShmComm::failure_text(double waited_seconds) {
  const std::uint64_t failure = segment_.control().failure;
  const int peer = static_cast<int>(failure & 0xffff);
  const int pid = slot(peer).pid;
  const std::string name = "rank " + std::to_string(peer) + " (pid " + std::to_string(pid) + ")";
  switch (static_cast<Failure>(failure >> 16)) {
    case Failure::died:
      return Error{ErrorKind::failed, name + " died; its peers cannot go on"};
    case Failure::left:
      return Error{ErrorKind::failed, name + " left the job before its peers were done"};
    case Failure::interrupted:
      return Error{ErrorKind::interrupted, name + " was interrupted"};
    default:
      return Error{ErrorKind::failed, name + " did not come within " +
                                          format_duration(waited_seconds) + "; its process is " +
                                          process_state(pid)};
  }
}

Status ShmComm::fail(int peer, Failure reason, double waited_seconds) {
  const auto failure = static_cast<std::uint64_t>(reason) << 16 | static_cast<std::uint64_t>(peer);
  std::uint64_t none = 0;
  segment_.control().failure.compare_exchange_strong(none, failure);  // the first one stands
  return failure_text(waited_seconds);
}

// Off the fast path: has anybody failed, died, left, or been silent for too long?
Status ShmComm::look_around(int peer, double waited_seconds) {
  if (segment_.control().failure != 0) return failure_text(waited_seconds);
  if (interrupted()) return fail(rank(), Failure::interrupted, waited_seconds);
  if (slot(peer).left != 0) return fail(peer, Failure::left, waited_seconds);
  for (int dead : watch_.dead_ranks()) {
    // One that said goodbye may go as long as nobody waits for it.
    if (slot(dead).left == 0) return fail(dead, Failure::died, waited_seconds);
  }
  if (waited_seconds > options_.silence_seconds) return fail(peer, Failure::silent, waited_seconds);
  return Status();
}

Status ShmComm::wait_for_peer(int peer, std::uint32_t goal, double started) {
  RankSlot& theirs = slot(peer);
  while (!spin_for(theirs.arrivals, goal)) {
    if (steady_clock().now_seconds() - started < kSpinSeconds) continue;
    // The owner wakes nobody where `sleepers` is 0, so it is raised before the last look.
    ++theirs.sleepers;
    const std::uint32_t seen = theirs.arrivals;
    if (!at_or_past(seen, goal) && theirs.left == 0) {
      sleep_on(theirs.arrivals, seen, kSleepMilliseconds);
    }
    --theirs.sleepers;
    if (at_or_past(theirs.arrivals, goal)) break;
    Status status = look_around(peer, steady_clock().now_seconds() - started);
    if (!status) return status;
  }
  return Status();
}

// The barrier. `wait_seconds` grows by the time spent waiting, beyond about a microsecond.
Status ShmComm::meet(double* wait_seconds) {
  if (segment_.control().failure != 0) return failure_text(0);
  RankSlot& mine = slot(rank());
  const std::uint32_t goal = mine.arrivals.load(std::memory_order_relaxed) + 1;
  mine.arrivals = goal;
  if (mine.sleepers != 0) wake_all(mine.arrivals);
  double started = -1;
  Status status;
  for (int step = 1; step < world_size() && status; ++step) {
    const int peer = (rank() + step) % world_size();
    if (spin_for(slot(peer).arrivals, goal)) continue;
    if (started < 0) started = steady_clock().now_seconds();
    status = wait_for_peer(peer, goal, started);
  }
  if (started >= 0 && wait_seconds != nullptr) {
    *wait_seconds += steady_clock().now_seconds() - started;
  }
  return status;
}

Status ShmComm::barrier() { return meet(); }

Status ShmComm::same_count(std::size_t count) {
  for (int r = 0; r < world_size(); ++r) {
    if (slot(r).count == count) continue;
    return Error{ErrorKind::usage, "rank " + std::to_string(r) + " has " +
                                       std::to_string(slot(r).count) + " parameters, rank " +
                                       std::to_string(rank()) + " has " + std::to_string(count)};
  }
  return Status();
}

// After the meeting every rank sees every other's errno, so all agree on what happened.
Status ShmComm::reservation_outcome(std::size_t bytes) {
  const auto need = static_cast<std::uint64_t>(ShmSegment::part_stride(bytes)) *
                    static_cast<std::uint64_t>(world_size());
  for (int r = 0; r < world_size(); ++r) {
    const int code = slot(r).error;
    if (code == 0) continue;
    const std::string what = "shared memory for the gradients of " + std::to_string(world_size()) +
                             " ranks needs " + format_bytes(need);
    if (code != ENOSPC && code != EFBIG) {
      return system_error(code, what + "; rank " + std::to_string(r));
    }
    return Error{ErrorKind::exhausted,
                 what + "; /dev/shm had " + format_bytes(free_before_) +
                     " left (docker: --shm-size; else mount -o remount,size=... /dev/shm)",
                 {},
                 Scarce::shared_memory};
  }
  return Status();
}

Result<std::span<float>> ShmComm::gradient_buffer(std::size_t count) {
  OCRTUNE_CHECK(slices_.empty());
  const std::size_t bytes = count * sizeof(float);
  free_before_ = free_shm_bytes();
  slot(rank()).count = count;
  Status status = meet();
  if (status) status = same_count(count);
  if (!status) return status.error();
  slot(rank()).error = segment_.reserve(rank(), bytes);
  status = meet();
  if (!status) return status.error();
  const Status outcome = reservation_outcome(bytes);
  status = meet();  // all have read the slots
  if (!status) return status.error();
  if (!outcome) return outcome.error();
  OCRTUNE_TRY(segment_.map_parts(world_size(), bytes));
  for (int r = 0; r < world_size(); ++r) {
    slices_.push_back(reinterpret_cast<float*>(segment_.part(r)));
  }
  count_ = count;
  return std::span<float>(slices_[static_cast<std::size_t>(rank())], count);
}

Status ShmComm::same_range(std::size_t first, std::size_t count) {
  for (int r = 0; r < world_size(); ++r) {
    if (slot(r).first == first && slot(r).count == count) continue;
    return Error{
        ErrorKind::usage,
        "rank " + std::to_string(r) + " reduces another range than rank " + std::to_string(rank())};
  }
  return Status();
}

void ShmComm::average_own_share(std::size_t first, std::size_t count) {
  // Shares are whole cache lines, so that no two ranks write to one.
  constexpr std::size_t kLine = 64 / sizeof(float);
  const std::size_t lines = (count + kLine - 1) / kLine;
  const auto ranks = static_cast<std::size_t>(world_size());
  const auto mine = static_cast<std::size_t>(rank());
  const std::size_t from = std::min(count, lines * mine / ranks * kLine);
  const std::size_t to = std::min(count, lines * (mine + 1) / ranks * kLine);
  average_slices(slices_, first + from, to - from, options_.threads);
}

Status ShmComm::all_reduce_mean(std::size_t first, std::size_t count, double* wait_seconds) {
  OCRTUNE_CHECK(first + count <= count_);
  slot(rank()).first = first;
  slot(rank()).count = count;
  double waited = 0;
  Status status = meet(&waited);
  if (status) status = same_range(first, count);
  if (status) {
    average_own_share(first, count);
    status = meet(&waited);
  }
  if (wait_seconds != nullptr) *wait_seconds = waited;
  return status;
}

Status ShmComm::start_mean(std::size_t first, std::size_t count) {
  OCRTUNE_CHECK(first + count <= count_);
  parts_.push_back({first, count});
  // finish_means() compares the hash: ranks that reduce different parts would mix their numbers.
  parts_hash_ = mix_bits(mix_bits(parts_hash_ + first) + count + 1);
  // Release: a rank that sees the count also sees the gradients that were written before it.
  slot(rank()).started.fetch_add(1, std::memory_order_release);
  return Status();
}

// Whether all ranks have started `goal` parts.
bool ShmComm::all_started(std::uint32_t goal) {
  for (int step = 1; step < world_size(); ++step) {
    const RankSlot& peer = slot((rank() + step) % world_size());
    if (!at_or_past(peer.started.load(std::memory_order_acquire), goal)) return false;
  }
  return true;
}

Status ShmComm::advance() {
  for (; !parts_.empty() && all_started(averaged_ + 1); ++averaged_) {
    average_own_share(parts_.front().first, parts_.front().count);
    parts_.pop_front();
  }
  return Status();
}

// After the first meeting all parts of all ranks are started, after the second all are averaged.
// A rank that comes back here has started its next step before its peers
// may have left this one: two hashes, used in turn.
Status ShmComm::finish_means(double* wait_seconds) {
  slot(rank()).parts_started[step_parity_] = parts_hash_;
  double waited = 0;
  Status status = meet(&waited);
  for (int r = 0; r < world_size() && status; ++r) {
    if (slot(r).parts_started[step_parity_] == parts_hash_) continue;
    status =
        Error{ErrorKind::usage, "rank " + std::to_string(r) + " reduces other parts than rank " +
                                    std::to_string(rank())};
  }
  if (status) status = advance();
  if (status) status = meet(&waited);
  parts_hash_ = 0;
  step_parity_ ^= 1;
  if (wait_seconds != nullptr) *wait_seconds = waited;
  return status;
}

}  // namespace

Result<std::unique_ptr<Comm>> make_shm_comm(const ShmCommOptions& options) {
  const RankPlace& place = options.place;
  if (place.world_size < 1 || place.world_size > kMaxShmRanks) {
    return Error{ErrorKind::usage, "shared memory joins 1 to " + std::to_string(kMaxShmRanks) +
                                       " ranks, not " + std::to_string(place.world_size)};
  }
  if (place.rank < 0 || place.rank >= place.world_size) {
    return Error{ErrorKind::usage, "no rank " + std::to_string(place.rank) + " of " +
                                       std::to_string(place.world_size)};
  }
  if (place.node_count != 1) {
    return Error{ErrorKind::usage, "shared memory joins the ranks of one node only"};
  }
  ShmSegment segment =
      OCRTUNE_TRY(ShmSegment::attach(options.segment, place.rank, place.world_size));
  auto comm = std::make_unique<ShmComm>(options, std::move(segment));
  OCRTUNE_TRY(comm->wait_for_all());
  return std::unique_ptr<Comm>(std::move(comm));
}

std::string new_segment_name() {
  static std::atomic<std::uint64_t> launches = 0;
  const auto now = static_cast<std::uint64_t>(steady_clock().now_seconds() * 1e9);
  const std::uint64_t random = mix_bits(now ^ mix_bits(++launches));
  return "/ocrtune-" + std::to_string(::getpid()) + "-" + std::to_string(random % 1'000'000'007);
}

bool is_segment_name(std::string_view name) {
  constexpr std::string_view kPrefix = "ocrtune-";
  if (!starts_with(name, kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && dash > 0 && dash + 1 < name.size() &&
         name.find_first_not_of("0123456789", 0) == dash &&
         name.find_first_not_of("0123456789", dash + 1) == std::string_view::npos;
}

void remove_segment(const std::string& name) { ::shm_unlink(name.c_str()); }

}  // namespace ocrtune
