#include "core/data/label_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "core/data/samples.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LabelFileTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("labels"); }
  void TearDown() override { (void)remove_tree(folder_); }
  Result<std::unique_ptr<LabelFile>> read(const std::string& text,
                                          const std::string& alphabet = "") {
    (void)write_file(folder_ + "/labels.txt", text);
    return LabelFile::read(folder_ + "/labels.txt", alphabet);
  }
  std::string folder_;
};

TEST_F(LabelFileTest, ReadsLines) {
  (void)write_file(folder_ + "/b.png", "bytes of b");
  const auto file = read("a.png\tba\nb.png\tc a\tx\n");
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->size(), 2);
  EXPECT_THAT((*file)->alphabet(), ElementsAre("\t", " ", "a", "b", "c", "x"));
  EXPECT_THAT((*file)->label(0), ElementsAre(4, 3));
  EXPECT_THAT((*file)->label(1), ElementsAre(5, 2, 3, 1, 6));
  EXPECT_EQ((*file)->name(1), "labels.txt:2");
  EXPECT_EQ(*(*file)->image_bytes(1), "bytes of b");
  EXPECT_EQ((*file)->image_bytes(0).error().kind, ErrorKind::missing);
  EXPECT_EQ((*file)->unusable().count, 0);
}

TEST_F(LabelFileTest, ForgivesByteOrderMarkCarriageReturnsAndEmptyLines) {
  const auto file = read(
      "\xEF\xBB\xBF"
      "a.png\tab\r\n\r\n\nb.png\tb");
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->size(), 2);
  EXPECT_THAT((*file)->alphabet(), ElementsAre("a", "b"));
  EXPECT_THAT((*file)->image_bytes(0).error().what, HasSubstr(folder_ + "/a.png"));
  EXPECT_EQ((*file)->name(1), "labels.txt:4");
}

TEST_F(LabelFileTest, LooksForItsImages) {
  (void)write_file(folder_ + "/b.png", "bytes of b");
  (void)read("sub/a.png\tba\nb.png\tc\nc.png\tx\n");
  const auto search = LabelFile::look_for_images(folder_ + "/labels.txt");
  ASSERT_TRUE(search);
  EXPECT_EQ(search->lines, 3);
  EXPECT_EQ(search->missing, 2);
  EXPECT_EQ(search->first_missing, folder_ + "/labels.txt:1: " + folder_ + "/sub/a.png");
  EXPECT_EQ(search->opened, 1);
  EXPECT_EQ(search->unreadable, 1);
  EXPECT_THAT(search->first_unreadable, HasSubstr("labels.txt:2: " + folder_ + "/b.png"));
  EXPECT_EQ(LabelFile::look_for_images(folder_ + "/none").error().kind, ErrorKind::missing);
}

TEST_F(LabelFileTest, FolderWithoutSamplesSaysWhatItLacks) {
  const auto samples = open_samples(samples_path(folder_), "");
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().kind, ErrorKind::missing);
  EXPECT_THAT(samples.error().what, HasSubstr(folder_ + " has no labels.txt"));
  EXPECT_THAT(samples.error().what, HasSubstr("ocrtune make-data"));
}

TEST_F(LabelFileTest, CountsAndNamesWhatIsUnusable) {
  const auto file = read("a.png\tok\nno tab here\n\ttext\nb.png\t\nc.png\t\xFFx\nd.png\tko\n");
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->size(), 2);
  EXPECT_EQ((*file)->unusable().count, 4);
  EXPECT_THAT((*file)->unusable().examples,
              ElementsAre("labels.txt:2: no tab", "labels.txt:3: no path", "labels.txt:4: no text",
                          "labels.txt:5: byte 1 is not UTF-8"));
}

TEST_F(LabelFileTest, CharactersOutsideOfTheAlphabetAreNamed) {
  const auto file = read("a.png\t12\nb.png\t1é\nc.png\t21\n", "12");
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->size(), 2);
  EXPECT_THAT((*file)->unusable().examples,
              ElementsAre("labels.txt:2: 'é' is not in the alphabet"));
}

TEST_F(LabelFileTest, KeepsFiveExamplesOfMany) {
  const auto file = read(join(std::vector<std::string>(100, "bad"), "\n"));
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->size(), 0);
  EXPECT_EQ((*file)->unusable().count, 100);
  EXPECT_EQ((*file)->unusable().examples.size(), 5U);
}

TEST_F(LabelFileTest, MissingFileAndWrongUse) {
  EXPECT_EQ(LabelFile::read(folder_ + "/none.txt", "").error().kind, ErrorKind::missing);
  EXPECT_EQ(LabelFile::read(folder_, "").error().kind, ErrorKind::usage);
  EXPECT_EQ(read("a.png\tx\n", "\xFF").error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace ocrtune
