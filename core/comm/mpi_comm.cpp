// A part goes through two turns of messages: shares out to the ranks that own them, means back.
// advance() only tests requests, so that backward can call it between layers; finish_means() polls
// until all parts are through. Only point-to-point calls are used after the start.
#include "core/comm/mpi_comm.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "core/comm/gradient_mean.h"
#include "core/graph/tensor.h"

namespace ocrtune {
namespace {

constexpr std::size_t kCacheLine = 64 / sizeof(float);     // shares begin at whole cache lines
constexpr std::size_t kMaxMessage = std::size_t{1} << 28;  // floats; MPI counts in int
constexpr int kTagRounds =
    8192;  // parts under way at once are far fewer; MPI guarantees tags to 32767

constexpr int kTellTag = 2 * kTagRounds;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

Status mpi_status(int code, const char* doing) {
  if (code == MPI_SUCCESS) return Status();
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Error{ErrorKind::failed, fmt::format("MPI, {}: {}", doing, text)};
}

bool g_give_up = false;  // a peer is lost: MPI_Finalize would wait for it

void finalize_at_exit() {
  int done = 0;
  MPI_Finalized(&done);
  if (done == 0 && !g_give_up) MPI_Finalize();
}

Status start_mpi() {
  int started = 0;
  MPI_Initialized(&started);
  if (started != 0) return Status();
  int given = 0;
  const Status status =
      mpi_status(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given), "start");
  if (status) std::atexit(finalize_at_exit);
  return status;
}

struct Request {
  MPI_Request handle = MPI_REQUEST_NULL;
  int peer = 0;
};

// A range on its way: shares out to their owners, then the means back.
struct Part {
  std::size_t first = 0, count = 0;
  int tag = 0;
  bool averaged = false;
  Memory received;  // the other ranks' numbers of my share, rank after rank
  std::vector<Request> requests;
};

class MpiComm final : public Comm {
 public:
  MpiComm(const MpiCommOptions& options, MPI_Comm world) : options_(options), world_(world) {}
  ~MpiComm() override {
    if (!g_give_up) MPI_Comm_free(&world_);
  }

  Status find_place();
  RankPlace place() const override { return place_; }
  Result<std::span<float>> gradient_buffer(std::size_t count) override;
  Status all_reduce_mean(std::size_t first, std::size_t count, double* wait_seconds) override;
  Status start_mean(std::size_t first, std::size_t count) override;
  Status advance() override;
  Status finish_means(double* wait_seconds) override;
  Status barrier() override;

 private:
  struct Share {
    std::size_t first = 0, count = 0;
  };
  // Of the range, by whole cache lines, as the ranks of shared memory divide it.
  Share share_of(const Part& part, int rank) const {
    const std::size_t lines = (part.count + kCacheLine - 1) / kCacheLine,
                      ranks = at(place_.world_size);
    const std::size_t from = std::min(part.count, lines * at(rank) / ranks * kCacheLine);
    const std::size_t to = std::min(part.count, lines * (at(rank) + 1) / ranks * kCacheLine);
    return {part.first + from, to - from};
  }
  using Words = std::array<unsigned long long, 2>;
  Status tell(const Words& mine, std::vector<Words>& all);
  Status same_range(std::size_t first, std::size_t count);
  Status send(Part& part, int peer, const float* from, std::size_t count, int tag);
  Status receive(Part& part, int peer, float* to, std::size_t count, int tag);
  Status find_room(Part& part, std::size_t floats);
  Status begin(Part& part);
  Status average(Part& part);
  Result<bool> test(Part& part);
  Status lost(const Part& part, double waited_seconds) const;

  MpiCommOptions options_;
  MPI_Comm world_;
  RankPlace place_;
  Memory gradients_;
  std::size_t count_ = 0;
  std::deque<Part> parts_;
  std::vector<Memory> spare_;
  int rounds_ = 0;
};

Status MpiComm::find_place() {
  // MPI's default would end the process at the first error.
  MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world_, &place_.rank);
  MPI_Comm_size(world_, &place_.world_size);
  MPI_Comm host = MPI_COMM_NULL;
  const Status split = mpi_status(
      MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, place_.rank, MPI_INFO_NULL, &host),
      "find the ranks of this host");
  if (!split) return split;
  MPI_Comm_rank(host, &place_.local_rank);
  MPI_Comm_size(host, &place_.local_size);
  int leader = place_.rank;  // the lowest rank here names the host
  MPI_Bcast(&leader, 1, MPI_INT, 0, host);
  MPI_Comm_free(&host);
  std::vector<int> leaders(at(place_.world_size));
  const Status gathered = mpi_status(
      MPI_Allgather(&leader, 1, MPI_INT, leaders.data(), 1, MPI_INT, world_), "count the hosts");
  std::sort(leaders.begin(), leaders.end());
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
  place_.node_count = static_cast<int>(leaders.size());
  place_.node =
      static_cast<int>(std::lower_bound(leaders.begin(), leaders.end(), leader) - leaders.begin());
  return gathered;
}

Result<std::span<float>> MpiComm::gradient_buffer(std::size_t count) {
  OCRTUNE_CHECK(gradients_.size() == 0);
  std::vector<Words> all;
  OCRTUNE_TRY(tell({count, 0}, all));
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r][0] == count) continue;
    return Error{ErrorKind::usage, fmt::format("rank {} has {} parameters, rank {} has {}", r,
                                               all[r][0], place_.rank, count)};
  }
  gradients_ = OCRTUNE_TRY(Memory::allocate(std::max<std::size_t>(count, 1) * sizeof(float)));
  count_ = count;
  return std::span<float>(gradients_.floats(), count);
}

Status MpiComm::send(Part& part, int peer, const float* from, std::size_t count, int tag) {
  for (std::size_t done = 0; done < count; done += kMaxMessage) {
    Request& request = part.requests.emplace_back();
    request.peer = peer;
    const auto length = static_cast<int>(std::min(kMaxMessage, count - done));
    // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): test() waits for it
    const Status sent = mpi_status(
        MPI_Isend(from + done, length, MPI_FLOAT, peer, tag, world_, &request.handle), "send");
    if (!sent) return sent;
  }
  return Status();
}

Status MpiComm::receive(Part& part, int peer, float* to, std::size_t count, int tag) {
  for (std::size_t done = 0; done < count; done += kMaxMessage) {
    Request& request = part.requests.emplace_back();
    request.peer = peer;
    const auto length = static_cast<int>(std::min(kMaxMessage, count - done));
    const Status asked = mpi_status(
        MPI_Irecv(to + done, length, MPI_FLOAT, peer, tag, world_, &request.handle), "receive");
    if (!asked) return asked;
  }
  return Status();
}

// Steps repeat themselves: what a part of the last one received into is there again.
Status MpiComm::find_room(Part& part, std::size_t floats) {
  const auto fits = std::find_if(spare_.begin(), spare_.end(), [&](const Memory& memory) {
    return memory.size() >= floats * sizeof(float);
  });
  if (fits != spare_.end()) {
    part.received = std::move(*fits);
    spare_.erase(fits);
    return Status();
  }
  part.received = OCRTUNE_TRY(Memory::allocate(floats * sizeof(float)));
  return Status();
}

// Everybody's numbers to the rank that adds them; the next ranks first, so that not all send to
// rank 0 at once.
Status MpiComm::begin(Part& part) {
  const std::size_t own = share_of(part, place_.rank).count;
  Status status = find_room(part, std::max<std::size_t>(own, 1) * at(place_.world_size));
  // Receives are posted before sends, so that no message waits in a buffer of MPI's.
  for (int step = 1; step < place_.world_size && status; ++step) {
    const int from = (place_.rank + place_.world_size - step) % place_.world_size;
    status = receive(part, from, part.received.floats() + own * at(from), own, part.tag);
  }
  for (int step = 1; step < place_.world_size && status; ++step) {
    const int to = (place_.rank + step) % place_.world_size;
    const Share share = share_of(part, to);
    status = send(part, to, gradients_.floats() + share.first, share.count, part.tag);
  }
  return status;
}

// All numbers of my share are here and mine of the others' are gone: the means go back.
Status MpiComm::average(Part& part) {
  const Share own = share_of(part, place_.rank);
  std::vector<float*> slices;
  for (int r = 0; r < place_.world_size; ++r) {
    slices.push_back(r == place_.rank ? gradients_.floats() + own.first
                                      : part.received.floats() + own.count * at(r));
  }
  average_slices(slices, 0, own.count, options_.threads);
  part.averaged = true;
  part.requests.clear();
  Status status;
  for (int step = 1; step < place_.world_size && status; ++step) {
    const int from = (place_.rank + place_.world_size - step) % place_.world_size;
    const Share share = share_of(part, from);
    status = receive(part, from, gradients_.floats() + share.first, share.count, part.tag + 1);
  }
  for (int step = 1; step < place_.world_size && status; ++step) {
    const int to = (place_.rank + step) % place_.world_size;
    status = send(part, to, gradients_.floats() + own.first, own.count, part.tag + 1);
  }
  return status;
}

// Whether all messages of this turn have arrived and gone.
Result<bool> MpiComm::test(Part& part) {
  bool all = true;
  for (Request& request : part.requests) {
    int done = 0;
    const Status tested =
        mpi_status(MPI_Test(&request.handle, &done, MPI_STATUS_IGNORE), "wait for a message");
    if (!tested) return tested.error();
    all &= done != 0;
  }
  return all;
}

Status MpiComm::lost(const Part& part, double waited_seconds) const {
  g_give_up = true;
  if (interrupted()) return Error{ErrorKind::interrupted, "interrupted while ranks exchanged"};
  std::vector<std::string> missing;
  for (const Request& request : part.requests) {
    const std::string name = std::to_string(request.peer);
    if (request.handle == MPI_REQUEST_NULL) continue;
    if (std::find(missing.begin(), missing.end(), name) == missing.end()) missing.push_back(name);
  }
  return Error{ErrorKind::failed, fmt::format("rank {} did not come within {}", join(missing, ", "),
                                              format_duration(waited_seconds))};
}

Status MpiComm::start_mean(std::size_t first, std::size_t count) {
  OCRTUNE_CHECK(first + count <= count_);
  Part part;
  part.first = first;
  part.count = count;
  // Even tags are shares on their way out, odd ones the means on their way back.
  part.tag = 2 * (rounds_++ % kTagRounds);
  parts_.push_back(std::move(part));
  return begin(parts_.back());
}

// Parts are looked at in their order, but do not wait for each other.
Status MpiComm::advance() {
  for (Part& part : parts_) {
    const auto arrived = OCRTUNE_TRY(test(part));
    if (!arrived || part.averaged) continue;
    OCRTUNE_TRY(average(part));
  }
  while (!parts_.empty() && parts_.front().averaged) {
    const auto arrived = OCRTUNE_TRY(test(parts_.front()));
    if (!arrived) break;
    spare_.push_back(std::move(parts_.front().received));
    parts_.pop_front();
  }
  return Status();
}

Status MpiComm::finish_means(double* wait_seconds) {
  const double started = steady_clock().now_seconds();
  double last_progress = started, adding = 0;
  std::size_t left = parts_.size();
  while (!parts_.empty()) {
    const double before = steady_clock().now_seconds();
    OCRTUNE_TRY(advance());
    const double now = steady_clock().now_seconds();
    // The time of a turn that ended a part counts as adding, all other time as waiting.
    if (parts_.size() != left) {
      left = parts_.size();
      last_progress = now;
      adding += now - before;
      continue;
    }
    std::this_thread::yield();  // ranks may outnumber the CPUs
    if (now - last_progress > options_.silence_seconds || interrupted()) {
      return lost(parts_.front(), now - last_progress);
    }
  }
  if (wait_seconds != nullptr) {
    *wait_seconds = std::max(0.0, steady_clock().now_seconds() - started - adding);
  }
  return Status();
}

// A range that differs would be received into the wrong place: compared before anything moves.
Status MpiComm::same_range(std::size_t first, std::size_t count) {
  std::vector<Words> all;
  OCRTUNE_TRY(tell({first, count}, all));
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] == Words{first, count}) continue;
    return Error{ErrorKind::usage,
                 fmt::format("rank {} reduces another range than rank {}", r, place_.rank)};
  }
  return Status();
}

// Two numbers of every rank to every rank, with a deadline that MPI's own gathering has not.
Status MpiComm::tell(const Words& mine, std::vector<Words>& all) {
  all.assign(at(place_.world_size), mine);
  Part messages;
  for (int peer = 0; peer < place_.world_size; ++peer) {
    if (peer == place_.rank) continue;
    for (const bool sends : {false, true}) {
      Request& request = messages.requests.emplace_back();
      request.peer = peer;
      // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): test() waits for it
      const int code = sends ? MPI_Isend(mine.data(), 2, MPI_UNSIGNED_LONG_LONG, peer, kTellTag,
                                         world_, &request.handle)
                             : MPI_Irecv(all[at(peer)].data(), 2, MPI_UNSIGNED_LONG_LONG, peer,
                                         kTellTag, world_, &request.handle);
      OCRTUNE_TRY(mpi_status(code, "compare notes"));
    }
  }
  const double started = steady_clock().now_seconds();
  while (true) {
    const auto done = OCRTUNE_TRY(test(messages));
    if (done) return Status();
    const double waited = steady_clock().now_seconds() - started;
    if (waited > options_.silence_seconds || interrupted()) return lost(messages, waited);
    std::this_thread::yield();
  }
}

Status MpiComm::all_reduce_mean(std::size_t first, std::size_t count, double* wait_seconds) {
  const double began = steady_clock().now_seconds();
  const Status same = same_range(first, count);
  if (!same) return same;
  const double compared = steady_clock().now_seconds() - began;  // all of it waiting
  const Status started = start_mean(first, count);
  const Status finished = started ? finish_means(wait_seconds) : started;
  if (wait_seconds != nullptr && finished) *wait_seconds += compared;
  return finished;
}

Status MpiComm::barrier() {
  std::vector<Words> all;
  return tell({}, all);
}

}  // namespace

Result<std::unique_ptr<Comm>> make_mpi_comm(const MpiCommOptions& options) {
  OCRTUNE_TRY(start_mpi());
  MPI_Comm world = MPI_COMM_NULL;
  OCRTUNE_TRY(mpi_status(MPI_Comm_dup(MPI_COMM_WORLD, &world), "copy the world"));
  auto comm = std::make_unique<MpiComm>(options, world);
  OCRTUNE_TRY(comm->find_place());
  return std::unique_ptr<Comm>(std::move(comm));
}

}  // namespace ocrtune
