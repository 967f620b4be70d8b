#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/catalogue/phrases.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/figures/figures.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t rows_in(const std::string& html) {
  std::size_t count = 0;
  for (std::size_t at = html.find("class=\"bar-name\""); at != std::string::npos;
       at = html.find("class=\"bar-name\"", at + 1)) {
    ++count;
  }
  return count;
}

SettingSummary setting_of(int nproc, double rate) {
  SettingSummary setting;
  setting.knobs.nproc = nproc;
  setting.trials = 2;
  setting.samples_per_second = {rate, 0.9 * rate, 1.1 * rate};
  return setting;
}

// Start at 100, recommended at 200, a third at 150.
RunRecord three_settings() {
  RunRecord run = empty_run();
  TuneResult& result = run.result;
  result = {};
  result.found = true;
  result.verdict.answer = Answer::use;
  result.settings = {setting_of(4, 200), setting_of(2, 150), setting_of(1, 100)};
  result.baseline = result.settings[2];
  result.recommendation.knobs = result.settings[0].knobs;
  result.recommendation.samples_per_second = result.settings[0].samples_per_second;
  result.gain = {2, 1.8, 2.2};
  return run;
}

TEST(AnswerBars, StartAndRecommendedStandOnOneAxisWithTheirIntervals) {
  const RunRecord run = three_settings();
  const std::string html = rate_bars(run);
  EXPECT_EQ(rows_in(html), 2u);
  const std::size_t start = html.find(rate_text(run.result.baseline.samples_per_second));
  ASSERT_NE(start, std::string::npos);
  EXPECT_NE(html.find(rate_text(run.result.recommendation.samples_per_second), start),
            std::string::npos);
  // The axis ends 2 % above 220: 100 and 200 are 44.56 and 89.13 % of it.
  EXPECT_THAT(html, HasSubstr("left:0.00%;width:44.56%"));
  EXPECT_THAT(html, HasSubstr("left:0.00%;width:89.13%"));
  EXPECT_THAT(html, HasSubstr("left:80.21%;width:17.83%"));
  EXPECT_THAT(html, HasSubstr("2.00×"));
}

TEST(AnswerBars, OneSettingStandsOnceUnderAllItsNames) {
  RunRecord run = three_settings();
  RuleVerdict rule;
  rule.text = reason<ReasonCode::rule_seven>(counted(7));
  rule.setting = run.result.settings[0];
  RuleVerdict not_run = rule;
  not_run.setting = {};
  run.result.rules = {rule, not_run};
  const std::string html = rate_bars(run);
  EXPECT_EQ(rows_in(html), 2u);
  EXPECT_THAT(html, HasSubstr(say("recommended") + ", " + say(rule.text)));
  run.result.rules[0].setting = run.result.settings[1];
  EXPECT_EQ(rows_in(rate_bars(run)), 3u);
}

TEST(AnswerBars, AnOpenAnswerShowsWhatItLeavesOpen) {
  RunRecord run = three_settings();
  run.result.verdict.answer = Answer::inconclusive;
  const std::string html = rate_bars(run);
  EXPECT_EQ(rows_in(html), 3u);
  EXPECT_THAT(html, HasSubstr(say("fastest of the others")));
  EXPECT_THAT(html, HasSubstr(say("leading")));
  EXPECT_THAT(html, HasSubstr("open-bars"));
  EXPECT_THAT(html, Not(HasSubstr("2.00×"))) << "no gain is claimed";
}

TEST(AnswerBars, AStartThatStaysStandsBesideTheNextBest) {
  RunRecord run = three_settings();
  run.result.verdict.answer = Answer::keep;
  run.result.recommendation.knobs = run.result.baseline.knobs;
  EXPECT_EQ(rows_in(rate_bars(run)), 2u);
  run.result.settings.resize(1);
  run.result.settings[0] = run.result.baseline;
  EXPECT_EQ(rate_bars(run), "") << "nothing to compare";
}

TEST(AnswerBars, ServicesShowPercentilesAndTheTarget) {
  RunRecord run = three_settings();
  EXPECT_EQ(latency_bars(run), "");
  run.job = service_job("http://localhost:1/ocr");
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.knobs = run.result.recommendation.knobs;
  trial.service.in_flight = 8;
  trial.service.p50_seconds = 0.1;
  trial.service.p99_seconds = 0.2;
  trial.service.alone_seconds = 0.05;
  run.trials = {trial};
  const std::string html = latency_bars(run);
  EXPECT_EQ(rows_in(html), 1u);
  EXPECT_THAT(html, HasSubstr("p50 100 ms, p99 200 ms, 8 in flight"));
  EXPECT_THAT(html, HasSubstr("left:49.02%;width:49.02%"));
  EXPECT_THAT(html, HasSubstr("bar-alone\" style=\"left:24.51%"));
  EXPECT_THAT(html, Not(HasSubstr("bar-target")));
}

}  // namespace
}  // namespace ocrtune
