// A training that is killed at any byte of a save goes on from the last whole state, in whatever
// form its framework saves.
#include <cstdio>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "extras/supervise/supervise.h"

namespace ocrtune {
namespace {

class TornSave : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("torn_save"); }
  void TearDown() override { ASSERT_TRUE(remove_tree(folder_)); }

  SuperviseEnd train(int kill_step, int kill_byte) {
    const std::string work = join_path(folder_, std::to_string(kill_byte));
    states_ = join_path(work, "states");
    EXPECT_TRUE(make_directories(states_));
    SuperviseOptions options;
    options.setting.workload.command = {OCRTUNE_TORN_SAVER, GetParam(), states_,
                                        std::to_string(kill_step), std::to_string(kill_byte)};
    options.run_directory = join_path(work, "run");
    options.checkpoint = states_;
    options.resume_argument = "--resume {checkpoint}";
    options.pause_seconds = 1e-6;
    auto end = supervise(options, run_attempt, {}, steady_clock());
    EXPECT_TRUE(end) << end.error().what;
    losses_.clear();
    first_ = 0;
    for (std::size_t i = 1; i <= end->attempts.size(); ++i) {
      const std::string log =
          join_path(options.run_directory, "attempt-" + std::to_string(i) + ".log");
      first_ = 0;  // step of the last attempt
      for (const std::string& line : split(read_file(log).value_or(""), '\n')) {
        int step = 0;
        char loss[64];
        if (std::sscanf(line.c_str(), "global_step: %d, loss: %63s", &step, loss) != 2) continue;
        if (first_ == 0) first_ = step;
        losses_[step] = loss;
      }
    }
    return *end;
  }

  std::string folder_, states_;
  std::map<int, std::string> losses_;
  int first_ = 0;
};

TEST_P(TornSave, IsSteppedOverToTheLastWholeState) {
  EXPECT_EQ(train(0, 0).attempts.size(), 1u);
  const auto calm = losses_;
  ASSERT_EQ(calm.size(), 12u);
  int kills = 0;
  for (const int byte : {0, 3, 7, 12, 17, 24, 31, 45, 60, 74}) {
    const SuperviseEnd end = train(9, byte);
    EXPECT_EQ(end.state, SuperviseState::done) << byte << ": " << end.reason;
    EXPECT_EQ(losses_, calm) << byte;
    if (!path_exists(join_path(states_, "killed"))) continue;  // no save is so long
    kills += 1;
    EXPECT_EQ(end.attempts[0].ending, "killed by SIGKILL");
    EXPECT_GE(first_, 7) << byte << ": more is lost than what came after the last whole state";
  }
  EXPECT_GE(kills, 4);
}

// Killed in its first save, it has no state to go on from.
TEST_P(TornSave, TheFirstSaveIsNotResumedFrom) {
  const SuperviseEnd end = train(3, 2);
  EXPECT_EQ(end.state, SuperviseState::done) << end.reason;
  EXPECT_EQ(end.attempts.size(), 2u);
  EXPECT_EQ(first_, 1);
}

INSTANTIATE_TEST_SUITE_P(Plain, TornSave, ::testing::Values("paddle", "torch", "folder", "own"),
                         [](const auto& form) { return std::string(form.param); });

}  // namespace
}  // namespace ocrtune
