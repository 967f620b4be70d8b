#include "diagnosis/text_classifier.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "bench/synthetic/learned_words.h"
#include "bench/synthetic/retold_logs.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/consequences.h"
#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

const std::string kFixtures = std::string(OCRTUNE_SOURCE_DIR) + "/tests/fixtures/";

FailureEvidence exit_code(int code) {
  FailureEvidence evidence;
  evidence.exit_code = code;
  return evidence;
}

TEST(TextClassifier, WordsHaveNoNumbersHexOrCase) {
  EXPECT_THAT(words_of_line("No such file: '/a1/b.txt' 0x7f3a 9f86d081"),
              testing::UnorderedElementsAre("no", "such", "file", "txt", "no_such", "such_file",
                                            "file_txt"));
  EXPECT_THAT(words_of_line("FileNotFoundError"), testing::IsSupersetOf({"file", "not", "found"}));
  EXPECT_THAT(words_of_line("the CUDAGraph failed in step 12"),
              testing::UnorderedElementsAre("cuda", "graph", "fail", "step", "cuda_graph",
                                            "graph_fail", "fail_step"));
  EXPECT_THAT(words_of_line("磁盘满 12"),
              testing::UnorderedElementsAre("磁盘", "盘满", "磁盘_盘满"));
  EXPECT_THAT(words_of_line("12 % | 0.5 \xe7\x9b"), testing::IsEmpty());
}

TEST(TextClassifier, TableIsWhatTheFixturesTeach) {
  const auto logs = labelled_words(OCRTUNE_SOURCE_DIR);
  ASSERT_TRUE(logs) << logs.error().what;
  const std::vector<LearnedRow> learned = learn_words(*logs);
  const char* const again = "build/learn_words . >diagnosis/text_classifier_table.cpp";
  ASSERT_EQ(learned.size(), word_table().size()) << again;
  for (std::size_t i = 0; i < learned.size(); ++i) {
    EXPECT_EQ(learned[i].cause, word_table()[i].cause) << again;
    EXPECT_EQ(learned[i].bias, word_table()[i].bias) << learned[i].cause << ": " << again;
    EXPECT_EQ(learned[i].words, word_table()[i].words) << learned[i].cause << ": " << again;
  }
}

TEST(TextClassifier, ClassesAreCauses) {
  for (const WordRow& row : word_table()) {
    if (row.cause == std::string(kHealthyText)) continue;
    EXPECT_STREQ(find_cause(row.cause).name, row.cause);
  }
}

TEST(TextClassifier, TooFewKnownWordsSayNothing) {
  EXPECT_THAT(classify({{"log", 1, "qwxz vbnm"}}), testing::IsEmpty());
  EXPECT_THAT(classify({}), testing::IsEmpty());
}

TEST(TextClassifier, ScoresAreStandardised) {
  const auto votes = classify({{"log", 1, "could not resolve host: connection refused"}});
  ASSERT_EQ(votes.size(), word_table().size());
  double sum = 0, squares = 0;
  for (const TextVote& vote : votes) {
    sum += vote.score;
    squares += vote.score * vote.score;
  }
  EXPECT_NEAR(sum, 0, 1e-9);
  EXPECT_NEAR(squares / static_cast<double>(votes.size()), 1, 1e-9);
}

// No signature knows these words; the line is told with the suspect.
TEST(TextClassifier, UnknownWordingIsHedged) {
  const std::string text =
      "loading the recogniser\nocrd: gave up after the hub's name was not resolved, no route\n";
  const Diagnosis diagnosis = diagnose({scan_text("log", text)}, exit_code(1));
  ASSERT_TRUE(diagnosis.failed);
  EXPECT_STREQ(diagnosis.causes[0].row->name, "unknown");
  const auto suspect = std::find_if(
      diagnosis.causes.begin(), diagnosis.causes.end(),
      [](const Cause& cause) { return std::string(cause.row->name) == "remote_unreachable"; });
  ASSERT_NE(suspect, diagnosis.causes.end());
  EXPECT_LE(suspect->confidence, 0.33);
  EXPECT_THAT(suspect->signatures, testing::ElementsAre(kTextSignature));
  ASSERT_EQ(suspect->evidence.size(), 1u);
  EXPECT_EQ(suspect->evidence[0].line, 2);
}

// On all logs: no confidence is raised, what the signatures are sure of stays, suspects stay weak.
TEST(TextClassifier, HedgesNeverOverruleNorRaise) {
  std::size_t hedged = 0;
  for (const char* file : {"logs/reworded_cases.txt", "logs/story_cases.txt",
                           "diagnosis/fourteenth_cases.txt", "diagnosis/sixth_cases.txt"}) {
    const auto logs = read_retold_logs(kFixtures + file);
    ASSERT_TRUE(logs);
    for (const RetoldLog& log : *logs) {
      std::vector<LogScan> scans;
      for (const auto& [name, text] : log.files) scans.push_back(scan_text(name, text));
      const std::vector<Cause> before = CauseRanker(scans, log.evidence).rank();
      std::vector<Cause> after = before;
      hedge(scans, log.evidence, after);
      for (const Cause& cause : after) {
        const auto own = std::find_if(before.begin(), before.end(),
                                      [&](const Cause& other) { return other.row == cause.row; });
        const double most = own == before.end() ? 0.33 : own->confidence;
        EXPECT_LE(cause.confidence, most) << log.name << " " << cause.row->name;
        hedged += own == before.end();
      }
      if (before.empty() || before[0].confidence < 0.9 || is_generic(before[0].row->name)) continue;
      if (is_witness(before[0].row->name)) continue;
      EXPECT_EQ(after[0].row, before[0].row) << log.name;
      EXPECT_EQ(after[0].confidence, before[0].confidence) << log.name;
    }
  }
  EXPECT_GT(hedged, 20u);
}

TEST(TextClassifier, HealthyLogsStayHealthy) {
  std::size_t healthy = 0;
  for (const char* file :
       {"logs/reworded_cases.txt", "diagnosis/learn_cases.txt", "diagnosis/thirteenth_cases.txt"}) {
    const auto logs = read_retold_logs(kFixtures + file);
    ASSERT_TRUE(logs);
    for (const RetoldLog& log : *logs) {
      if (log.accepted[0] != "none") continue;
      ++healthy;
      EXPECT_FALSE(diagnose_retold(log).failed) << log.name;
    }
  }
  EXPECT_GT(healthy, 40u);
}

// What ocrtune prints in the session of its README.
TEST(TextClassifier, OwnOutputIsNoFailure) {
  for (const char* name : {"/README.md", "/README.zh.md"}) {
    std::string session;
    for (const std::string& line :
         split(*read_file(OCRTUNE_SOURCE_DIR + std::string(name)), '\n')) {
      if (starts_with(line, "    ")) session += line.substr(4) + "\n";
    }
    EXPECT_THAT(session, testing::HasSubstr("verdict"));
    const Diagnosis diagnosis = diagnose_text(session);
    EXPECT_FALSE(diagnosis.failed) << name << ": " << diagnosis.causes[0].row->name;
  }
}

TEST(TextClassifier, EachSuspectOnceWithALine) {
  const auto logs = read_retold_logs(kFixtures + "diagnosis/sixth_cases.txt");
  ASSERT_TRUE(logs);
  for (const RetoldLog& log : *logs) {
    std::vector<std::string> names;
    std::size_t by_words = 0;
    for (const Cause& cause : diagnose_retold(log).causes) {
      names.emplace_back(cause.row->name);
      if (cause.signatures != std::vector<std::string>{kTextSignature}) continue;
      ++by_words;
      EXPECT_FALSE(cause.evidence.at(0).text.empty()) << log.name;
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << log.name;
    EXPECT_LE(by_words, 3u) << log.name;
  }
}

}  // namespace
}  // namespace ocrtune
