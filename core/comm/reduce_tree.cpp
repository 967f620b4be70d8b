#include "core/comm/reduce_tree.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ocrtune {
namespace {

constexpr std::size_t kLine = 64 / sizeof(float);  // no two ranks write to one cache line

std::size_t at_index(int rank) { return static_cast<std::size_t>(rank); }

std::size_t distinct(std::vector<std::vector<int>> keys) {
  std::sort(keys.begin(), keys.end());
  return static_cast<std::size_t>(std::unique(keys.begin(), keys.end()) - keys.begin());
}

}  // namespace

ReduceTree::ReduceTree(const std::vector<RankGroups>& groups) {
  // keys[level][rank]: with the numbers of the outer groups, so that levels lie inside each other.
  std::vector<std::vector<std::vector<int>>> keys;
  std::vector<std::vector<int>> outer(groups.size());
  for (std::size_t level = kMaxGroupLevels; level-- > 0;) {
    const bool known = std::all_of(groups.begin(), groups.end(),
                                   [&](const RankGroups& rank) { return rank[level] >= 0; });
    if (!known) continue;
    for (std::size_t r = 0; r < groups.size(); ++r) outer[r].push_back(groups[r][level]);
    keys.push_back(outer);
  }
  std::size_t units = groups.size();
  for (auto level = keys.rbegin(); level != keys.rend(); ++level) {
    const std::size_t found = distinct(*level);
    if (found > 1 && found < units) {
      add_level(*level);
      units = found;
    }
  }
  add_level(std::vector<std::vector<int>>(groups.size()));
}

void ReduceTree::add_level(const std::vector<std::vector<int>>& keys) {
  Level level;
  std::map<std::vector<int>, int> numbers;  // groups are numbered by their first rank
  for (std::size_t r = 0; r < keys.size(); ++r) {
    const auto [found, fresh] = numbers.try_emplace(keys[r], static_cast<int>(numbers.size()));
    if (fresh) {
      level.members.emplace_back();
      level.children.emplace_back();
    }
    level.group_of.push_back(found->second);
    level.members[at_index(found->second)].push_back(static_cast<int>(r));
  }
  const std::size_t units = levels_.empty() ? keys.size() : levels_.back().members.size();
  for (std::size_t unit = 0; unit < units; ++unit) {
    const std::size_t first =
        levels_.empty() ? unit : at_index(levels_.back().members[unit].front());
    level.children[at_index(level.group_of[first])].push_back(static_cast<int>(unit));
  }
  levels_.push_back(std::move(level));
}

ReduceTree::Share ReduceTree::share_of(std::size_t index, std::size_t ranks, std::size_t count) {
  const std::size_t lines = (count + kLine - 1) / kLine;
  return {std::min(count, lines * index / ranks * kLine),
          std::min(count, lines * (index + 1) / ranks * kLine)};
}

ReduceTree::Share ReduceTree::own_share(std::size_t level, int rank, std::size_t count) const {
  const Level& here = levels_[level];
  const std::vector<int>& members = here.members[at_index(here.group_of[at_index(rank)])];
  const auto index = std::lower_bound(members.begin(), members.end(), rank) - members.begin();
  return share_of(static_cast<std::size_t>(index), members.size(), count);
}

int ReduceTree::owner(std::size_t level, int group, std::size_t at, std::size_t count,
                      std::size_t& end) const {
  const std::vector<int>& members = levels_[level].members[at_index(group)];
  std::size_t index = at * members.size() / count;  // at most one share too low
  while (share_of(index, members.size(), count).to <= at) ++index;
  end = share_of(index, members.size(), count).to;
  return members[index];
}

std::vector<ReduceMove> ReduceTree::up(std::size_t level, int rank, std::size_t count) const {
  std::vector<ReduceMove> moves;
  const Level& here = levels_[level];
  const std::vector<int>& children = here.children[at_index(here.group_of[at_index(rank)])];
  const Share own = own_share(level, rank, count);
  if (children.size() == 1) return moves;  // the sum of the only child lies where it must
  for (std::size_t at = own.from; at < own.to;) {
    ReduceMove move;
    std::size_t end = own.to;
    for (const int child : children) {
      std::size_t share_end = own.to;
      move.sources.push_back(level == 0 ? child : owner(level - 1, child, at, count, share_end));
      end = std::min(end, share_end);
    }
    move.targets = {rank};
    move.first = at;
    move.count = end - at;
    move.scaled = level + 1 == levels_.size();
    moves.push_back(std::move(move));
    at = end;
  }
  return moves;
}

std::vector<ReduceMove> ReduceTree::down(std::size_t level, int rank, std::size_t count) const {
  std::vector<ReduceMove> moves;
  const Level& here = levels_[level];
  const int above = levels_[level + 1].group_of[at_index(rank)];
  const Share own = own_share(level, rank, count);
  for (std::size_t at = own.from; at < own.to;) {
    ReduceMove move;
    std::size_t end = 0;
    const int source = owner(level + 1, above, at, count, end);
    move.sources = {source};
    move.targets =
        level > 0 ? std::vector<int>{rank} : here.members[at_index(here.group_of[at_index(rank)])];
    std::erase(move.targets, source);
    move.first = at;
    move.count = std::min(end, own.to) - at;
    at += move.count;
    if (!move.targets.empty()) moves.push_back(std::move(move));
  }
  return moves;
}

std::vector<ReduceMove> ReduceTree::moves(int rank, int phase, std::size_t first,
                                          std::size_t count) const {
  const std::size_t top = levels_.size() - 1, step = at_index(phase);
  std::vector<ReduceMove> moves;
  if (top == 0) {
    const Share own = own_share(0, rank, count);
    std::vector<int> all(levels_[0].group_of.size());
    std::iota(all.begin(), all.end(), 0);
    if (own.to > own.from) moves.push_back({all, all, own.from, own.to - own.from, true});
  } else {
    moves = step <= top ? up(step, rank, count) : down(2 * top - step, rank, count);
  }
  for (ReduceMove& move : moves) move.first += first;
  return moves;
}

CrossTraffic cross_traffic(const ReduceTree& tree, const std::vector<int>& zone, int rank,
                           std::size_t count) {
  CrossTraffic traffic;
  const auto abroad = [&](int peer) { return zone[at_index(peer)] != zone[at_index(rank)]; };
  for (int phase = 0; phase < tree.phases(); ++phase) {
    for (const ReduceMove& move : tree.moves(rank, phase, 0, count)) {
      const std::uint64_t bytes = move.count * sizeof(float);
      traffic.read_bytes += bytes * static_cast<std::uint64_t>(std::count_if(
                                        move.sources.begin(), move.sources.end(), abroad));
      traffic.written_bytes += bytes * static_cast<std::uint64_t>(std::count_if(
                                           move.targets.begin(), move.targets.end(), abroad));
    }
  }
  return traffic;
}

}  // namespace ocrtune
