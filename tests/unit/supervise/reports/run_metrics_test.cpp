// The rules by which promtool and node_exporter's textfile collector read a file.
#include "extras/supervise/reports/run_metrics.h"

#include <map>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

// Name -> value, in a file with one sample of each metric.
std::map<std::string, double> parsed(const std::string& text) {
  const std::regex head(R"(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))");
  const std::regex sample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)\{run="((?:[^"\\\n]|\\["\\n])*)"\} (\S+))re");
  std::map<std::string, double> values;
  std::map<std::string, std::string> types;
  std::set<std::string> helped;
  EXPECT_TRUE(ends_with(text, "\n"));
  for (const std::string& line : split(text.substr(0, text.size() - 1), '\n')) {
    std::smatch match;
    if (std::regex_match(line, match, head)) {
      const std::string name = match[2];
      EXPECT_EQ(values.count(name), 0U) << "after its sample: " << line;
      const bool first =
          match[1] == "HELP" ? helped.insert(name).second : types.emplace(name, match[3]).second;
      EXPECT_TRUE(first) << line;
      continue;
    }
    EXPECT_TRUE(std::regex_match(line, match, sample)) << line;
    if (match.empty()) continue;
    const std::string name = match[1];
    EXPECT_EQ(helped.count(name), 1U) << name;
    EXPECT_EQ(ends_with(name, "_total"), types[name] == "counter") << name;
    EXPECT_TRUE(types[name] == "counter" || types[name] == "gauge") << name;
    char* end = nullptr;
    const std::string number = match[3];
    const double value = std::strtod(number.c_str(), &end);
    EXPECT_EQ(*end, '\0') << line;
    EXPECT_TRUE(values.emplace(name, value).second) << "twice: " << name;
  }
  return values;
}

TEST(RunMetrics, IsATextfileOfPrometheus) {
  RunMetrics metrics{"2026-11-22-0a3f9", true, 2, 12345, 0.25, 1795000000.5, 68719476736};
  const auto values = parsed(metrics_text(metrics));
  EXPECT_EQ(values.size(), 6U);
  EXPECT_EQ(values.at("ocrtune_run_up"), 1);
  EXPECT_EQ(values.at("ocrtune_run_restarts_total"), 2);
  EXPECT_EQ(values.at("ocrtune_run_progress_lines_total"), 12345);
  EXPECT_EQ(values.at("ocrtune_run_last_progress_timestamp_seconds"), 1795000000.5);
  EXPECT_EQ(values.at("ocrtune_run_memory_bytes"), 68719476736);
}

TEST(RunMetrics, AnyFolderNameIsALabel) {
  RunMetrics metrics;
  metrics.run = "a \"b\" \\ c\nd \xff";
  const std::string text = metrics_text(metrics);
  EXPECT_EQ(parsed(text).size(), 5U) << "no time of a progress that never was";
  EXPECT_THAT(text, HasSubstr(R"re({run="a \"b\" \\ c\nd )re"));
}

}  // namespace
}  // namespace ocrtune
