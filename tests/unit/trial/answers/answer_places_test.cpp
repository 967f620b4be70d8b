// Texts out of what commands print, by the places that a preset or the user names.
#include "trial/answers/answer_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "trial/ipc/copy_mark.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;

CommandAnswers read(const std::vector<std::string>& places, const std::vector<std::string>& lines) {
  auto parsed = AnswerPlaces::parse(places);
  EXPECT_TRUE(parsed);
  AnswerCollector collector(*parsed);
  for (const std::string& line : lines) {
    line == "END" ? collector.end_run() : collector.read_line(line);
  }
  return collector.take();
}

TEST(AnswerPlacesTest, ALineMayNameItsInputAndItsText) {
  const CommandAnswers answers =
      read({R"(regex:Predicts of (?<input>.+?):\('(?<text>.*)', [0-9.]+\))"},
           {"Predicts of a.png:('JOINT', 0.99)", "Predicts of b.png:('it's', 0.5)", "END",
            "Predicts of a.png:('JOINT', 0.98)"});
  EXPECT_THAT(answers.inputs, ElementsAre("a.png", "b.png"));
  EXPECT_THAT(answers.bodies[0], ElementsAre(R"({"text":["JOINT"]})"));
  EXPECT_THAT(answers.bodies[1], ElementsAre(R"({"text":["it's"]})"));
}

TEST(AnswerPlacesTest, ATabPartsTheNameFromTheText) {
  const CommandAnswers answers = read({R"(regex:^(?<input>[^\t]+)\t(?<text>.*)$)"},
                                      {"\x1b[32ma page.png\x1b[0m\tTotal 3", "END"});
  EXPECT_THAT(answers.inputs, ElementsAre("a page.png"));
  EXPECT_THAT(answers.bodies[0], ElementsAre(R"({"text":["Total 3"]})"));
}

TEST(AnswerPlacesTest, TextFollowsTheLineThatNamesTheInput) {
  const std::vector<std::string> places = {"regex:Predict time of (?<input>.+): [0-9.]+s",
                                           "regex:DEBUG: (?<text>.*), [01][.][0-9]+$"};
  const CommandAnswers answers =
      read(places, {"Predict time of 1.jpg: 0.5s", "DEBUG: one, 0.99", "DEBUG: two, 0.98",
                    "Predict time of 2.jpg: 0.4s", "END"});
  EXPECT_THAT(answers.inputs, ElementsAre("1.jpg", "2.jpg"));
  EXPECT_THAT(answers.bodies[0], ElementsAre(R"({"text":["one","two"]})"));
  EXPECT_THAT(answers.bodies[1], ElementsAre(R"({"text":[]})"));
}

// Two copies of a command print through one pipe.
TEST(AnswerPlacesTest, TextFollowsTheNameThatTheSameCopyPrinted) {
  const CommandAnswers answers =
      read({"regex:^page (?<input>.+)$", "regex:^text (?<text>.*)$"},
           {copy_mark(0) + "page 1.png", copy_mark(1) + "page 2.png", copy_mark(0) + "text one",
            copy_mark(1) + "text two", "END"});
  EXPECT_THAT(answers.inputs, ElementsAre("1.png", "2.png"));
  EXPECT_THAT(answers.bodies[0], ElementsAre(R"({"text":["one"]})"));
  EXPECT_THAT(answers.bodies[1], ElementsAre(R"({"text":["two"]})"));
}

TEST(AnswerPlacesTest, AnInputThatIsAskedAgainHasTwoAnswers) {
  const CommandAnswers answers =
      read({"regex:(?<input>.+)[|](?<text>.+)"}, {"a|x", "a|y", "a|x", "a|y", "b|z", "END"});
  EXPECT_THAT(answers.bodies[0], ElementsAre(R"({"text":["x","y"]})", R"({"text":["x","y"]})"));
}

TEST(AnswerPlacesTest, ALineMayHoldSeveralTexts) {
  const CommandAnswers answers = read({R"(regex:, '(?<text>[^']*)', [0-9.]+\])"},
                                      {"[[[[0, 1]], 'one', 0.9], [[[2, 3]], 'two', 0.8]]"});
  EXPECT_THAT(answers.passes[0], ElementsAre("one", "two"));
}

TEST(AnswerPlacesTest, WhatIsCutOffIsNoAnswer) {
  EXPECT_THAT(read({"regex:(?<input>.+)[|](?<text>.+)"}, {"a|x"}).inputs, ElementsAre());
}

TEST(AnswerPlacesTest, LinesThatAreNoTextAreNamed) {
  const CommandAnswers answers = read({"lines", "not:^Estimating"}, {"Estimating 150", "one", ""});
  ASSERT_EQ(answers.passes.size(), 1U);
  EXPECT_THAT(answers.passes[0], ElementsAre("one"));
}

// A page has a folder, and every one of them a file of the same name.
TEST(AnswerPlacesTest, FilesOfOneNameAreToldApartByTheirFolders) {
  const std::string folder = make_temporary_directory("answers").value();
  const auto inputs = [&](const std::string& pattern) {
    const AnswerPlaces places;
    AnswerCollector collector(places);
    collector.read_files({join_path(folder, pattern)}, 0, 1e12);
    return collector.take().inputs;
  };
  const auto write = [&](const std::string& page) {
    ASSERT_TRUE(make_folder(join_path(folder, page)));
    ASSERT_TRUE(write_file(join_path(folder, page + "/result.txt"), page));
    ASSERT_TRUE(write_file(join_path(folder, page + "/of_" + page + ".txt"), page));
  };
  write("p1");
  EXPECT_THAT(inputs("*/result.txt"), ElementsAre("p1/result.txt")) << "whatever comes later";
  write("p2");
  EXPECT_THAT(inputs("*/result.txt"), ElementsAre("p1/result.txt", "p2/result.txt"));
  EXPECT_THAT(inputs("*/of_*.txt"), ElementsAre("of_p1.txt", "of_p2.txt"));
  EXPECT_THAT(inputs("p2/result.txt"), ElementsAre("result.txt"));
  ASSERT_TRUE(remove_tree(folder));
}

TEST(AnswerPlacesTest, APatternWithoutATextIsRefused) {
  const auto parsed = AnswerPlaces::parse({"regex:(.*)"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
  EXPECT_FALSE(AnswerPlaces::parse({"regex:("}));
}

}  // namespace
}  // namespace ocrtune
