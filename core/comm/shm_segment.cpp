// The file in /dev/shm begins with the control part, then the ranks' gradients by pages of 64 KiB.
// flock(2) orders the ranks while they attach; later only atomics of the control part are used.
#include "core/comm/shm_segment.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

namespace ocrtune {
namespace {

constexpr std::uint32_t kMagic = 0x4f435253;  // "OCRS"
// A rank of a build with another layout of the control part is refused by this number.
constexpr std::uint32_t kVersion = 4;
constexpr std::size_t kPageBytes = 64 << 10;  // the largest of any kernel: some of ARM's have it
constexpr std::size_t kPartsOffset =
    (sizeof(SegmentControl) + kPageBytes - 1) / kPageBytes * kPageBytes;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

Error segment_error(int code, const std::string& action, const std::string& name) {
  if (code == ENOSPC) {
    return Error{ErrorKind::exhausted,
                 action + " " + name + ": /dev/shm is full",
                 {},
                 Scarce::shared_memory};
  }
  return system_error(code, action + " shared memory " + name);
}

// Held while a rank looks at the control part or takes its slot; a killed holder frees it.
struct FileLock {
  int descriptor;
  explicit FileLock(int file) : descriptor(file) {
    while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() { ::flock(descriptor, LOCK_UN); }
};

}  // namespace

std::uint64_t free_shm_bytes() {
  struct statvfs facts = {};
  if (::statvfs("/dev/shm", &facts) != 0) return 0;
  return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

Result<ShmSegment> ShmSegment::attach(const std::string& name, int rank, int world_size) {
  ShmSegment segment;
  segment.name_ = name;
  segment.descriptor_ = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (segment.descriptor_ < 0) return segment_error(errno, "open", name);
  const FileLock lock(segment.descriptor_);
  struct stat facts = {};
  if (::fstat(segment.descriptor_, &facts) != 0) return segment_error(errno, "stat", name);
  const bool fresh = facts.st_size == 0;
  if (fresh) {
    // posix_fallocate() takes the pages now: a full /dev/shm is an error here and no SIGBUS later.
    const int code = ::posix_fallocate(segment.descriptor_, 0, kPartsOffset);
    if (code != 0) return segment_error(code, "reserve", name);
  } else if (facts.st_size < static_cast<off_t>(kPartsOffset)) {
    return Error{ErrorKind::invalid, "shared memory " + name + " is not a segment of ocrtune"};
  }
  void* memory =
      ::mmap(nullptr, kPartsOffset, PROT_READ | PROT_WRITE, MAP_SHARED, segment.descriptor_, 0);
  if (memory == MAP_FAILED) return segment_error(errno, "map", name);
  segment.control_ = fresh ? new (memory) SegmentControl{} : static_cast<SegmentControl*>(memory);
  SegmentControl& control = *segment.control_;
  if (fresh) {
    control.world_size = static_cast<std::uint32_t>(world_size);
    control.version = kVersion;
    control.magic = kMagic;
  }
  if (control.magic != kMagic || control.version != kVersion) {
    return Error{ErrorKind::invalid, "shared memory " + name + " is not a segment of ocrtune"};
  }
  if (control.world_size != static_cast<std::uint32_t>(world_size)) {
    return Error{ErrorKind::invalid, "shared memory " + name + " belongs to " +
                                         std::to_string(control.world_size) + " ranks, not to " +
                                         std::to_string(world_size)};
  }
  RankSlot& slot = control.slots[rank];
  if (slot.pid != 0) {
    return Error{ErrorKind::invalid, "shared memory " + name + ": rank " + std::to_string(rank) +
                                         " is taken by pid " + std::to_string(slot.pid) +
                                         "; give every launch a name of its own"};
  }
  slot.pid = ::getpid();
  ++control.attached;
  return segment;
}

ShmSegment::ShmSegment(ShmSegment&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      control_(std::exchange(other.control_, nullptr)),
      parts_(std::exchange(other.parts_, nullptr)),
      stride_(other.stride_),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

ShmSegment::~ShmSegment() {
  if (parts_ != nullptr) ::munmap(parts_, mapped_bytes_);
  if (control_ != nullptr) ::munmap(control_, kPartsOffset);
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status ShmSegment::remove_name() {
  if (::shm_unlink(name_.c_str()) != 0 && errno != ENOENT) {
    return segment_error(errno, "remove", name_);
  }
  return Status();
}

std::size_t ShmSegment::part_stride(std::size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

int ShmSegment::reserve(int rank, std::size_t bytes) {
  const std::size_t stride = part_stride(bytes);
  if (stride == 0) return 0;
  const std::size_t start = kPartsOffset + static_cast<std::size_t>(rank) * stride;
  int code = EINTR;
  while (code == EINTR) {
    code = ::posix_fallocate(descriptor_, static_cast<off_t>(start), static_cast<off_t>(stride));
  }
  return code;
}

Status ShmSegment::map_parts(int world_size, std::size_t bytes) {
  stride_ = part_stride(bytes);
  mapped_bytes_ = stride_ * static_cast<std::size_t>(world_size);
  if (mapped_bytes_ == 0) return Status();
  void* memory = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                        descriptor_, kPartsOffset);
  if (memory == MAP_FAILED) {
    mapped_bytes_ = 0;
    return segment_error(errno, "map", name_);
  }
  parts_ = static_cast<std::byte*>(memory);
  return Status();
}

}  // namespace ocrtune
