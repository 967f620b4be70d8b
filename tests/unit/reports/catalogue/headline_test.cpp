#include "reports/catalogue/headline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "reports/catalogue/verdict.h"
#include "reports/console/answer.h"
#include "reports/console/console.h"
#include "reports/export/run_json.h"
#include "reports/html/page.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_runs.h"
#include "tuner/verdict/verdict.h"

namespace ocrtune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The verdict follows from the result's parts.
RunRecord& decided(RunRecord& run) {
  run.result.verdict.answer = judge_answer(run.result);
  return run;
}

RunRecord with_gain(double median, double low, double high) {
  RunRecord run = sample_run();
  run.search.baseline_source = kBaselineGiven;
  run.result.inconclusive = {};
  run.result.gain = {median, low, high};
  return decided(run);
}

TEST(Headline, AClearGainSaysWhatToUse) {
  const RunRecord run = with_gain(1.9, 1.81, 2.0);
  EXPECT_EQ(run.result.verdict.answer, Answer::use);
  const Bilingual answer = headline(run);
  EXPECT_THAT(answer.english, StartsWith("Use nproc="));
  EXPECT_THAT(answer.english, HasSubstr(": 1.90 times the rate of your setting (1.81..2.00)."));
  EXPECT_THAT(answer.chinese, HasSubstr("速度为您的配置的 1.90 倍（1.81..2.00）"));
}

// Badges, JSON and lists read one decision: none of them may say safe where another does not.
TEST(Headline, AFasterReaderSaysAfterHowManyLinesItPays) {
  RunRecord run = with_gain(2, 1.9, 2.1);
  run.result.baseline.samples_per_second.median = 100;
  run.result.seconds = 60;
  EXPECT_THAT(headline(run).english, Not(HasSubstr("million")));
  run.job = reading_job();
  EXPECT_THAT(headline(run).english, HasSubstr("Saves 1 h 23 min a million lines;"));
  EXPECT_THAT(headline(run).english, HasSubstr("pays after about 12000 lines."));
  EXPECT_THAT(headline(run).chinese, HasSubstr("每百万行可节省"));
  run.result.gain.low = 0.9;
  EXPECT_THAT(headline(run).english, Not(HasSubstr("million")));
}

TEST(Headline, BadgesAndNamesSayTheSame) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  const auto shown = [&](SafetyState state) {
    run.result.verdict.safety.state = state;
    const auto json = nlohmann::json::parse(run_json(run));
    return badges(run)[0].text + " " + json["verdict"].get<std::string>();
  };
  EXPECT_EQ(shown(SafetyState::safe), "SAFE safe");
  EXPECT_EQ(shown(SafetyState::grows), "MEMORY GROWS memory_grows");
  EXPECT_EQ(shown(SafetyState::tight), "TIGHT tight");
  EXPECT_EQ(shown(SafetyState::unsure), "MEMORY NOT SURE memory_not_sure");
  EXPECT_EQ(shown(SafetyState::may_grow), "MEMORY NOT SURE memory_not_sure");
  EXPECT_EQ(shown(SafetyState::limit_unknown), "MEMORY LIMIT UNKNOWN memory_limit_unknown");
}

// The start stays as it is, however heavy.
TEST(Headline, ATieIsNotCalledAsFastNorTheSafest) {
  const RunRecord run = with_gain(1.9, 1.81, 2.0);
  EXPECT_THAT(page_html(run), HasSubstr("Other settings cannot be told from it by these trials."));
  EXPECT_THAT(page_html(run), Not(HasSubstr("safest was chosen")));
}

TEST(Headline, ANoisyHostIsOneOfTwoThings) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  run.result.noise_measured = true;
  run.result.noise = 0.08;
  run.result.discarded_samples = 0;
  const auto meaning = [&] {
    for (const Badge& badge : badges(run)) {
      if (badge.text == "NOISY HOST") return badge.meaning;
    }
    return std::string();
  };
  EXPECT_EQ(meaning(), "Repeats of one setting differ by 8.0 %; the interval allows for it.");
  EXPECT_THAT(chinese_of(meaning()), HasSubstr("相差 8.0 %"));
  EXPECT_THAT(page_html(run), HasSubstr("data-zh-title=\"同一配置的重复测量相差 8.0 %"));
  run.result.discarded_samples = static_cast<int>(count_samples(run));
  EXPECT_THAT(meaning(), StartsWith("Other load disturbed"));
}

// The certificate and the next experiment round it up, and so does the headline.
TEST(Headline, WhatIsLeftIsTheCertificatesNumber) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  run.result.certified_gap = 0.081;
  EXPECT_THAT(headline(run).english, HasSubstr(" Another setting may be up to 9 % faster."));
  EXPECT_THAT(headline(run).chinese, HasSubstr("其他配置至多可能快 9 %。"));
  run.result.certified_gap = 0.04;
  EXPECT_THAT(headline(run).english, Not(HasSubstr("may be up to")));
}

TEST(Headline, TextsThatVaryByThemselvesAreNotCalledFew) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  const auto told = [&](std::int64_t own, std::int64_t differing) {
    for (SettingSummary& setting : run.result.settings) {
      setting.same.compared = true;
      setting.same.inputs = 12;
      const bool present = setting.knobs == run.result.baseline.knobs;
      setting.same.differing_inputs = present ? own : differing;
    }
    run.result.verdict.text = TextClaim::same;
    return headline(run).english;
  };
  EXPECT_THAT(told(11, 11), HasSubstr("11 of 12 inputs otherwise, no more than the present setting "
                                      "differs from itself (on 11)."));
  EXPECT_THAT(told(5, 10), HasSubstr("10 of 12 inputs otherwise; the present setting differs from "
                                     "itself on 5: not told from chance."));
  EXPECT_THAT(told(0, 2), HasSubstr("2 of 12 inputs otherwise, too few to tell from chance."));
  EXPECT_THAT(told(0, 0), HasSubstr("The same text on all 12 inputs."));
}

TEST(Headline, InputsThatWereNotComparedAreSaid) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  const auto told = [&](std::int64_t differing) {
    for (SettingSummary& setting : run.result.settings) {
      setting.same.compared = true;
      setting.same.inputs = 5;
      setting.same.all_inputs = 60;
      const bool present = setting.knobs == run.result.baseline.knobs;
      setting.same.differing_inputs = present ? 0 : differing;
    }
    run.result.verdict.text = TextClaim::same;
    return headline(run);
  };
  EXPECT_THAT(told(0).english,
              HasSubstr("The same text on 5 of 60 inputs; the others were not compared."));
  EXPECT_THAT(told(0).chinese, HasSubstr("60 个输入中有 5 个"));
  EXPECT_THAT(told(2).english, HasSubstr("chance. Only 5 of 60 inputs were compared."));
  run.result.recommendation.knobs = run.result.baseline.knobs;
  EXPECT_THAT(told(0).english, Not(HasSubstr("text"))) << "its text is its own";
  run.result.other_text = {run.result.settings[0].knobs, {}, run.result.settings[0].same};
  EXPECT_THAT(told(2).english, HasSubstr("Only 5 of 60 inputs were compared."));
}

TEST(Headline, AnOpenAnswerSaysOfItsTextsAsWell) {
  RunRecord run = with_gain(1, 1, 1);
  run.job = reading_job();
  run.result.inconclusive = reason<ReasonCode::no_quiet_window>(counted(9));
  EXPECT_THAT(headline(decided(run)).english,
              AllOf(StartsWith("Inconclusive"), HasSubstr("The text was not compared.")));
  run.state = "running";
  EXPECT_THAT(headline(decided(run)).english, Not(HasSubstr("compared")));
}

TEST(Headline, OtherTextIsNotAllowedByAUserWhoGaveTrueTexts) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  for (SettingSummary& setting : run.result.settings) {
    setting.same.compared = true;
    setting.same.inputs = 300;
    setting.same.differing_inputs = 38;
    setting.same.changed_share = 0.0053;
  }
  run.result.verdict.text = TextClaim::allowed;
  EXPECT_THAT(headline(run).english, HasSubstr("(0.53 % of the characters), as was allowed."));
  for (SettingSummary& setting : run.result.settings) {
    setting.same.error_rate = 0.0135;
    setting.same.reference_error_rate = 0.0139;
  }
  EXPECT_THAT(headline(run).english, HasSubstr("38 of 300 inputs otherwise: 1.4 % of the char"));
  EXPECT_THAT(headline(run).english, Not(HasSubstr("allowed")));
}

TEST(Headline, AnOpenAnswerNamesWhatLeadsAsMeasured) {
  RunRecord run = with_gain(1, 1, 1);
  run.result.contender = {run.result.recommendation.knobs, Interval{3.88, 0.91, 16.2}};
  run.result.recommendation.knobs = run.result.baseline.knobs;
  run.result.inconclusive = reason<ReasonCode::no_quiet_window>(counted(9));
  const Bilingual answer = headline(decided(run));
  EXPECT_THAT(answer.english, StartsWith("Inconclusive"));
  EXPECT_THAT(answer.english, HasSubstr("made 3.88 times the rate of your setting (0.91..16.20)."));
  EXPECT_THAT(answer.chinese, HasSubstr("3.88"));
  run.result.contender->second.median = 0.98;
  EXPECT_THAT(headline(decided(run)).english, testing::Not(HasSubstr("As measured")));
}

TEST(Headline, WithoutAClearGainTheBaselineIsKept) {
  RunRecord run = with_gain(1, 1, 1);
  run.result.contender = {run.result.recommendation.knobs, Interval{1.01, 0.98, 1.05}};
  run.result.recommendation.knobs = run.result.baseline.knobs;
  EXPECT_EQ(decided(run).result.verdict.answer, Answer::keep);
  const Bilingual answer = headline(run);
  EXPECT_THAT(answer.english,
              StartsWith("Keep your setting, " + knobs_text(run.result.baseline.knobs)));
  EXPECT_THAT(answer.english, HasSubstr("(+1 %, -2..+5 % with "));
  run.result.contender->second.low = 0.997;
  EXPECT_THAT(headline(run).english, HasSubstr("(+1 %, +0..+5 % with "));
}

TEST(Headline, TheBaselineItselfMayBeTheFastest) {
  RunRecord run = with_gain(1, 1, 1);
  run.search.baseline_source = kBaselinePlain;
  run.result.baseline.knobs = run.result.recommendation.knobs;
  EXPECT_EQ(decided(run).result.verdict.answer, Answer::keep);
  EXPECT_THAT(headline(run).english, StartsWith("Keep a plain start, "));
}

TEST(Headline, ALoneSettingIsComparedWithNothing) {
  RunRecord run = with_gain(1, 1, 1);
  run.result.baseline.knobs = run.result.recommendation.knobs;
  run.result.settings.resize(1);
  decided(run);
  EXPECT_THAT(headline(run).english, HasSubstr("no other setting was measured."));
  EXPECT_THAT(console_summary(run, 120, false), Not(HasSubstr("\ngain ")));
  EXPECT_THAT(page_html(run), Not(HasSubstr("Gain over")));
}

TEST(Headline, ABaselineThatDoesNotRunIsSaid) {
  RunRecord run = with_gain(0, 0, 0);
  run.result.baseline.samples_per_second = {};
  EXPECT_EQ(decided(run).result.verdict.answer, Answer::use);
  EXPECT_THAT(headline(run).english, HasSubstr("your setting does not run"));
}

TEST(Headline, AnOpenResultIsNoAdvice) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  run.result.inconclusive = reason<ReasonCode::only_rate>("nproc=1", counted(4));
  EXPECT_EQ(decided(run).result.verdict.answer, Answer::inconclusive);
  run.result.inconclusive =
      reason<ReasonCode::too_noisy>("nproc=1", "nproc=2", in_percent(0.2), in_seconds(60));
  run.result.discarded_samples = 0;
  EXPECT_THAT(headline(run).english, HasSubstr("allow a longer budget"));
  run.result.discarded_samples = static_cast<int>(count_samples(run));
  EXPECT_THAT(headline(run).english, HasSubstr("tune again when the machine is idle"));
  EXPECT_THAT(headline(run).english, Not(HasSubstr("Use ")));
  run.result.baseline.knobs = run.result.recommendation.knobs;
  EXPECT_THAT(page_html(run), Not(HasSubstr("Launch with")));
  EXPECT_THAT(page_html(run), Not(HasSubstr("★ recommended")));
}

TEST(Headline, AnInterruptedRunSaysHowItGoesOn) {
  RunRecord run = with_gain(1, 1, 1);
  run.state = "interrupted";
  run.result.inconclusive = reason<ReasonCode::only_rate>("nproc=1", counted(4));
  decided(run);
  EXPECT_THAT(headline(run).english, HasSubstr("ocrtune tune --resume " + run.id));
}

TEST(Headline, AnOpenRunThatUsedItsBudgetGoesOnWithAnother) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  run.state = "done";
  run.search.budget_seconds = 75;
  run.result.inconclusive = reason<ReasonCode::too_few_turns>(
      "nproc=2", decimal(1.9, 2), decimal(1.81, 2), decimal(2, 2), "nproc=1");
  decided(run);
  const std::string line = "ocrtune tune --resume " + run.id + " --budget 75s";
  EXPECT_THAT(headline(run).english, HasSubstr(line));
  EXPECT_THAT(console_answer(run, 200, false, Language::english), HasSubstr(line));
}

TEST(Headline, StandsFirstInConsolePageAndJson) {
  for (const RunRecord& run :
       {with_gain(1.9, 1.81, 2.0), with_gain(1.01, 0.98, 1.05), run_without_success()}) {
    const Bilingual answer = headline(run);
    const std::string text = console_summary(run, 300, false);
    EXPECT_THAT(text, StartsWith("verdict  " + answer.english + "\n"));
    const auto json = nlohmann::json::parse(run_json(run));
    EXPECT_EQ(json["headline"], answer.english);
    EXPECT_EQ(json["headline_code"], answer_name(run.result.verdict.answer));
    const std::string page = page_html(run);
    const std::string before = page.substr(0, page.find(say_text(answer)));
    EXPECT_THAT(before, HasSubstr("<p class=\"verdict\">"));
    EXPECT_THAT(before, Not(HasSubstr("<table")));
  }
}

TEST(RecipeNote, AChangedGlobalBatchIsSaid) {
  RunRecord run = sample_run();
  run.result.baseline.knobs.nproc = 1;
  run.result.baseline.knobs.batch = 8;
  run.result.recommendation.knobs.nproc = 2;
  run.result.recommendation.knobs.batch = 64;
  EXPECT_THAT(recipe_note(run).english, HasSubstr("128 instead of 8"));
  EXPECT_THAT(console_summary(run, 300, false), HasSubstr("128 instead of 8"));
  EXPECT_THAT(page_html(run), HasSubstr("128 instead of 8"));
  run.result.recommendation.knobs.batch = 4;
  EXPECT_EQ(recipe_note(run).english, "");
  run.result.recommendation.knobs.batch = 64;
  run.job = reading_job();
  EXPECT_EQ(recipe_note(run).english, "");
  run.job = command_job({"mpirun", "--host", "{hostlist}", "train", "{accumulate}"});
  run.result.recommendation.knobs.dims["nodes"] = "2";
  run.result.recommendation.knobs.accumulate = 4;
  EXPECT_THAT(recipe_note(run).english,
              HasSubstr("global batch (nodes x nproc x batch x accumulate) 1024 instead of 8"));
}

// Nobody said which batch is the user's.
TEST(Headline, ABatchThatWasFreeMayBeAnotherRecipe) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  run.job = command_job({"python", "train.py", "{batch}"});
  run.result.recipe_batch = 0;
  run.result.baseline.trials = 2;
  run.result.baseline.knobs.batch = 16;
  run.result.baseline.knobs.nproc = run.result.recommendation.knobs.nproc = 1;
  run.result.recommendation.knobs.batch = 64;
  const std::string other = "is another recipe (global batch 64 instead of 16)";
  const std::string keeps = "--baseline batch=N keeps your batch";
  EXPECT_THAT(headline(run).english, AllOf(HasSubstr(other), HasSubstr(keeps)));
  EXPECT_THAT(headline(run).chinese, HasSubstr("64，而非 16"));
  run.result.recommendation.knobs.nproc = 2;
  run.job.user()->command.log_reader = "progress";
  EXPECT_THAT(headline(run).english, HasSubstr("global batch 128 instead of 16"));
  run.job.user()->command.per_rank = false;
  EXPECT_THAT(headline(run).english, HasSubstr(other)) << "the ranks share it";
  run.search.axes["batch"] = {"16", "64"};
  EXPECT_THAT(headline(run).english, AllOf(HasSubstr(other), Not(HasSubstr(keeps))));
  run.search.baseline.absent = {"batch"};
  EXPECT_THAT(headline(run).english, Not(HasSubstr(other)));
  run.search.baseline.absent = {};
  run.result.recommendation.knobs.batch = 16;
  EXPECT_THAT(headline(run).english, Not(HasSubstr("recipe")));
}

TEST(RecipeNote, WhatARankOfPaddleOcrDoesByItselfIsSaidWhereTheirNumberChanges) {
  RunRecord run = sample_run();
  run.job = command_job({"python", "tools/train.py"}, "paddleocr");
  run.result.baseline.knobs.nproc = 1;
  run.result.baseline.knobs.batch = 8;
  run.result.recommendation.knobs.nproc = 2;
  run.result.recommendation.knobs.batch = 4;
  EXPECT_THAT(recipe_note(run).english, HasSubstr("one rank's batch (4 instead of 8)"));
  EXPECT_THAT(recipe_note(run).chinese, HasSubstr("（4，原为 8）"));
  EXPECT_THAT(recipe_note(run).english, Not(HasSubstr("global batch")));
  run.result.recommendation.knobs.batch = 8;
  EXPECT_THAT(recipe_note(run).english, HasSubstr("by the square root for Adam; batch-norm"));
  run.result.recommendation.knobs.nproc = 1;
  EXPECT_EQ(recipe_note(run).english, "");
  run.result.recommendation.knobs.nproc = 2;
  run.job = command_job({"python", "train.py"}, "torchrun");
  EXPECT_THAT(recipe_note(run).english, Not(HasSubstr("batch-norm")));
}

TEST(Headline, WhatASampleOfAnotherRecipeIsWorthIsSaidWhereItWasMeasured) {
  RunRecord run = with_gain(1.9, 1.81, 2.0);
  run.result.recipe_batch = 8;
  Knobs other = run.result.recommendation.knobs;
  other.batch = 64;
  run.result.beyond_recipe = {other, {1.91, 1.85, 1.97}, 64, {}};
  EXPECT_THAT(headline(run).english,
              HasSubstr("1.91 times as many samples/s (1.85..1.97); what a sample is worth then is "
                        "not known."));
  EXPECT_TRUE(nlohmann::json::parse(run_json(run))["recipe"]["beyond"]["worth"].is_null());
  LearningWorth worth;
  worth.proved = true;
  worth.starts = 3;
  worth.efficiency = {0.8, 0.7, 0.9};
  worth.speedup = {1.53, 1.3, 1.7};
  worth.loss = 2.13;
  worth.samples = 4000;
  worth.rate_factor = 2.83;
  run.result.beyond_recipe->worth = worth;
  EXPECT_THAT(headline(run).english,
              HasSubstr("1.91 times as many samples/s (1.85..1.97); to the same loss (2.13) it is "
                        "1.53 times as fast (1.30..1.70), over the first 4000 samples of 3 starts, "
                        "with a learning rate 2.83 times as high"));
  EXPECT_THAT(headline(run).chinese, HasSubstr("1.53"));
  RunRecord open = run;
  open.result.inconclusive = reason<ReasonCode::no_quiet_window>(counted(9));
  EXPECT_THAT(headline(decided(open)).english,
              testing::AllOf(StartsWith("Inconclusive"), HasSubstr("1.53 times as fast")))
      << "both recipes trained for it";
  RunRecord kept = run;
  kept.result.recommendation.knobs = kept.result.baseline.knobs;
  kept.result.verdict.answer = Answer::keep;
  EXPECT_THAT(headline(kept).english, HasSubstr("nothing faster that trains by its recipe"));
  const auto json = nlohmann::json::parse(run_json(run))["recipe"]["beyond"]["worth"];
  EXPECT_EQ(json["speedup"]["median"], 1.53);
  EXPECT_EQ(json["starts"], 3);
  run.result.beyond_recipe->worth->rate_factor = 0;
  run.result.beyond_recipe->worth->samples = 259;
  EXPECT_THAT(headline(run).english, HasSubstr("over the first 259 samples"));
  EXPECT_THAT(headline(run).english, HasSubstr("with the learning rate that the command takes"));
  run.result.beyond_recipe->worth->efficiency.low = 0;
  EXPECT_THAT(headline(run).english,
              HasSubstr("to the same loss (2.13) it is at most 1.70 times as fast: none of its 3 "
                        "starts reached that loss, the present recipe did in 259 samples."));
  run.result.beyond_recipe->worth->proved = false;
  EXPECT_THAT(headline(run).english, HasSubstr("it is 1.30 to 1.70 times as fast, by"));
  run.result.beyond_recipe->worth.reset();
  run.learning.emplace_back();
  EXPECT_THAT(headline(run).english, HasSubstr("reached no loss in common"));
}

TEST(Subject, SaysWhatWasMeasured) {
  RunRecord run = sample_run();
  run.job = training_job("lines/labels.txt", 400);
  EXPECT_EQ(subject(run).english,
            "Built-in training of " + run.job.model() + ", " + std::to_string(run.job.height()) +
                "x" + std::to_string(run.job.width()) + " pixels, 400 lines of lines/labels.txt");
  EXPECT_THAT(subject(run).chinese, StartsWith("内置训练引擎"));
  run.job = hosts_job({"n1", "n2"}, "ssh");
  EXPECT_THAT(subject(run).english, StartsWith("Built-in training of "));
  run.job = command_job({"python", "train.py"}, "paddleocr");
  EXPECT_EQ(subject(run).english, "Your paddleocr command, python train.py");
  run.job = command_job(
      {"/usr/bin/python", "-m", "launch", "--nproc={nproc}", "train.py", "--batch", "{batch}"});
  EXPECT_EQ(subject(run).english, "Your command, python -m launch train.py");
  run.job = service_job("http://127.0.0.1:8080/ocr");
  EXPECT_EQ(subject(run).english, "Service at http://127.0.0.1:8080/ocr");
}

}  // namespace
}  // namespace ocrtune
