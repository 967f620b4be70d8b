#include "diagnosis/context/node_report.h"

#include <string>

#include <gtest/gtest.h>

#include "base/text.h"
#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kKib = 1024;

std::vector<NodeShortage> shortages_in(const std::string& text) {
  NodeReport report;
  std::int64_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    number += 1;
    if (report.open() || NodeReport::begins(line)) report.take_line(line, number);
  }
  return report.shortages();
}

// Linux 6.1, numactl --membind=1: the zones of node 1 alone, and the free pages of both nodes.
std::string bound_report(const std::string& constraint) {
  return "[8121.402117] python3 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE|"
         "__GFP_COMP|__GFP_ZERO), order=0, oom_score_adj=0\n"
         "[8121.402125] CPU: 29 PID: 4410 Comm: python3 Not tainted 6.1.0-18-amd64 #1\n"
         "[8121.402171] Mem-Info:\n"
         "[8121.402183] active_anon:801 inactive_anon:16120034 isolated_anon:0\n"
         "                active_file:11 inactive_file:32 isolated_file:0\n"
         "                mapped:2210 shmem:1024 pagetables:33110\n"
         "                free:16040211 free_pcp:95 free_cma:0\n"
         "[8121.402191] Node 1 active_anon:1204kB inactive_anon:64311020kB active_file:44kB "
         "inactive_file:128kB unevictable:0kB shmem:3072kB writeback_tmp:0kB "
         "all_unreclaimable? yes\n"
         "[8121.402198] Node 1 Normal free:61340kB boost:0kB min:61472kB low:127396kB "
         "high:193320kB reserved_highatomic:0KB present:67108864kB managed:66004992kB "
         "free_pcp:380kB local_pcp:0kB free_cma:0kB\n"
         "[8121.402206] lowmem_reserve[]: 0 0 0 0 0\n"
         "[8121.402210] Node 1 Normal: 311*4kB (UME) 98*8kB (UM) 3*16kB (U) 0*4096kB = 61340kB\n"
         "[8121.402222] Node 1 hugepages_total=0 hugepages_free=0 hugepages_surp=0 "
         "hugepages_size=2048kB\n"
         "[8121.402301] 33519616 pages RAM\n"
         "[8121.403010] oom-kill:constraint=CONSTRAINT_" +
         constraint +
         ",task=python3,pid=4410,uid=1000\n"
         "[8121.403102] Out of memory: Killed process 4410 (python3) total-vm:70021180kB, "
         "anon-rss:64210020kB, file-rss:9120kB, shmem-rss:0kB, UID:1000 pgtables:126012kB "
         "oom_score_adj:0\n";
}

TEST(NodeReport, WhatIsFreeOnTheOtherNodesIsTheSumWithoutThoseThatAreListed) {
  const auto found =
      shortages_in(bound_report("MEMORY_POLICY,nodemask=1,cpuset=/,mems_allowed=0-1,global_oom"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].full.text(), "1");
  EXPECT_EQ(found[0].full_free_bytes, 61340 * kKib);
  EXPECT_TRUE(found[0].others.empty());
  EXPECT_EQ(found[0].others_free_bytes, (16040211ull * 4 - 61340) * kKib);
  EXPECT_EQ(found[0].line, 14);
}

// 64 KiB pages, a cpuset of two of four nodes, and zones that keep a reserve.
TEST(NodeReport, ACpusetSaysItsNodesAndThePageItsSize) {
  const auto found = shortages_in(
      "kernel: ocr-worker invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0\n"
      "kernel:  free:1500000 free_pcp:0 free_cma:512\n"
      "kernel: Node 0 DMA free:1048576kB min:1024kB low:2048kB high:3072kB free_pcp:0kB\n"
      "kernel: Node 0 Normal free:40960kB min:45056kB low:90112kB high:135168kB free_pcp:64kB\n"
      "kernel: Node 2 Normal free:41984kB min:45056kB low:90112kB high:135168kB free_pcp:0kB\n"
      "kernel: Node 0 DMA: 3*64kB (UM) 5*128kB (M) = 1048576kB\n"
      "kernel: oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=job_77,"
      "mems_allowed=0,2,global_oom,task_memcg=/slurm/job_77,task=ocr-worker,pid=91,uid=0\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].full.text(), "0,2");
  EXPECT_EQ(found[0].full_free_bytes, (40960 + 41984) * kKib);
  EXPECT_EQ(found[0].others_free_bytes, (1500000ull * 64 - 1048576 - 40960 - 41984) * kKib);
}

TEST(NodeReport, NodesThatAreListedAreNamed) {
  const auto found = shortages_in(
      "[1] x invoked oom-killer: gfp_mask=0x1100dca(GFP_HIGHUSER_MOVABLE|__GFP_ZERO), order=0\n"
      "[1] Node 0 DMA32 free:1843200kB boost:0kB min:1532kB\n"
      "[1] Node 0 Normal free:402110244kB boost:0kB min:45056kB\n"
      "[1] Node 1 Normal free:44820kB boost:0kB min:45056kB\n"
      "[1] oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=1,cpuset=/,mems_allowed=0-1,"
      "task=x,pid=5,uid=0\n"
      "[2] y invoked oom-killer: gfp_mask=0x1100dca(GFP_HIGHUSER_MOVABLE|__GFP_ZERO), order=0\n"
      "[2] oom-kill:constraint=CONSTRAINT_MEMORY_POLICY,nodemask=0,cpuset=/,mems_allowed=0-1,"
      "task=y,pid=6,uid=0\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].others.text(), "0");
  EXPECT_EQ(found[0].others_free_bytes, 402110244 * kKib);
  EXPECT_EQ(found[1].full.text(), "0");
  EXPECT_EQ(found[1].full_free_bytes, 0u) << "figures of another kill";
}

TEST(NodeReport, KillsOfUnboundProcessesAndHostileLinesSayNothing) {
  EXPECT_TRUE(shortages_in(bound_report("NONE,nodemask=(null),cpuset=/,mems_allowed=0-1")).empty());
  EXPECT_TRUE(shortages_in(bound_report("MEMCG,nodemask=(null),cpuset=/,mems_allowed=1")).empty());
  EXPECT_TRUE(
      shortages_in(bound_report("MEMORY_POLICY,nodemask=9-1,cpuset=/,mems_allowed=0")).empty());
  EXPECT_TRUE(shortages_in("x invoked oom-killer:\nNode 99999999999 Normal free:9kB\n"
                           " free:99999999999999999999 free_pcp:0\noom-kill:constraint=\n")
                  .empty());
}

TEST(NodeReport, TheDiagnosisSaysWhichNodeWasFullAndWhatWasLeft) {
  FailureEvidence killed;
  killed.exit_code = 137;
  const auto first = [&](const std::string& constraint) {
    return diagnose({scan_text("run.log", "epoch: [1/9], global_step: 80, loss: 2.1\nKilled\n"),
                     scan_text("dmesg", bound_report(constraint))},
                    killed)
        .causes.at(0);
  };
  for (const char* bound : {"MEMORY_POLICY,nodemask=1,cpuset=/,mems_allowed=0-1,global_oom",
                            "CPUSET,nodemask=(null),cpuset=pod,mems_allowed=1,global_oom"}) {
    const Cause cause = first(bound);
    EXPECT_STREQ(cause.row->name, "numa_node_full");
    EXPECT_GE(cause.confidence, 0.95);
    EXPECT_EQ(cause.evidence[0].file, kReason);
    EXPECT_EQ(cause.evidence[0].text,
              "NUMA node 1 was full, 59.9 MiB free; 61.1 GiB free on the other nodes");
  }
  const Cause unbound = first("NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom");
  EXPECT_STREQ(unbound.row->name, "host_out_of_memory");
}

// Somebody else's kill on a full node leaves the run's own end open.
TEST(NodeReport, TheKillOfAnotherProgramIsNotTheRuns) {
  std::string other = bound_report("MEMORY_POLICY,nodemask=1,cpuset=/,mems_allowed=0-1,global_oom");
  for (std::size_t at; (at = other.find("python3")) != std::string::npos;) {
    other.replace(at, 7, "mysqld");
  }
  const Diagnosis diagnosis =
      diagnose({scan_text("run.log", "KeyError: 'Train'\n"), scan_text("dmesg", other)}, {});
  for (const Cause& cause : diagnosis.causes) {
    if (cause.row->name != std::string_view("numa_node_full")) continue;
    EXPECT_LT(cause.confidence, 0.3);
    for (const EvidenceLine& line : cause.evidence) EXPECT_NE(line.file, kReason);
  }
}

}  // namespace
}  // namespace ocrtune
