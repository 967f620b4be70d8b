// Three ways in turn: whole cores of one kind, whole cores of all kinds, single hardware threads.
// The first that serves every rank is taken. Within the first two a rank asks ever larger places
// (cache group, NUMA node, package, machine) until one has enough free cores.
#include "probes/placement/partition.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/plural.h"

namespace ocrtune {
namespace {

struct Core {
  std::vector<int> cpus;  // allowed SMT siblings, first thread first
  int kind = 0, package = -1, numa = -1, l3 = -1, id = 0;
  int rank = -1;  // who has it; -1: free

  int width() const { return static_cast<int>(cpus.size()); }
};

// Cores of one kind that share a last-level cache, and what is left of them.
struct Group {
  int kind = 0, package = -1, numa = -1, l3 = -1;
  std::vector<std::size_t> cores;
  int ranks = 0;
};

using Cores = std::vector<Core>;
using Groups = std::vector<Group>;

auto place_key(const Core& core) {
  // Negative: the fastest kind comes first.
  return std::make_tuple(-core.kind, core.package, core.numa, core.l3, core.id);
}

// Allowed CPUs as cores, fastest kind first, neighbours side by side. A CPU of unknown place is a
// core of its own.
Cores cores_in_order(const CpuFacts& cpu) {
  std::map<int, CpuPlace> known;
  for (const CpuPlace& place : cpu.places) known[place.cpu] = place;
  std::map<int, std::vector<CpuPlace>> by_core;
  int next_unknown = -1;
  for (int id : cpu.allowed.cpus()) {
    CpuPlace place;
    place.cpu = id;
    if (const auto found = known.find(id); found != known.end()) place = found->second;
    by_core[place.core >= 0 ? place.core : next_unknown--].push_back(place);
  }
  Cores cores;
  for (auto& [id, places] : by_core) {
    std::sort(places.begin(), places.end(), [](const CpuPlace& a, const CpuPlace& b) {
      return std::tie(a.smt_index, a.cpu) < std::tie(b.smt_index, b.cpu);
    });
    const CpuPlace& first = places.front();
    Core core{{}, first.kind, first.package, first.numa, first.l3, first.cpu};
    for (const CpuPlace& place : places) core.cpus.push_back(place.cpu);
    cores.push_back(std::move(core));
  }
  std::sort(cores.begin(), cores.end(),
            [](const Core& a, const Core& b) { return place_key(a) < place_key(b); });
  return cores;
}

int count_cpus(const Cores& cores) {
  int sum = 0;
  for (const Core& core : cores) sum += core.width();
  return sum;
}

// The sets of cores to try, best first: every single kind that can hold the job, then all kinds.
// While whole cores suffice, SMT siblings do not count.
std::vector<Cores> candidates(const Cores& cores, int nproc, int needed) {
  std::map<int, Cores, std::greater<>> kinds;
  for (const Core& core : cores) kinds[core.kind].push_back(core);
  const bool whole = static_cast<int>(cores.size()) >= needed;
  std::vector<Cores> tries;
  for (const auto& [kind, own] : kinds) {
    const int count = static_cast<int>(own.size());
    const bool fits = whole ? count >= needed : count >= nproc && count_cpus(own) >= needed;
    if (fits) tries.push_back(own);
  }
  tries.push_back(cores);
  return tries;
}

Groups groups_of(const Cores& cores) {
  std::map<std::tuple<int, int, int, int>, std::size_t> index;
  Groups groups;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const Core& core = cores[i];
    const auto key = std::make_tuple(-core.kind, core.package, core.numa, core.l3);
    const auto [found, fresh] = index.emplace(key, groups.size());
    if (fresh) groups.push_back(Group{core.kind, core.package, core.numa, core.l3, {}});
    groups[found->second].cores.push_back(i);
  }
  return groups;
}

// Deals whole cores out to ranks; every rank asks for the same, so taking any group that still fits
// never costs a later rank its place.
class Deal {
 public:
  Deal(Cores cores, bool spread, bool inside_numa)
      : cores_(std::move(cores)),
        groups_(groups_of(cores_)),
        spread_(spread),
        inside_numa_(inside_numa) {}

  // Gives `rank` the wanted number of cores (or, if `by_width`, of CPUs); false when it cannot.
  bool give(int rank, int wanted, bool by_width) {
    wanted_ = wanted;
    by_width_ = by_width;
    if (give_from(rank, [](const Group& g) {
          return std::make_tuple(g.kind, g.package, g.numa, g.l3);
        })) {
      return true;
    }
    if (give_from(rank, [](const Group& g) { return std::make_tuple(g.kind, g.package, g.numa); }))
      return true;
    if (give_from(rank, [](const Group& g) { return g.numa; })) return true;
    if (inside_numa_) return false;
    if (give_from(rank, [](const Group& g) { return std::make_tuple(g.kind, g.package); }))
      return true;
    return give_from(rank, [](const Group&) { return 0; });
  }

  // Hands the free cores of each group to the ranks that are in it, in turn.
  void give_rest() {
    for (Group& group : groups_) {
      std::set<int> there;
      for (std::size_t i : group.cores) {
        if (cores_[i].rank >= 0) there.insert(cores_[i].rank);
      }
      if (there.empty()) continue;
      auto turn = there.begin();
      for (std::size_t i : group.cores) {
        if (cores_[i].rank >= 0) continue;
        cores_[i].rank = *turn;
        if (++turn == there.end()) turn = there.begin();
      }
    }
  }

  std::vector<CpuSet> masks(int nproc) const {
    std::vector<std::vector<int>> cpus(static_cast<std::size_t>(nproc));
    for (const Core& core : cores_) {
      if (core.rank < 0) continue;
      auto& own = cpus[static_cast<std::size_t>(core.rank)];
      own.insert(own.end(), core.cpus.begin(), core.cpus.end());
    }
    std::vector<CpuSet> masks;
    masks.reserve(cpus.size());
    for (auto& own : cpus) masks.emplace_back(std::move(own));
    return masks;
  }

 private:
  int worth(const Core& core) const { return by_width_ ? core.width() : 1; }

  int free_in(const Group& group) const {
    int free = 0;
    for (std::size_t i : group.cores) free += cores_[i].rank < 0 ? worth(cores_[i]) : 0;
    return free;
  }

  // Takes all cores of one rank from the groups that share key(group), if some key has enough.
  template <typename Key>
  bool give_from(int rank, const Key& key) {
    struct Domain {
      std::vector<Group*> groups;
      int free = 0;
    };
    std::map<decltype(key(groups_[0])), Domain> domains;
    for (Group& group : groups_) {
      Domain& domain = domains[key(group)];
      domain.groups.push_back(&group);
      domain.free += free_in(group);
    }
    const Domain* best = nullptr;
    for (const auto& [name, domain] : domains) {
      if (domain.free < wanted_) continue;
      if (best == nullptr ||
          rank_of(*domain.groups[0], domain.free) < rank_of(*best->groups[0], best->free)) {
        best = &domain;
      }
    }
    if (best == nullptr) return false;
    take(rank, best->groups);
    return true;
  }

  // Smaller is taken first. Compact fills what is begun; spread goes where the fewest ranks are.
  std::tuple<int, int, int, int, int, std::size_t> rank_of(const Group& group, int free) const {
    const auto order = static_cast<std::size_t>(&group - groups_.data());
    if (!spread_) return {-group.kind, free, 0, 0, 0, order};
    int package_ranks = 0;
    int numa_ranks = 0;
    for (const Group& other : groups_) {
      package_ranks += other.package == group.package ? other.ranks : 0;
      numa_ranks += other.numa == group.numa ? other.ranks : 0;
    }
    return {-group.kind, package_ranks, numa_ranks, group.ranks, -free, order};
  }

  void take(int rank, std::vector<Group*> from) {
    // The fullest group first, so that a rank lies in as few groups as possible.
    std::stable_sort(from.begin(), from.end(),
                     [this](const Group* a, const Group* b) { return free_in(*a) > free_in(*b); });
    int left = wanted_;
    for (Group* group : from) {
      bool took = false;
      for (std::size_t i : group->cores) {
        if (left <= 0) break;
        if (cores_[i].rank >= 0) continue;
        cores_[i].rank = rank;
        left -= worth(cores_[i]);
        took = true;
      }
      group->ranks += took ? 1 : 0;
    }
  }

  Cores cores_;
  Groups groups_;
  bool spread_;
  bool inside_numa_;
  int wanted_ = 1;
  bool by_width_ = false;
};

// When whole cores do not go round: each rank gets the whole cores that it fills from its stretch
// of the machine, then single hardware threads near by, on unused cores as long as there are any.
class Sharing {
 public:
  Sharing(const Cores& cores, int nproc, int threads)
      : cores_(cores), used_(cores.size(), 0), masks_(static_cast<std::size_t>(nproc)) {
    const auto wanted = static_cast<std::size_t>(threads);
    for (std::size_t rank = 0; rank < masks_.size(); ++rank) {
      for (std::size_t i = start(rank); i < start(rank + 1); ++i) {
        if (masks_[rank].size() + cores_[i].cpus.size() > wanted) break;
        while (used_[i] < cores_[i].cpus.size()) take(rank, i);
      }
    }
    for (std::size_t rank = 0; rank < masks_.size(); ++rank) {
      while (masks_[rank].size() < wanted) take(rank, nearest(rank));
    }
  }

  std::vector<CpuSet> masks() const { return std::vector<CpuSet>(masks_.begin(), masks_.end()); }

 private:
  std::size_t start(std::size_t rank) const { return rank * cores_.size() / masks_.size(); }

  void take(std::size_t rank, std::size_t core) {
    masks_[rank].push_back(cores_[core].cpus[used_[core]++]);
    owners_[core].insert(rank);
  }

  // Own core, unused core, shared core; then the least distance. Some CPU is always free here.
  std::size_t nearest(std::size_t rank) {
    std::size_t best = 0;
    // Worse than any: closeness ends at 2.
    std::tuple<int, std::size_t> least{3, 0};
    for (std::size_t i = 0; i < cores_.size(); ++i) {
      if (used_[i] == cores_[i].cpus.size()) continue;
      const int closeness = owners_[i].count(rank) != 0 ? 0 : owners_[i].empty() ? 1 : 2;
      const std::size_t home = start(rank);
      const std::tuple<int, std::size_t> score{closeness, i > home ? i - home : home - i};
      if (score >= least) continue;
      least = score;
      best = i;
    }
    return best;
  }

  const Cores& cores_;
  std::vector<std::size_t> used_;
  std::map<std::size_t, std::set<std::size_t>> owners_;
  std::vector<std::vector<int>> masks_;
};

bool deal_all(Deal& deal, int nproc, int wanted, bool by_width) {
  for (int rank = 0; rank < nproc; ++rank) {
    if (!deal.give(rank, wanted, by_width)) return false;
  }
  return true;
}

bool wide_enough(const std::vector<CpuSet>& masks, int threads) {
  return std::all_of(masks.begin(), masks.end(),
                     [&](const CpuSet& mask) { return mask.count() >= threads; });
}

Error too_few(const CpuFacts& cpu, int nproc, int threads, const std::string& why) {
  return Error{
      ErrorKind::unsupported,
      fmt::format("{} x {} need {} of the {} allowed ({}): {}", how_many(nproc, "rank"),
                  how_many(threads, "thread"), how_many(std::int64_t{nproc} * threads, "CPU"),
                  cpu.allowed.count(), cpu.allowed.text(), why)};
}

struct Job {
  int nproc, threads;
  bool spread, numa;
};

// Whole cores for every rank out of these cores, or nothing.
std::optional<std::vector<CpuSet>> deal_whole_cores(const Cores& cores, const Job& job) {
  struct Attempt {
    int wanted;
    bool by_width;
  };
  std::vector<Attempt> attempts;
  const int count = static_cast<int>(cores.size());
  if (job.nproc * job.threads <= count) {
    attempts = {{job.threads, false}};
  } else if (count >= job.nproc) {  // SMT siblings count: equal cores first, then enough CPUs
    attempts = {{count / job.nproc, false}, {job.threads, true}};
  }
  for (const Attempt& attempt : attempts) {
    Deal deal(cores, job.spread, job.numa);
    if (!deal_all(deal, job.nproc, attempt.wanted, attempt.by_width)) continue;
    if (job.numa) deal.give_rest();
    std::vector<CpuSet> masks = deal.masks(job.nproc);
    if (wide_enough(masks, job.threads)) return masks;
  }
  return std::nullopt;
}

Result<std::vector<CpuSet>> bind(const CpuFacts& cpu, const Job& job) {
  const Cores cores = cores_in_order(cpu);
  for (const Cores& own : candidates(cores, job.nproc, job.nproc * job.threads)) {
    if (auto masks = deal_whole_cores(own, job)) return *masks;
  }
  if (job.numa && job.threads > 1) {
    return too_few(cpu, job.nproc, job.threads, "no division keeps each rank on one NUMA node");
  }
  return Sharing(cores, job.nproc, job.threads).masks();
}

}  // namespace

int usable_cpu_count(const CpuFacts& cpu) {
  double cpus = cpu.usable_cpus.value_or(0);
  if (cpus <= 0) cpus = cpu.allowed.count();
  if (cpus <= 0) cpus = cpu.logical_cpus;
  // A rounding error of a quota's division must not cost a CPU.
  return std::max(1, static_cast<int>(std::floor(cpus + 1e-9)));
}

Result<std::vector<CpuSet>> partition_cpus(const CpuFacts& cpu, int nproc, int threads,
                                           std::string_view binding) {
  if (nproc < 1 || threads < 1 || nproc > 65536 || threads > 65536) {
    return Error{ErrorKind::usage,
                 fmt::format("cannot divide CPUs among {} ranks of {} threads", nproc, threads)};
  }
  if (cpu.allowed.empty()) {
    return Error{ErrorKind::unsupported, "the CPUs of this machine are unknown"};
  }
  const bool spread = binding == "spread";
  const bool numa = binding == "numa";
  if (binding == "none") return std::vector<CpuSet>(static_cast<std::size_t>(nproc), cpu.allowed);
  if (binding != "compact" && !spread && !numa) {
    return Error{ErrorKind::usage,
                 fmt::format("no binding '{}'; there are none, compact, spread, numa", binding)};
  }
  if (static_cast<long>(nproc) * threads > cpu.allowed.count()) {
    return too_few(cpu, nproc, threads, "binding=none lets ranks share CPUs");
  }
  return bind(cpu, Job{nproc, threads, spread, numa});
}

}  // namespace ocrtune
