// The command as a user types it: what it prints, what it leaves, how it ends.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "tests/support/ran.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

class MakeData : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("make_data"); }
  void TearDown() override { (void)remove_tree(folder_); }
  Ran make_data(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"make-data", folder_ + "/lines"});
    return run_ocrtune(flags);
  }
  std::string folder_;
};

TEST_F(MakeData, DrawsWhatItSays) {
  const Ran said = make_data({"--count", "12", "--seed", "3", "--alphabet", "abc"});
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(said.out, HasSubstr("12 lines with "));
  EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 1) << "no progress in a pipe";
  EXPECT_EQ(list_directory(folder_ + "/lines/images")->size(), 12U);
  EXPECT_EQ(*read_file(folder_ + "/lines/alphabet.txt"), "a\nb\nc\n");
  const Ran again = make_data({"--count", "12"});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.out, HasSubstr("--force"));
  EXPECT_EQ(make_data({"--count", "5", "--force"}).code, 0);
}

TEST_F(MakeData, WrongUseIsOneLine) {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--count", "0"},
                                             {"--count", "many"},
                                             {"--min-length", "5", "--max-length", "4"},
                                             {"--jpeg", "2"},
                                             {"--alphabet", ""},
                                             {"--alphabet", "\xFF"},
                                             {"--frobnicate"}}) {
    const Ran said = make_data(flags);
    EXPECT_EQ(said.code, 2) << said.out;
    EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 1) << said.out;
    EXPECT_FALSE(path_exists(folder_ + "/lines"));
  }
}

TEST_F(MakeData, MissingFontIsNamed) {
  const Ran said = make_data({"--font", "/nowhere/none.ttf"});
  EXPECT_EQ(said.code, 3);
  EXPECT_THAT(said.out, HasSubstr("/nowhere/none.ttf"));
}

// A limit on file sizes fails a write half way, as a full disk does.
TEST_F(MakeData, WriteThatFailsIsOneLineThatNamesTheFile) {
  const std::string command = shell_join(
      {OCRTUNE_BINARY, "make-data", folder_ + "/lines", "--count", "50", "--height", "200"});
  const Ran said = run_line("trap '' XFSZ; ulimit -f 4; " + command + " 2>&1");
  EXPECT_EQ(said.code, 3) << said.out;
  EXPECT_THAT(said.out, HasSubstr("write " + folder_ + "/lines/images/"));
  EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 1) << said.out;
  EXPECT_FALSE(path_exists(folder_ + "/lines/labels.txt"));
}

}  // namespace
}  // namespace ocrtune
