// Trials of a server whose texts depend on its mode, on the load, or on chance.
#include "tuner/slo/trial_answers.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/line_splitter.h"
#include "base/process.h"
#include "base/text.h"
#include "trial/answers/same_gate.h"
#include "trial/free_port.h"
#include "trial/ipc/event_writer.h"
#include "trial/ipc/events.h"
#include "tuner/slo/load_trial.h"

namespace ocrtune {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct PlayedTrial {
  bool measured = false;
  std::string text;   // of the result, and the evidence
  std::string error;  // with its outcome
  SameResult same;
};

class TrialAnswersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_executable("python3")) GTEST_SKIP() << "no python3 here";
    folder_ = *make_temporary_directory("trial_answers");
    spec_.seconds = 3;
    spec_.reference = folder_ + "/reference.json";
    for (int i = 0; i < 5; ++i) {
      spec_.inputs.push_back(fmt::format("{}/{}.png", folder_, i));
      ASSERT_TRUE(write_file(spec_.inputs.back(), fmt::format("\x89PNG picture {} ", i)));
    }
  }
  void TearDown() override {
    if (!folder_.empty()) {
      EXPECT_TRUE(remove_tree(folder_));
    }
  }

  PlayedTrial play(const std::vector<std::string>& server) {
    const std::string port = fmt::format("{}", free_port());
    spec_.url = "http://127.0.0.1:" + port + "/";
    spec_.command = {"python3",
                     OCRTUNE_SOURCE_DIR + std::string("/tests/support/reading_server.py"), port};
    spec_.command.insert(spec_.command.end(), server.begin(), server.end());
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t trial = ::fork();
    if (trial == 0) {  // until it is ended, as a trial's process is
      ::close(ends[0]);
      EventWriter events(ends[1]);
      ::_exit(run_load_trial(spec_, events) ? 0 : 1);
    }
    ::close(ends[1]);
    PlayedTrial played;
    LineSplitter lines;
    bool over = false;
    const auto hear = [&](const std::string& line) {
      const auto event = parse_event(line);
      if (!event) return;
      if (const auto* note = std::get_if<NoteEvent>(&*event)) played.text += note->text + "\n";
      if (const auto* result = std::get_if<ResultEvent>(&*event)) {
        played.measured = over = true;
        played.text += result->text;
      }
      if (const auto* answers = std::get_if<AnswersEvent>(&*event)) played.same = answers->same;
      if (const auto* error = std::get_if<ErrorEvent>(&*event)) {
        played.error = std::string(outcome_name(error->outcome)) + ": " + error->reason;
        over = true;
      }
    };
    char bytes[4096];
    for (ssize_t count = 0; !over && (count = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
      lines.add({bytes, static_cast<std::size_t>(count)}, hear);
    }
    ::kill(trial, SIGKILL);  // the server ends with it
    ::close(ends[0]);
    ::waitpid(trial, nullptr, 0);
    return played;
  }

  InferTrialSpec spec_;
  std::string folder_;
};

// As the runner judges what the trials found.
Outcome judged(SameGate gate, const PlayedTrial& present, const PlayedTrial& other) {
  Trial first, second;
  first.outcome = second.outcome = Outcome::ok;
  first.same = present.same;
  second.same = other.same;
  gate.judge(first, true);
  gate.judge(second, false);
  return second.outcome;
}

TEST_F(TrialAnswersTest, ASettingThatReadsOtherwiseIsNoResultUnlessThatIsAllowed) {
  const PlayedTrial exact = play({"--mode", "exact"});
  EXPECT_EQ(exact.same.inputs, 5);
  EXPECT_EQ(exact.same.differing_inputs(), 0);
  const PlayedTrial again = play({"--mode", "exact"});
  EXPECT_EQ(judged(SameGate(0), exact, again), Outcome::ok);
  const PlayedTrial fast = play({"--mode", "fast"});
  EXPECT_TRUE(fast.measured);
  EXPECT_EQ(fast.same.differing_inputs(), 5);
  ASSERT_FALSE(fast.same.examples.empty());
  EXPECT_EQ(fast.same.examples[0].expected, "Order 0 Of 1000");
  EXPECT_EQ(fast.same.examples[0].read, "order 0 of 1000");
  EXPECT_EQ(judged(SameGate(0), exact, fast), Outcome::wrong_result);
  EXPECT_EQ(judged(SameGate(0.5), exact, fast), Outcome::ok);
}

// Which of the loads below is the best is a matter of the moment.
auto below_three() { return AnyOf(HasSubstr(" with 1 in flight"), HasSubstr(" with 2 in flight")); }

TEST_F(TrialAnswersTest, ALoadAtWhichTextsAreWrongEndsTheSearch) {
  const PlayedTrial played = play({"--wrong-from", "3"});
  EXPECT_TRUE(played.measured) << played.error;
  EXPECT_THAT(played.text, below_three());
  EXPECT_GE(played.same.wrong_in_flight, 3);
  EXPECT_EQ(played.same.differing_inputs(), 0);  // of what the loads that stand were answered
  EXPECT_THAT(played.text, HasSubstr("requests fail from 3 in flight on"));
}

// Fewer than are allowed, so that now and then a short step has one of them: no load's doing.
TEST_F(TrialAnswersTest, RequestsThatFailAtAnyLoadAreSaid) {
  const PlayedTrial played = play({"--fail-each", "150"});
  EXPECT_TRUE(played.measured) << played.error;
  EXPECT_THAT(played.text, HasSubstr("of its requests "));
  EXPECT_THAT(played.text, Not(HasSubstr("requests fail from")));
}

TEST_F(TrialAnswersTest, TextsOfOtherInputsEndTheSearch) {
  const PlayedTrial played = play({"--swap-from", "3"});
  EXPECT_TRUE(played.measured) << played.error;
  EXPECT_THAT(played.text, below_three());
  EXPECT_GT(played.same.swapped_answers, 0);
  EXPECT_EQ(played.same.differing_inputs(), 0);
}

TEST_F(TrialAnswersTest, WhatVariesByItselfIsNoFault) {
  const PlayedTrial played = play({"--vary", "0.2"});
  EXPECT_TRUE(played.measured) << played.error;
  EXPECT_EQ(played.same.wrong_in_flight, 0);
  EXPECT_EQ(judged(SameGate(0), played, play({"--vary", "0.2"})), Outcome::ok);
}

TEST_F(TrialAnswersTest, ACacheOfResultsIsSeenAndPassedOver) {
  EXPECT_EQ(play({}).same.repeat_speedup, 0);
  spec_.reference += ".cached";
  const PlayedTrial cached = play({"--cache"});
  EXPECT_TRUE(cached.measured) << cached.error;
  EXPECT_GT(cached.same.repeat_speedup, 1.5);
  EXPECT_TRUE(cached.same.varied);
}

TEST_F(TrialAnswersTest, APathThatIsInNoAnswerIsSaid) {
  ASSERT_TRUE(write_file(folder_ + "/a.request.toml",
                         "file = \"0.png\"\njson = '{\"f\": \"{base64}\"}'\nsame = [\"texts\"]\n"));
  spec_.inputs = {folder_ + "/a.request.toml"};
  EXPECT_THAT(play({}).error, HasSubstr("same = [\"texts\"] is in no answer, such as: {"));
}

}  // namespace
}  // namespace ocrtune
