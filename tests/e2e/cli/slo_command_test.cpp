#include <cstdlib>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/support/ran.h"
#include "tests/support/schema_text.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

Ran run_slo(const std::string& arguments) {
  return run_line(OCRTUNE_BINARY + " slo " + arguments + " 2>&1");
}

const std::string kEchoIds = " -- sed -u 's/.*\"id\": *\\([0-9]*\\).*/{\"id\": \\1}/'";

TEST(SloCommand, MeasuresACommandOverItsStandardInput) {
  // What rate a busy machine proves is not asserted; that every request was answered is.
  const auto [code, out] = run_slo("p90=200ms --budget 4s --json" + kEchoIds);
  const auto json = nlohmann::json::parse(out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << out;
  EXPECT_EQ(schema_fault("slo", json), "");
  EXPECT_EQ(code, json.at("found").get<bool>() ? 0 : 1);
  EXPECT_GT(json.at("saturated_at_requests_per_second").get<double>(), 0);
  EXPECT_EQ(json.at("promise"), "p90 under 200 ms");
}

TEST(SloCommand, NothingIsCutInAPipe) {
  ::setenv("COLUMNS", "60", 1);
  const auto [code, out] = run_slo("p90=200ms --budget 3s" + kEchoIds);
  ::unsetenv("COLUMNS");
  EXPECT_THAT(out, HasSubstr("too late  effective  seconds\n"));
  EXPECT_THAT(out, testing::Not(HasSubstr("...")));
}

TEST(SloCommand, BadInputIsOneClearLine) {
  for (const auto& [arguments, code, words] :
       {std::tuple<std::string, int, std::string>{"", 2, "latency target"},
        {"fast --url http://127.0.0.1:1/", 2, "p99=50ms"},
        {"p99=50ms", 2, "either --url URL or a command"},
        {"p99=50ms --url http://127.0.0.1:1/ -- cat", 2, "either --url URL or a command"},
        {"p99=50ms --budget soon -- cat", 2, "--budget"},
        {"p99=50ms --trace /no/trace -- cat", 3, "/no/trace"},
        {"p99=50ms --input /no/image.png --url http://127.0.0.1:1/", 3, "/no/image.png"},
        {"p99=50ms --input nothere.png -- cat", 3, "nothere.png"},
        {"p99=50ms -- no-such-program-here", 3, "no-such-program-here"},
        {"p99=50ms -- sh -c 'exit 3'", 3, "exit code 3"}}) {
    const auto [got, out] = run_slo(arguments);
    EXPECT_EQ(got, code) << arguments << "\n" << out;
    EXPECT_THAT(out, HasSubstr(words)) << arguments;
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  }
}

// A library of that name which cannot be loaded stands for one that is not there.
TEST(SloCommand, NamesTheLibraryThatSendsRequestsWhereItIsMissing) {
  const std::string folder = *make_temporary_directory("curl");
  for (const char* name : {"/libcurl.so.4", "/libcurl-gnutls.so.4"}) {
    ASSERT_TRUE(write_file(folder + name, "no library").ok());
  }
  const Ran ran = run_line("LD_LIBRARY_PATH=" + folder + " " + OCRTUNE_BINARY +
                           " slo p90=200ms --budget 3s --url http://127.0.0.1:1/ 2>&1");
  EXPECT_EQ(ran.code, 3) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("libcurl.so.4, which is not here: apt-get install libcurl4"));
  EXPECT_TRUE(remove_tree(folder).ok());
}

}  // namespace
}  // namespace ocrtune
