// The table and the JSON have the same probes, one row for each rate that was tried. The words of
// a verdict differ: the names in JSON are published and stay as they are.
#include "reports/console/slo_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/markup/table.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

// Of JSON; stable.
const char* verdict_name(SloVerdict verdict) {
  switch (verdict) {
    case SloVerdict::met:
      return "kept";
    case SloVerdict::violated:
      return "broken";
    case SloVerdict::undecided:
      return "undecided";
  }
  return "";
}

Json known_value(double value) { return value > 0 && std::isfinite(value) ? Json(value) : Json(); }

Json probe_json(const RateProbe& probe) {
  return {{"requests_per_second", probe.requests_per_second},
          {"verdict", verdict_name(probe.verdict)},
          {"stop", std::string(load_stop_name(probe.stop))},
          {"seconds", probe.seconds},
          {"latency_seconds", known_value(probe.latency_seconds)},
          {"median_seconds", known_value(probe.median_seconds)},
          {"p95_seconds", known_value(probe.p95_seconds)},
          {"p99_seconds", known_value(probe.p99_seconds)},
          {"worst_kind_seconds", known_value(probe.worst_kind_seconds)},
          {"judged", probe.judged},
          {"over", probe.over},
          {"design_effect", probe.design_effect}};
}

const char* verdict_word(SloVerdict verdict) {
  constexpr const char* kWords[] = {"met", "violated", "undecided"};
  return kWords[static_cast<int>(verdict)];
}

}  // namespace

std::string slo_text(const SloSearchResult& result, const LatencySlo& slo, int width) {
  // Two digits are enough for p99.99.
  const double percent = std::round(slo.percentile * 1e4) / 100;
  std::string text = result.words + ".\n\n";
  text += fmt::format(
      "One request at a time: p{:g} {} ms; at most {} requests/s in a closed "
      "load.\n",
      percent, milliseconds_text(result.alone_seconds), format_count(result.saturated_at));
  if (result.found && !result.confirmed) {
    text += "The rate was proved once; the budget did not reach a second proof.\n";
  }
  if (result.probes.empty()) return text;
  Table table({"requests/s", "verdict", fmt::format("p{:g} ms", percent), "p50 ms", "requests",
               "too late", "effective", "seconds"});
  for (const RateProbe& probe : result.probes) {
    // Requests of one queue depend on each other; "effective" says how many independent ones
    // would tell as much.
    table.add_row({format_count(probe.requests_per_second), verdict_word(probe.verdict),
                   milliseconds_text(probe.latency_seconds),
                   milliseconds_text(probe.median_seconds), probe.judged, probe.over,
                   fmt::format("{:.0f}", static_cast<double>(probe.judged) /
                                             std::max(1.0, probe.design_effect)),
                   fmt::format("{:.1f}", probe.seconds)});
  }
  return text + "\n" + console_table(table, width);
}

std::string slo_json(const SloSearchResult& result, const LatencySlo& slo) {
  Json json;
  json["schema"] = 1;
  json["answer"] = result.words;
  json["promise"] = slo_target(slo);
  json["promise_percentile"] = slo.percentile;
  json["promise_seconds"] = slo.seconds;
  json["found"] = result.found;
  json["requests_per_second"] = known_value(result.requests_per_second);
  json["confirmed"] = result.confirmed;
  json["broken_at_requests_per_second"] = known_value(result.broken_at);
  json["saturated_at_requests_per_second"] = known_value(result.saturated_at);
  json["alone_seconds"] = known_value(result.alone_seconds);
  json["latency_seconds"] = known_value(result.latency_seconds);
  json["stop_reason"] = result.stop_reason;
  json["probes"] = Json::array();
  for (const RateProbe& probe : result.probes) json["probes"].push_back(probe_json(probe));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ocrtune
