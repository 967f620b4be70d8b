#include "reports/console/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "reports/catalogue/plain_text.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> answer_lines(int width, Language language) {
  auto lines = split(console_answer(sample_run(), width, false, language), '\n');
  lines.pop_back();  // behind the last line feed
  return lines;
}

TEST(ConsoleAnswer, TakesEightLinesWhereNoneIsWrapped) {
  EXPECT_LE(answer_lines(100000, Language::english).size(), 8u);
  EXPECT_LE(answer_lines(100000, Language::chinese).size(), 8u);
}

TEST(ConsoleAnswer, FitsFortyColumnsInBothLanguages) {
  for (const Language language : {Language::english, Language::chinese}) {
    for (const int width : {40, 80}) {
      for (const std::string& line : answer_lines(width, language)) {
        const bool copied = starts_with(line, "command") || starts_with(line, "命令");
        EXPECT_TRUE(copied || display_width(line) <= width) << line;
      }
    }
  }
}

TEST(ConsoleAnswer, WrapsWithoutLosingAWord) {
  std::string narrow, wide;
  for (const std::string& line : answer_lines(40, Language::english)) {
    for (const std::string& word : words(line)) narrow += word + " ";
  }
  for (const std::string& line : answer_lines(100000, Language::english)) {
    for (const std::string& word : words(line)) wide += word + " ";
  }
  EXPECT_EQ(narrow, wide);
}

TEST(ConsoleAnswer, GoesOnInTheStoreThatWasNamed) {
  const std::string text =
      console_answer(sample_run(), 100000, false, Language::english, "my runs.sqlite");
  EXPECT_THAT(text, HasSubstr("verify " + sample_run().id + " --db 'my runs.sqlite'; "));
  EXPECT_THAT(text, HasSubstr("ocrtune show --all --db 'my runs.sqlite' has"));
  EXPECT_THAT(console_answer(sample_run(), 100000, false, Language::english),
              Not(HasSubstr("--db")));
}

TEST(ConsoleAnswer, SpeaksTheLanguageOfTheReader) {
  const std::string chinese = console_answer(sample_run(), 100000, false, Language::chinese);
  EXPECT_THAT(chinese, HasSubstr("结论"));
  EXPECT_THAT(chinese, HasSubstr("内存"));
  EXPECT_THAT(chinese, Not(HasSubstr("verdict")));
  EXPECT_THAT(console_answer(sample_run(), 100000, false, Language::english), HasSubstr("memory"));
}

// What contradicts a rate comes before all other notes, and before what holds a setting back.
TEST(ConsoleAnswer, SaysWhereABatchCostsNothing) {
  RunRecord run = sample_run();
  run.job = command_job({"python3", "train.py"});
  run.result.inconclusive = {};
  run.result.recommendation.reasons = {
      reason<ReasonCode::number_of_ties>(counted(2)),
      reason<ReasonCode::batch_costs_nothing>("batch=32", decimal(2, 2), "batch=16")};
  EXPECT_THAT(console_answer(run, 100000, false, Language::english), HasSubstr("batch=32"));
}

TEST(ConsoleAnswer, SaysWhatAServerRefusesBesideItsLoad) {
  RunRecord run = sample_run();
  run.job = command_job({"python3", "train.py"});
  run.result.inconclusive = {};
  run.result.held_back.clear();
  run.result.recommendation.reasons = {
      reason<ReasonCode::answers_in_flight>(as_rate(90), counted(4), in_seconds(0.04),
                                            in_seconds(0.05)),
      reason<ReasonCode::server_reports>("7 of 850 failed")};
  EXPECT_THAT(console_answer(run, 100000, false, Language::english), HasSubstr("7 of 850 failed"));
}

// The command that is printed is Paddle's; what was measured is the built-in engine.
TEST(ConsoleAnswer, ACommandThatWasNotMeasuredIsCalledSo) {
  RunRecord run = sample_run();
  EXPECT_THAT(console_answer(run, 200, false, Language::english),
              HasSubstr("for PaddleOCR, not measured"));
  run.job = command_job({"python3", "train.py"});
  EXPECT_THAT(console_answer(run, 200, false, Language::english), Not(HasSubstr("not measured")));
}

TEST(ConsoleAnswer, SaysWhatHoldsItBackWithinItsEightLines) {
  RunRecord run = sample_run();
  run.job = command_job({"python3", "train.py"});
  run.result.held_back = {
      {reason<ReasonCode::held_by_data>(in_percent(0.6)), reason<ReasonCode::next_find_sleep>()}};
  const std::string answer = console_answer(run, 100000, false, Language::english);
  EXPECT_THAT(answer, HasSubstr("why "));
  EXPECT_LE(split(answer, '\n').size(), 9u) << answer;  // the last one is empty
  run.result.found = false;
  EXPECT_THAT(console_answer(run, 100000, false, Language::english), HasSubstr("why "));
}

TEST(ConsoleAnswer, ColoursChangeNoText) {
  const std::string plain = console_answer(sample_run(), 100, false, Language::english);
  std::string painted = console_answer(sample_run(), 100, true, Language::english);
  EXPECT_THAT(painted, HasSubstr("\x1b["));
  for (std::size_t at = painted.find("\x1b["); at != painted.npos; at = painted.find("\x1b[")) {
    painted.erase(at, painted.find('m', at) + 1 - at);
  }
  EXPECT_EQ(painted, plain);
}

}  // namespace
}  // namespace ocrtune
