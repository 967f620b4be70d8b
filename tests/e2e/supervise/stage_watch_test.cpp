#include "extras/supervise/stage_watch.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "extras/supervise/supervise.h"

namespace ocrtune {
namespace {

using testing::ElementsAre;

// What one look at this command says, whose progress lines are `lines`.
std::vector<HeldBack> seen_of(const std::string& script, const std::vector<std::string>& lines) {
  ProcessTree tree;
  ProcessOptions options;
  options.arguments = {"sh", "-c", script};
  EXPECT_TRUE(tree.start(options));
  StageTimes times;
  times.settle_seconds = 0.1;
  times.look_seconds = 1;
  StageWatch watch(tree, 2, {"nproc"}, times);
  for (const std::string& line : lines) watch.take_line(line);
  std::optional<std::vector<HeldBack>> held;
  for (int i = 0; i < 1000 && !held; ++i) {
    tree.scan();
    held = watch.look(steady_clock().now_seconds());
    steady_clock().sleep_seconds(0.02);
  }
  EXPECT_TRUE(held);
  EXPECT_FALSE(watch.look(steady_clock().now_seconds())) << "a pause follows";
  return held.value_or(std::vector<HeldBack>());
}

std::vector<ReasonCode> codes_of(const std::vector<HeldBack>& held) {
  std::vector<ReasonCode> codes;
  for (const HeldBack& one : held) codes.push_back(one.cause.code);
  return codes;
}

TEST(StageWatch, NamesTheOneThreadThatWorks) {
  const auto held = seen_of("while :; do :; done", {});
  ASSERT_THAT(codes_of(held), ElementsAre(ReasonCode::held_by_one_thread));
  EXPECT_TRUE(held[0].next.is(ReasonCode::next_in_command));
}

TEST(StageWatch, TheLogSaysWhatAStepWaitsForAndThatTheRateFell) {
  std::vector<std::string> lines;
  for (int i = 0; i < 40; ++i) {
    lines.push_back(fmt::format(
        "epoch: [1/9], loss: 1.1, avg_reader_cost: 1.5 s, avg_batch_cost: 2.0 s, ips: {} samples/s",
        i < 20 ? 64 : 20));
  }
  EXPECT_THAT(codes_of(seen_of("exec sleep 60", lines)),
              ElementsAre(ReasonCode::held_by_data, ReasonCode::rate_falls));
}

// As `ocrtune run` does it, with earlier looks.
TEST(StageWatch, ARunThatIsSupervisedIsToldWhatHoldsItBack) {
  const auto folder = make_temporary_directory("stages");
  ASSERT_TRUE(folder);
  SuperviseOptions options;
  options.run_directory = join_path(*folder, "run");
  options.setting.workload.command = {"sh", "-c", "timeout 3 sh -c 'while :; do :; done' || true"};
  const auto attempt = [](const AttemptPlan& plan, const AttemptListeners& given) {
    AttemptPlan early = plan;
    early.stages.settle_seconds = 0.2;
    early.stages.look_seconds = 1;
    return run_attempt(early, given);
  };
  std::vector<HeldBack> said;
  SuperviseListeners listeners;
  listeners.on_held = [&](const HeldBack& held) { said.push_back(held); };
  const auto end = supervise(options, attempt, listeners, steady_clock());
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_EQ(end->state, SuperviseState::done);
  EXPECT_THAT(codes_of(said), ElementsAre(ReasonCode::held_by_one_thread));
  ASSERT_EQ(end->attempts.size(), 1U);
  EXPECT_THAT(codes_of(end->attempts[0].held), ElementsAre(ReasonCode::held_by_one_thread));
  const auto journal = read_file(join_path(options.run_directory, "journal.jsonl"));
  ASSERT_TRUE(journal);
  EXPECT_THAT(*journal, testing::HasSubstr("held_by_one_thread"));
  EXPECT_TRUE(remove_tree(*folder));
}

TEST(StageWatch, NothingIsSaidOfAProgramThatRests) {
  EXPECT_TRUE(seen_of("exec sleep 60", {"epoch: [1/9], loss: 1.1"}).empty());
}

}  // namespace
}  // namespace ocrtune
