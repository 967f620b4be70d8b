#include "reports/console/capacity_text.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "base/text.h"
#include "reports/console/kinds_text.h"
#include "reports/console/year_text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

Json interval_json(const Interval& interval) {
  return {{"median", interval.median}, {"low", interval.low}, {"high", interval.high}};
}

Json known(double value) { return value > 0 && std::isfinite(value) ? Json(value) : Json(); }

Cell cell(double value) {
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
  Json json;
  json["mode"] = demand.inference() || !plan.trains ? "infer" : "train";
  json["requests_per_second"] = known(demand.requests_per_second);
  const double lines = mean_requests(demand.lines_per_page);
  json["unit"] = asked_unit(plan);
  json["lines_per_page"] = demand.lines_per_page.empty() ? Json() : Json(lines);
  json["daily_requests"] = known(demand.daily_requests);
  json["peak_factor"] = demand.peak_factor;
  json["peak_time"] = demand.peak_time.empty() ? Json() : Json(demand.peak_time);
  json["balancer"] = demand.balancer == Balancer::random ? "random" : "turns";
  json["promise"] = demand.slo ? Json(slo_target(*demand.slo)) : Json();
  json["samples"] = known(demand.samples);
  json["epochs"] = demand.epochs;
  json["deadline_seconds"] = known(demand.deadline_seconds);
  json["deadline_time"] = demand.deadline_time.empty() ? Json() : Json(demand.deadline_time);
  json["interruptions"] = interruptions_json(demand.interruptions);
  json["confidence"] = demand.confidence;
  return json;
}

Json row_json(const CapacityRow& row, const CapacityDemand& demand) {
  Json json;
  json["machines"] = row.machines;
  json["samples_per_second"] = interval_json(row.samples_per_second);
  json["busy_share"] = known(row.busy_share);
  json["latency_seconds"] = known(row.latency_seconds);
  json["seconds"] = demand.inference() ? Json() : interval_json(row.seconds);
  json["interruptions"] = demand.inference() ? Json() : Json(row.interruptions);
  json["probability"] = row.probability;
  json["cost_per_hour"] = row.cost_per_hour ? Json(*row.cost_per_hour) : Json();
  json["cost"] = row.cost ? Json(*row.cost) : Json();
  return json;
}

Json back_test_json(const BackTest& test) {
  return {{"fitted_up_to", test.fitted_up_to},
          {"predicted_at", test.predicted_at},
          {"predicted_samples_per_second", interval_json(test.predicted)},
          {"measured_samples_per_second", test.measured},
          {"error", test.error},
          {"covered", test.covered}};
}

const char* figure_name(PredictedFigure figure) {
  switch (figure) {
    case PredictedFigure::rate:
      return "rate";
    case PredictedFigure::more_processes:
      return "more processes";
    case PredictedFigure::served:
      break;
  }
  return "served in time";
}

Json tests_json(const std::vector<StoreBackTest>& tests) {
  const StoreBackTestSummary summary = summary_of(tests);
  Json json = {{"answer", back_test_sentence(tests)},
               {"tests", summary.tests},
               {"held", summary.held},
               {"median_error", summary.median_error},
               {"p90_error", summary.p90_error},
               {"rows", Json::array()}};
  for (const StoreBackTest& test : tests) {
    json["rows"].push_back({{"figure", figure_name(test.figure)},
                            {"from", test.from},
                            {"against", test.against},
                            {"knobs", knobs_text(test.knobs)},
                            {"promise", test.slo.empty() ? Json() : Json(test.slo)},
                            {"predicted_samples_per_second", interval_json(test.predicted)},
                            {"measured_samples_per_second", test.measured},
                            {"error", test.error()},
                            {"held", test.held()}});
  }
  return json;
}

std::string count_text(double value) {
  return value < 9999.5 ? fmt::format("{:.4g}", value) : format_count(value);
}

// "123 (118-130)"
std::string rates_text(const Interval& rate) {
  return fmt::format("{} ({}-{})", count_text(rate.median), count_text(rate.low),
                     count_text(rate.high));
}

Json knobs_json(const Knobs& knobs) {
  Json json = Json::object();
  for (const auto& [name, value] : knob_texts(knobs)) json[name] = value;
  for (const char* count : {"nproc", "threads", "batch"}) {
    json[count] = knobs.*(find_knob(count)->number);
  }
  if (knobs.untold.batch) json["batch"] = nullptr;
  return json;
}

}  // namespace

std::string back_test_words(const BackTest& test) {
  return fmt::format("fit on up to {} -> predicts {} samples/s at {}, measured {}: {:+.1f} %{}",
                     test.fitted_up_to, rates_text(test.predicted), test.predicted_at,
                     count_text(test.measured), 100 * test.error,
                     test.covered ? "" : ", outside its interval");
}

Table capacity_table(const CapacityPlan& plan) {
  Table table({"machines", "samples_per_second", "samples_per_second_low",
               "samples_per_second_high", "busy_share", "latency_seconds", "training_seconds",
               "training_seconds_low", "training_seconds_high", "probability", "cost_per_hour",
               "cost", "is_median", "is_extrapolated", "interruptions"});
  for (const CapacityRow& row : plan.rows) {
    table.add_row({std::int64_t{row.machines}, row.samples_per_second.median,
                   row.samples_per_second.low, row.samples_per_second.high, cell(row.busy_share),
                   cell(row.latency_seconds), cell(row.seconds.median), cell(row.seconds.low),
                   cell(row.seconds.high), row.probability, cell_of(row.cost_per_hour),
                   cell_of(row.cost), std::int64_t{row.machines == plan.machines.median},
                   std::int64_t{plan.extrapolated},
                   plan.demand.interruptions.expected() ? Cell(row.interruptions) : Cell()});
  }
  return table;
}

std::string capacity_csv(const CapacityPlan& plan) { return csv_text(capacity_table(plan)); }

std::string capacity_json(const KindsPlan& plans, const YearPlan* year,
                          const std::vector<StoreBackTest>* tests) {
  const CapacityPlan& plan = plans.kinds.front().plan;
  Json json;
  json["schema"] = 1;
  json["source"] = plan.source;
  json["answer"] = plan.answer;
  json["refused"] = plan.refused;
  json["refusal"] = plan.refused ? Json(plan.refusal) : Json();
  json["demand"] = demand_json(plan);
  if (plan.refused) {
    json["machines"] = nullptr;
    json["spare_machines"] = nullptr;
  } else {
    json["machines"] = {{"median", static_cast<std::int64_t>(plan.machines.median)},
                        {"low", static_cast<std::int64_t>(plan.machines.low)},
                        {"high", static_cast<std::int64_t>(plan.machines.high)}};
    json["spare_machines"] = plan.spare_machines;
  }
  const auto& per_million = plans.kinds.front().cost_per_million;
  json["cost_per_million"] = per_million ? Json(*per_million) : Json();
  json["machine_kind"] = plan.machine_kind;
  json["knobs"] = knobs_json(plan.knobs);
  json["peak_bytes"] = plan.peak_bytes > 0 ? Json(plan.peak_bytes) : Json();
  json["machine_samples_per_second"] = interval_json(plan.machine_rate);
  json["served_requests_per_second"] =
      plan.served_rate.median > 0 ? interval_json(plan.served_rate) : Json();
  json["extrapolated"] = plan.extrapolated;
  json["valid_range"] = {{"unit", "machines"},
                         {"low", plan.valid_range.low},
                         {"high", plan.valid_range.high},
                         {"reason", plan.valid_range.reason}};
  json["back_test"] = Json::array();
  for (const BackTest& test : plan.back_tests) json["back_test"].push_back(back_test_json(test));
  json["rows"] = Json::array();
  for (const CapacityRow& row : plan.rows) json["rows"].push_back(row_json(row, plan.demand));
  json["notes"] = plan.notes;
  if (year != nullptr) json["year"] = year_json(*year, plan);
  if (plans.kinds.size() > 1) add_kinds(plans, json);
  if (tests != nullptr) json["store_back_test"] = tests_json(*tests);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string capacity_text(const CapacityPlan& plan, int width) {
  std::string text = plan.answer + "\n\n";
  text += fmt::format("Each machine: {} -> {} {}/s", knobs_text(plan.knobs),
                      rates_text(plan.machine_rate), plan.unit);
  if (plan.served_rate.median > 0) {
    text += fmt::format(", {} within the latency target", rates_text(plan.served_rate));
  }
  if (plan.peak_bytes > 0) text += ", " + format_bytes(plan.peak_bytes) + " of memory";
  text +=
      fmt::format("\nFrom {}; valid for up to {:.0f} {} ({})\n", plan.source, plan.valid_range.high,
                  noun_after(plan.valid_range.high, "machine"), plan.valid_range.reason);
  if (!plan.rows.empty()) {
    Table table({"machines", plan.unit + "/s", plan.demand.inference() ? "busy" : "takes",
                 plan.demand.slo ? "latency" : "", "holds", "cost/h"});
    for (const CapacityRow& row : plan.rows) {
      const std::string middle = plan.demand.inference() ? format_percent(row.busy_share)
                                 : std::isfinite(row.seconds.median)
                                     ? format_duration(row.seconds.median)
                                     : "no end";
      std::string latency;
      if (plan.demand.slo) {
        latency = row.latency_seconds <= 0 ? ""
                  : std::isfinite(row.latency_seconds)
                      ? milliseconds_text(row.latency_seconds) + " ms"
                      : "no end";
      }
      table.add_row({std::int64_t{row.machines}, count_text(row.samples_per_second.median), middle,
                     latency, fmt::format("{:.0f} %", 100 * row.probability),
                     row.cost_per_hour ? Cell(fmt::format("{:.2f}", *row.cost_per_hour)) : Cell()});
    }
    text += "\n" + console_table(table, width);
  }
  if (!plan.back_tests.empty()) text += "\nBack-test of the scaling fit:\n";
  for (const BackTest& test : plan.back_tests) text += "  " + back_test_words(test) + "\n";
  for (const std::string& note : plan.notes) text += "Note: " + note + "\n";
  return text;
}

std::string back_test_sentence(const std::vector<StoreBackTest>& tests) {
  const StoreBackTestSummary summary = summary_of(tests);
  if (summary.tests == 0) {
    return "No two stored runs of this machine measured the same setting, and none measured four "
           "process counts.";
  }
  return fmt::format(
      "{} of {} from stored runs held within the 90 % interval; the error is {:.1f} % in the "
      "middle "
      "and {:.1f} % at the 90th percentile.",
      summary.held, how_many(summary.tests, "prediction"), 100 * summary.median_error,
      100 * summary.p90_error);
}

Table back_test_table(const std::vector<StoreBackTest>& tests) {
  Table table({"figure", "from", "against", "setting", "promise", "predicted", "predicted_low",
               "predicted_high", "measured", "error", "held"});
  for (const StoreBackTest& test : tests) {
    table.add_row({std::string(figure_name(test.figure)), test.from, test.against,
                   knobs_text(test.knobs), test.slo, test.predicted.median, test.predicted.low,
                   test.predicted.high, test.measured, test.error(), std::int64_t{test.held()}});
  }
  return table;
}

std::string back_test_text(const std::vector<StoreBackTest>& tests, int width) {
  std::string text = "\n" + back_test_sentence(tests) + "\n";
  if (tests.empty()) return text;
  Table table({"setting", "predicted/s", "measured/s", "error", "", "figure", "from", "against"});
  for (const StoreBackTest& test : tests) {
    table.add_row({knobs_text(test.knobs) + (test.slo.empty() ? "" : " " + test.slo),
                   rates_text(test.predicted), count_text(test.measured),
                   fmt::format("{:+.1f} %", 100 * test.error()),
                   std::string(test.held() ? "held" : "outside"),
                   std::string(figure_name(test.figure)), test.from, test.against});
  }
  return text + "\n" + console_table(table, width);
}

std::string back_test_json(const std::vector<StoreBackTest>& tests) {
  const Json json = {{"schema", 1}, {"store_back_test", tests_json(tests)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ocrtune
