#include "reports/html/page.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/reasons.h"
#include "reports/html/page_json.h"
#include "reports/html/page_parts.h"
#include "tests/support/sample_runs.h"

namespace ocrtune {
namespace {

// The page up to the first script: what a reader without script sees.
std::string readable_part(const std::string& page) {
  return page.substr(0, page.find("<script type=\"application/json\""));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(Page, IsReadableWithoutScript) {
  const RunRecord run = sample_run();
  const std::string page = readable_part(page_html(run));
  for (const std::string& part :
       {std::string("nproc=16"), run.result.recommendation.command,
        sentence(run.result.rules[0].text), std::string("AMD EPYC 7302"),
        std::string("memory.max of /docker/ab12"), std::string("no step for 12 s"),
        std::string("rank 7: futex_wait"), sentence(run.result.rejected[0].reason),
        std::string("<svg"), std::string("trials.csv")}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(Page, LoadsNothingFromAnywhere) {
  const std::string page = page_html(sample_run());
  for (const char* reference : {" src=", "<link", "url(h", "url('", "url(\"", "url(/", "@import",
                                "fetch(", "XMLHttpRequest"}) {
    EXPECT_EQ(page.find(reference), std::string::npos) << reference;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(Page, HostileTextsStayText) {
  const std::string page = page_html(hostile_run());
  const std::string readable = readable_part(page);
  EXPECT_EQ(readable.find("<script>window"), std::string::npos);
  EXPECT_EQ(readable.find("<img"), std::string::npos);
  EXPECT_EQ(readable.find("</script"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.find("\xE2\x80\xAE"), std::string::npos) << "a direction override";
  // One data element and its programs, as many opened as closed.
  const std::size_t parts = 3;
  EXPECT_EQ(count_of(page, "<script"), parts);
  EXPECT_EQ(count_of(page, "</script>"), parts);
  EXPECT_EQ(count_of(page, "<!--"), 0u);
}

TEST(Page, EmbeddedDataSurvivesHostileTexts) {
  const RunRecord run = hostile_run();
  const auto json = nlohmann::json::parse(page_json(run));
  EXPECT_EQ(json["trials"].size(), run.trials.size());
  const auto& first = json["trials"][0];
  EXPECT_EQ(first[0], 1);
  const std::string reason = json["strings"][first[9].get<std::size_t>()];
  EXPECT_NE(reason.find("</script><script>window.broken='reason'</script>"), std::string::npos);
  const std::string log = json["strings"][first[14].get<std::size_t>()];
  EXPECT_NE(log.find("[... "), std::string::npos) << "a 10 kB line is cut";
}

TEST(Page, StandsWithoutTrialsAndWithoutSuccess) {
  const std::string none = page_html(empty_run());
  EXPECT_NE(none.find("No setting was run"), std::string::npos);
  EXPECT_EQ(none.find("id=\"trials\""), std::string::npos);
  const std::string failed = page_html(run_without_success());
  EXPECT_NE(failed.find("NO ANSWER"), std::string::npos);
  EXPECT_NE(failed.find("id=\"failures\""), std::string::npos);
  EXPECT_EQ(failed.find("id=\"scaling\""), std::string::npos);
}

TEST(Page, WhatWasNotMeasuredIsNoZero) {
  RunRecord run = sample_run();
  run.machine.cpu.effective_cores = {};
  const std::string page = page_html(run);
  EXPECT_EQ(page.find("0.00 effective cores"), std::string::npos);
  EXPECT_NE(page.find("effective cores"), std::string::npos);
}

TEST(Page, AnUnknownLimitIsNoZero) {
  RunRecord run = sample_run();
  run.machine.memory.limit_bytes = {};
  EXPECT_EQ(page_html(run).find("limit 0 B"), std::string::npos);
}

TEST(Page, AFirstSettingOfListsIsNoPlainStart) {
  RunRecord run = sample_run();
  run.search.baseline_source = kBaselineFirst;
  EXPECT_EQ(page_html(run).find("a plain start"), std::string::npos);
  EXPECT_EQ(page_html(run).find("your start"), std::string::npos);
  run.result.baseline.samples_per_second = {};
  EXPECT_EQ(page_html(run).find("the plain start"), std::string::npos);
  run.result.baseline.trials = 0;
  EXPECT_NE(page_html(run).find("</span> was not measured"), std::string::npos);
}

TEST(Page, AGuessedBaselineIsNotCalledTheUsersSetting) {
  RunRecord run = sample_run();
  run.search.baseline_source = kBaselineGiven;
  EXPECT_NE(page_html(run).find("Gain over your setting"), std::string::npos);
  for (const char* guess : {kBaselinePlain, kBaselineFirst, kBaselineUsual, kBaselineWithin}) {
    run.search.baseline_source = guess;
    const std::string page = page_html(run);
    const bool first = run.search.baseline_source == kBaselineFirst;
    EXPECT_NE(page.find(first ? "Gain over the first setting" : "Gain over a plain start"),
              std::string::npos);
    EXPECT_EQ(page.find("Gain over your setting"), std::string::npos);
  }
}

// The machine's long tables are folded, what is impossible is no failure.
TEST(Page, KeepsTheLongTablesFolded) {
  const std::string page = page_html(sample_run());
  const std::size_t machine = page.find("<section id=\"machine\"");
  ASSERT_NE(machine, std::string::npos);
  EXPECT_LT(page.find("<details>", machine), page.find("Instruction sets", machine));
  EXPECT_LT(page.find("usable CPUs", machine), page.find("<details>", machine));
  EXPECT_LT(page.find("<section id=\"trials\""), machine);
}

TEST(Page, WhatWasAskedForStandsFirst) {
  const RunRecord run = sample_run();
  PageOptions options;
  options.earlier = &run;
  const std::string page = page_html(run, options);
  EXPECT_LT(page.find("<section id=\"comparison\""), page.find("<section id=\"answer\""));
  EXPECT_NE(page.find("<th scope=\"col\">" + say("Before and after")), std::string::npos);
  EXPECT_EQ(page_html(run).find("id=\"comparison\""), std::string::npos);
}

// Bars, then what to type, then what is not sure; the figures come last.
TEST(Page, TheAnswerBeginsWithItsBars) {
  const std::string page = page_html(sample_run());
  std::size_t last = page.find("<section id=\"answer\"");
  ASSERT_NE(last, std::string::npos);
  for (const char* part :
       {"class=\"bars", "id=\"command\"", "class=\"doubts\"", "class=\"facts\""}) {
    const std::size_t at = page.find(part, last);
    ASSERT_NE(at, std::string::npos) << part;
    last = at;
  }
}

TEST(Page, IsReadAgainWhileItsRunIsUnderWay) {
  RunRecord run = sample_run();
  EXPECT_EQ(page_html(run).find("data-refresh-seconds=\""), std::string::npos);
  run.state = "running";
  run.result.verdict.answer = Answer::inconclusive;
  PageOptions options;
  options.refresh_seconds = 5;
  const std::string page = page_html(run, options);
  EXPECT_NE(page.find("data-refresh-seconds=\"5\""), std::string::npos);
  EXPECT_NE(page.find("Under way: nproc="), std::string::npos);
}

// Where each section has one figure, a row of them is full.
TEST(Page, FiguresFillTheirRows) {
  const std::string page = page_html(sample_run());
  EXPECT_EQ(count_of(page, "<section id=\"envelope\" class=\"of-three\""), 1u);
  EXPECT_EQ(count_of(page, "<section id=\"search\" class=\"of-three\""), 1u);
}

TEST(Page, TheLegendOfTheMapNamesOnlyWhatIsDrawn) {
  RunRecord run = sample_run();
  const std::string page = page_html(run);
  EXPECT_NE(page.find("★ recommended"), std::string::npos);
  EXPECT_EQ(page.find("W wrong result"), std::string::npos);
}

TEST(Page, PicturesTellTheirFigures) {
  const RunRecord run = sample_run();
  EXPECT_NE(page_html(run).find("aria-label=\"Best rate by nproc: 1: "), std::string::npos);
}

TEST(Page, StaysSmall) { EXPECT_LT(page_html(sample_run(1000)).size(), 1500u * 1000); }

TEST(Page, SpeaksTheLanguageItIsAskedFor) {
  EXPECT_NE(page_html(sample_run(), {"zh"}).find("<html class=\"no-script\" lang=\"zh\""),
            std::string::npos);
  EXPECT_NE(page_html(sample_run(), {"auto"}).find("lang=\"en\" data-language=\"auto\""),
            std::string::npos);
}

}  // namespace
}  // namespace ocrtune
