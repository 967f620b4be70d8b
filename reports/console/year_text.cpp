#include "reports/console/year_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "capacity/capacity_answer.h"
#include "reports/console/kinds_text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

double pages(double requests_per_second, const CapacityPlan& plan) {
  return requests_per_second / mean_requests(plan.demand.lines_per_page);
}

std::string cost(const CapacityPlan& plan, double machine_hours) {
  if (!plan.demand.cost_per_hour) return "";
  return fmt::format(", cost {:.0f}", machine_hours * *plan.demand.cost_per_hour);
}

// Hours of equal counts in one: "00:00 2, 08:00 10, 18:00 3".
std::string hours_words(const YearPlan& year, const CapacityPlan& plan) {
  std::string text;
  int before = -1;
  for (const HourOfFleet& hour : year.hours) {
    if (hour.machines == before) continue;
    before = hour.machines;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                        time_in(plan.demand.profile, hour.begins_minute), hour.machines);
  }
  return text;
}

}  // namespace

Table year_table(const YearPlan& year) {
  Table table({"month", "requests_per_second", "machines", "spare_machines", "fixed_machine_hours",
               "scaled_machine_hours", "fixed_risk_hours", "scaled_risk_hours"});
  for (const YearRow& row : year.rows) {
    table.add_row({std::int64_t{row.month}, row.requests_per_second, std::int64_t{row.machines},
                   std::int64_t{row.spares}, row.fixed_hours, row.scaled_hours,
                   row.fixed_risk_hours, row.scaled_risk_hours});
  }
  return table;
}

Json year_json(const YearPlan& year, const CapacityPlan& plan) {
  Json json;
  json["growth_per_month"] = year.demand.growth;
  json["availability"] = year.demand.availability;
  json["machine_availability"] = year.demand.machine_availability;
  json["warm_up_seconds"] = year.demand.warm_up_seconds;
  json["machine_requests_per_second"] = year.sure_rate;
  json["fixed_machine_hours"] = year.fixed_machine_hours;
  json["scaled_machine_hours"] = year.scaled_machine_hours;
  json["answer"] = year_sentences(year, plan);
  json["months"] = Json::array();
  for (const YearRow& row : year.rows) {
    json["months"].push_back({{"month", row.month},
                              {"requests_per_second", row.requests_per_second},
                              {"machines", row.machines},
                              {"spare_machines", row.spares},
                              {"fixed_machine_hours", row.fixed_hours},
                              {"scaled_machine_hours", row.scaled_hours},
                              {"fixed_risk_hours", row.fixed_risk_hours},
                              {"scaled_risk_hours", row.scaled_risk_hours}});
  }
  json["hours"] = Json::array();
  for (const HourOfFleet& hour : year.hours) {
    json["hours"].push_back({{"begins", time_in(plan.demand.profile, hour.begins_minute)},
                             {"machines", hour.machines}});
  }
  return json;
}

std::vector<std::string> year_sentences(const YearPlan& year, const CapacityPlan& plan) {
  const YearRow& now = year.rows.front();
  const YearRow& last = year.rows.back();
  std::vector<std::string> sentences = {
      fmt::format("Over a year: {}+{} machines now and {}+{} in {} months at {:+.3g} % a month.",
                  now.machines, now.spares, last.machines, last.spares, last.month,
                  100 * year.demand.growth),
      fmt::format(
          "The spare ones are for {:g} % of the time with enough machines, each up for {:g} %.",
          100 * year.demand.availability, 100 * year.demand.machine_availability),
      fmt::format("Fixed for the last month: {:.0f} machine hours a year{}.",
                  year.fixed_machine_hours, cost(plan, year.fixed_machine_hours)),
      fmt::format("Scaled by the minute, {} ahead: {:.0f} machine hours a year{}.",
                  format_duration(year.demand.warm_up_seconds), year.scaled_machine_hours,
                  cost(plan, year.scaled_machine_hours))};
  const std::string hours = hours_words(year, plan);
  if (!hours.empty()) {
    sentences.push_back("Machines from each time on, without the spare ones: " + hours + ".");
  }
  return sentences;
}

std::string year_text(const YearPlan& year, const CapacityPlan& plan, int width) {
  const auto sentences = year_sentences(year, plan);
  Table table({"month", asked_unit(plan) + "/s", "machines", "fixed h", "scaled h", "h at risk"});
  for (const YearRow& row : year.rows) {
    if (row.month % 3 != 0) continue;
    table.add_row({std::int64_t{row.month}, format_count(pages(row.requests_per_second, plan)),
                   fmt::format("{}+{}", row.machines, row.spares),
                   fmt::format("{:.0f}", row.fixed_hours), fmt::format("{:.0f}", row.scaled_hours),
                   fmt::format("{:.2g}", row.scaled_risk_hours)});
  }
  return "\n" + sentences[0] + " " + sentences[1] + "\n\n" + console_table(table, width) + "\n" +
         join({sentences.begin() + 2, sentences.end()}, "\n") + "\n";
}

}  // namespace ocrtune
