// The shared memory segment of the ranks of one host: one slot for each rank, then its gradients.
//
// Every rank opens the name that the launcher gave; the first makes the control part, the last
// removes the name, so that nothing is left behind no matter which process is killed later.
// Gradient pages are reserved by the rank that uses them: they lie on its NUMA node, and a full
// /dev/shm is an error here instead of a SIGBUS later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace ocrtune {

inline constexpr int kMaxShmRanks = 64;

// What one rank says to the others. A cache line each, so that waiting for one disturbs no other.
struct alignas(128) RankSlot {
  std::atomic<std::uint32_t> arrivals;  // barriers reached; the word that waiters sleep on
  std::atomic<std::uint32_t> sleepers;  // how many wait on `arrivals` in the kernel
  std::atomic<std::int32_t> pid;        // 0 until attached
  std::atomic<std::uint32_t> left;      // 1 once it said goodbye
  std::atomic<std::int32_t> error;      // errno of its part of a collective call
  std::atomic<std::uint32_t> started;   // parts whose numbers are final, over all steps
  std::uint64_t first, count;      // the range it is about to reduce; stable between two barriers
  std::uint64_t parts_started[2];  // a hash of the parts of this step and of the one before
};

struct SegmentControl {
  std::uint32_t magic, version, world_size;
  std::atomic<std::uint32_t> attached;
  std::atomic<std::uint64_t> failure;  // 0, or what ended the job first: core/comm/shm_comm.cpp
  RankSlot slots[kMaxShmRanks];
};

class ShmSegment {
 public:
  // Opens or makes the segment and takes the slot of `rank`. invalid: taken, or of another launch.
  static Result<ShmSegment> attach(const std::string& name, int rank, int world_size);
  ~ShmSegment();
  ShmSegment(ShmSegment&& other) noexcept;
  ShmSegment& operator=(ShmSegment&&) = delete;

  SegmentControl& control() { return *control_; }
  Status remove_name();  // a name that is already gone is no error

  // Reserves this rank's `bytes` in a segment for `world_size` such parts; an errno, or 0.
  int reserve(int rank, std::size_t bytes);
  // Maps all parts once every rank has reserved its own. Part r starts at r * part_stride(bytes).
  Status map_parts(int world_size, std::size_t bytes);
  static std::size_t part_stride(std::size_t bytes);
  std::byte* part(int rank) { return parts_ + static_cast<std::size_t>(rank) * stride_; }

 private:
  ShmSegment() = default;

  std::string name_;
  int descriptor_ = -1;
  SegmentControl* control_ = nullptr;
  std::byte* parts_ = nullptr;
  std::size_t stride_ = 0, mapped_bytes_ = 0;
};

std::uint64_t free_shm_bytes();  // free space of /dev/shm; 0 when it cannot be read

}  // namespace ocrtune
