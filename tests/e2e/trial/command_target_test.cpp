#include "trial/workloads/service/command_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/workloads/service/load_generator.h"

namespace ocrtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// sed as a server: every request is answered with its number.
std::vector<std::string> sed(const std::string& answer) {
  return {"sed", "-u", "s/.*\"id\": *\\([0-9]*\\).*/" + answer + "/"};
}

TEST(CommandTarget, AnswersOverStandardInputAndOutput) {
  auto target = CommandTarget::start({sed("{\"id\": \\1}"), {"a.png", "b.png"}});
  ASSERT_TRUE(target.ok()) << target.error().what;
  LoadPlan plan;
  plan.max_requests = 200;
  plan.kind_weights = {1, 1};
  const LoadResult result = run_load(**target, steady_clock(), Arrivals::poisson(2000, 1), plan);
  EXPECT_EQ(result.completed, 200);
  EXPECT_EQ(result.failed, 0);
  EXPECT_EQ(result.unanswered, 0);
}

TEST(CommandTarget, PassesOverLinesThatAreNoAnswers) {
  auto target = CommandTarget::start({sed("loading\\n{\"id\": 99999}\\n{\"id\": \\1}"), {}});
  ASSERT_TRUE(target.ok()) << target.error().what;
  (*target)->start(5, 0);
  std::vector<Completion> finished;
  (*target)->collect(steady_clock().now_seconds() + 10, finished);
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].request, 5u);
  EXPECT_TRUE(finished[0].ok);
}

TEST(CommandTarget, QuotesTheErrorOfTheCommand) {
  const auto target =
      CommandTarget::start({sed("{\"id\": \\1, \"error\": \"no such image\"}"), {}});
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().what, "no such image");
}

TEST(CommandTarget, SaysHowACommandEnded) {
  const auto target =
      CommandTarget::start({{"sh", "-c", "echo cannot load model >&2; exit 3"}, {}});
  ASSERT_FALSE(target.ok());
  EXPECT_THAT(target.error().what, HasSubstr("exit code 3"));
  EXPECT_THAT(target.error().what, HasSubstr("cannot load model"));
}

TEST(CommandTarget, ADeathMidwayFailsWhatWaits) {
  // Answers two requests and leaves.
  auto target = CommandTarget::start(
      {{"sed", "-u", "-e", "s/.*\"id\": *\\([0-9]*\\).*/{\"id\": \\1}/", "-e", "2q"}, {}});
  ASSERT_TRUE(target.ok()) << target.error().what;
  std::vector<Completion> finished;
  const double end = steady_clock().now_seconds() + 10;
  for (std::uint64_t i = 0; i < 3; ++i) (*target)->start(i, 0);
  while (finished.size() < 3 && steady_clock().now_seconds() < end) {
    (*target)->collect(end, finished);
  }
  ASSERT_EQ(finished.size(), 3u);
  EXPECT_TRUE(finished[0].ok);
  EXPECT_FALSE(finished[1].ok);
  EXPECT_FALSE(finished[2].ok);
  EXPECT_THAT((*target)->failure(), HasSubstr("the command ended"));
}

TEST(CommandTarget, RefusesWhatCannotStart) {
  EXPECT_EQ(CommandTarget::start({{}, {}}).error().kind, ErrorKind::usage);
  EXPECT_EQ(CommandTarget::start({{"no-such-program-here"}, {}}).error().kind, ErrorKind::missing);
  const auto silent = CommandTarget::start({{"cat", "/dev/null"}, {}, 5});
  ASSERT_FALSE(silent.ok());
  const auto mute = CommandTarget::start({{"sleep", "5"}, {}, 0.2});
  ASSERT_FALSE(mute.ok());
  EXPECT_THAT(mute.error().what,
              AllOf(HasSubstr("answered nothing on its"), HasSubstr("output in 2")));
}

}  // namespace
}  // namespace ocrtune
