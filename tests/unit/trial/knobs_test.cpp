#include "trial/knobs.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "trial/malloc_environment.h"

namespace ocrtune {
namespace {

TEST(KnobsTest, TextAndValueGoBothWays) {
  for (const KnobRow& row : knob_table()) {
    Knobs knobs;
    const std::string text = knob_text(knobs, row.name);
    EXPECT_TRUE(set_knob(knobs, row.name, text)) << row.name;
    EXPECT_EQ(knobs, Knobs()) << row.name;
  }
  const Knobs parsed = *parse_knobs({"nproc=2", "batch=64", "binding=compact", "flavour=mild"});
  EXPECT_EQ(knobs_text(parsed), "nproc=2 threads=1 batch=64 binding=compact flavour=mild");
}

TEST(KnobsTest, WhatDoesNotReachTheCommandIsAbsent) {
  Knobs knobs;
  knobs.nproc = 2;
  knobs.absent = {"batch"};
  EXPECT_EQ(knobs_text(knobs), "nproc=2 threads=1");
  knobs.absent = {"nproc", "threads"};
  EXPECT_EQ(knobs_text(knobs), "batch=16");
  EXPECT_EQ(knobs_text(knobs, {"batch"}), "as typed");
  Knobs other = knobs;
  other.absent.clear();
  EXPECT_NE(other, knobs);
}

TEST(KnobsTest, RefusesWhatTheTableDoesNotAllow) {
  Knobs knobs;
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"nproc", "0"},
                                                        {"nproc", "many"},
                                                        {"precision", "fp8"},
                                                        {"workers", "-1"},
                                                        {"binding", ""},
                                                        {"batch", "1.5"}}) {
    const Status status = set_knob(knobs, name, value);
    ASSERT_FALSE(status) << name;
    EXPECT_EQ(status.error().kind, ErrorKind::usage);
    EXPECT_NE(status.error().what.find(name), std::string::npos);
  }
  EXPECT_EQ(knobs, Knobs());
  EXPECT_FALSE(parse_knobs({"nproc"}));
}

TEST(KnobsTest, EnvironmentOfTheRanks) {
  const Knobs knobs = *parse_knobs({"threads=4", "malloc=arena1", "p2p=off", "ctas=4"});
  const std::vector<std::pair<std::string, std::string>> expected = {{"OMP_NUM_THREADS", "4"},
                                                                     {"MALLOC_ARENA_MAX", "1"},
                                                                     {"NCCL_P2P_DISABLE", "1"},
                                                                     {"NCCL_MIN_CTAS", "4"},
                                                                     {"NCCL_MAX_CTAS", "4"}};
  EXPECT_EQ(knob_environment(knobs), expected);
}

TEST(KnobsTest, AnAllocatorComesBehindWhatIsPreloadedAlready) {
  const std::string library = preload_of("jemalloc");
  EXPECT_NE(library.find("libjemalloc.so.2"), std::string::npos);
  ASSERT_EQ(::setenv("LD_PRELOAD", "/opt/trace.so", 1), 0);
  const auto both = malloc_environment("jemalloc");
  ASSERT_EQ(::unsetenv("LD_PRELOAD"), 0);
  ASSERT_EQ(both.size(), 1U);
  EXPECT_EQ(both[0].second, "/opt/trace.so:" + library);
  EXPECT_EQ(malloc_environment("jemalloc")[0].second, library);
  EXPECT_TRUE(malloc_environment("default").empty());
  EXPECT_EQ(malloc_environment("keep").size(), 2U);
  EXPECT_EQ(preload_of("keep"), "");
}

}  // namespace
}  // namespace ocrtune
