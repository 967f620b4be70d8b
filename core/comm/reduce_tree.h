// How ranks of one host average a range: inside their cache group first, then across groups.
//
// A rank is told the groups that it runs in, from the innermost to the outermost (L3, NUMA node,
// package), as plain numbers. The tree has a level for each of them that gathers ranks, and the
// whole on top. Up: in every group each rank sums one share of the range over the group's children
// into its own slice. Down: it fetches its share of the mean from the group above. No rank ever
// writes to a slice of another group, and of each number every group sends one sum and receives
// one mean, where a plain share of all slices reads and writes every rank's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ocrtune {

inline constexpr std::size_t kMaxGroupLevels = 3;

// Of one rank, from the innermost to the outermost; -1: unknown, or it runs in several.
using RankGroups = std::array<int, kMaxGroupLevels>;
inline constexpr RankGroups kNoGroups = {-1, -1, -1};

// targets[first, first + count) = the sum of the sources, times 1 / ranks where `scaled`.
struct ReduceMove {
  std::vector<int> sources, targets;  // ranks, whose slices they are; added in this order
  std::size_t first = 0, count = 0;
  bool scaled = false;
};

class ReduceTree {
 public:
  // groups[r]: of rank r. A level that is not known of every rank, that puts all into one group or
  // that joins nobody is left out. Numbers need not be unique under different outer groups.
  explicit ReduceTree(const std::vector<RankGroups>& groups);

  // All ranks meet between two phases. 1: each rank averages its share of all slices at once.
  int phases() const { return 2 * static_cast<int>(levels_.size()) - 1; }

  // What `rank` does in a phase of averaging [first, first + count). Shares are whole cache lines.
  // The order in which a number's addends meet depends on the groups alone, not on the range.
  std::vector<ReduceMove> moves(int rank, int phase, std::size_t first, std::size_t count) const;

 private:
  struct Level {
    std::vector<int> group_of;               // rank -> group
    std::vector<std::vector<int>> members;   // group -> ranks, ascending
    std::vector<std::vector<int>> children;  // group -> groups of the level below, or ranks
  };
  struct Share {
    std::size_t from = 0, to = 0;  // within the range
  };

  void add_level(const std::vector<std::vector<int>>& keys);
  static Share share_of(std::size_t index, std::size_t ranks, std::size_t count);
  Share own_share(std::size_t level, int rank, std::size_t count) const;
  // Whose slice holds number `at` of a group, and the end of that share.
  int owner(std::size_t level, int group, std::size_t at, std::size_t count,
            std::size_t& end) const;
  std::vector<ReduceMove> up(std::size_t level, int rank, std::size_t count) const;
  std::vector<ReduceMove> down(std::size_t level, int rank, std::size_t count) const;

  std::vector<Level> levels_;  // the last one is the whole
};

// What averaging `count` floats moves over the borders of `zone` (rank -> any grouping): floats
// that `rank` reads from, and writes to, slices of ranks in other zones, over all phases.
struct CrossTraffic {
  std::uint64_t read_bytes = 0, written_bytes = 0;
};
CrossTraffic cross_traffic(const ReduceTree& tree, const std::vector<int>& zone, int rank,
                           std::size_t count);

}  // namespace ocrtune
