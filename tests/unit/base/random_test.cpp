#include "base/random.h"

#include <set>

#include <gtest/gtest.h>

#include "base/stats.h"

namespace ocrtune {
namespace {

TEST(RandomTest, SameSeedSameNumbers) {
  Random a(7);
  Random b(7);
  Random c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
  // SplitMix64's published first output for seed 0.
  EXPECT_EQ(Random(0).next(), 0xE220A8397B1DCDAFULL);
}

TEST(RandomTest, DrawsFromTheStatedDistributions) {
  Random random(1);
  std::vector<double> normals;
  std::vector<double> waits;
  std::set<std::int64_t> faces;
  for (int i = 0; i < 20000; ++i) {
    normals.push_back(random.normal());
    waits.push_back(random.exponential(4));
    faces.insert(random.integer(1, 6));
  }
  EXPECT_NEAR(mean(normals), 0, 0.03);
  EXPECT_NEAR(stddev(normals), 1, 0.03);
  EXPECT_NEAR(mean(waits), 0.25, 0.01);
  EXPECT_EQ(faces, (std::set<std::int64_t>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace ocrtune
