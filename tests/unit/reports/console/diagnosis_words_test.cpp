#include "reports/console/diagnosis_words.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "bench/synthetic/retold_logs.h"
#include "diagnosis/advice.h"
#include "reports/catalogue/cause_words.h"
#include "reports/catalogue/phrases.h"
#include "reports/console/diagnosis_text.h"

namespace ocrtune {
namespace {

const std::string kLogs = std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/logs/";

std::vector<RetoldLog> retold() {
  auto logs = read_retold_logs(kLogs + "story_cases.txt");
  return logs ? std::move(*logs) : std::vector<RetoldLog>();
}

// Name of the case -> language -> its lines.
std::map<std::string, std::map<std::string, std::string>> told_stories() {
  std::map<std::string, std::map<std::string, std::string>> stories;
  std::string name, language;
  for (const std::string& line : split(read_file(kLogs + "told_stories.txt").value_or(""), '\n')) {
    if (starts_with(line, "=== ")) {
      name = line.substr(4);
    } else if (starts_with(line, "--- ")) {
      language = line.substr(4);
    } else if (!line.empty()) {
      stories[name][language] += line + "\n";
    }
  }
  return stories;
}

TEST(DiagnosisPage, NoLineIsQuotedTwice) {
  for (const RetoldLog& log : retold()) {
    for (const char* language : {"en", "zh"}) {
      std::map<std::string, int> places;  // "workerlog.0:12: "
      for (const std::string& line : split(diagnosis_text(diagnose_retold(log), language), '\n')) {
        for (const auto& [file, text] : log.files) {
          const std::size_t at = line.find(file + ":");
          const std::size_t end = at == std::string::npos ? at : line.find(": ", at);
          if (end != std::string::npos) places[line.substr(at, end - at)] += 1;
        }
      }
      for (const auto& [place, times] : places) EXPECT_EQ(times, 1) << log.name << " " << place;
    }
  }
}

TEST(DiagnosisPage, NothingToReadAndNoLogAreSaidAsSuch) {
  EXPECT_THAT(diagnosis_text(diagnose_text("epoch: [1/2], loss: 0.5\n"), "en"),
              testing::HasSubstr("No failure found"));
  const std::string hot =
      "epoch: [1/2], loss: 0.5\nNVRM: GPU at PCI:0000:3b:00: GPU-1 \n"
      "0, clocks_event_reasons.sw_thermal_slowdown: Active\n";
  EXPECT_THAT(diagnosis_text(diagnose_text(hot), "en"), testing::HasSubstr("slower than it need"));
  EXPECT_THAT(diagnosis_text(diagnose_text(""), "en"), testing::HasSubstr("Nothing to read"));
  EXPECT_THAT(diagnosis_text(diagnose_text(""), "zh"), testing::HasSubstr("log 是空文件"));
  const std::string packages = "Start-Date: 2025-05-01  06:31:02\nUnpacking nginx (1.18.0) ...\n";
  EXPECT_THAT(diagnosis_text(diagnose_text(packages), "en"),
              testing::HasSubstr("not the log of a run"));
}

// Percentages of causes that have nothing to do with one another add up to anything.
TEST(DiagnosisPage, IndependentCausesAreSaidToBeSo) {
  const std::string two =
      "OSError: [Errno 28] No space left on device: '/data/x'\n"
      "ModuleNotFoundError: No module named 'lmdb'\n";
  EXPECT_THAT(diagnosis_text(diagnose_text(two), "en"), testing::HasSubstr("Independent of one"));
  EXPECT_THAT(diagnosis_text(diagnose_text(two), "zh"), testing::HasSubstr("彼此独立"));
  const std::string one = "ModuleNotFoundError: No module named 'lmdb'\n";
  EXPECT_THAT(diagnosis_text(diagnose_text(one), "en"),
              testing::Not(testing::HasSubstr("Independent of one")));
}

// The reasons, ends and durations that the rules compose.
TEST(DiagnosisPage, TheChinesePageHasNoEnglishSentenceOfOurs) {
  FailureEvidence evidence;
  evidence.exit_code = 137;
  const std::string page = diagnosis_text(
      diagnose({scan_text("log",
                          "DataLoader process (pid 5) exited is killed by signal: Killed.\n"
                          "DataLoader process (pid 6) exited is killed by signal: Killed.\n")},
               evidence),
      "zh");
  for (const char* english : {"such lines", "exit code", "killed by signal 9", "may also come from",
                              "often advised", "append to", "halved"}) {
    EXPECT_THAT(page, testing::Not(testing::HasSubstr(english)));
  }
  EXPECT_THAT(page, testing::HasSubstr("主机内存不足"));
}

TEST(DiagnosisWords, TenStoriesInBothLanguages) {
  const auto stories = told_stories();
  ASSERT_EQ(stories.size(), 10u);
  std::size_t told = 0;
  for (const RetoldLog& log : retold()) {
    const auto found = stories.find(log.name);
    if (found == stories.end()) continue;
    ++told;
    const Diagnosis diagnosis = diagnose_retold(log);
    EXPECT_LE(diagnosis.story.size(), 6u);
    std::string english, chinese;
    for (const StoryEvent& event : diagnosis.story) {
      english += story_line(event, false) + "\n";
      chinese += story_line(event, true) + "\n";
    }
    EXPECT_EQ(english, found->second.at("en")) << log.name;
    EXPECT_EQ(chinese, found->second.at("zh")) << log.name;
  }
  EXPECT_EQ(told, 10u);
}

TEST(DiagnosisPage, NoCharacterIsCutInTwo) {
  std::string chinese;
  for (int i = 0; i < 100; ++i) chinese += "内存不足";
  StoryEvent event;
  event.code = StoryCode::ended;
  event.text = "a" + chinese;
  for (const std::string& text :
       {story_line(event, false),
        diagnosis_text(diagnose_text("ModuleNotFoundError: No module named 'l" + chinese + "'\n"),
                       "en")}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(DiagnosisWords, RanksInARowAreARange) {
  StoryEvent event;
  event.code = StoryCode::lost_peer;
  event.ranks = {0, 1, 2, 3, 5, 6, 9};
  EXPECT_THAT(story_line(event, false), testing::HasSubstr("  ranks 0-3, 5, 6, 9 lost"));
  event.ranks = {0, 1, 2};
  EXPECT_THAT(story_line(event, false), testing::HasSubstr("  ranks 0-2 lost"));
}

TEST(DiagnosisWords, ChineseHasNoBlanksBetweenItsOwnCharacters) {
  StoryEvent event;
  event.code = StoryCode::stopped;
  event.cause = kLauncher;
  EXPECT_THAT(story_line(event, true), testing::HasSubstr("  启动器用 SIGTERM 停止了其他 rank"));
  event.ranks = {2};
  EXPECT_THAT(story_line(event, true), testing::HasSubstr("  启动器用 SIGTERM 停止了 rank 2"));
}

TEST(DiagnosisWords, EveryStepHasItsOutcomes) {
  const std::vector<NextStep> steps = next_step_table();
  for (const NextStep& step : steps) {
    for (const bool chinese : {false, true}) {
      const StepOutcomes outcomes = step_outcomes(step, chinese);
      EXPECT_FALSE(outcomes.first.empty()) << step.code;
      EXPECT_FALSE(outcomes.second.empty()) << step.code;
    }
  }
}

// A command needs no translation; what holds an English word of prose does.
TEST(CauseWords, AdviceIsChineseUnlessItIsACommand) {
  for (const CauseRow& row : cause_table()) {
    std::vector<const char*> all = row.fixes;
    all.push_back(row.confirm);
    for (const Fix& fix : fix_table()) all.push_back(fix.words);
    for (const EngineWords& words_of_it : engine_words()) all.push_back(words_of_it.own);
    for (const Care& care : care_table()) all.insert(all.end(), {care.first, care.not_worth});
    for (const char* fix : all) {
      if (chinese_of(fix) != fix) continue;
      for (const std::string& word : words(fix)) {
        for (const char* prose : {"the", "a", "or", "of", "to", "and", "from", "with", "in", "if",
                                  "fewer", "smaller", "first", "it", "not", "its"}) {
          EXPECT_NE(word, prose) << fix;
        }
      }
    }
  }
  EXPECT_EQ(chinese_of("Train.loader.num_workers=4 Eval.loader.num_workers=0   # it was 8"),
            "Train.loader.num_workers=4 Eval.loader.num_workers=0   # 原为 8");
}

TEST(CauseWords, EveryCauseHasItsChinese) {
  for (const CauseRow& row : cause_table()) {
    EXPECT_NE(meaning_of(row, true), row.meaning) << row.name;
    EXPECT_EQ(meaning_of(row, false), row.meaning) << row.name;
    EXPECT_NE(cause_name(row.name).chinese, row.name);
    EXPECT_EQ(cause_name(row.name).english, row.name);
  }
  EXPECT_EQ(cause_name("binding").chinese, "CPU 绑定");
  EXPECT_EQ(cause_name("my own").chinese, "my own");
}

TEST(DiagnosisPage, TellsWhatHappenedAndWhatWouldSettleIt) {
  for (const RetoldLog& log : retold()) {
    if (log.name != "P2P hang at the first step") continue;
    const std::string page = diagnosis_text(diagnose_retold(log));
    EXPECT_THAT(page, testing::HasSubstr("What happened:"));
    EXPECT_THAT(page, testing::HasSubstr("ocrtune p2p\n"));
    EXPECT_THAT(page, testing::HasSubstr("a pair of GPUs fails: means nccl p2p broken"));
    EXPECT_THAT(diagnosis_text(diagnose_retold(log), "zh"), testing::HasSubstr("经过："));
  }
}

TEST(DiagnosisPage, WhereNothingFailedASuspectIsOneLineWithoutFixes) {
  const std::string log =
      "step 20 loss 2.11\nRuntimeError: DataLoader worker (pid 123) is killed by signal: Killed.\n"
      "step 30 loss 1.91\n";
  FailureEvidence well;
  well.exit_code = 0;
  const Diagnosis diagnosis = diagnose_text(log, well);
  ASSERT_FALSE(diagnosis.failed);
  ASSERT_FALSE(diagnosis.causes.empty());
  for (const char* language : {"en", "zh"}) {
    const std::string page = diagnosis_text(diagnosis, language);
    EXPECT_EQ(page.find("1. "), std::string::npos) << page;
    EXPECT_EQ(page.find("--memory="), std::string::npos) << page;
    EXPECT_NE(page.find("log:2: RuntimeError"), std::string::npos) << page;
    EXPECT_EQ(split(page, '\n').size(), 3) << page;
  }
}

// A leak is why, and that the kernel killed at a limit is a fact beside it.
TEST(DiagnosisPage, AProvedKillIsACauseBesideWhatLedToIt) {
  std::string log;
  for (int gigabytes = 1; gigabytes < 9; ++gigabytes) {
    log += "[INFO] page done rss=" + std::to_string(gigabytes) + "GB\n";
  }
  log +=
      "Killed\n[1.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,"
      "oom_memcg=/docker/a,task_memcg=/docker/a,task=python,pid=31,uid=0\n";
  const std::string page = diagnosis_text(diagnose_text(log), "en");
  EXPECT_THAT(page, testing::HasSubstr("1. memory leak"));
  EXPECT_THAT(page, testing::HasSubstr("2. cgroup out of memory"));
}

}  // namespace
}  // namespace ocrtune
