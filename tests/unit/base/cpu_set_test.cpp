#include "base/cpu_set.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(CpuSetTest, ReadsAndWritesTheKernelsForm) {
  const CpuSet set = *CpuSet::parse("0-2,8,10-11\n");
  EXPECT_EQ(set.cpus(), (std::vector<int>{0, 1, 2, 8, 10, 11}));
  EXPECT_EQ(set.text(), "0-2,8,10-11");
  EXPECT_TRUE(CpuSet::parse("")->empty());
  for (const char* bad : {"a", "3-1", "-1", "1-2-3", "1,,2", "0-99999999"}) {
    EXPECT_FALSE(CpuSet::parse(bad)) << bad;
  }
}

TEST(CpuSetTest, ActsAsASet) {
  const CpuSet a({3, 1, 1, 2});
  const CpuSet b = CpuSet::range(2, 5);
  EXPECT_EQ(a.count(), 3);
  EXPECT_EQ(a.intersect(b).text(), "2-3");
  EXPECT_EQ(a.unite(b).text(), "1-5");
  EXPECT_EQ(a.minus(b).text(), "1");
  EXPECT_TRUE(a.contains(2));
  EXPECT_FALSE(a.contains(4));
}

TEST(CpuSetTest, BindsTheCallingThread) {
  const CpuSet before = current_affinity();
  ASSERT_FALSE(before.empty());
  const CpuSet one({before.cpus().front()});
  ASSERT_TRUE(set_affinity(0, one));
  EXPECT_EQ(current_affinity(), one);
  ASSERT_TRUE(set_affinity(0, before));
  EXPECT_FALSE(set_affinity(0, CpuSet({60000})));
}

}  // namespace
}  // namespace ocrtune
