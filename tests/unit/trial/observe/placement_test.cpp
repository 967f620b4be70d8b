#include "trial/observe/placement.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Placement placement(int pid, const std::string& meant, const std::string& allowed,
                    const std::string& inside, const std::string& outside = "") {
  return {pid, *CpuSet::parse(meant), *CpuSet::parse(allowed), *CpuSet::parse(inside),
          *CpuSet::parse(outside)};
}

TEST(Placement, WorkersApartAreFine) {
  EXPECT_THAT(
      placement_conflicts(
          {placement(10, "0-1", "0-1", "0", "1"), placement(11, "2-3", "2-3", "2-3")}, true),
      IsEmpty());
}

TEST(Placement, TwoOnOneCpuAreNamed) {
  EXPECT_THAT(placement_conflicts({placement(10, "", "0-3", "0-2"), placement(11, "", "0-3", "2-3"),
                                   placement(12, "", "0-3", "", "")},
                                  true),
              ElementsAre(AllOf(HasSubstr("worker 0 (pid 10) and worker 1 (pid 11)"),
                                HasSubstr("both ran on CPU 2")),
                          HasSubstr("worker 0 (pid 10) and worker 2 (pid 12) may both run"),
                          HasSubstr("worker 1 (pid 11) and worker 2 (pid 12) may both run")));
}

TEST(Placement, SharingIsFineWhereItIsMeant) {
  EXPECT_THAT(
      placement_conflicts({placement(10, "", "0-3", "0"), placement(11, "", "0-3", "0")}, false),
      IsEmpty());
}

TEST(Placement, AMaskThatDidNotHoldIsNamed) {
  EXPECT_THAT(placement_conflicts({placement(10, "0", "0-7", "0")}, true),
              ElementsAre(HasSubstr("meant for CPU 0 and also has 1-7")));
  EXPECT_THAT(placement_conflicts({placement(10, "0", "0", "0", "5")}, false),
              ElementsAre(HasSubstr("also has 5")));
}

TEST(Placement, ReadsThisProcess) {
  EXPECT_EQ(allowed_cpus(::getpid()), current_affinity());
  const CpuSet last = last_used_cpus(::getpid());
  EXPECT_GE(last.count(), 1);
  EXPECT_TRUE(last.minus(current_affinity()).empty());
  EXPECT_TRUE(allowed_cpus(-5).empty());
  EXPECT_TRUE(last_used_cpus(-5).empty());
}

}  // namespace
}  // namespace ocrtune
