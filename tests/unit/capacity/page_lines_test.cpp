#include "extras/capacity/page_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LinesPerPage, AreANumberOrCountedFromResults) {
  EXPECT_THAT(*read_lines_per_page("40"), ElementsAre(40));
  const std::string folder = make_temporary_directory("pages").value();
  const std::string path = join_path(folder, "system_results.txt");
  ASSERT_TRUE(write_file(path,
                         "a.png\t[{\"transcription\": \"one\"}, {\"transcription\": \"two\"}]\n"
                         "empty.png\t[]\n\n17\n")
                  .ok());
  EXPECT_THAT(*read_lines_per_page(path), ElementsAre(2, 17));
  // RapidOCR's command, with quotes and brackets in what was read; then a histogram.
  ASSERT_TRUE(
      write_file(
          path,
          "2026-11-22 16:18:06,754 - RapidOCR - INFO: [[[[2.0, 4.0], [8.0, 4.0]], 'a]b', 0.99], "
          "[[[2.0, 5.0], [8.0, 5.0]], \"it's [\", 0.98], [[[1.0, 1.0]], 'a\\'b,', 0.9]]\n"
          "7 2\n4,1\n9 0\n")
          .ok());
  EXPECT_THAT(*read_lines_per_page(path), ElementsAre(3, 7, 7, 4));
  for (const char* wrong : {"1 2 3", "5 -1", "x [[1, 2]", "[1], [2]", "-4", "p.png\tnone", "\t,"}) {
    ASSERT_TRUE(write_file(path, std::string(wrong) + "\n").ok());
    EXPECT_THAT(read_lines_per_page(path).error().what, HasSubstr(":1: neither")) << wrong;
  }
  ASSERT_TRUE(write_file(path, "12\nb.png\tbroken [\n").ok());
  EXPECT_THAT(read_lines_per_page(path).error().what, HasSubstr("system_results.txt:2: neither"));
  ASSERT_TRUE(write_file(path, "empty.png\t[]\n").ok());
  EXPECT_THAT(read_lines_per_page(path).error().what, HasSubstr("no page with a line"));
  EXPECT_TRUE(remove_tree(folder).ok());
  for (const char* bad : {"0", "-3", "1.5", "many", ""}) {
    EXPECT_EQ(read_lines_per_page(bad).error().kind, ErrorKind::usage) << bad;
  }
}

}  // namespace
}  // namespace ocrtune
