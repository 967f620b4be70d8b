#include "diagnosis/failure_evidence.h"

#include <csignal>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(ExitStatus, AllDialectsOfASignal) {
  for (std::int64_t code : {-9, 137, 247}) {
    EXPECT_EQ(decode_exit(code).signal, SIGKILL) << code;
  }
  EXPECT_EQ(decode_exit(-7).signal, SIGBUS);
  EXPECT_EQ(decode_exit(139).signal, SIGSEGV);
}

TEST(ExitStatus, PlainCodesAreNoSignals) {
  for (std::int64_t code : {0, 1, 2, 124, 126, 127, 128, 200, 255}) {
    EXPECT_FALSE(decode_exit(code).signal) << code;
  }
}

TEST(Evidence, RoundTrip) {
  FailureEvidence evidence;
  evidence.exit_code = -9;
  evidence.killed_by_us = true;
  evidence.killed_why = "silent";
  evidence.cgroup_oom_kills = 1;
  evidence.cgroup_limit_hits = 0;
  evidence.bound_nodes = "0,2";
  evidence.peak_bytes = 5ULL << 30;
  evidence.growth = GrowthEvidence{1e6, 0.9e6, 1.1e6, 60};
  const auto again = parse_evidence(evidence_json(evidence));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->exit_code, -9);
  EXPECT_TRUE(again->killed_by_us);
  EXPECT_EQ(again->killed_why, "silent");
  EXPECT_EQ(again->cgroup_limit_hits, 0);
  EXPECT_EQ(again->bound_nodes, "0,2");
  EXPECT_EQ(again->peak_bytes, 5ULL << 30);
  EXPECT_FALSE(again->limit_bytes);
  EXPECT_EQ(again->growth->high, 1.1e6);
}

TEST(Evidence, DamagedFilesAreErrors) {
  EXPECT_FALSE(parse_evidence(""));
  EXPECT_FALSE(parse_evidence("[1,2]"));
  EXPECT_FALSE(parse_evidence("{\"exit_code\":"));
  EXPECT_FALSE(parse_evidence("{\"exit_code\": \"nine\"}")->exit_code);
}

}  // namespace
}  // namespace ocrtune
