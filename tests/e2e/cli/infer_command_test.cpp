// ocrtune infer as a user types it, over lines that make-data drew.
#include <csignal>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "core/graph/checkpoint.h"
#include "tests/support/ran.h"
#include "tests/support/schema_text.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class InferCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("infer_command");
    Process draw = start_ocrtune({"make-data", lines(), "--count", "40", "--max-length", "4"});
    if (finish(draw) != 0) FAIL() << draw.output().contents();
  }
  void TearDown() override { (void)remove_tree(folder_); }

  int infer(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"infer", lines(),      "--width",
                                          "64",    "--alphabet", "digits"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Process process = start_ocrtune(arguments);
    const int code = finish(process);
    said_ = process.output().contents();
    return code;
  }
  std::string lines() const { return folder_ + "/lines"; }
  std::string results() const { return folder_ + "/results.tsv"; }
  std::vector<std::string> result_lines() const {
    auto list = split(*read_file(results()), '\n');
    list.pop_back();
    return list;
  }
  std::string folder_, said_;
};

TEST_F(InferCommand, EarlierResultsStayWhereNothingIsRead) {
  ASSERT_TRUE(write_file(results(), "of yesterday\n"));
  // The head is right, which is all that is read before the workers start.
  const CheckpointOwner owner{"crnn", 1};
  const std::vector<float> weights(64);
  const std::vector<std::span<const float>> sections = {weights};
  ASSERT_TRUE(write_checkpoint(folder_ + "/bad.ckpt", owner, 1, sections));
  EXPECT_EQ(infer({"--checkpoint", folder_ + "/bad.ckpt", "--output", results()}), 3) << said_;
  EXPECT_EQ(*read_file(results()), "of yesterday\n");
  EXPECT_EQ(infer({"--checkpoint", folder_ + "/bad.ckpt", "--output", results() + ".new"}), 3);
  EXPECT_FALSE(path_exists(results() + ".new"));
}

TEST_F(InferCommand, WithoutAReadLineThereIsNoErrorRate) {
  for (const std::string& line : split(*read_file(lines() + "/labels.txt"), '\n')) {
    const std::string name = line.substr(0, line.find('\t'));
    if (!name.empty()) {
      ASSERT_TRUE(write_file(lines() + "/" + name, "no image"));
    }
  }
  EXPECT_EQ(infer({"--output", results()}), 1);
  EXPECT_THAT(said_, HasSubstr("label_error_rate not available: no line was read"));
}

TEST_F(InferCommand, EveryLineHasOneAnswerInItsPlace) {
  for (const char* queue : {"shared", "static"}) {
    ASSERT_EQ(infer({"--output", results(), "--queue", queue}), 0) << said_;
    const auto table = result_lines();
    ASSERT_EQ(table.size(), 41U);
    EXPECT_EQ(table[0], "name\ttext\tconfidence\terror");
    const auto labels = split(*read_file(lines() + "/labels.txt"), '\n');
    for (std::size_t i = 0; i < 40; ++i) {
      EXPECT_EQ(split(table[i + 1], '\t').size(), 4U);
      EXPECT_EQ(split(table[i + 1], '\t')[0], split(labels[i], '\t')[0]);
    }
    EXPECT_THAT(said_, AllOf(HasSubstr("40 of 40 lines read"), HasSubstr(" (pid "),
                             HasSubstr("label_error_rate"), HasSubstr("text is not")));
  }
}

TEST_F(InferCommand, JsonIsOneDocument) {
  ASSERT_EQ(infer({"--json", "--nproc", "1"}), 0) << said_;
  const auto json = nlohmann::json::parse(said_.substr(said_.find('{')));
  EXPECT_EQ(schema_fault("infer", json), "");
  EXPECT_EQ(undocumented_key("infer --json", json["workers"][0]), "");
  EXPECT_EQ(json["read"], 40);
  EXPECT_EQ(json["results"].size(), 40U);
  EXPECT_EQ(json["workers"].size(), 1U);
  EXPECT_EQ(json["workers"][0]["cpus_meant"], json["workers"][0]["cpus_allowed"]);
  EXPECT_TRUE(json["placement_conflicts"].empty());
}

TEST_F(InferCommand, BadImagesAreNamedAndTheOthersAreRead) {
  std::ofstream(lines() + "/images/000003.png") << "rubbish";
  EXPECT_EQ(infer({"--output", results()}), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("1 image could not be read"));
  EXPECT_THAT(result_lines()[4], HasSubstr("neither PNG nor JPEG"));
}

TEST_F(InferCommand, WrongUseIsOneLine) {
  const std::vector<std::pair<std::vector<std::string>, int>> cases = {
      {{"--queue", "lifo"}, 2},
      {{"--nproc", "0"}, 2},
      {{"--checkpoint", "/nowhere/a.ckpt"}, 3},
      {{"--output", folder_ + "/no/such/results.tsv"}, 3},
      {{"--model", "none", "--output", results()}, 2},
  };
  for (const auto& [flags, code] : cases) {
    EXPECT_EQ(infer(flags), code) << flags[0] << ": " << said_;
    EXPECT_THAT(said_, HasSubstr("ocrtune"));
  }
  Process empty = start_ocrtune({"infer", folder_ + "/lines/none"});
  EXPECT_EQ(finish(empty), 3);
}

TEST_F(InferCommand, AnInterruptKeepsWhatIsRead) {
  std::string list;
  for (int i = 0; i < 500; ++i) list += *read_file(lines() + "/labels.txt");
  std::ofstream(lines() + "/long.txt") << list;
  Process process = start_ocrtune({"infer", lines() + "/long.txt", "--width", "64", "--alphabet",
                                   "digits", "--output", results()});
  while (read_file(results()).value_or("").size() < 1000) {
    ASSERT_FALSE(process.wait(0.02)) << process.output().contents();
  }
  process.signal(SIGINT);
  EXPECT_EQ(finish(process), 130) << process.output().contents();
  EXPECT_THAT(process.output().contents(), HasSubstr("are kept"));
  const auto table = result_lines();
  EXPECT_GT(table.size(), 10U);
  EXPECT_LT(table.size(), 20'001U);
}

}  // namespace
}  // namespace ocrtune
