#include "core/synth/line_dataset.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "core/data/image_file.h"
#include "core/synth/fonts.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

class LineDataset : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("dataset");
    options_.alphabet = *Alphabet::from_name("alnum");
    options_.draw.fonts = *find_fonts(font_folders());
    if (options_.draw.fonts.empty()) GTEST_SKIP() << "no fonts are installed";
    options_.draw.seed = 7;
    options_.count = 30;
    options_.jpeg_share = 0.3;
  }
  void TearDown() override { (void)remove_tree(folder_); }

  Result<DatasetReport> draw(const std::string& name) {
    options_.folder = folder_ + "/" + name;
    return draw_dataset(options_, nullptr);
  }
  // Every file's name and bytes.
  std::map<std::string, std::string> contents(const std::string& name) {
    std::map<std::string, std::string> files;
    const std::string top = folder_ + "/" + name;
    for (const std::string& part : {top, top + "/images"}) {
      const auto names = list_directory(part).value();
      for (const std::string& file : names) {
        const std::string path = join_path(part, file);
        if (!is_directory(path)) files[path.substr(top.size())] = *read_file(path);
      }
    }
    return files;
  }

  std::string folder_;
  DatasetOptions options_;
};

TEST_F(LineDataset, SameSeedSameBytesWhateverTheThreads) {
  ASSERT_TRUE(draw("one"));
  options_.threads = 3;
  ASSERT_TRUE(draw("three"));
  options_.draw.seed = 8;
  ASSERT_TRUE(draw("other"));
  const auto one = contents("one");
  EXPECT_EQ(one.size(), 33U);
  EXPECT_EQ(one, contents("three"));
  EXPECT_NE(one, contents("other"));
  EXPECT_NE(one.at("/labels.txt"), contents("other").at("/labels.txt"));
}

TEST_F(LineDataset, FontsOfPicturesAreLeftOut) {
  const auto has_class = [](const std::string& font) { return font.find("OS/2") < 512; };
  std::string font;
  for (const std::string& path : options_.draw.fonts) {
    font = ends_with(path, ".ttc") ? "" : *read_file(path);
    if (has_class(font)) break;
  }
  if (!has_class(font)) GTEST_SKIP() << "no font has the table OS/2";
  // A row of the table of tables: name, checksum, offset, length. Class 12 is symbolic.
  std::size_t table = 0;
  for (std::size_t i = 8; i < 12; ++i) {
    table = table * 256 + static_cast<unsigned char>(font[font.find("OS/2") + i]);
  }
  ASSERT_LT(table + 32, font.size());
  options_.draw.fonts = {folder_ + "/pictures.ttf"};
  for (const char kind : {'\10', '\14'}) {
    font[table + 30] = kind;
    ASSERT_TRUE(write_file(options_.draw.fonts[0], font));
    EXPECT_EQ(draw(kind == '\10' ? "letters" : "pictures").ok(), kind == '\10');
  }
}

TEST_F(LineDataset, EveryLabelHasItsImage) {
  options_.draw.min_length = 2;
  options_.draw.max_length = 9;
  const auto report = draw("set");
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->lines, 30);
  std::set<int> widths, jpegs;
  auto lines = split(*read_file(folder_ + "/set/labels.txt"), '\n');
  lines.pop_back();
  ASSERT_EQ(lines.size(), 30U);
  for (const std::string& line : lines) {
    const auto parts = split(line, '\t');
    ASSERT_EQ(parts.size(), 2U) << line;
    EXPECT_TRUE(options_.alphabet.encode(parts[1]));
    EXPECT_GE(parts[1].size(), 2U);
    EXPECT_LE(parts[1].size(), 9U);
    const auto image = read_image(folder_ + "/set/" + parts[0]);
    ASSERT_TRUE(image) << image.error().what;
    EXPECT_GE(image->height, 32);
    widths.insert(image->width);
    jpegs.insert(ends_with(parts[0], ".jpg") ? 1 : 0);
  }
  EXPECT_GT(widths.size(), 10U);
  EXPECT_EQ(jpegs.size(), 2U);
  EXPECT_EQ(Alphabet::load(folder_ + "/set/alphabet.txt")->text(), options_.alphabet.text());
  EXPECT_THAT(*read_file(folder_ + "/set/manifest.txt"), HasSubstr(options_.draw.fonts[0]));
}

TEST_F(LineDataset, ImagesShowInk) {
  const auto painter = LinePainter::create(options_.alphabet, options_.draw);
  ASSERT_TRUE(painter);
  auto& drawer = const_cast<LinePainter&>(*painter);
  for (int i = 0; i < 20; ++i) {
    const auto line = drawer.draw(i);
    ASSERT_TRUE(line);
    const auto [low, high] =
        std::minmax_element(line->image.pixels.begin(), line->image.pixels.end());
    EXPECT_GT(*high - *low, 50) << line->text;
    EXPECT_EQ(drawer.draw(i)->image.pixels, line->image.pixels);
  }
}

TEST_F(LineDataset, ChoosesOnlyFontsThatHaveTheCharacters) {
  options_.alphabet = *Alphabet::from_text("\U0010FFFD");
  const auto report = draw("lacking");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(report.error().what, HasSubstr("\U0010FFFD"));
  EXPECT_FALSE(path_exists(folder_ + "/lacking"));
}

TEST_F(LineDataset, NoFontsNamesThePackage) {
  (void)write_file(folder_ + "/not.ttf", "this is no font");
  options_.draw.fonts = *find_fonts({folder_});
  EXPECT_EQ(options_.draw.fonts.size(), 1U);
  const auto report = draw("set");
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().what, HasSubstr("fonts-dejavu-core"));
  EXPECT_EQ(find_fonts({folder_ + "/none"}).error().kind, ErrorKind::missing);
}

TEST_F(LineDataset, OccupiedFoldersNeedForce) {
  (void)make_directories(folder_ + "/set");
  (void)write_file(folder_ + "/set/mine.txt", "mine");
  EXPECT_EQ(draw("set").error().kind, ErrorKind::usage);
  options_.replace = true;
  ASSERT_TRUE(draw("set"));
  options_.count = 5;
  ASSERT_TRUE(draw("set"));  // what was drawn before goes, what is not ours stays
  EXPECT_EQ(list_directory(folder_ + "/set/images")->size(), 5U);
  EXPECT_EQ(*read_file(folder_ + "/set/mine.txt"), "mine");
  (void)write_file(folder_ + "/file", "");
  EXPECT_EQ(draw("file").error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace ocrtune
