#include "capacity/page_lines.h"

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
