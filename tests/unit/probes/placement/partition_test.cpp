// The partitioner by its invariants, on machines of many shapes.
#include "probes/placement/partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

// A regular machine; CPU numbers as Linux gives them: first threads, then all second ones.
CpuFacts box(int packages, int numa_each, int l3_each, int cores_each, int smt) {
  CpuFacts cpu;
  const int cores = packages * numa_each * l3_each * cores_each;
  std::vector<int> all;
  for (int core = 0; core < cores; ++core) {
    for (int thread = 0; thread < smt; ++thread) {
      CpuPlace place;
      place.cpu = core + thread * cores;
      place.core = core;
      place.l3 = core / cores_each;
      place.numa = place.l3 / l3_each;
      place.package = place.numa / numa_each;
      place.smt_index = thread;
      cpu.places.push_back(place);
      all.push_back(place.cpu);
    }
  }
  cpu.allowed = CpuSet(all);
  return cpu;
}

// A laptop: P cores with two threads each (neighbouring numbers), then E cores; one L3.
CpuFacts hybrid(int fast_cores, int slow_cores) {
  CpuFacts cpu;
  const int fast_cpus = 2 * fast_cores;
  for (int id = 0; id < fast_cpus + slow_cores; ++id) {
    const bool fast = id < fast_cpus;
    CpuPlace place;
    place.cpu = id;
    place.core = fast ? id / 2 : id - fast_cores;
    place.l3 = place.numa = place.package = 0;
    place.smt_index = fast ? id % 2 : 0;
    place.kind = fast ? 1 : 0;
    cpu.places.push_back(place);
  }
  cpu.allowed = CpuSet::range(0, fast_cpus + slow_cores - 1);
  return cpu;
}

CpuPlace place_of(const CpuFacts& cpu, int id) {
  return *std::find_if(cpu.places.begin(), cpu.places.end(),
                       [&](const CpuPlace& place) { return place.cpu == id; });
}

int distinct(const CpuFacts& cpu, const CpuSet& mask, int CpuPlace::*field) {
  std::set<int> seen;
  for (int id : mask.cpus()) seen.insert(place_of(cpu, id).*field);
  return static_cast<int>(seen.size());
}

int core_count(const CpuFacts& cpu) { return distinct(cpu, cpu.allowed, &CpuPlace::core); }

// What every division must hold, whatever the machine.
void expect_slo(const CpuFacts& cpu, const std::vector<CpuSet>& masks, int nproc, int threads,
                const std::string& label) {
  ASSERT_EQ(masks.size(), static_cast<std::size_t>(nproc)) << label;
  std::map<int, int> rank_of_cpu;
  std::map<int, std::set<int>> ranks_of_core;
  for (int rank = 0; rank < nproc; ++rank) {
    const CpuSet& mask = masks[static_cast<std::size_t>(rank)];
    EXPECT_GE(mask.count(), threads) << label << " rank " << rank;
    EXPECT_EQ(mask.intersect(cpu.allowed), mask) << label << " leaves the allowed CPUs";
    for (int id : mask.cpus()) {
      EXPECT_TRUE(rank_of_cpu.emplace(id, rank).second) << label << " shares CPU " << id;
      ranks_of_core[place_of(cpu, id).core].insert(rank);
    }
  }
  const bool cores_left = static_cast<int>(ranks_of_core.size()) < core_count(cpu);
  const bool cores_suffice = nproc * threads <= core_count(cpu);
  if (!cores_left && !cores_suffice) return;
  for (const auto& [core, ranks] : ranks_of_core) {
    EXPECT_EQ(ranks.size(), 1U) << label << " shares core " << core;
  }
}

struct Shape {
  const char* name;
  CpuFacts cpu;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all = {{"two CPUs", box(1, 1, 1, 2, 1)},
                            {"two sockets of 16, SMT", box(2, 1, 1, 16, 2)},
                            {"EPYC NPS4", box(1, 4, 2, 4, 2)},
                            {"16 cores in one L3", box(1, 1, 1, 16, 1)},
                            {"four threads a core", box(1, 2, 1, 4, 4)},
                            {"hybrid", hybrid(6, 8)},
                            {"hybrid, few E cores", hybrid(8, 2)}};
  CpuFacts share = box(2, 1, 2, 8, 2);  // a Slurm share that cuts through cores and groups
  share.allowed = CpuSet::parse("3-9,11,30,35-41").value();
  all.push_back({"odd share", share});
  return all;
}

TEST(Partition, HoldsItsInvariantsOnEveryShape) {
  int divided = 0;
  for (const Shape& shape : shapes()) {
    const int most = shape.cpu.allowed.count();
    for (int nproc = 1; nproc <= most; ++nproc) {
      for (int threads = 1; nproc * threads <= most; ++threads) {
        for (const char* binding : {"compact", "spread", "numa"}) {
          const auto masks = partition_cpus(shape.cpu, nproc, threads, binding);
          const std::string label = std::string(shape.name) + " " + binding + " " +
                                    std::to_string(nproc) + "x" + std::to_string(threads);
          if (!masks) {
            EXPECT_STREQ(binding, "numa") << label << ": " << masks.error().what;
            continue;
          }
          expect_slo(shape.cpu, *masks, nproc, threads, label);
          if (std::string(binding) == "numa") {
            for (const CpuSet& mask : *masks) {
              EXPECT_EQ(distinct(shape.cpu, mask, &CpuPlace::numa), 1) << label;
            }
          }
          ++divided;
        }
      }
    }
  }
  EXPECT_GT(divided, 1000);
}

TEST(Partition, NeverCrossesAnL3GroupThatHasRoom) {
  const CpuFacts cpu = box(2, 2, 2, 4, 2);  // 8 groups of 4 cores
  for (int threads = 1; threads <= 4; ++threads) {
    for (int nproc = 1; nproc <= 8 * (4 / threads); ++nproc) {
      for (const char* binding : {"compact", "spread", "numa"}) {
        const auto masks = partition_cpus(cpu, nproc, threads, binding);
        ASSERT_TRUE(masks) << masks.error().what;
        for (const CpuSet& mask : *masks) {
          EXPECT_EQ(distinct(cpu, mask, &CpuPlace::l3), 1)
              << binding << " " << nproc << "x" << threads << ": " << mask.text();
        }
      }
    }
  }
}

TEST(Partition, ThreeRanksOnSixteenCoresGetEqualShares) {
  const CpuFacts cpu = box(1, 1, 1, 16, 1);
  const auto masks = partition_cpus(cpu, 3, 5, "compact");
  ASSERT_TRUE(masks);
  EXPECT_EQ((*masks)[0].text(), "0-4");
  EXPECT_EQ((*masks)[1].text(), "5-9");
  EXPECT_EQ((*masks)[2].text(), "10-14");
}

TEST(Partition, NumaHandsOutTheCoresThatAreLeft) {
  const CpuFacts cpu = box(1, 1, 1, 16, 1);
  const auto masks = partition_cpus(cpu, 3, 5, "numa");
  ASSERT_TRUE(masks);
  int cpus = 0;
  for (const CpuSet& mask : *masks) {
    EXPECT_GE(mask.count(), 5);
    EXPECT_LE(mask.count(), 6);
    cpus += mask.count();
  }
  EXPECT_EQ(cpus, 16);
}

TEST(Partition, SpreadUsesBothSocketsAndCompactOne) {
  const CpuFacts cpu = box(2, 1, 1, 16, 2);
  const auto spread = partition_cpus(cpu, 2, 4, "spread");
  const auto compact = partition_cpus(cpu, 2, 4, "compact");
  ASSERT_TRUE(spread && compact);
  EXPECT_NE(place_of(cpu, (*spread)[0].cpus()[0]).package,
            place_of(cpu, (*spread)[1].cpus()[0]).package);
  EXPECT_EQ((*compact)[0].text(), "0-3,32-35");  // whole cores, both threads
  EXPECT_EQ((*compact)[1].text(), "4-7,36-39");
}

TEST(Partition, HybridStaysOnTheFastCoresWhileTheySuffice) {
  const CpuFacts cpu = hybrid(6, 8);
  const auto fast = partition_cpus(cpu, 3, 2, "compact");
  ASSERT_TRUE(fast);
  for (const CpuSet& mask : *fast) EXPECT_LT(mask.cpus().back(), 12) << mask.text();
  const auto slow = partition_cpus(cpu, 2, 4, "compact");  // 8 cores: only the E cores suffice
  ASSERT_TRUE(slow);
  for (const CpuSet& mask : *slow) EXPECT_GE(mask.cpus().front(), 12) << mask.text();
}

TEST(Partition, CpusOfUnknownPlaceAreCoresOfTheirOwn) {
  CpuFacts cpu;
  cpu.allowed = CpuSet::range(4, 7);
  const auto masks = partition_cpus(cpu, 2, 2, "spread");
  ASSERT_TRUE(masks);
  EXPECT_EQ((*masks)[0].text(), "4-5");
  EXPECT_EQ((*masks)[1].text(), "6-7");
}

TEST(Partition, NoneLetsEveryRankUseAllEvenOversubscribed) {
  const CpuFacts cpu = box(1, 1, 1, 2, 1);
  const auto masks = partition_cpus(cpu, 3, 4, "none");
  ASSERT_TRUE(masks);
  for (const CpuSet& mask : *masks) EXPECT_EQ(mask.text(), "0-1");
}

TEST(Partition, RefusesWithTheNumbers) {
  const CpuFacts cpu = box(1, 2, 1, 3, 1);
  const auto many = partition_cpus(cpu, 4, 2, "compact");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().kind, ErrorKind::unsupported);
  EXPECT_NE(many.error().what.find("need 8 CPUs of the 6 allowed"), std::string::npos)
      << many.error().what;
  const auto crossing = partition_cpus(cpu, 1, 4, "numa");
  ASSERT_FALSE(crossing);
  EXPECT_NE(crossing.error().what.find("NUMA node"), std::string::npos);
  EXPECT_EQ(partition_cpus(cpu, 0, 1, "compact").error().kind, ErrorKind::usage);
  EXPECT_EQ(partition_cpus(cpu, 1, 0, "compact").error().kind, ErrorKind::usage);
  EXPECT_EQ(partition_cpus(cpu, 1, 1, "compat").error().kind, ErrorKind::usage);
  EXPECT_EQ(partition_cpus(CpuFacts(), 1, 1, "compact").error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace ocrtune
