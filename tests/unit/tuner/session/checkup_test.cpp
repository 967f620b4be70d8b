// What doctor says of a machine and of one trial.
#include "tuner/session/checkup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using State = Check::State;

constexpr std::uint64_t kGiB = 1ULL << 30;

Trial good_trial() {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.samples.resize(2);
  trial.samples[0].steps = 3;
  trial.samples[1].steps = 4;
  trial.samples_per_second = 100;
  trial.peak_bytes = kGiB;
  trial.seconds = 10;
  trial.start_seconds = 4;
  return trial;
}

SearchRequest search_with(double budget_seconds) {
  SearchRequest search;
  search.budget_seconds = budget_seconds;
  search.memory_limit_bytes = 4 * kGiB;
  return search;
}

TEST(Checkup, GoodTrialPassesEverything) {
  const auto checks = step_checks(good_trial(), Job(), search_with(300), Machine(), 40);
  ASSERT_EQ(checks.size(), 3U);
  for (const Check& check : checks) EXPECT_EQ(check.state, State::ok) << check.text;
  EXPECT_THAT(checks[0].text, HasSubstr("over 7 steps"));
  EXPECT_THAT(checks[2].text, HasSubstr("about 30 trials; there are 40 settings"));
}

TEST(Checkup, FailedTrialIsTheOnlyLineAndHasItsReason) {
  Trial trial;
  trial.outcome = Outcome::crashed;
  trial.reason = "exit code 1";
  const auto checks = step_checks(trial, Job(), search_with(300), Machine(), 40);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].state, State::fails);
  EXPECT_THAT(checks[0].text, HasSubstr("crashed: exit code 1"));
}

TEST(Checkup, ANameThatDoesNotResolveIsAWarningWithTheWayOut) {
  EXPECT_EQ(own_name_check("node7", "10.0.0.7").state, State::ok);
  const Check check = own_name_check("node7", "");
  EXPECT_EQ(check.state, State::warning);
  EXPECT_THAT(check.text, HasSubstr("/etc/hosts: 127.0.0.1 node7"));
}

TEST(Checkup, MemoryBeyondTheMarginFails) {
  Trial trial = good_trial();
  trial.peak_bytes = 3900ULL << 20;
  EXPECT_EQ(step_checks(trial, Job(), search_with(300), Machine(), 40)[1].state, State::fails);
  trial.peak_bytes = 0;
  EXPECT_EQ(step_checks(trial, Job(), search_with(300), Machine(), 40)[1].state, State::warning);
}

TEST(Checkup, BudgetOfFewTrialsIsAWarningUnlessThatIsAllThereIs) {
  const auto few = step_checks(good_trial(), Job(), search_with(20), Machine(), 40)[2];
  EXPECT_EQ(few.state, State::warning);
  EXPECT_THAT(few.text, HasSubstr("give --budget 4m"));
  EXPECT_EQ(step_checks(good_trial(), Job(), search_with(20), Machine(), 2)[2].state, State::ok);
}

TEST(Checkup, EveryWarningOfTheMachineIsALine) {
  Machine machine;
  machine.warnings = {"one", "two"};
  const auto checks = machine_checks(machine);
  ASSERT_EQ(checks.size(), 3U);
  EXPECT_EQ(checks[0].state, State::ok);
  EXPECT_EQ(checks[2].text, "two");
}

}  // namespace
}  // namespace ocrtune
