#include "reports/console/capacity_text.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "reports/console/kinds_text.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

CapacityPlan plan_of() {
  CapacityPlan plan;
  plan.demand.requests_per_second = 2500;
  plan.demand.slo = LatencySlo{0.99, 0.08};
  plan.source = "table t";
  plan.machine_kind = "this kind";
  plan.machine_rate = {1000, 950, 1050};
  plan.machines = {3, 3, 4};
  plan.spare_machines = 4;
  plan.answer = "3 nodes do it.";
  CapacityRow over;
  over.machines = 2;
  over.samples_per_second = {2000, 1900, 2100};
  over.busy_share = 1.25;
  over.latency_seconds = std::numeric_limits<double>::infinity();
  CapacityRow good;
  good.machines = 3;
  good.samples_per_second = {3000, 2850, 3150};
  good.busy_share = 0.83;
  good.latency_seconds = 0.05;
  good.probability = 0.97;
  good.cost_per_hour = 4.5;
  plan.rows = {over, good};
  plan.back_tests = {{8, 16, {1020, 950, 1100}, 1010, 0.0099, true}};
  plan.notes = {"a note"};
  return plan;
}

KindsPlan kinds_of(const CapacityPlan& plan, int count) {
  KindsPlan plans;
  for (int i = 0; i < count; ++i) {
    plans.kinds.push_back({i == 0 ? "gpu.db" : "cpu.db", "16 CPUs", plan, 9.0 + 3 * i, 1.25});
  }
  if (count > 1) plans.mix = MachineMix{"gpu.db", "cpu.db", 2, 1, 8, 1.1};
  return plans;
}

TEST(CapacityCsv, OverloadAndUnknownAreEmptyCells) {
  EXPECT_THAT(capacity_csv(plan_of()), HasSubstr("\n2,2000,1900,2100,1.25,,,,,0,,,0,0,\n"
                                                 "3,3000,2850,3150,0.83,0.05,,,,0.97,4.5,,1,0,\n"));
}

TEST(CapacityCsv, EveryColumnIsDocumented) {
  const auto schema = read_file(std::string(OCRTUNE_SOURCE_DIR) + "/docs/schema.md");
  ASSERT_TRUE(schema.ok());
  const std::string section = schema->substr(schema->find("## capacity.csv"));
  const Table table = capacity_table(plan_of());
  for (const std::string& column : table.columns()) {
    EXPECT_THAT(section, HasSubstr("| `" + column + "` |"));
  }
  const Table kinds = kinds_table(kinds_of(plan_of(), 2));
  for (const std::string& column : kinds.columns()) {
    EXPECT_THAT(schema->substr(schema->find("## kinds.csv")), HasSubstr("| `" + column + "` |"));
  }
  const auto json = nlohmann::json::parse(capacity_json(kinds_of(plan_of(), 2)));
  const std::string keys = schema->substr(schema->find("## plan --json"));
  for (const auto& [key, value] : json.items()) EXPECT_THAT(keys, HasSubstr("| `" + key + "` |"));
}

TEST(CapacityJson, InfiniteLatencyIsNull) {
  const auto json = nlohmann::json::parse(capacity_json(kinds_of(plan_of(), 1)), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_TRUE(json["rows"][0]["latency_seconds"].is_null());
  EXPECT_EQ(json["machines"]["high"], 4);
  EXPECT_EQ(json["back_test"][0]["predicted_at"], 16);
}

TEST(KindsText, NamesTheCheapestTheMixAndWhatCannot) {
  KindsPlan plans = kinds_of(plan_of(), 2);
  plans.kinds[1].plan.refused = true;
  plans.kinds[1].plan.answer = "No answer: too slow.";
  plans.kinds[1].plan.extrapolated = true;
  const std::string text = kinds_text(plans, 80);
  EXPECT_THAT(text, HasSubstr("16 CPUs, EXTRAPOLATED"));
  EXPECT_THAT(text, testing::StartsWith("Cheapest of 2 kinds: 4 of gpu.db at 9.00 an hour, 1.25 "
                                        "for a million line images."));
  EXPECT_THAT(text, HasSubstr("Cheaper still, as a mix: 2 of gpu.db with 1 of cpu.db at 8.00"));
  EXPECT_THAT(text, HasSubstr("cpu.db: No answer: too slow."));
  EXPECT_EQ(kinds_text(kinds_of(plan_of(), 1), 100), "");
}

TEST(CapacityText, PrintsTheBackTestBesideTheAnswer) {
  const std::string text = capacity_text(plan_of(), 100);
  EXPECT_THAT(text, testing::StartsWith("3 nodes do it.\n"));
  EXPECT_THAT(text, HasSubstr("fit on up to 8 -> predicts 1020 (950-1100) samples/s at 16, "
                              "measured 1010: +1.0 %"));
  EXPECT_THAT(text, HasSubstr("no end"));
  EXPECT_THAT(text, HasSubstr("Note: a note"));
}

}  // namespace
}  // namespace ocrtune
