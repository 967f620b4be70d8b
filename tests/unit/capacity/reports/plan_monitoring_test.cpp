#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "extras/capacity/reports/plan_writers.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

PlanDocument two_watches() {
  PlanDocument document;
  document.date = "2026-11-26";
  document.query_note = {"names \"stand\" for yours", "名称"};
  document.watches = {
      {{"enough machines are up", "机器足够"}, "TooFew", "sum(up{job=\"ocr\"})", "<", "3"},
      {{"the load is small", "负载"}, "Load", "sum(rate(x[1m]))", ">", "1.5e+03"}};
  return document;
}

TEST(PlanMonitoring, EachAssumptionIsAnAlert) {
  const std::string rules = prometheus_rules(two_watches());
  EXPECT_THAT(rules,
              HasSubstr("\ngroups:\n  - name: ocrtune-plan\n    rules:\n"
                        "      - alert: TooFew\n"
                        "        expr: \"sum(up{job=\\\"ocr\\\"}) < 3\"\n        for: 5m\n"));
  EXPECT_THAT(rules, HasSubstr("- alert: Load\n        expr: \"sum(rate(x[1m])) > 1.5e+03\"\n"));
  EXPECT_THAT(rules, HasSubstr("summary_zh: \"不再成立：负载\""));
}

TEST(PlanMonitoring, TheOperatorsObjectHoldsTheSameGroups) {
  const std::string object = prometheus_rule_object(two_watches());
  EXPECT_THAT(object, HasSubstr("kind: PrometheusRule\n"));
  EXPECT_THAT(object, HasSubstr("spec:\n  groups:\n    - name: ocrtune-plan\n      rules:\n"
                                "        - alert: TooFew\n          expr: "));
}

TEST(PlanMonitoring, EachAssumptionIsAPanelWithItsLimit) {
  const auto dashboard = nlohmann::json::parse(grafana_dashboard(two_watches()));
  ASSERT_EQ(dashboard["panels"].size(), 2u);
  const auto& panel = dashboard["panels"][1];
  EXPECT_EQ(panel["title"], "the load is small");
  EXPECT_EQ(panel["targets"][0]["expr"], "sum(rate(x[1m]))");
  EXPECT_EQ(panel["targets"][1]["expr"], "1.5e+03");
  EXPECT_EQ(panel["gridPos"]["x"], 12);
  EXPECT_EQ(dashboard["templating"]["list"][0]["query"], "prometheus");
  EXPECT_TRUE(dashboard["templating"]["list"][0].is_object());
  EXPECT_TRUE(panel["fieldConfig"]["defaults"].is_object());
  EXPECT_TRUE(dashboard["annotations"]["list"].is_array());
}

TEST(PlanMonitoring, APlanWithoutWatchesGivesNoFiles) {
  EXPECT_EQ(prometheus_rules({}) + prometheus_rule_object({}) + grafana_dashboard({}), "");
}

}  // namespace
}  // namespace ocrtune
