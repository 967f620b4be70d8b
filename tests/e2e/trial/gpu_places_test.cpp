#include "trial/observe/gpu_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::uint64_t kGiB = 1ULL << 30;

GpuReport report(const std::vector<std::pair<std::uint64_t, std::vector<int>>>& gpus) {
  GpuReport made;
  made.answered = true;
  for (const auto& [used, pids] : gpus) {
    GpuFacts gpu;
    gpu.index = static_cast<int>(made.gpus.size());
    gpu.memory_bytes = 24 * kGiB;
    gpu.memory_used_bytes = used;
    gpu.pids = pids;
    made.gpus.push_back(gpu);
  }
  return made;
}

std::vector<std::string> lines_of(const std::string& used, const std::vector<GpuShare>& shares) {
  std::vector<std::string> lines;
  if (!used.empty()) lines.push_back(used);
  if (std::string idle = idle_gpus_words(shares); !idle.empty()) lines.push_back(std::move(idle));
  return lines;
}

std::vector<std::string> told(const GpuReport& before, const std::vector<GpuReport>& later,
                              const std::set<int>& pids) {
  std::map<int, GpuUse> use;
  for (const GpuReport& now : later) note_gpu_use(before, now, pids, use);
  return lines_of(gpu_use_words(use), gpu_shares(use));
}

TEST(GpuUse, AllOnTheFirst) {
  const auto lines = told(
      report({{kGiB, {}}, {0, {}}}),
      {report({{3 * kGiB, {10, 11}}, {0, {}}}), report({{4 * kGiB, {10, 11, 12, 99}}, {0, {}}})},
      {9, 10, 11, 12});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "where it computed: GPU 0: 3 processes, 4.0 GiB of 24.0 GiB in use");
  EXPECT_THAT(lines[1],
              StartsWith("GPUs without work: 1 while 3 processes shared the rest; start"));
}

TEST(GpuUse, OneEach) {
  const auto lines =
      told(report({{0, {}}, {0, {}}}), {report({{kGiB, {10}}, {kGiB, {11}}})}, {10, 11});
  EXPECT_THAT(lines, ElementsAre(HasSubstr("GPU 0: 1 process, 1.0 GiB of 24.0 GiB in use; GPU 1")));
}

// By the driver's books, which it keeps for each process.
TEST(GpuUse, SharersAreToldWithTheirMemory) {
  GpuReport now = report({{3 * kGiB, {10, 11}}, {2 * kGiB, {12}}});
  now.processes = {{0, 10, kGiB}, {0, 11, 3 * kGiB / 2}, {1, 12, kGiB}};
  GpuReport later = now;
  later.processes = {{0, 10, kGiB / 2}, {0, 11, 2 * kGiB}, {0, 99, 9 * kGiB}};
  const auto lines = told(report({{0, {}}, {0, {}}}), {now, later}, {10, 11, 12});
  EXPECT_THAT(lines, ElementsAre("where it computed: GPU 0: 2 processes (1.0 GiB, 2.0 GiB), 3.0 "
                                 "GiB of 24.0 GiB in use; GPU 1: 1 process, 2.0 GiB of 24.0 GiB "
                                 "in use"));
  later.processes = {{0, 10, 0}, {0, 11, 0}};  // no books: under MPS, in some containers
  EXPECT_THAT(told(report({{0, {}}, {0, {}}}), {later}, {10, 11, 12}),
              ElementsAre(HasSubstr("GPU 0: 2 processes, 3.0 GiB")));
}

// The driver may list a process before the trial's own look at its processes has found it.
TEST(GpuUse, AProcessThatIsFoundLaterCounts) {
  GpuUseNotes notes{ProcessOptions()};
  notes.take(report({{0, {}}, {0, {}}}), {}, false);
  notes.take(report({{kGiB, {10}}, {kGiB, {11}}}), {10}, true);
  EXPECT_THAT(lines_of(notes.words(), notes.shares()),
              ElementsAre(HasSubstr("GPU 0"), HasSubstr("GPUs without work: 1")));
  notes.know({10, 11});
  EXPECT_THAT(lines_of(notes.words(), notes.shares()), ElementsAre(HasSubstr("GPU 1: 1 process")));
}

// In a container the driver's process ids are not ours: the memory tells.
TEST(GpuUse, ByMemoryWhereProcessIdsAreOthers) {
  const auto lines = told(report({{kGiB, {7}}, {20 * kGiB, {8}}}),
                          {report({{2 * kGiB, {7, 70001}}, {20 * kGiB + 1000, {8}}})}, {10, 11});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "where it computed: GPU 0: 2.0 GiB of 24.0 GiB in use");
  EXPECT_THAT(lines[1], StartsWith("GPUs without work: 1; start"));
}

TEST(GpuUse, NoneUsed) {
  const auto quiet = report({{kGiB, {7}}, {0, {}}});
  EXPECT_THAT(told(quiet, {quiet}, {10}),
              ElementsAre("GPUs without work: 0, 1; the command used none of them"));
  EXPECT_THAT(told(quiet, {}, {10}), IsEmpty());
}

}  // namespace
}  // namespace ocrtune
