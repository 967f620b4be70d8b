// The tree by its contract: a right mean, the same bits for all, no race between meetings, no write
// into another group, and the least traffic across groups.
#include "core/comm/reduce_tree.h"

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

std::size_t index(int value) { return static_cast<std::size_t>(value); }

// Ranks in groups of these sizes, one after the other or dealt in turns.
std::vector<RankGroups> ranks_in(const std::vector<int>& sizes, bool dealt = false) {
  std::vector<RankGroups> groups;
  std::vector<int> left = sizes;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t g = 0; g < sizes.size(); ++g) {
      while (left[g] > 0) {
        --left[g];
        groups.push_back({static_cast<int>(g), -1, -1});
        any = true;
        if (dealt) break;
      }
    }
  }
  return groups;
}

// `packages` packages of `numa` nodes of `l3` groups of `ranks` ranks.
std::vector<RankGroups> big_machine(int packages, int numa, int l3, int ranks) {
  std::vector<RankGroups> groups;
  for (int r = 0; r < packages * numa * l3 * ranks; ++r) {
    groups.push_back({r / ranks, r / ranks / l3, r / ranks / l3 / numa});
  }
  return groups;
}

std::vector<int> zones(const std::vector<RankGroups>& groups, std::size_t level) {
  std::vector<int> zone;
  for (const RankGroups& rank : groups) zone.push_back(rank[level]);
  return zone;
}

float value_at(int rank, std::size_t i) {
  return 1.0F / static_cast<float>(1 + (i * 7 + index(rank) * 13) % 1021);
}

// Runs all moves of all ranks, phase after phase; what is wrong with them, or "".
std::string run(const ReduceTree& tree, std::vector<std::vector<float>>& slices, std::size_t first,
                std::size_t count) {
  const int ranks = static_cast<int>(slices.size());
  for (int phase = 0; phase < tree.phases(); ++phase) {
    std::map<std::pair<int, std::size_t>, int> writer;  // slice and number -> rank
    std::map<std::pair<int, std::size_t>, std::set<int>> readers;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const ReduceMove& move : tree.moves(rank, phase, first, count)) {
        for (std::size_t i = move.first; i < move.first + move.count; ++i) {
          float sum = 0;
          for (const int source : move.sources) {
            sum += slices[index(source)][i];
            readers[{source, i}].insert(rank);
          }
          if (move.scaled) sum *= 1.0F / static_cast<float>(ranks);
          for (const int target : move.targets) {
            if (!writer.try_emplace({target, i}, rank).second) return "two ranks write one number";
            slices[index(target)][i] = sum;
          }
        }
      }
    }
    for (const auto& [place, rank] : writer) {
      for (const int reader : readers[place]) {
        if (reader != rank) return "a number is read and written between two meetings";
      }
    }
  }
  return "";
}

std::vector<std::vector<float>> filled(std::size_t ranks, std::size_t count) {
  std::vector<std::vector<float>> slices(ranks, std::vector<float>(count));
  for (std::size_t r = 0; r < ranks; ++r) {
    for (std::size_t i = 0; i < count; ++i) slices[r][i] = value_at(static_cast<int>(r), i);
  }
  return slices;
}

std::string check(const std::vector<RankGroups>& groups, std::size_t count) {
  const ReduceTree tree(groups);
  const std::size_t first = 3, ranks = groups.size();
  const auto before = filled(ranks, first + count + 3);
  auto slices = before;
  if (const std::string wrong = run(tree, slices, first, count); !wrong.empty()) return wrong;
  for (std::size_t i = 0; i < slices[0].size(); ++i) {
    const bool inside = i >= first && i < first + count;
    double mean = 0;
    for (const auto& slice : before) mean += static_cast<double>(slice[i]);
    mean /= static_cast<double>(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      if (inside && slices[r][i] != slices[0][i]) return "other bits at " + std::to_string(i);
      if (inside && std::abs(static_cast<double>(slices[r][i]) - mean) > 1e-6) {
        return "wrong mean at " + std::to_string(i);
      }
      if (!inside && slices[r][i] != before[r][i]) return "touched " + std::to_string(i);
    }
  }
  return "";
}

const std::vector<std::vector<int>> kShapes = {
    {1},    {2},          {5},       {1, 1}, {2, 1},  {1, 2},   {3, 5},
    {4, 4}, {1, 2, 3, 7}, {8, 1, 1}, {16},   {7, 25}, {32, 32}, {8, 8, 8, 8, 8, 8, 8, 8}};

TEST(ReduceTree, GivesTheMeanInEveryShape) {
  for (const auto& sizes : kShapes) {
    for (const bool dealt : {false, true}) {
      for (const std::size_t count : {0UL, 1UL, 17UL, 1000UL}) {
        EXPECT_EQ(check(ranks_in(sizes, dealt), count), "")
            << sizes.size() << " groups, the first of " << sizes[0] << ", " << count << " numbers";
      }
    }
  }
}

TEST(ReduceTree, GivesTheMeanOverNestedGroups) {
  for (const auto& groups : {big_machine(2, 1, 4, 2), big_machine(2, 4, 2, 4),
                             big_machine(2, 2, 1, 3), big_machine(1, 4, 2, 2)}) {
    for (const std::size_t count : {17UL, 1000UL}) EXPECT_EQ(check(groups, count), "");
  }
  // One package of a single cache, another of three; two ranks alone in theirs.
  EXPECT_EQ(check({{0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {2, 1, 1}, {2, 1, 1}, {3, 2, 1}}, 1000), "");
}

TEST(ReduceTree, KeepsTheLevelsThatGatherRanks) {
  EXPECT_EQ(ReduceTree({kNoGroups}).phases(), 1);
  EXPECT_EQ(ReduceTree(ranks_in({4})).phases(), 1) << "one group";
  EXPECT_EQ(ReduceTree(ranks_in({1, 1, 1})).phases(), 1) << "each alone";
  EXPECT_EQ(ReduceTree(ranks_in({2, 2})).phases(), 3);
  EXPECT_EQ(ReduceTree(big_machine(2, 1, 4, 2)).phases(), 5) << "nodes are the packages";
  EXPECT_EQ(ReduceTree(big_machine(2, 4, 2, 4)).phases(), 7);
  auto one_unbound = ranks_in({2, 2});
  one_unbound[3] = kNoGroups;
  EXPECT_EQ(ReduceTree(one_unbound).phases(), 1);
  // Caches counted anew in each package are still different caches.
  EXPECT_EQ(ReduceTree({{0, -1, 0}, {0, -1, 1}, {0, -1, 0}, {0, -1, 1}}).phases(), 3);
}

TEST(ReduceTree, WithoutGroupsEachAveragesItsShare) {
  const ReduceTree tree(std::vector<RankGroups>(3, kNoGroups));
  const auto moves = tree.moves(1, 0, 100, 48);
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].sources, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(moves[0].targets, moves[0].sources);
  EXPECT_EQ(moves[0].first, 116U);
  EXPECT_EQ(moves[0].count, 16U);
  EXPECT_TRUE(moves[0].scaled);
}

TEST(ReduceTree, EveryGroupSendsOneSumAndReceivesOneMean) {
  constexpr std::size_t kCount = 1600;
  for (const auto& sizes : kShapes) {
    for (const bool dealt : {false, true}) {
      const auto groups = ranks_in(sizes, dealt);
      const auto zone = zones(groups, 0);
      const ReduceTree tree(groups);
      CrossTraffic all;
      for (int rank = 0; rank < static_cast<int>(groups.size()); ++rank) {
        const CrossTraffic one = cross_traffic(tree, zone, rank, kCount);
        all.read_bytes += one.read_bytes;
        all.written_bytes += one.written_bytes;
      }
      const std::size_t least = 2 * (sizes.size() - 1) * kCount * sizeof(float);
      EXPECT_EQ(all.read_bytes + all.written_bytes, least) << sizes.size() << " groups";
      if (tree.phases() > 1) {
        EXPECT_EQ(all.written_bytes, 0U) << "written into another group";
      }
    }
  }
}

TEST(ReduceTree, CrossesTheOutermostBorderOnce) {
  const auto groups = big_machine(2, 4, 2, 4);
  const std::size_t count = 6400;
  std::uint64_t tree_bytes = 0, flat_bytes = 0;
  for (int rank = 0; rank < 64; ++rank) {
    const auto zone = zones(groups, 2);
    const CrossTraffic ours = cross_traffic(ReduceTree(groups), zone, rank, count);
    const CrossTraffic flat =
        cross_traffic(ReduceTree(std::vector<RankGroups>(64, kNoGroups)), zone, rank, count);
    tree_bytes += ours.read_bytes + ours.written_bytes;
    flat_bytes += flat.read_bytes + flat.written_bytes;
  }
  EXPECT_EQ(tree_bytes, 2 * count * sizeof(float));
  EXPECT_EQ(flat_bytes, 64 * count * sizeof(float));
}

}  // namespace
}  // namespace ocrtune
