// What a host's agent is asked for a trial, and the one trial that the answers make.
#include "extras/hosts/host_trial.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_windows.h"

namespace ocrtune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HostTrial, GoesThroughJsonWithTheValuesOfInheritedVariables) {
  HostTrial trial;
  trial.workload.command = {"torchrun", "--nnodes={nodes}", "caf\xe9.py"};
  trial.workload.environment = {{"NCCL_DEBUG", "INFO"}};
  trial.workload.inherited = {"OCRTUNE_TEST_TOKEN", "OCRTUNE_TEST_UNSET"};
  trial.workload.per_rank = true;
  trial.workload.knobs = {"nodes", "batch"};
  trial.print_interval = 7;
  trial.knobs = *parse_knobs({"nodes=2", "nproc=3", "flavour=mild"});
  trial.limits.memory_limit_bytes = std::uint64_t{1} << 40;
  trial.place = host_place({"root@a", "b", "c"}, 1, 2);
  trial.place.master_port = "2345";
  ASSERT_EQ(::setenv("OCRTUNE_TEST_TOKEN", "secret", 1), 0);
  const auto again = parse_host_trial(host_trial_json(trial));
  ASSERT_EQ(::unsetenv("OCRTUNE_TEST_TOKEN"), 0);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->workload.command, trial.workload.command);
  // No value of the asking process's environment becomes a word of the command, which is stored.
  EXPECT_EQ(again->workload.environment, trial.workload.environment);
  EXPECT_THAT(again->workload.inherited, ElementsAre("OCRTUNE_TEST_TOKEN"));
  inherit(*again);
  EXPECT_STREQ(std::getenv("OCRTUNE_TEST_TOKEN"), "secret");
  ASSERT_EQ(::unsetenv("OCRTUNE_TEST_TOKEN"), 0);
  EXPECT_EQ(again->workload.per_rank, true);
  EXPECT_EQ(again->workload.knobs, trial.workload.knobs);
  EXPECT_EQ(again->print_interval, 7);
  EXPECT_EQ(again->knobs, trial.knobs);
  EXPECT_EQ(again->limits.memory_limit_bytes, trial.limits.memory_limit_bytes);
  EXPECT_EQ(again->place.master_addr, "a");
  EXPECT_EQ(again->place.master_port, "2345");
  EXPECT_THAT(again->place.hosts, ElementsAre("a", "b"));
  EXPECT_TRUE(again->follows());
  EXPECT_FALSE(again->guards);
  trial.guards = true;
  EXPECT_TRUE(parse_host_trial(host_trial_json(trial))->guards);
  EXPECT_FALSE(parse_host_trial("{}"));
}

AnsweredPart part(const char* host, Outcome outcome, const char* cause, int order,
                  std::uint64_t peak = 0) {
  AnsweredPart one;
  one.host = host;
  one.order = order;
  one.trial.outcome = outcome;
  one.trial.cause = cause;
  one.trial.reason = std::string("because of ") + cause;
  one.trial.peak_bytes = peak;
  return one;
}

TEST(HostTrial, APartGoesThroughJson) {
  Trial trial = part("a", Outcome::hung, "silence", 1, 5).trial;
  trial.samples = {Sample(), window_of(3.5, 2, "steal")};
  trial.latency.p99_seconds = 0.25;
  trial.network_bytes_per_second = 1.25e8;
  trial.threads.runtimes = {"OpenMP"};
  trial.log_tail = "bad \xff byte";
  const auto again = parse_part(part_json(trial));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->outcome, Outcome::hung);
  EXPECT_EQ(again->reason, trial.reason);
  ASSERT_EQ(again->samples.size(), 2U);
  EXPECT_EQ(again->samples[1].samples, 7);
  EXPECT_EQ(again->samples[1].samples_per_second(), 3.5);
  EXPECT_EQ(again->samples[1].interference.spoilt_by, "steal");
  EXPECT_EQ(again->latency.p99_seconds, 0.25);
  EXPECT_EQ(again->network_bytes_per_second, 1.25e8);
  EXPECT_EQ(again->threads.runtimes, trial.threads.runtimes);
  EXPECT_EQ(again->log_tail, trial.log_tail);
}

TEST(HostTrial, TheFirstHostHasTheSpeedAndTheFullestTheMemory) {
  std::vector<AnsweredPart> parts = {part("a", Outcome::ok, "", 2, 10),
                                     part("b", Outcome::ok, "", 1, 30)};
  parts[0].trial.samples_per_second = 100;
  parts[1].trial.placement = "0:0-1";
  parts[1].trial.lost_loss = "loss nan";
  const Trial merged = merge_parts(parts);
  EXPECT_TRUE(merged.ok());
  EXPECT_EQ(merged.samples_per_second, 100);
  EXPECT_EQ(merged.peak_bytes, 30U);
  EXPECT_EQ(merged.lost_loss, "loss nan");
  EXPECT_THAT(merged.evidence, Contains(HasSubstr("b: peak 30 B, ranks on CPUs 0:0-1")));
}

// As of a job that mpirun starts: the first host speaks of all, the others guard their memory.
TEST(HostTrial, WhatAlreadyNamesAHostIsNotNamedAgain) {
  AnsweredPart first = part("a", Outcome::ok, "", 2, 100);
  first.trial.evidence = {"b: of a step, computing 1 ms", "own"};
  first.trial.reproduce = "mpirun train";
  AnsweredPart guard = part("b", Outcome::ok, "", 1);
  guard.trial.evidence = {"its available memory fell"};
  const Trial merged = merge_parts({first, guard});
  EXPECT_THAT(merged.evidence, ElementsAre("a: peak 100 B", "b: of a step, computing 1 ms",
                                           "a: own", "b: its available memory fell"));
  EXPECT_EQ(merged.reproduce, "mpirun train");
  guard.trial = part("b", Outcome::out_of_memory, "host", 1).trial;
  EXPECT_EQ(merge_parts({first, guard}).reason, "b: because of host");
}

TEST(HostTrial, AFailureIsNamedByItsHost) {
  // What was told to end, or ended after it, only repeats that another host failed.
  const Trial crashed =
      merge_parts({part("a", Outcome::skipped, "interrupted", 3),
                   part("b", Outcome::crashed, "exit", 1), part("c", Outcome::crashed, "peer", 2)});
  EXPECT_EQ(crashed.outcome, Outcome::crashed);
  EXPECT_EQ(crashed.reason, "b: because of exit");
  EXPECT_EQ(crashed.samples_per_second, 0);
  // Memory first: the other hosts notice its end before it is told.
  EXPECT_EQ(merge_parts({part("a", Outcome::crashed, "exit", 1),
                         part("b", Outcome::out_of_memory, "limit", 2)})
                .reason,
            "b: because of limit");
  std::vector<AnsweredPart> lost = {part("a", Outcome::crashed, "exit", 1),
                                    part("b", Outcome::crashed, "host_lost", 2)};
  lost[1].lost = true;
  EXPECT_EQ(merge_parts(lost).cause, "host_lost");
  // A host of which nothing was to be read may end before the first one.
  EXPECT_TRUE(
      merge_parts({part("a", Outcome::ok, "", 2), part("b", Outcome::crashed, "ended", 1)}).ok());
  EXPECT_EQ(merge_parts({part("a", Outcome::skipped, "interrupted", 2),
                         part("b", Outcome::crashed, "ended", 1)})
                .reason,
            "b: because of ended")
      << "the first host was only told to end";
  EXPECT_EQ(merge_parts({part("a", Outcome::timed_out, "no_metric", 2),
                         part("b", Outcome::crashed, "no_metric", 1)})
                .reason,
            "a: because of no_metric");
}

}  // namespace
}  // namespace ocrtune
