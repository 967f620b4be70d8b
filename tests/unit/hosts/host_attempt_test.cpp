#include "extras/hosts/host_attempt.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::ElementsAre;

EndedPart ended(const char* host, int code, double seconds, int signal = 0) {
  EndedPart part{host, {}};
  part.end.exit = {code, signal, 0, 0};
  part.end.last.seconds = seconds;
  return part;
}

EndedPart stopped(const char* host, AttemptStop stop, double seconds, const char* why) {
  EndedPart part = ended(host, 0, seconds, SIGTERM);
  part.end.stop = stop;
  part.end.evidence.killed_why = why;
  return part;
}

TEST(MergeEnds, TheFirstThatFailedIsNamed) {
  EXPECT_EQ(merge_ends({ended("a", 0, 9), ended("b", 0, 9)}).text(), "exit code 0");
  EXPECT_TRUE(merge_ends({ended("a", 0, 9), ended("b", 0, 9)}).clean());
  EXPECT_EQ(merge_ends({ended("a", 1, 5.2), ended("b", 7, 5.1)}).text(), "b: exit code 7");
  EXPECT_EQ(merge_ends({ended("a", 1, 5), ended("b", 0, 6, SIGKILL)}).text(),
            "b: killed by SIGKILL");
  EXPECT_EQ(merge_ends({stopped("a", AttemptStop::interrupted, 3, "interrupted"),
                        stopped("b", AttemptStop::host_lost, 12, "silent for 10 s")})
                .text(),
            "b: silent for 10 s");
  EXPECT_EQ(
      merge_ends({stopped("a", AttemptStop::memory, 8, "memory 9 GiB"), ended("b", 1, 7)}).text(),
      "a: stopped: memory 9 GiB");
}

TEST(MergeEnds, MemoryIsTheFullestHostsAndWhatWasSeenIsNamed) {
  EndedPart a = ended("a", 0, 9), b = ended("b", 1, 9);
  a.end.peak_bytes = 5;
  b.end.peak_bytes = 7;
  a.end.last.progress_lines = 30;
  b.end.last.shm_bytes = 3;
  b.end.last.shm_limit_bytes = 4;
  b.end.links_down = {"eth0"};
  a.end.last.bytes = 200;
  a.end.last.available_bytes = 800;
  b.end.last.bytes = 100;
  b.end.last.available_bytes = 20;
  const AttemptEnd end = merge_ends({a, b});
  EXPECT_EQ(end.peak_bytes, 7U);
  EXPECT_EQ(end.last.progress_lines, 30);
  EXPECT_EQ(end.last.shm_limit_bytes, 4U);
  EXPECT_EQ(end.last.bytes, 100U) << "of the host that has the least left";
  EXPECT_EQ(end.last.available_bytes, 20U);
  EXPECT_THAT(end.links_down, ElementsAre("b: eth0"));
  EXPECT_EQ(end.text(), "b: exit code 1; network interface down: b: eth0");
}

TEST(HostAttempt, BrokenRequestsAreErrors) {
  for (const char* text : {"", "{}", R"({"ask": "attempt", "plan": {}})", "[1]"}) {
    EXPECT_FALSE(parse_host_attempt(text, Machine())) << text;
  }
}

}  // namespace
}  // namespace ocrtune
