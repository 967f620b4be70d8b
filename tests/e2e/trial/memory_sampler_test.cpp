#include "trial/observe/memory_sampler.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include <gtest/gtest.h>

#include "base/process_tree.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMiB = 1 << 20;

char* touched(std::size_t bytes, int flags) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  std::memset(memory, 1, bytes);
  return static_cast<char*>(memory);
}

// A parent with `shared` MiB that three children share, and `own` MiB in each child.
class Family {
 public:
  Family(std::size_t shared, std::size_t own) {
    memory_ = touched(shared * kMiB, MAP_SHARED);
    shared_bytes_ = shared * kMiB;
    for (int i = 0; i < 3; ++i) {
      int ready[2];
      EXPECT_EQ(::pipe(ready), 0);
      const pid_t child = ::fork();
      if (child == 0) {
        volatile char sum = 0;
        for (std::size_t at = 0; at < shared_bytes_; at += 4096) sum = sum + memory_[at];
        touched(own * kMiB, MAP_PRIVATE);
        [[maybe_unused]] const ssize_t said = ::write(ready[1], "x", 1);
        while (true) ::pause();
      }
      char byte = 0;
      EXPECT_EQ(::read(ready[0], &byte, 1), 1);
      ::close(ready[0]);
      ::close(ready[1]);
      members_.emplace_back();
      members_.back().pid = child;
    }
  }
  ~Family() {
    for (const ProcessFacts& member : members_) ::kill(member.pid, SIGKILL);
    for (std::size_t i = 0; i < members_.size(); ++i) ::wait(nullptr);
    ::munmap(memory_, shared_bytes_);
  }
  const std::vector<ProcessFacts>& members() const { return members_; }

 private:
  char* memory_;
  std::size_t shared_bytes_;
  std::vector<ProcessFacts> members_;
};

TEST(ReadMemory, CountsSharedPagesOnce) {
  const Family family(64, 8);
  const MemoryReading reading = read_memory(family.members(), true);
  EXPECT_GT(reading.rss_bytes, 3 * 72 * kMiB);
  // The fourth holder of the shared pages is this process: three quarters are the children's.
  EXPECT_GT(reading.pss_bytes, (48 + 24) * kMiB);
  EXPECT_LT(reading.pss_bytes, (48 + 24 + 20) * kMiB);
  EXPECT_GT(reading.pss_shared_bytes, 47 * kMiB);
  EXPECT_EQ(read_memory(family.members(), false).pss_bytes, 0u);
}

TEST(ReadMemory, ForgetsWhoIsGone) {
  ProcessFacts nobody;
  nobody.pid = 2147483600;
  EXPECT_EQ(read_memory({nobody}, true).rss_bytes, 0u);
}

TEST(MemorySampler, KeepsThePeakAndTheEstimateBetween) {
  MemorySampler sampler(2);
  {
    const Family family(64, 8);
    sampler.update(family.members(), 1.0);
    EXPECT_GT(sampler.bytes(), 70 * kMiB);
    sampler.update(family.members(), 1.1);  // RSS only: still scaled to PSS
    EXPECT_LT(sampler.bytes(), 95 * kMiB);
  }
  const std::uint64_t peak = sampler.peak_bytes();
  sampler.update({}, 2.0, true);
  EXPECT_LT(sampler.bytes(), peak);
  EXPECT_EQ(sampler.peak_bytes(), peak);
}

TEST(MemorySampler, LooksSoonerBeforeALimit) {
  MemorySampler sampler(64);
  sampler.update({}, 1.0, true);
  const double usual = sampler.next_seconds(0) - 1.0;
  EXPECT_GE(usual, 0.1);
  const Family family(64, 8);
  sampler.update(family.members(), 1.1, true);
  EXPECT_GT(sampler.bytes_per_second(), 0);
  EXPECT_LT(sampler.next_seconds(sampler.bytes() + kMiB) - 1.1, 0.1);
  EXPECT_GE(sampler.next_seconds(sampler.bytes() + kMiB) - 1.1, 0.004);
}

}  // namespace
}  // namespace ocrtune
