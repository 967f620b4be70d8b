// README.md and README.zh.md say the same: sections, command lines, pictures. What documents name
// is there.
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

std::string text_of(const std::string& name) {
  return read_file(OCRTUNE_SOURCE_DIR + "/" + name).value_or("");
}

std::size_t sections_of(const std::string& text) {
  std::size_t count = 0;
  for (const std::string& line : split(text, '\n')) count += starts_with(line, "## ") ? 1 : 0;
  return count;
}

// The lines that a reader would type, without the remarks behind them.
std::vector<std::string> typed_lines(const std::string& text) {
  const std::regex typed("^    (\\$ )?((ocrtune |scripts/[a-z]|cmake |cpack ).*?)( +#.*)?$");
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) {
    std::smatch found;
    if (std::regex_match(line, found, typed)) lines.push_back(found[2]);
  }
  return lines;
}

TEST(Readme, BothLanguagesHaveTheSameSectionsAndCommandLines) {
  const std::string english = text_of("README.md"), chinese = text_of("README.zh.md");
  EXPECT_GE(sections_of(english), 8u);
  EXPECT_EQ(sections_of(english), sections_of(chinese));
  EXPECT_GE(typed_lines(english).size(), 8u);
  EXPECT_EQ(typed_lines(english), typed_lines(chinese));
}

TEST(Readme, PicturesAreThereAndSmall) {
  const std::regex picture("\\]\\((docs/[^)]*\\.png)\\)");
  for (const char* name : {"README.md", "README.zh.md"}) {
    const std::string text = text_of(name);
    int count = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), picture), end; it != end; ++it) {
      const std::string bytes = text_of((*it)[1]);
      EXPECT_TRUE(starts_with(bytes, "\x89PNG")) << (*it)[1];
      EXPECT_LT(bytes.size(), 300000u) << (*it)[1];
      ++count;
    }
    EXPECT_GE(count, 4) << name;
  }
}

// "`tuner/store/store.cpp`": a path of the tree between backticks, tests by their folders and
// files.
TEST(Documents, NameFilesThatAreThere) {
  const std::regex path(
      "`((?:base|bench|cli|core|diagnosis|docs|extras|presets|probes|reports|"
      "scripts|tests|trial|tuner)/[A-Za-z0-9_/.-]+)`");
  int named = 0;
  for (const char* name : {"README.md", "README.zh.md", "CONTRIBUTING.md", "docs/architecture.md",
                           "docs/extending.md"}) {
    const std::string text = text_of(name);
    for (std::sregex_iterator it(text.begin(), text.end(), path), end; it != end; ++it) {
      EXPECT_TRUE(path_exists(OCRTUNE_SOURCE_DIR + "/" + (*it)[1].str()))
          << name << ": " << (*it)[1];
      ++named;
    }
  }
  EXPECT_GT(named, 25);
}

}  // namespace
}  // namespace ocrtune
