#include "reports/console/console.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/console/label_lines.h"
#include "reports/export/run_json.h"
#include "reports/html/page.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  auto lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

TEST(Console, AnswersOnOneScreen) {
  const RunRecord run = sample_run();
  for (const int width : {40, 60, 80, 120, 200}) {
    const auto lines = lines_of(console_summary(run, width, false));
    EXPECT_LE(lines.size(), width >= 80 ? 35u : width >= 60 ? 45u : 80u);
    for (const std::string& line : lines) {
      if (starts_with(line, "command") || starts_with(line, "env")) continue;
      EXPECT_LE(display_width(line), width) << line;
    }
  }
}

TEST(Console, AnOpenQuestionIsWrappedAndWhole) {
  RunRecord run = sample_run();
  run.result.inconclusive = reason<ReasonCode::rival_may_be_faster>(
      "nproc=1 threads=2 batch=8 workers=1 binding=compact", "nproc=1 threads=2 batch=16 workers=1",
      decimal(1.14, 2), decimal(0.83, 2), decimal(1.56, 2),
      reason<ReasonCode::cpu_time_a_sample>(in_seconds(0.0528), in_seconds(0.0093)));
  run.result.verdict.answer = Answer::inconclusive;
  std::string text;
  for (const std::string& line : lines_of(console_summary(run, 80, false))) {
    if (starts_with(line, "command") || starts_with(line, "env")) continue;
    EXPECT_LE(display_width(line), 80) << line;
    for (const std::string& word : words(line)) text += word + " ";
  }
  EXPECT_NE(text.find(sentence(run.result.inconclusive)), std::string::npos) << text;
}

TEST(Console, TellsHowSeveralHostsAreStarted) {
  RunRecord run = sample_run();
  run.job = hosts_job({"n1", "n2"}, "ssh");
  const std::string line = "ocrtune run --from " + run.id + " --hosts n1,n2";
  EXPECT_EQ(console_summary(run, 120, false).find(line), std::string::npos);
  run.result.recommendation.knobs.dims["nodes"] = "2";
  EXPECT_NE(console_summary(run, 120, false).find(line), std::string::npos);
}

TEST(Console, HoldsAllThatTheReaderAsks) {
  RunRecord run = sample_run();
  run.result.noise_measured = true;
  const std::string text = console_summary(run, 120, false);
  const Recommendation& recommended = run.result.recommendation;
  for (const std::string& part :
       {knobs_text(recommended.knobs), recommended.command, std::string("OMP_NUM_THREADS="),
        std::string("95 % interval"), std::string("of your setting"), std::string("SAFE"),
        std::string("TIE OF 3"), sentence(run.result.certificate),
        sentence(run.result.rules[2].text), sentence(run.result.rules[2].verdict),
        sentence(run.result.rejected[0].reason), std::string("between repeats"),
        std::string("hung"), sentence(run.result.advice)}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Console, FailuresNameTheSettingsOfTheirGroup) {
  RunRecord run = sample_run(10);
  for (Trial& trial : run.trials) trial.outcome = Outcome::ok;
  for (int i = 0; i < 3; ++i) {
    Trial& trial = run.trials.at(i);
    trial.outcome = Outcome::crashed;
    trial.knobs.nproc = 11 + i;
  }
  const std::string few = console_summary(run, 300, false);
  for (const char* knob : {"nproc=11 ", "nproc=12 ", "nproc=13 "}) {
    EXPECT_NE(few.find(knob), std::string::npos) << few;
  }
  Trial more = run.trials[0];
  more.knobs.nproc = 14;
  run.trials.push_back(more);
  const std::string many = console_summary(run, 300, false);
  EXPECT_NE(many.find(" and 1 more:"), std::string::npos) << many;
}

TEST(Console, AGpuOfUnknownSizeHasNoLimitOfZero) {
  RunRecord run = sample_run();
  Resource gpu;
  gpu.kind = ResourceKind::gpu_memory;
  gpu.peak = 1 << 30;
  run.result.verdict.safety.resources.push_back(gpu);
  const std::string text = console_summary(run, 120, false);
  EXPECT_NE(text.find("peak 1.0 GiB, limit unknown"), std::string::npos) << text;
}

TEST(Console, AGuessedBaselineIsNotCalledTheUsersSetting) {
  RunRecord run = sample_run();
  run.search.baseline_source = kBaselinePlain;
  const std::string text = console_summary(run, 120, false);
  EXPECT_EQ(text.find("your setting"), std::string::npos) << text;
  EXPECT_NE(text.find("of a plain start"), std::string::npos) << text;
  run.search.baseline_source = kBaselineUsual;
  EXPECT_NE(console_summary(run, 120, false).find("of a plain start"), std::string::npos);
  run.search.baseline_source = kBaselineFirst;
  EXPECT_NE(console_summary(run, 120, false).find("the first setting of your lists"),
            std::string::npos);
  for (const char* said : {kBaselineGiven, kBaselineRead}) {
    run.search.baseline_source = said;
    EXPECT_NE(console_summary(run, 120, false).find("of your setting"), std::string::npos);
  }
}

TEST(Console, NothingIsCutAtANarrowTerminal) {
  const RunRecord run = sample_run();
  for (const int width : {40, 60}) {
    std::string flat;
    for (const std::string& line : lines_of(console_summary(run, width, false))) {
      flat += (line.size() > 9 ? line.substr(9) : line) + " ";
    }
    EXPECT_EQ(flat.find("... "), std::string::npos) << flat;
    EXPECT_NE(flat.find(sentence(run.result.certificate)), std::string::npos) << flat;
  }
}

TEST(Console, ChineseLinesBreakBesideNoMarkThatBelongsToAWord) {
  const std::string text = "将速度读作数值，例如（默认：5m；见列表）、其余在 (后)，完。";
  for (int width = 8; width < 60; ++width) {
    for (const std::string& line : broken_lines(text, width)) {
      EXPECT_FALSE(ends_with(line, "（") || ends_with(line, "(")) << line;
      for (const char* closing : {"，", "。", "：", "；", "、", "）", ")"}) {
        EXPECT_FALSE(starts_with(line, closing)) << line;
      }
    }
  }
}

// Each label and sentence of a run that was settled; knobs, commands and names stay as they are.
TEST(Console, SpeaksChineseToo) {
  RunRecord run = sample_run();
  run.result.noise_measured = true;
  const std::string text = console_summary(run, 80, false, Language::chinese);
  for (const std::string& part :
       {headline(run).chinese, sentence(run.result.certificate, Language::chinese),
        sentence(run.result.rules[2].verdict, Language::chinese),
        sentence(run.result.advice, Language::chinese), std::string("安全"),
        std::string("95 % 区间"), std::string("重复之间")}) {
    std::string flat;
    for (const std::string& line : lines_of(text)) flat += std::string(trim(line));
    std::string wanted = part;
    std::erase(wanted, ' ');
    std::erase(flat, ' ');
    EXPECT_NE(flat.find(wanted), std::string::npos) << part << "\n" << text;
  }
  for (const std::string& line : lines_of(text)) {
    for (const char* english : {"verdict", "rate ", "memory ", "rules", "avoid", "noise", "next"}) {
      EXPECT_FALSE(starts_with(line, english)) << line;
    }
  }
}

TEST(Console, ColoursOnlyWhenAsked) {
  const RunRecord run = sample_run();
  EXPECT_EQ(console_summary(run, 80, false).find('\x1b'), std::string::npos);
  EXPECT_NE(console_summary(run, 80, true).find("\x1b[32mSAFE\x1b[0m"), std::string::npos);
}

TEST(Console, NamesTheGpus) {
  RunRecord run = sample_run();
  EXPECT_EQ(console_summary(run, 80, false).find("gpus  "), std::string::npos);
  std::get<TrainingJob>(run.job.kind).engine.gpus = {"GPU-a", "GPU-b"};
  Resource gpu{ResourceKind::gpu_memory, 24ULL << 30, 12ULL << 30, 12ULL << 30};
  run.result.verdict.safety.resources.push_back(gpu);
  run.result.recommendation.knobs.nproc = 4;
  EXPECT_EQ(gpus_text(run), "2 processes on each of GPU-a, GPU-b");
  const std::string text = console_summary(run, 80, false);
  EXPECT_NE(text.find("gpus     2 processes on each of GPU-a, GPU-b\n"), std::string::npos) << text;
  EXPECT_NE(text.find("on the fullest GPU, "), std::string::npos) << text;
  EXPECT_NE(run_json(run).find("\"GPU-b\""), std::string::npos);
  EXPECT_NE(page_html(run).find("Peak memory of the fullest GPU"), std::string::npos);
  run.result.recommendation.knobs.nproc = 1;
  EXPECT_EQ(gpus_text(run), "1 process on GPU-a");
  run.result.recommendation.knobs.nproc = 3;
  EXPECT_EQ(gpus_text(run), "3 processes, in turn, on GPU-a, GPU-b");
}

// A run over lines of the user's own is no extrapolation.
TEST(Console, ReadLinesAreData) {
  RunRecord run = sample_run();
  run.job = reading_job();
  const auto extrapolated = [&] {
    return console_summary(run, 80, false).find("EXTRAPOLATED") != std::string::npos;
  };
  EXPECT_TRUE(extrapolated());
  run.job = reading_job("", "lines");
  EXPECT_FALSE(extrapolated());
}

TEST(Console, NoTextOfTheMachineReachesTheTerminalAsControl) {
  const std::string text = console_summary(hostile_run(), 80, false);
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_LE(lines_of(text).size(), 110u);  // with a setting of seven lines
}

TEST(Console, NoiseThatNothingMeasuredIsNoNumber) {
  RunRecord run = sample_run();
  run.result.noise_measured = true;
  EXPECT_NE(console_summary(run, 120, false).find(" % between repeats; "), std::string::npos);
  run.result.noise_measured = false;
  const std::string text = console_summary(run, 120, false);
  EXPECT_NE(text.find("noise    not measured: each setting ran once; "), std::string::npos) << text;
}

// What the built-in engine measured is no figure of the command that stands beside it.
TEST(Console, ThePaddleOcrCommandOfTheEngineIsNotMeasured) {
  RunRecord run = sample_run();
  run.result.recommendation.command = "python tools/train.py -c CONFIG.yml";
  EXPECT_NE(console_summary(run, 200, false).find("(the same setting for PaddleOCR, not measured"),
            std::string::npos);
  EXPECT_NE(page_html(run).find("The same for PaddleOCR (not measured"), std::string::npos);
  run.job = command_job({"python", "train.py"});
  EXPECT_EQ(console_summary(run, 200, false).find("the same setting for PaddleOCR"),
            std::string::npos);
  EXPECT_EQ(page_html(run).find("The same for PaddleOCR (not measured"), std::string::npos);
}

// An open result leads; it is not told to be launched.
TEST(Console, AnOpenResultIsNoLaunch) {
  RunRecord run = sample_run();
  run.result.inconclusive = reason<ReasonCode::only_rate>("nproc=1", counted(4));
  run.result.verdict.answer = Answer::inconclusive;
  const std::string text = console_summary(run, 120, false);
  EXPECT_EQ(text.find("\nlaunch"), std::string::npos) << text;
  EXPECT_NE(text.find("\nleading  nproc="), std::string::npos) << text;
}

TEST(Console, SaysWhyThereIsNoAnswer) {
  const std::string none = console_summary(empty_run(), 80, false);
  EXPECT_NE(none.find("No setting was run"), std::string::npos) << none;
  EXPECT_NE(none.find("NO ANSWER"), std::string::npos);
  const std::string failed = console_summary(run_without_success(), 100, false);
  EXPECT_NE(failed.find("out of memory (predicted)"), std::string::npos) << failed;
  EXPECT_EQ(failed.find("launch"), std::string::npos);
}

}  // namespace
}  // namespace ocrtune
