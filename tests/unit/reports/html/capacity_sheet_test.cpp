// The sheet to sign: what stands on it, in both languages and three formats.
#include "reports/html/capacity_sheet.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "capacity/capacity_answer.h"
#include "trial/table_runner.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

KindsPlan plans_of(const CapacityDemand& demand, const std::string& mode,
                   const std::string& kept = "") {
  const std::string csv =
      "# cores=16\nnproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n"
      "1,1,1,100,1000000,ok,0.02\n2,1,1,192,2000000,ok,0.02\n4,1,1,360,4000000,ok,0.02\n"
      "8,1,1,640,8000000,ok,0.02\n";
  NodeMeasurement node = measure_node(parse_table(csv, "t").value(), "t").value();
  node.mode = mode;
  node.slo = kept;
  node.machine = "16 CPUs | a <b>";
  node.started = "2026-11-20T07:40:08Z";
  return plan_kinds({{"t", {node}, 2.0}}, demand).value();
}

CapacityDemand service() {
  CapacityDemand demand;
  demand.requests_per_second = 1500;
  demand.slo = LatencySlo{0.99, 0.08};
  return demand;
}

CapacityDemand training() {
  CapacityDemand demand;
  demand.samples = 5e6;
  demand.deadline_seconds = 4 * 3600;
  demand.interruptions.watched_seconds = 720000;
  demand.interruptions.seen = 3;
  demand.interruptions.counted = true;
  demand.interruptions.checkpoint_every_seconds = 600;
  demand.interruptions.restart_seconds = 300;
  return demand;
}

CapacitySheet sheet_of(const CapacityDemand& demand, const std::string& mode,
                       const YearPlan* year = nullptr) {
  return capacity_sheet(plans_of(demand, mode), year, "ocrtune plan --rate 1500", "2026-11-22");
}

std::string query_of(const CapacitySheet& sheet, const std::string& assumption) {
  for (const SheetWatch& watch : sheet.watches) {
    if (watch.assumption.english.find(assumption) != std::string::npos) return watch.query;
  }
  return "";
}

TEST(CapacitySheet, ARateThatWasMeasuredWithinTheTargetIsNotSimulated) {
  for (const std::string kept : {"", "p99=80ms"}) {
    const CapacitySheet sheet = capacity_sheet(plans_of(service(), "infer", kept), nullptr, "", "");
    std::vector<std::string> bases;
    for (const SheetRow& row : sheet.rows) {
      if (row.item.english.starts_with("Rate within the latency")) bases.push_back(row.basis);
    }
    EXPECT_THAT(bases, testing::ElementsAre(kept.empty() ? "simulated" : "measured"));
  }
}

TEST(CapacitySheet, EveryNumberHasABasisASourceAndADate) {
  for (const CapacitySheet& sheet : {sheet_of(service(), "infer"), sheet_of(training(), "train")}) {
    EXPECT_GE(sheet.rows.size(), 8U);
    for (const SheetRow& row : sheet.rows) {
      EXPECT_FALSE(row.value.english.empty()) << row.item.english;
      EXPECT_FALSE(row.source.english.empty()) << row.item.english;
      if (row.basis == "measured") {
        EXPECT_EQ(row.date, "2026-11-20") << row.item.english;
        EXPECT_EQ(row.source.english, "table t");
      }
      if (row.basis == "given" || row.basis == "simulated") {
        EXPECT_EQ(row.date, "2026-11-22");
      }
    }
    EXPECT_FALSE(sheet.assumptions.empty());
    EXPECT_FALSE(sheet.not_measured.empty());
  }
}

TEST(CapacitySheet, ItsOwnWordsAreInBothLanguages) {
  YearPlan year;
  for (const CapacitySheet& sheet :
       {sheet_of(service(), "infer", &year), sheet_of(training(), "train")}) {
    for (const SheetRow& row : sheet.rows) EXPECT_NE(row.item.english, row.item.chinese);
    for (const SheetWatch& watch : sheet.watches) {
      EXPECT_NE(watch.assumption.english, watch.assumption.chinese);
    }
    for (const auto* list : {&sheet.not_measured, &sheet.next, &sheet.assumptions}) {
      for (const Bilingual& text : *list) EXPECT_NE(text.english, text.chinese) << text.english;
    }
    const std::string chinese = sheet_markdown(sheet, SheetLanguage::chinese);
    for (const char* word : {"Owner", "measured", "Signature", "You need", "machines"}) {
      EXPECT_THAT(chinese, Not(HasSubstr(word)));
    }
  }
}

// The largest part first, and so many that the last line ends at half of the first or below.
TEST(CapacitySheet, TheNextMeasurementsHalveTheInterval) {
  const CapacitySheet sheet = sheet_of(service(), "infer");
  ASSERT_EQ(sheet.next.size(), 2U);
  EXPECT_THAT(sheet.next[0].english, HasSubstr("machines and days: "));
  EXPECT_THAT(sheet.next[1].english, HasSubstr("the measured rate: tune with"));
  const auto number_behind = [](const std::string& text, const std::string& word) {
    return std::stod(text.substr(text.find(word) + word.size()));
  };
  const double from = number_behind(sheet.next[0].english, "each: ±");
  EXPECT_LE(number_behind(sheet.next[1].english, "becomes ±"), 0.51 * from);
}

TEST(CapacitySheet, WhatNobodyGaveIsAnAssumption) {
  YearPlan year;
  const CapacitySheet sheet =
      capacity_sheet(plans_of(service(), "infer"), &year, "ocrtune plan --growth 3", "2026-11-22");
  for (const SheetRow& row : sheet.rows) {
    if (row.item.english == "Growth a month") {
      EXPECT_EQ(row.basis, "given");
    }
    if (row.item.english == "Warm-up of a machine") {
      EXPECT_EQ(row.basis, "assumed");
      EXPECT_EQ(row.source.english, "the default of --warm-up");
    }
  }
}

TEST(CapacitySheet, AlertsHoldThePlansOwnNumbers) {
  const CapacitySheet sheet = sheet_of(service(), "infer");
  EXPECT_EQ(query_of(sheet, "at most the peak"), "sum(rate(http_requests_total[1m])) > 1500");
  EXPECT_EQ(query_of(sheet, "the latency target is met"),
            "histogram_quantile(0.99, sum by (le) "
            "(rate(http_request_duration_seconds_bucket[5m]))) > 0.08");
  const CapacitySheet job = sheet_of(training(), "train");
  EXPECT_THAT(query_of(job, "the job goes on"),
              "time() - ocrtune_run_last_progress_timestamp_seconds > 900");
  EXPECT_THAT(query_of(job, "interruptions are no more frequent"),
              HasSubstr("increase(ocrtune_run_restarts_total[1d]) > "));
  EXPECT_EQ(query_of(job, "memory stays as measured"), "ocrtune_run_memory_bytes > 8800000");
}

TEST(CapacitySheet, IsEscapedInEachFormat) {
  const CapacitySheet sheet = sheet_of(service(), "infer");
  EXPECT_THAT(sheet_html(sheet), HasSubstr("16 CPUs | a &lt;b&gt;"));
  EXPECT_THAT(sheet_html(sheet), HasSubstr("<section id=\"signatures\""));
  EXPECT_THAT(sheet_markdown(sheet, SheetLanguage::english), HasSubstr("16 CPUs \\| a <b>"));
  EXPECT_THAT(csv_text(sheet_table(sheet)),
              HasSubstr("\nnumber,Machine,16 CPUs | a <b>,measured,table t,2026-11-20,\n"));
}

TEST(CapacitySheet, EveryColumnIsDocumented) {
  const auto schema = read_file(std::string(OCRTUNE_SOURCE_DIR) + "/docs/schema.md");
  ASSERT_TRUE(schema.ok());
  const std::string section = schema->substr(schema->find("## sheet.csv"));
  const Table table = sheet_table(sheet_of(service(), "infer"));
  for (const std::string& column : table.columns()) {
    EXPECT_THAT(section, HasSubstr("| `" + column + "` |"));
  }
}

}  // namespace
}  // namespace ocrtune
