// Facts for programs, and beside them the document as it was told, in both languages: a run's page
// reads the latter back. Unknown numbers are null, never 0.
#include "extras/capacity/reports/plan_json.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "extras/capacity/reports/plan_builder.h"
#include "extras/capacity/reports/plan_words.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

Json interval_json(const Interval& interval) {
  return {{"median", interval.median}, {"low", interval.low}, {"high", interval.high}};
}

Json known(double value) { return value > 0 && std::isfinite(value) ? Json(value) : Json(); }
Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Cell known_cell(double value) {
  if (value <= 0 || !std::isfinite(value)) return {};
  return value;
}

Json interruptions_json(const Interruptions& stops) {
  if (!stops.expected()) return nullptr;
  return {{"seen", stops.seen},
          {"watched_seconds", stops.watched_seconds},
          {"counted", stops.counted},
          {"restart_seconds", known(stops.restart_seconds)},
          {"checkpoint_every_seconds", known(stops.checkpoint_every_seconds)},
          {"checkpoint_seconds", stops.checkpoint_seconds}};
}

Json demand_json(const CapacityPlan& plan) {
  const CapacityDemand& demand = plan.demand;
  const double lines = mean_requests(demand.lines_per_page);
  return {{"mode", demand.inference() || !plan.trains ? "infer" : "train"},
          {"requests_per_second", known(demand.requests_per_second)},
          {"unit", asked_unit(plan)},
          {"lines_per_page", demand.lines_per_page.empty() ? Json() : Json(lines)},
          {"daily_requests", known(demand.daily_requests)},
          {"peak_factor", demand.peak_factor.value},
          {"peak_time", text_or_null(demand.peak_time)},
          {"users", known(demand.users)},
          {"think_seconds", known(demand.think_seconds)},
          {"balancer", demand.balancer == Balancer::random ? "random" : "turns"},
          {"promise", demand.slo ? Json(slo_target(*demand.slo)) : Json()},
          {"samples", known(demand.samples)},
          {"epochs", demand.epochs},
          {"deadline_seconds", known(demand.deadline_seconds)},
          {"deadline_time", text_or_null(demand.deadline_time)},
          {"interruptions", interruptions_json(demand.interruptions)},
          {"confidence", demand.confidence}};
}

Json row_json(const CapacityRow& row, const CapacityDemand& demand) {
  const bool inference = demand.inference();
  return {{"machines", row.machines},
          {"samples_per_second", interval_json(row.samples_per_second)},
          {"busy_share", known(row.busy_share)},
          {"latency_seconds", known(row.latency_seconds)},
          {"seconds", inference ? Json() : interval_json(row.seconds)},
          {"tail_seconds", known(row.tail_seconds)},
          {"interruptions", inference ? Json() : Json(row.interruptions)},
          {"probability", demand.asks_time() ? Json() : Json(row.probability)},
          {"cost_per_hour", optional_json(row.cost_per_hour)},
          {"cost", optional_json(row.cost)}};
}

Json back_test_json(const BackTest& test) {
  return {{"fitted_up_to", test.fitted_up_to},
          {"predicted_at", test.predicted_at},
          {"predicted_samples_per_second", interval_json(test.predicted)},
          {"measured_samples_per_second", test.measured},
          {"error", test.error},
          {"covered", test.covered}};
}

Json tests_json(const std::vector<StoreBackTest>& tests) {
  const StoreBackTestSummary summary = summary_of(tests);
  Json json = {{"answer", store_test_words(tests).english},
               {"tests", summary.tests},
               {"held", summary.held},
               {"median_error", summary.median_error},
               {"p90_error", summary.p90_error},
               {"rows", Json::array()}};
  for (const StoreBackTest& test : tests) {
    json["rows"].push_back({{"figure", predicted_figure_name(test.figure)},
                            {"from", test.from},
                            {"against", test.against},
                            {"knobs", knobs_text(test.knobs)},
                            {"promise", text_or_null(test.slo)},
                            {"predicted_samples_per_second", interval_json(test.predicted)},
                            {"measured_samples_per_second", test.measured},
                            {"error", test.error()},
                            {"held", test.held()}});
  }
  return json;
}

Json knobs_json(const Knobs& knobs) {
  Json json = Json::object();
  for (const auto& [name, value] : knob_texts(knobs)) json[name] = value;
  // Also at their defaults, which knob_texts() leaves out.
  for (const char* count : {"nproc", "threads", "batch"}) {
    json[count] = knobs.*(find_knob(count)->number);
  }
  for (const std::string& name : knobs.absent) json[name] = nullptr;
  return json;
}

Json year_json(const YearPlan& year, const CapacityPlan& plan) {
  Json json = {{"growth_per_month", year.demand.growth.value},
               {"availability", year.demand.availability.value},
               {"machine_availability", year.demand.machine_availability.value},
               {"warm_up_seconds", year.demand.warm_up_seconds.value},
               {"zones", year.demand.zones.value},
               {"machine_requests_per_second", year.sure_rate},
               {"fixed_machine_hours", year.fixed_machine_hours},
               {"scaled_machine_hours", year.scaled_machine_hours},
               {"months", Json::parse(table_json(year_table(year)))},
               {"hours", Json::array()}};
  for (const HourOfFleet& hour : year.hours) {
    json["hours"].push_back({{"begins", time_in(plan.demand.profile, hour.begins_minute)},
                             {"machines", hour.machines}});
  }
  return json;
}

Json autoscale_json(const AutoscalePlan& scale) {
  return {{"min_replicas", scale.min_replicas},
          {"max_replicas", scale.max_replicas},
          {"target_in_flight", scale.target_in_flight},
          {"start_seconds", scale.start_seconds},
          {"start_measured", scale.start_measured},
          {"machine_hours", known(scale.machine_hours)},
          {"late_share", scale.late_share < 0 ? Json() : Json(scale.late_share)},
          {"fixed_machines", scale.fixed_machines},
          {"fixed_machine_hours", known(scale.fixed_machine_hours)},
          {"fixed_late_share", scale.fixed_late_share < 0 ? Json() : Json(scale.fixed_late_share)}};
}

// --- the document, both ways ---

Json to_json(const Bilingual& text) { return {text.english, text.chinese}; }

Json to_json(const std::vector<Bilingual>& texts) {
  Json list = Json::array();
  for (const Bilingual& text : texts) list.push_back(to_json(text));
  return list;
}

Json document_json(const PlanDocument& document) {
  Json json = {{"answer", to_json(document.answer)},
               {"badges", document.badges},
               {"numbers", Json::array()},
               {"tables", Json::array()},
               {"assumptions", to_json(document.assumptions)},
               {"gaps", to_json(document.gaps)},
               {"next", to_json(document.next)},
               {"watches", Json::array()}};
  for (const PlanNumber& number : document.numbers) {
    json["numbers"].push_back({{"item", to_json(number.item)},
                               {"value", to_json(number.value)},
                               {"basis", number.basis},
                               {"source", to_json(number.source)},
                               {"date", text_or_null(number.date)}});
  }
  for (const PlanWatch& watch : document.watches) {
    json["watches"].push_back(
        {{"assumption", to_json(watch.assumption)}, {"query", watch.query()}});
  }
  for (const PlanTable& table : document.tables) {
    Json rows = Json::array();
    for (const auto& cells : table.rows) rows.push_back(to_json(cells));
    json["tables"].push_back(
        {{"title", table.title}, {"headings", table.headings}, {"rows", std::move(rows)}});
  }
  return json;
}

std::vector<nlohmann::json> list(const nlohmann::json& at, const char* key) {
  const auto found = at.is_object() ? at.find(key) : at.end();
  if (!at.is_object() || found == at.end() || !found->is_array()) return {};
  return {found->begin(), found->end()};
}

Bilingual read_text(const nlohmann::json& json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_string() || !json[1].is_string()) {
    return {};
  }
  return {json[0].get<std::string>(), json[1].get<std::string>()};
}

std::vector<Bilingual> read_texts(const std::vector<nlohmann::json>& list) {
  std::vector<Bilingual> texts;
  for (const auto& each : list) texts.push_back(read_text(each));
  return texts;
}

std::vector<std::string> read_strings(const std::vector<nlohmann::json>& list) {
  std::vector<std::string> texts;
  for (const auto& each : list) {
    if (each.is_string()) texts.push_back(each.get<std::string>());
  }
  return texts;
}

}  // namespace

Table capacity_table(const CapacityPlan& plan) {
  Table table({"machines", "samples_per_second", "samples_per_second_low",
               "samples_per_second_high", "busy_share", "latency_seconds", "training_seconds",
               "training_seconds_low", "training_seconds_high", "probability", "cost_per_hour",
               "cost", "is_median", "is_extrapolated", "interruptions"});
  for (const CapacityRow& row : plan.rows) {
    table.add_row(
        {std::int64_t{row.machines}, row.samples_per_second.median, row.samples_per_second.low,
         row.samples_per_second.high, known_cell(row.busy_share), known_cell(row.latency_seconds),
         known_cell(row.seconds.median), known_cell(row.seconds.low), known_cell(row.seconds.high),
         row.probability, cell_of(row.cost_per_hour), cell_of(row.cost),
         std::int64_t{row.machines == plan.machines.median}, std::int64_t{plan.extrapolated},
         plan.demand.interruptions.expected() ? Cell(row.interruptions) : Cell()});
  }
  return table;
}

Table year_table(const YearPlan& year) {
  Table table({"month", "requests_per_second", "machines", "spare_machines", "bought_machines",
               "fixed_machine_hours", "scaled_machine_hours", "fixed_risk_hours",
               "scaled_risk_hours"});
  for (const YearRow& row : year.rows) {
    table.add_row({std::int64_t{row.month}, row.requests_per_second,
                   std::int64_t{row.fleet.machines}, std::int64_t{row.fleet.spares},
                   std::int64_t{row.fleet.bought}, row.fixed_hours, row.scaled_hours,
                   row.fixed_risk_hours, row.scaled_risk_hours});
  }
  return table;
}

Table kinds_table(const FleetPlan& fleet) {
  Table table({"kind", "machine", "source", "machines", "machine_cost_per_hour", "cost_per_hour",
               "cost_per_million", "is_extrapolated", "refusal"});
  for (const KindPlan& kind : fleet.kinds) {
    const bool refused = kind.plan.refused();
    table.add_row({kind.name, kind.machine, kind.plan.node.source,
                   refused ? Cell() : Cell(static_cast<std::int64_t>(kind.plan.machines.high)),
                   cell_of(kind.plan.demand.cost_per_hour), cell_of(kind.cost_per_hour),
                   cell_of(kind.cost_per_million), std::int64_t{kind.plan.extrapolated},
                   refused ? kind_answer(kind.plan).english : ""});
  }
  return table;
}

Table back_test_table(const std::vector<StoreBackTest>& tests) {
  Table table({"figure", "from", "against", "setting", "promise", "predicted", "predicted_low",
               "predicted_high", "measured", "error", "held"});
  for (const StoreBackTest& test : tests) {
    table.add_row({std::string(predicted_figure_name(test.figure)), test.from, test.against,
                   knobs_text(test.knobs), test.slo, test.predicted.median, test.predicted.low,
                   test.predicted.high, test.measured, test.error(), std::int64_t{test.held()}});
  }
  return table;
}

std::string plan_json(const FleetPlan& fleet) {
  const CapacityPlan& plan = fleet.plan();
  const PlanDocument document = plan_document(fleet);
  Json json;
  json["schema"] = 1;
  json["source"] = plan.node.source;
  std::string answer;
  for (const Bilingual& sentence : document.answer) {
    answer += (answer.empty() ? "" : " ") + sentence.english;
  }
  json["answer"] = answer;
  json["refused"] = plan.refused();
  json["refusal"] = plan.refused() ? Json(document.answer.front().english) : Json();
  json["demand"] = demand_json(plan);
  json["machines"] = nullptr;
  json["spare_machines"] = nullptr;
  if (!plan.refused()) {
    json["machines"] = {{"median", static_cast<std::int64_t>(plan.machines.median)},
                        {"low", static_cast<std::int64_t>(plan.machines.low)},
                        {"high", static_cast<std::int64_t>(plan.machines.high)}};
    json["spare_machines"] = plan.spare_machines;
  }
  json["cost_per_million"] = optional_json(fleet.kinds.front().cost_per_million);
  json["machine_kind"] = plan.node.kind.empty() ? "this kind" : plan.node.kind;
  json["knobs"] = knobs_json(plan.node.knobs);
  json["peak_bytes"] = plan.node.peak_bytes > 0 ? Json(plan.node.peak_bytes) : Json();
  json["machine_samples_per_second"] = interval_json(plan.machine_rate);
  json["served_requests_per_second"] =
      plan.served_rate.median > 0 ? interval_json(plan.served_rate) : Json();
  json["extrapolated"] = plan.extrapolated;
  json["inconclusive"] = plan.node.inconclusive;
  json["valid_range"] = {{"unit", "machines"},
                         {"low", plan.valid_range.low},
                         {"high", plan.valid_range.high},
                         {"reason", range_words(plan.valid_range).english}};
  json["back_test"] = Json::array();
  for (const BackTest& test : plan.back_tests) json["back_test"].push_back(back_test_json(test));
  json["rows"] = Json::array();
  for (const CapacityRow& row : plan.rows) json["rows"].push_back(row_json(row, plan.demand));
  json["notes"] = Json::array();
  for (const Bilingual& note : document.assumptions) json["notes"].push_back(note.english);
  if (fleet.year) json["year"] = year_json(*fleet.year, plan);
  if (fleet.autoscale) json["autoscale"] = autoscale_json(*fleet.autoscale);
  if (fleet.kinds.size() > 1) {
    json["kinds"] = Json::parse(table_json(kinds_table(fleet)));
    json["mix"] = nullptr;
  }
  if (fleet.mix) {
    const MachineMix& mix = *fleet.mix;
    json["mix"] = {
        {"machines", {{mix.first, mix.first_machines}, {mix.second, mix.second_machines}}},
        {"cost_per_hour", mix.cost_per_hour},
        {"cost_per_million", mix.cost_per_million}};
  }
  if (fleet.back_test) json["store_back_test"] = tests_json(*fleet.back_test);
  json["document"] = document_json(document);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string store_test_json(const std::vector<StoreBackTest>& tests) {
  const Json json = {{"schema", 1}, {"store_back_test", tests_json(tests)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

PlanDocument read_plan_document(const nlohmann::json& json) {
  PlanDocument document;
  document.answer = read_texts(list(json, "answer"));
  document.badges = read_strings(list(json, "badges"));
  document.assumptions = read_texts(list(json, "assumptions"));
  for (const auto& table : list(json, "tables")) {
    PlanTable read;
    if (table.is_object() && table.value("title", nlohmann::json()).is_string()) {
      read.title = table["title"].get<std::string>();
    }
    read.headings = read_strings(list(table, "headings"));
    for (const auto& row : list(table, "rows")) {
      auto cells = row.is_array() ? read_texts({row.begin(), row.end()}) : std::vector<Bilingual>();
      // A row that is too short or too long must not shift the columns of a page.
      cells.resize(read.headings.size());
      read.rows.push_back(std::move(cells));
    }
    document.tables.push_back(std::move(read));
  }
  return document;
}

}  // namespace ocrtune
