#include "trial/answers/truth_file.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

class TruthFile : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("truth"); }
  void TearDown() override { (void)remove_tree(folder_); }
  std::string write(const std::string& text) {
    const std::string path = folder_ + "/label.txt";
    std::ofstream(path) << text;
    return path;
  }
  std::string folder_;
};

TEST_F(TruthFile, ReadsLinesAndPages) {
  const auto truths = read_truth(
      write("img/1.png\tTotal 5\nimg/2.png\t[{\"transcription\": \"a\", \"points\": []}, "
            "{\"transcription\": \"###\"}, {\"transcription\": \"b\"}]\n"),
      {"/data/img/2.png", "img/1.png"});
  ASSERT_TRUE(truths);
  EXPECT_EQ((*truths)[0], (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ((*truths)[1], (std::vector<std::string>{"Total 5"}));
}

TEST_F(TruthFile, NamesWhatIsWrong) {
  const auto lacks = read_truth(write("img/1.png\tTotal\n"), {"img/3.png"});
  ASSERT_FALSE(lacks);
  EXPECT_NE(lacks.error().what.find("img/3.png"), std::string::npos);
  const auto no_tab = read_truth(write("img/1.png Total\n"), {"img/1.png"});
  ASSERT_FALSE(no_tab);
  EXPECT_NE(no_tab.error().what.find("label.txt:1"), std::string::npos);
  const auto encoding = read_truth(write("1.png\t\xd7\xdc\xbc\xc6\n"), {"1.png"});
  ASSERT_FALSE(encoding);
  EXPECT_NE(encoding.error().what.find("UTF-8"), std::string::npos);
  const auto twice = read_truth(write("a/1.png\tx\nb/1.png\ty\n"), {"1.png"});
  EXPECT_FALSE(twice);
  EXPECT_EQ(read_truth(folder_ + "/none", {}).error().kind, ErrorKind::missing);
}

}  // namespace
}  // namespace ocrtune
