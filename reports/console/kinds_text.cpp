#include "reports/console/kinds_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

Cell price(const std::optional<double>& value, const char* format) {
  return value ? Cell(fmt::format(fmt::runtime(format), *value)) : Cell();
}

Cell count(const CapacityPlan& plan) {
  return plan.refused ? Cell() : Cell(static_cast<std::int64_t>(plan.machines.high));
}

}  // namespace

std::string asked_unit(const CapacityPlan& plan) {
  return plan.demand.lines_per_page.empty() ? plan.unit : "pages";
}

Table kinds_table(const KindsPlan& plans) {
  Table table({"kind", "machine", "source", "machines", "machine_cost_per_hour", "cost_per_hour",
               "cost_per_million", "is_extrapolated", "refusal"});
  for (const KindPlan& kind : plans.kinds) {
    table.add_row({kind.name, kind.machine, kind.plan.source, count(kind.plan),
                   cell_of(kind.plan.demand.cost_per_hour), cell_of(kind.cost_per_hour),
                   cell_of(kind.cost_per_million), std::int64_t{kind.plan.extrapolated},
                   kind.plan.refusal});
  }
  return table;
}

void add_kinds(const KindsPlan& plans, Json& json) {
  json["kinds"] = Json::parse(table_json(kinds_table(plans)));
  json["mix"] = nullptr;
  if (!plans.mix) return;
  const MachineMix& mix = *plans.mix;
  json["mix"] = {{"machines", {{mix.first, mix.first_machines}, {mix.second, mix.second_machines}}},
                 {"cost_per_hour", mix.cost_per_hour},
                 {"cost_per_million", mix.cost_per_million}};
}

std::string kinds_text(const KindsPlan& plans, int width) {
  if (plans.kinds.size() < 2) return "";
  const KindPlan& first = plans.kinds.front();
  const std::string unit = asked_unit(first.plan);
  std::string text;
  if (first.cost_per_hour) {
    text = fmt::format(
        "Cheapest of {} kinds: {:.0f} of {} at {:.2f} an hour, {:.3g} for a million {}.",
        plans.kinds.size(), first.plan.machines.high, first.name, *first.cost_per_hour,
        first.cost_per_million.value_or(0), unit);
  }
  if (plans.mix) {
    text += fmt::format(" Cheaper still, as a mix: {} of {} with {} of {} at {:.2f}, {:.3g}.",
                        plans.mix->first_machines, plans.mix->first, plans.mix->second_machines,
                        plans.mix->second, plans.mix->cost_per_hour, plans.mix->cost_per_million);
  }
  if (!text.empty()) text += "\n\n";
  Table table({"kind", "machine", "count", "cost/h", "cost/million"});
  for (const KindPlan& kind : plans.kinds) {
    table.add_row({kind.name, kind.machine + (kind.plan.extrapolated ? ", EXTRAPOLATED" : ""),
                   count(kind.plan), price(kind.cost_per_hour, "{:.2f}"),
                   price(kind.cost_per_million, "{:.3g}")});
  }
  text += console_table(table, width);
  for (const KindPlan& kind : plans.kinds) {
    if (kind.plan.refused && &kind != &first) text += kind.name + ": " + kind.plan.answer + "\n";
  }
  return text + "\nWith " + first.name + ": ";
}

}  // namespace ocrtune
