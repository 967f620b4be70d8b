// The page over all runs: workloads apart, their trend, every text as text.
#include "reports/html/run_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_jobs.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

IndexRow row(const std::string& id, const std::string& workload, double rate) {
  IndexRow made;
  made.id = id;
  made.started = "2026-11-2" + id + "T08:00:00Z";
  made.workload = workload;
  made.subject = {"training of " + workload, "训练 " + workload};
  made.host = "vm";
  made.badge = {"SAFE", Tone::good, ""};
  made.answer = std::string("Use it.");
  made.rate = {rate, 0.9 * rate, 1.1 * rate};
  made.unit = "samples/s";
  made.setting = "nproc=2";
  made.link = id + ".html";
  return made;
}

std::size_t count(const std::string& text, const std::string& of) {
  std::size_t times = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++times;
  return times;
}

TEST(RunIndex, EachWorkloadHasItsTrendAndItsRuns) {
  IndexRow open = row("3", "a", 120);
  open.badge = {"INCONCLUSIVE", Tone::bad, ""};
  const std::string page =
      run_index_html({open, row("2", "b", 50), row("1", "a", 100), row("0", "a", 90)});
  EXPECT_EQ(count(page, "<section "), 2U);
  EXPECT_EQ(count(page, "<figure class=\"trend\""), 1U) << "one run is no trend";
  EXPECT_EQ(count(page, "class=\"whisker\""), 3U);
  EXPECT_THAT(page, HasSubstr("class=\"run bad\"><title>2026-11-23 08:00 UTC: 120.0 (108.0..132.0) "
                              "samples/s\nnproc=2</title>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"3.html\"><circle "));
  EXPECT_THAT(page, HasSubstr("aria-label=\"3 runs from 2026-11-20 08:00 UTC to 2026-11-23 08:00 "
                              "UTC; the last has 120.0 (108.0..132.0) samples/s\""));
  EXPECT_LT(page.find("training of a"), page.find("training of b")) << "last measured first";
  EXPECT_THAT(page, HasSubstr("4 次运行"));
}

TEST(RunIndex, AWideIntervalDoesNotFlattenTheRates) {
  IndexRow wide = row("1", "a", 100);
  wide.rate.high = 100000;
  const std::string page = run_index_html({wide, row("0", "a", 90)});
  EXPECT_THAT(page, HasSubstr(">100</text>"));
  EXPECT_THAT(page, Not(HasSubstr(">50000</text>")));
}

TEST(RunIndex, RunsWithoutARateAndUnreadableOnesAreListed) {
  IndexRow none = row("1", "a", 0);
  none.badge = {"NO ANSWER", Tone::bad, ""};
  const std::string page =
      run_index_html({unreadable_row("7", "named", "today", "ocrtune <tune>", "lacks & fails"),
                      none, row("0", "a", 90)});
  EXPECT_THAT(page, HasSubstr("ocrtune &lt;tune&gt;: lacks &amp; fails"));
  EXPECT_THAT(page, HasSubstr("named<br><small>7</small>"));
  EXPECT_EQ(count(page, "class=\"whisker\""), 1U);
}

TEST(RunIndex, RunsOfOneWorkloadAreKnown) {
  RunRecord first = sample_run(10), second = sample_run(20);
  EXPECT_EQ(index_row(first).workload, index_row(second).workload);
  EXPECT_EQ(index_row(first).link, first.id + ".html");
  second.job = training_job("other.txt");
  EXPECT_NE(index_row(first).workload, index_row(second).workload);
  second = sample_run(20);
  second.machine.fingerprint = "another";
  EXPECT_NE(index_row(first).workload, index_row(second).workload);
  const std::string page = run_index_html({index_row(hostile_run()), index_row(hostile_run())});
  EXPECT_THAT(page, Not(HasSubstr("<script>window.broken")));
}

TEST(RunIndex, APageCarriesItsRow) {
  IndexRow made = row("1", "--> a <b", 100);
  made.answer = {"Use --nproc 2 --> now.", "使用 --nproc 2"};
  made.badge = {"TIE OF 2", Tone::warning, "two are --- alike"};
  const std::string page = page_with_row(made, "0.1\n5", "<!doctype html><p>page</p>");
  EXPECT_THAT(page, testing::EndsWith(" -->\n<!doctype html><p>page</p>"));
  EXPECT_EQ(count(page, "-->"), 1U) << "a text ends the comment";
  const auto found = row_of_page(page.substr(0, kRowBytes), "0.1\n5");
  ASSERT_TRUE(found);
  EXPECT_EQ(run_index_html({*found}), run_index_html({made}));
  EXPECT_FALSE(row_of_page(page, "0.1\n6")) << "made of fewer trials";
}

TEST(RunIndex, OtherFilesCarryNone) {
  for (const std::string& page :
       {std::string(), std::string("<!doctype html>"),
        std::string("<!-- ocrtune-row {\"key\": -->\n"), std::string("<!-- ocrtune-row [] -->\n"),
        std::string("<!-- ocrtune-row {\"key\":\"k\",\"texts\":[1]} -->\n")}) {
    EXPECT_FALSE(row_of_page(page, "k")) << page;
  }
}

}  // namespace
}  // namespace ocrtune
