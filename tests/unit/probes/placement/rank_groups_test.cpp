#include "probes/placement/rank_groups.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// Two packages of two L3 groups of four CPUs; one NUMA node each.
CpuFacts two_sockets() {
  CpuFacts cpu;
  for (int id = 0; id < 16; ++id) {
    CpuPlace place;
    place.cpu = place.core = id;
    place.l3 = id / 4;
    place.numa = place.package = id / 8;
    cpu.places.push_back(place);
  }
  return cpu;
}

using Groups = std::vector<std::vector<int>>;

TEST(RankGroups, EveryLevelThatHoldsEachMask) {
  EXPECT_EQ(common_groups(two_sockets(), {CpuSet({0, 1}), CpuSet({2, 3}), CpuSet({12})}),
            (Groups{{0, 0, 0}, {0, 0, 0}, {3, 1, 1}}));
}

TEST(RankGroups, ARankOverTwoCachesLeavesOutTheLevel) {
  EXPECT_EQ(common_groups(two_sockets(), {CpuSet::range(0, 7), CpuSet({8, 9})}),
            (Groups{{0, 0}, {1, 1}}));
  EXPECT_EQ(common_groups(two_sockets(), {CpuSet::range(0, 15), CpuSet({8})}), (Groups{{}, {}}));
}

TEST(RankGroups, WhatIsUnknownIsNoGroup) {
  CpuFacts cpu = two_sockets();
  for (CpuPlace& place : cpu.places) place.l3 = -1;
  EXPECT_EQ(common_groups(cpu, {CpuSet({0}), CpuSet({8})}), (Groups{{0, 0}, {1, 1}}));
  EXPECT_EQ(common_groups(cpu, {CpuSet({0}), CpuSet({99})}), (Groups{{}, {}}));
  EXPECT_EQ(common_groups(cpu, {CpuSet()}), (Groups{{}}));
}

}  // namespace
}  // namespace ocrtune
