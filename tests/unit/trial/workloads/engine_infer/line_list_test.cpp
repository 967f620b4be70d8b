#include "trial/workloads/engine_infer/line_list.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LineListTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("line_list"); }
  void TearDown() override { (void)remove_tree(folder_); }
  void put(const std::string& name, const std::string& text = "x") {
    (void)make_directories(parent_path(folder_ + "/" + name));
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }
  std::string folder_;
};

TEST_F(LineListTest, AFolderGivesItsImagesSorted) {
  for (const char* name : {"b.png", "sub/a.JPG", "a.jpeg", "notes.txt", "sub/movie.mp4"}) put(name);
  const auto list = read_line_list(folder_);
  ASSERT_TRUE(list);
  EXPECT_THAT(list->names, ElementsAre("a.jpeg", "b.png", "sub/a.JPG"));
  EXPECT_EQ(list->paths[2], folder_ + "/sub/a.JPG");
  EXPECT_EQ(list->other_files, 2);
  EXPECT_THAT(list->truths, IsEmpty());
}

TEST_F(LineListTest, AFolderWithLabelsIsThatList) {
  put("labels.txt", "img/2.png\ttwo\nimg/1.png\tone\n");
  put("stray.png");
  const auto list = read_line_list(folder_);
  ASSERT_TRUE(list);
  EXPECT_THAT(list->names, ElementsAre("img/2.png", "img/1.png"));
  EXPECT_THAT(list->truths, ElementsAre("two", "one"));
  EXPECT_EQ(list->paths[0], folder_ + "/img/2.png");
}

TEST_F(LineListTest, AListKeepsItsOrderAndCountsRepeats) {
  put("list",
      "\xEF\xBB\xBF"
      "b.png\r\n\r\n/abs/a.png\nb.png\nb.png");
  const auto list = read_line_list(folder_ + "/list");
  ASSERT_TRUE(list);
  EXPECT_THAT(list->names, ElementsAre("b.png", "/abs/a.png", "b.png", "b.png"));
  EXPECT_EQ(list->paths[1], "/abs/a.png");
  EXPECT_EQ(list->repeated, 2);
}

TEST_F(LineListTest, TruthsOnlyWhereEveryLineHasOne) {
  put("list", "a.png\tx\nb.png\n");
  EXPECT_THAT(read_line_list(folder_ + "/list")->truths, IsEmpty());
}

TEST_F(LineListTest, NothingToReadIsNamed) {
  EXPECT_THAT(read_line_list(folder_).error().what, HasSubstr("no PNG or JPEG"));
  put("readme.txt");
  EXPECT_THAT(read_line_list(folder_).error().what, HasSubstr("1 other file)"));
  EXPECT_EQ(read_line_list("/nowhere").error().kind, ErrorKind::missing);
  put("empty.list", "\n\n");
  EXPECT_EQ(read_line_list(folder_ + "/empty.list").error().kind, ErrorKind::missing);
}

}  // namespace
}  // namespace ocrtune
