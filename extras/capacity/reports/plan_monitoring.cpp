// Rules and dashboard are written as text and JSON by hand: both formats are small. Every alert and
// every panel is one of the document's watches.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "extras/capacity/reports/plan_writers.h"

namespace ocrtune {
namespace {

using nlohmann::json;

// A double-quoted scalar of YAML: JSON's strings are a part of it.
std::string quoted(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string rules_heading(const PlanDocument& document) {
  return fmt::format("# ocrtune plan, {}: an alert for each assumption. {}\n", document.date,
                     document.query_note.english);
}

// `margin` before each line.
std::string groups_yaml(const PlanDocument& document, const std::string& margin) {
  std::string text =
      margin + "groups:\n" + margin + "  - name: ocrtune-plan\n" + margin + "    rules:\n";
  for (const PlanWatch& watch : document.watches) {
    text += fmt::format(
        "{0}      - alert: {1}\n{0}        expr: {2}\n{0}        for: 5m\n{0}        labels:\n"
        "{0}          severity: warning\n{0}        annotations:\n{0}          summary: {3}\n"
        "{0}          summary_zh: {4}\n",
        margin, watch.alert, quoted(watch.query()),
        quoted("No longer true: " + watch.assumption.english),
        quoted("不再成立：" + watch.assumption.chinese));
  }
  return text;
}

json target(const char* name, const std::string& expression, const char* legend) {
  return {{"refId", name},
          {"expr", expression},
          {"legendFormat", legend},
          {"datasource", {{"type", "prometheus"}, {"uid", "${datasource}"}}}};
}

json panel(const PlanWatch& watch, int number) {
  constexpr int kWide = 12, kHigh = 8;  // of 24 columns
  return {{"id", number + 1},
          {"type", "timeseries"},
          {"title", watch.assumption.english},
          {"description", watch.query()},
          {"datasource", {{"type", "prometheus"}, {"uid", "${datasource}"}}},
          {"gridPos",
           {{"x", number % 2 * kWide}, {"y", number / 2 * kHigh}, {"w", kWide}, {"h", kHigh}}},
          {"targets", {target("A", watch.expression, "now"), target("B", watch.limit, "limit")}},
          {"fieldConfig", {{"defaults", {{"min", 0}}}, {"overrides", json::array()}}},
          {"options", json::object()}};
}

}  // namespace

std::string prometheus_rules(const PlanDocument& document) {
  return document.watches.empty() ? "" : rules_heading(document) + groups_yaml(document, "");
}

std::string prometheus_rule_object(const PlanDocument& document) {
  if (document.watches.empty()) return "";
  return rules_heading(document) +
         "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n"
         "  name: ocrtune-plan\nspec:\n" +
         groups_yaml(document, "  ");
}

std::string grafana_dashboard(const PlanDocument& document) {
  if (document.watches.empty()) return "";
  json panels = json::array();
  for (const PlanWatch& watch : document.watches) {
    panels.push_back(panel(watch, static_cast<int>(panels.size())));
  }
  const json dashboard = {
      {"title", "ocrtune plan, " + document.date},
      {"tags", {"ocrtune"}},
      {"schemaVersion", 39},
      {"editable", true},
      {"refresh", "1m"},
      {"time", {{"from", "now-24h"}, {"to", "now"}}},
      {"annotations", {{"list", json::array()}}},
      {"templating",
       {{"list", {{{"name", "datasource"}, {"type", "datasource"}, {"query", "prometheus"}}}}}},
      {"panels", panels}};
  return dashboard.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace ocrtune
