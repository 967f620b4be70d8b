// The page's sections on peers, latency and failures, and their Chinese.
#include "reports/html/page_sections.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnosis/causes.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/html/page.h"
#include "reports/html/page_documents.h"
#include "tests/support/english_words.h"
#include "tests/support/sample_jobs.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSlo = R"({"answer": "p99 under 80 ms holds up to 41 requests/s",
 "promise": "p99 under 80 ms", "promise_seconds": 0.08, "requests_per_second": 41,
 "probes": [{"requests_per_second": 20, "verdict": "kept", "latency_seconds": 0.03,
  "median_seconds": 0.01, "judged": 900, "over": 1}, {"requests_per_second": 60,
  "verdict": "broken", "latency_seconds": 0.4, "median_seconds": 0.1, "judged": 300, "over": 40}]})";

PageDocuments documents(const std::string& json) {
  PageDocuments found;
  const Status added = add_document(json, found);
  EXPECT_TRUE(added.ok()) << (added.ok() ? "" : added.error().what);
  return found;
}

RunRecord two_gpus() {
  RunRecord run = sample_run(20);
  run.machine.gpus.resize(2);
  run.machine.gpus[1].index = 1;
  run.machine.gpu_links = {
      {0, 1, "PHB", false, "chipset not supported", "chipset not supported", ""},
      {1, 0, "PHB", false, "ok", "ok", ""}};
  run.machine.p2p.verdict = "UNSUPPORTED";
  run.machine.p2p.sentence =
      "the driver does not allow P2P: NCCL uses shared memory by itself, and "
      "NCCL_P2P_DISABLE=1 changes nothing";
  run.machine.p2p.env = {{"NCCL_P2P_DISABLE", "1"}, {"bad name;", "x"}};
  return run;
}

TEST(PageDocuments, AreRecognisedByTheirKeys) {
  EXPECT_TRUE(documents(kSlo).latency);
  EXPECT_DOUBLE_EQ(documents(kSlo).latency->slo_seconds, 0.08);
  EXPECT_TRUE(documents(R"({"verdict": "BROKEN", "pairs": []})").peers);
}

TEST(PageDocuments, OthersAreRefused) {
  for (const char* text : {"", "{", "[]", "3", "{}", R"({"schema": 1, "run_id": "x"})"}) {
    PageDocuments found;
    EXPECT_FALSE(add_document(text, found).ok()) << text;
  }
}

TEST(PageSections, HostsShowWhatEachCountBrought) {
  RunRecord run = sample_run(20);
  EXPECT_EQ(hosts_section(run), "") << "one host";
  SettingSummary alone, both;
  alone.knobs.dims["nodes"] = "1";
  alone.samples_per_second = {100, 98, 102};
  both.knobs.dims["nodes"] = "2";
  both.samples_per_second = {150, 140, 160};
  both.network_bytes_per_second = 25e6;
  run.result.settings = {both, alone};
  const std::string html = hosts_section(run);
  for (const char* part : {"150.0 (140.0..160.0)", "25.0 %", ">200<"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
}

TEST(PageSections, LatencyIsDrawnWithTheTarget) {
  const std::string html = latency_section(*documents(kSlo).latency);
  EXPECT_THAT(html, HasSubstr("class=\"slo met\""));
  EXPECT_THAT(html, HasSubstr("class=\"slo missed\""));
  EXPECT_THAT(html, HasSubstr("p99 under 80 ms</t"));
  EXPECT_THAT(html, HasSubstr("最高可达 41 请求/秒"));
  LatencyDocument empty;
  EXPECT_THAT(latency_section(empty), Not(HasSubstr("<svg")));
}

TEST(PageSections, AServicesLoadsStandFirst) {
  RunRecord run = sample_run(4);
  EXPECT_FALSE(latency_of(run));
  Trial& trial = run.trials.back();
  run.result.found = true;
  run.result.recommendation.knobs = trial.knobs;
  trial.start_seconds = 3.2;
  trial.service.alone_seconds = 0.05;
  trial.service.loads = {{1, 20, 0.05, 0.051, 0.052, 0, 40, 0, ""},
                         {2, 38, 0.052, 0.055, 0.06, 0, 80, 0, ""},
                         {0, 30, 0.06, 0.11, 0.2, 0.11, 300, 2, "kept"},
                         {0, 36, 0.1, 0.5, 0.9, 0.5, 360, 60, "broken"}};
  const auto latency = latency_of(run);
  ASSERT_TRUE(latency);
  const std::string html = latency_section(*latency);
  for (const char* part :
       {"class=\"load p50\"", "class=\"load p95\"", "class=\"load p99\"", "class=\"slo met\"",
        "class=\"slo missed\"", "Time to ready", "就绪时间", "3.2 s", "2: 38/s"}) {
    EXPECT_THAT(html, HasSubstr(part));
  }
  EXPECT_EQ(html.find("NaN"), std::string::npos);
  const std::string page = page_html(run, {});
  EXPECT_LT(page.find("id=\"latency\""), page.find("id=\"answer\""));
}

TEST(PageSections, PeersAreAMatrix) {
  const RunRecord run = two_gpus();
  const std::string html = p2p_section(run, nullptr);
  EXPECT_THAT(html, HasSubstr("class=\"peer warning\""));
  EXPECT_THAT(html, HasSubstr("chipset not supported"));
  EXPECT_THAT(html, HasSubstr("class=\"peer neutral\"")) << "a driver's yes is not green";
  EXPECT_THAT(html, HasSubstr("驱动不允许 P2P"));
  EXPECT_THAT(html, HasSubstr("export NCCL_P2P_DISABLE=1"));
  EXPECT_THAT(html, Not(HasSubstr("bad name")));
  const auto judged = documents(
      R"({"verdict": "BROKEN", "sentence": "s", "pairs": [{"from": 0, "to": 1, "verdict": "BROKEN"},
          {"from": 1, "to": 0, "verdict": "P2P_OK"}]})");
  const std::string other = p2p_section(run, &*judged.peers);
  EXPECT_THAT(other, HasSubstr("class=\"peer bad\""));
  EXPECT_THAT(other, HasSubstr("class=\"peer good\""));
  EXPECT_EQ(p2p_section(sample_run(20), nullptr), "") << "no GPU, no section";
}

TEST(PageSections, HostsSayWhereTheTimeOfAStepWent) {
  RunRecord run = sample_run(20);
  const auto answer = std::find_if(run.trials.rbegin(), run.trials.rend(), [&](const Trial& trial) {
    return trial.ok() && trial.knobs == run.result.recommendation.knobs;
  });
  ASSERT_NE(answer, run.trials.rend());
  answer->evidence = {"n1: peak 1 MiB; a step of <3> ms", "n9: not of this run"};
  EXPECT_THAT(machine_section(run), Not(HasSubstr("a step of")));
  run.job = hosts_job({"n1", "n2"}, "ssh");
  const std::string section = machine_section(run);
  EXPECT_THAT(section, HasSubstr("peak 1 MiB; a step of &lt;3&gt; ms"));
  EXPECT_THAT(section, Not(HasSubstr("not of this run")));
}

TEST(PageSections, NodesStandWithTheirMemoryAndDistances) {
  RunRecord run = sample_run(20);
  run.machine.settings = {
      {"memory_node",
       "node 0: 62.8 GiB, 56.5 GiB free, CPUs 0-15, not allowed here; distances 10 20",
       "/sys/devices/system/node/node0"},
      {"memory_node", "node 1: 62.8 GiB, 9.5 GiB free, no CPUs; distances 20 10", ""},
      {"memory_node_bandwidth", "node 0: 31.2 GB/s; node 1: 9.8 GB/s", ""},
      {"seccomp", "filter", ""}};
  const std::string section = machine_section(run);
  EXPECT_THAT(section, HasSubstr("56.5 GiB free, CPUs 0-15, not allowed here; distances 10 20"));
  EXPECT_THAT(section, HasSubstr("节点 0：62.8 GiB，空闲 56.5 GiB，CPU 0-15，此处不可用"));
  EXPECT_THAT(section, HasSubstr("节点 1：62.8 GiB，空闲 9.5 GiB，没有 CPU"));
  EXPECT_THAT(section, HasSubstr("节点 1：9.8 GB/s"));
  EXPECT_THAT(section, Not(HasSubstr("filter")));
}

TEST(PageSections, FailuresCarryTheirCure) {
  RunRecord run = run_without_success();
  for (Trial& trial : run.trials) {
    trial.outcome = Outcome::out_of_memory;
    trial.cause = "cgroup";
  }
  const std::string html = failures_section(run);
  EXPECT_THAT(html, HasSubstr("cgroup_out_of_memory"));
  EXPECT_THAT(html, HasSubstr("docker run --memory=64g"));
  for (Trial& trial : run.trials) trial.cause = "of no kind";
  EXPECT_THAT(failures_section(run), Not(HasSubstr("What to do")));
}

TEST(PageSections, WhatIsImpossibleIsNoFailure) {
  RunRecord run = run_without_success();
  for (Trial& trial : run.trials) trial.outcome = Outcome::unsupported;
  const std::string html = failures_section(run);
  EXPECT_THAT(html, HasSubstr("failure excluded"));
  EXPECT_THAT(html, HasSubstr("Settings that were left out"));
  EXPECT_THAT(html, Not(HasSubstr("Failures by cause")));
  run.trials[0].outcome = Outcome::crashed;
  EXPECT_THAT(failures_section(run), HasSubstr("Failures by cause"));
}

TEST(PageSections, EvidenceThatTheReasonSaysIsNotSaidAgain) {
  RunRecord run = run_without_success();
  run.trials.resize(1);
  Trial& trial = run.trials[0];
  trial.reason = "the command: exit code 1: ImportError: no such thing";
  trial.evidence = {"the command: exit code 1", "log: ImportError: no such thing",
                    "log: a line before"};
  const std::string html = failures_section(run);
  EXPECT_THAT(html, HasSubstr("a line before"));
  EXPECT_THAT(html, Not(HasSubstr("log: ImportError")));
  EXPECT_EQ(html.find("evidence"), html.rfind("evidence")) << html;
}

// Equal reasons of a group are said once.
TEST(PageSections, AGroupSaysAReasonOnce) {
  RunRecord run = run_without_success();
  run.trials.resize(1);
  run.trials[0].reason = "4 ranks need 4 CPUs";
  run.trials.push_back(run.trials[0]);
  run.trials.push_back(run.trials[0]);
  const std::string html = failures_section(run);
  EXPECT_EQ(html.find("4 ranks need 4 CPUs"), html.rfind("4 ranks need 4 CPUs"));
  EXPECT_THAT(html, HasSubstr("3 trials, "));
  EXPECT_THAT(html, HasSubstr(" 秒</span>"));
}

TEST(PageSections, EachRuleHasItsVerdict) {
  const RunRecord run = sample_run();
  const std::string html = rules_section(run);
  for (const RuleVerdict& rule : run.result.rules) {
    EXPECT_THAT(html, HasSubstr(sentence(rule.text)));
    EXPECT_THAT(html, HasSubstr(sentence(rule.verdict)));
  }
}

TEST(Badges, ADrawnBatchIsAnExtrapolation) {
  const auto has = [](const RunRecord& run) {
    for (const Badge& badge : badges(run)) {
      if (badge.text == "EXTRAPOLATED") return true;
    }
    return false;
  };
  RunRecord run = sample_run();
  EXPECT_TRUE(has(run));
  run.job = training_job("labels.txt");
  EXPECT_FALSE(has(run));
  run.job = command_job({"python3", "train.py"});
  EXPECT_FALSE(has(run));
}

TEST(Phrases, TheTablesAgreeOnTheirHoles) {
  const auto holes = [](std::string_view text) {
    std::size_t count = 0;
    for (std::size_t at = text.find('{'); at != std::string_view::npos;
         at = text.find('{', at + 1)) {
      if (text.find('|', at) > text.find('}', at)) ++count;
    }
    return count;
  };
  for (const auto* table : all_tables()) {
    for (const Phrase& phrase : *table) {
      EXPECT_GE(holes(phrase.english), holes(phrase.chinese)) << phrase.english;
      EXPECT_FALSE(phrase.chinese.empty()) << phrase.english;
    }
  }
}

TEST(Phrases, ANumberChoosesTheWordBehindIt) {
  const auto said = [](const char* words, const std::string& first, const std::string& second) {
    return phrase(words, {first, second}).english;
  };
  EXPECT_EQ(said("{} {0:trial|trials}, {}", "1", "2 s"), "1 trial, 2 s");
  EXPECT_EQ(said("{} {0:trial|trials}, {}", "12", "2 s"), "12 trials, 2 s");
  EXPECT_EQ(said(" Only {} of {} {1:setting|settings} {0:was|were} measured.", "1", "9"),
            " Only 1 of 9 settings was measured.");
}

TEST(Phrases, ComposedSentencesAreKnownInSingularAndPlural) {
  EXPECT_EQ(chinese_of("1 failure in a row without getting further"),
            "连续 1 次失败，训练没有前进");
  EXPECT_EQ(chinese_of("1 rank x 3 threads need 3 CPUs of the 2 allowed (0-1): binding=none lets "
                       "ranks share CPUs"),
            "1 个进程 × 3 个线程需要 3 个 CPU，允许 2 个（0-1）：binding=none 可让进程共享 CPU");
  EXPECT_EQ(chinese_of("4 ranks x 1 thread need 4 CPUs of the 2 allowed (0-1): binding=none lets "
                       "ranks share CPUs"),
            "4 个进程 × 1 个线程需要 4 个 CPU，允许 2 个（0-1）：binding=none 可让进程共享 CPU");
}

TEST(Phrases, DurationsAreChineseToo) {
  EXPECT_EQ(chinese_of("1 min 05 s"), "1 分 05 秒");
  EXPECT_EQ(chinese_of("12.0 ms"), "12.0 毫秒");
  EXPECT_EQ(chinese_of("2 d 03 h"), "2 天 03 小时");
  EXPECT_EQ(chinese_of("unknown s"), "unknown s");
  EXPECT_EQ(chinese_of("no measurement within 1 min 40 s: 2 intervals measured, 8 needed"),
            "1 分 40 秒 内没有得到测量结果：测得 2 段，需要 8 段");
  EXPECT_EQ(sentence(reason<ReasonCode::worth_latency>(counted(99), in_seconds(0.05),
                                                       Number{80, Unit::sample_rate}),
                     Language::chinese),
            "99 % 的步在 50.0 毫秒 内完成，80 样本/秒");
}

TEST(Phrases, ComposedSentencesAreTranslatedWhole) {
  for (const char* sentence :
       {"improvement under 0.5 %, and the leaders raced",
        "undecided: 20.0 s is too short to prove a rate that keeps p99 under 50 ms (39 requests/s "
        "looked fine, with 38 ms); try --budget 80s"}) {
    const std::string chinese = chinese_of(sentence);
    EXPECT_NE(chinese, sentence);
    EXPECT_FALSE(has_english(chinese)) << chinese;
  }
}

// A pattern must not take hold of a sentence that it does not know and leave it half translated.
TEST(Phrases, UnknownSentencesStayAsTheyAre) {
  for (const char* sentence :
       {"run NCCL with P2P off before trusting this: it may fail as well",
        "measure with several nodes", "the tasks do more under load; wait with this",
        "one machine does 12 images/s", "table of costs"}) {
    EXPECT_EQ(chinese_of(sentence), sentence);
  }
}

}  // namespace
}  // namespace ocrtune
