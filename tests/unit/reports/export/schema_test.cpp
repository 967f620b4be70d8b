// docs/schema.md says what the files hold; these tests hold the document against the program.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "reports/console/console.h"
#include "reports/export/run_json.h"
#include "reports/export/run_tables.h"
#include "reports/html/page.h"
#include "tests/support/sample_runs.h"
#include "tests/support/schema_text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

std::string document() {
  return read_file(std::string(OCRTUNE_SOURCE_DIR) + "/docs/schema.md").value_or("");
}

// First column of the table under a heading; the row "knobs" stands for a column of each knob.
std::vector<std::string> documented(const std::string& heading) {
  std::vector<std::string> names;
  bool inside = false;
  for (const std::string& line : split(document(), '\n')) {
    if (starts_with(line, "## ")) inside = line == "## " + heading;
    if (!inside || !starts_with(line, "| ")) continue;
    const std::string cell(trim(split(line, '|')[1]));
    if (cell == "knobs") {
      for (const KnobRow& row : knob_table()) names.emplace_back(row.name);
    } else if (starts_with(cell, "`")) {
      names.push_back(cell.substr(1, cell.size() - 2));
    }
  }
  return names;
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

TEST(Schema, TablesHaveTheDocumentedColumns) {
  const RunRecord run = sample_run();
  EXPECT_EQ(trials_table(run).columns(), documented("trials.csv"));
  EXPECT_EQ(summary_table(run).columns(), documented("summary.csv"));
  EXPECT_EQ(probe_table(run.machine).columns(), documented("probe.csv"));
  EXPECT_EQ(failures_table(run).columns(), documented("failures.csv"));
}

TEST(Schema, JsonHasTheDocumentedKeys) {
  for (const RunRecord& run : {sample_run(), empty_run(), run_without_success(), hostile_run()}) {
    EXPECT_EQ(keys(Json::parse(run_json(run))), documented("tune --json, show --json"));
    EXPECT_EQ(schema_fault("tune", Json::parse(run_json(run))), "");
  }
}

TEST(Schema, ProgressIsOneLineWithTheDocumentedKeys) {
  for (const Trial& trial : hostile_run().trials) {
    const std::string line = progress_json({3, trial, "samples/s", 0, 12.5});
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const Json json = Json::parse(line);
    EXPECT_EQ(keys(json), documented("tune --progress json"));
    EXPECT_EQ(schema_fault("tune-progress", json), "");
    EXPECT_TRUE(json["best_samples_per_second"].is_null());
  }
}

TEST(Schema, EveryKnobIsNamedInTheDocument) {
  const std::string text = document();
  for (const KnobRow& row : knob_table()) {
    EXPECT_NE(text.find(std::string("`") + row.name + "`"), std::string::npos) << row.name;
  }
}

TEST(Schema, JsonSaysWhatTheRunFound) {
  const RunRecord run = sample_run();
  const Json json = Json::parse(run_json(run));
  const Json& recommended = json["recommendation"];
  const Knobs& knobs = run.result.recommendation.knobs;
  EXPECT_EQ(recommended["knobs"]["nproc"], knobs.nproc);
  EXPECT_EQ(recommended["knobs"]["precision"], "fp32");
  EXPECT_EQ(recommended["env"]["OMP_NUM_THREADS"], std::to_string(knobs.threads));
  EXPECT_DOUBLE_EQ(recommended["samples_per_second"]["low"],
                   run.result.recommendation.samples_per_second.low);
  EXPECT_EQ(json["rules"][2]["name"], "seven");
  EXPECT_EQ(json["ties"].size(), 3u);
  EXPECT_EQ(json["outcomes"]["out_of_memory"], run.result.outcomes.at("out_of_memory"));
}

TEST(Schema, WhatWasNotMeasuredIsNull) {
  const Json json = Json::parse(run_json(run_without_success()));
  EXPECT_TRUE(json["recommendation"].is_null());
  EXPECT_TRUE(json["gain"].is_null());
  EXPECT_TRUE(json["settings"][0]["samples_per_second"].is_null());
  EXPECT_FALSE(json["found"]);
}

TEST(Schema, NoiseIsNullUnlessSomethingRanTwice) {
  RunRecord run = sample_run();
  run.result.noise_measured = true;
  EXPECT_TRUE(Json::parse(run_json(run))["noise"].is_number());
  run.result.noise_measured = false;
  EXPECT_TRUE(Json::parse(run_json(run))["noise"].is_null());
}

// One setting has one rate wherever it is told.
TEST(RunTables, TheRecommendedRateIsTheSameEverywhere) {
  const RunRecord run = sample_run();
  const double rate = run.result.recommendation.samples_per_second.median;
  const Json json = Json::parse(run_json(run));
  EXPECT_DOUBLE_EQ(json["recommendation"]["samples_per_second"]["median"], rate);
  EXPECT_DOUBLE_EQ(json["settings"][0]["samples_per_second"]["median"], rate);
  const Table summary = summary_table(run);
  EXPECT_EQ(cell_text(summary.at(0, "is_recommended")), "1");
  EXPECT_EQ(cell_text(summary.at(0, "samples_per_second")), cell_text(rate));
  const std::string told = format_count(rate);
  EXPECT_NE(console_summary(run, 200, false).find("rate     " + told + " ("), std::string::npos);
  EXPECT_NE(page_html(run).find(told), std::string::npos);
}

TEST(RunTables, ARowForEachSampleAndOneForATrialWithout) {
  const RunRecord run = sample_run(60);
  std::size_t rows = 0;
  for (const Trial& trial : run.trials) rows += std::max<std::size_t>(trial.samples.size(), 1);
  const Table table = trials_table(run);
  ASSERT_EQ(table.rows(), rows);
  EXPECT_EQ(cell_text(table.at(0, "phase")), "baseline");
  EXPECT_EQ(cell_text(table.at(1, "sample")), "1");
  EXPECT_EQ(cell_text(table.at(1, "samples_per_second")),
            cell_text(run.trials[0].samples[1].samples_per_second()));
  for (std::size_t row = 0; row < rows; ++row) {
    const bool ok = cell_text(table.at(row, "outcome")) == "ok";
    EXPECT_EQ(cell_text(table.at(row, "sample")).empty(), !ok);
    EXPECT_EQ(cell_text(table.at(row, "samples_per_second")).empty(), !ok);
    EXPECT_FALSE(cell_text(table.at(row, "reproduce")).empty());
  }
}

// A store numbers the trials of all its runs.
TEST(RunTables, TrialsAreNumberedInTheirRun) {
  RunRecord run = sample_run(10);
  for (Trial& trial : run.trials) trial.id += 40;
  EXPECT_EQ(cell_text(trials_table(run).at(0, "trial")), "1");
  EXPECT_NE(page_html(run).find("\"trials\":[[1,"), std::string::npos);
}

TEST(RunTables, TheUsersDimensionsAreColumns) {
  RunRecord run = sample_run(10);
  run.trials[3].knobs.dims["ratio"] = "0.5";
  const Table table = trials_table(run);
  EXPECT_EQ(cell_text(table.at(15, "dim_ratio")), "0.5");
  EXPECT_EQ(cell_text(table.at(0, "dim_ratio")), "");
}

TEST(RunTables, FlagsOfTheSummary) {
  const RunRecord run = sample_run();
  const Table table = summary_table(run);
  int recommended = 0, baseline = 0, ties = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    recommended += cell_text(table.at(row, "is_recommended")) == "1";
    baseline += cell_text(table.at(row, "is_baseline")) == "1";
    ties += cell_text(table.at(row, "is_tie")) == "1";
  }
  EXPECT_EQ(recommended, 1);
  EXPECT_EQ(baseline, 1);
  EXPECT_EQ(ties, 3);
  EXPECT_EQ(cell_text(table.at(0, "is_recommended")), "1") << "best first";
}

TEST(RunTables, AnInconclusiveRunRecommendsNothing) {
  RunRecord run = sample_run();
  run.result.verdict.answer = Answer::inconclusive;
  const Table table = summary_table(run);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    EXPECT_EQ(cell_text(table.at(row, "is_recommended")), "0");
  }
}

TEST(RunTables, AnUnknownFactHasNoValueButAReason) {
  const Table table = probe_table(sample_machine());
  bool found = false;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (cell_text(table.at(row, "fact")) != "virtual_machine") continue;
    found = true;
    EXPECT_EQ(cell_text(table.at(row, "value")), "");
    EXPECT_EQ(cell_text(table.at(row, "source")), "no hypervisor flag and no DMI table");
  }
  EXPECT_TRUE(found);
}

TEST(RunTables, AnEmptyRunHasHeadingsOnly) {
  const RunRecord run = empty_run();
  EXPECT_EQ(trials_table(run).rows(), 0u);
  EXPECT_EQ(summary_table(run).rows(), 0u);
  EXPECT_EQ(failures_table(run).rows(), 0u);
  EXPECT_GT(probe_table(run.machine).rows(), 10u);
}

}  // namespace
}  // namespace ocrtune
