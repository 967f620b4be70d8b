// A writer only: nothing reads the verdict back. A figure of 0 is unknown and is written as null.
#include "probes/p2p/p2p_json.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

Json list(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(valid_utf8(text));
  return out;
}

Json variables(const std::vector<std::pair<std::string, std::string>>& env) {
  Json out = Json::object();
  for (const auto& [name, value] : env) out[name] = value;
  return out;
}

Json known(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json interval(const Interval& value) {
  return {{"median", value.median}, {"low", value.low}, {"high", value.high}};
}

const char* outcome_name(StepResult result) {
  switch (result) {
    case StepResult::not_run:
      return "not_run";
    case StepResult::passed:
      return "passed";
    case StepResult::wrong_data:
      return "wrong_data";
    case StepResult::hung:
      return "hung";
    case StepResult::crashed:
      return "crashed";
  }
  return "";
}

Json sweep_json(const SweepAnswer& sweep) {
  Json settings = Json::array();
  for (const SweepRow& row : sweep.rows) {
    settings.push_back({{"name", row.setting.name},
                        {"env", variables(row.setting.env)},
                        {"outcome", outcome_name(row.result)},
                        {"detail", valid_utf8(row.detail)},
                        {"step_seconds", row.step_seconds},
                        {"speedup", interval(row.speedup)},
                        {"all_reduce_seconds", row.all_reduce_seconds},
                        {"bytes_per_second", row.bytes_per_second},
                        {"transports", row.transports}});
  }
  const SweepSetting& best = sweep.rows[static_cast<std::size_t>(sweep.best)].setting;
  return {{"best", best.name},
          {"env", variables(best.env)},
          {"sentence", valid_utf8(sweep.sentence)},
          {"gain", interval(sweep.gain)},
          {"compute_seconds", sweep.compute_seconds},
          {"warnings", list(sweep.warnings)},
          {"settings", std::move(settings)}};
}

}  // namespace

std::string p2p_json(const P2pVerdict& verdict, const std::string& state, const SweepAnswer* sweep,
                     int indent) {
  Json pairs = Json::array();
  for (const P2pPairVerdict& pair : verdict.pairs) {
    const P2pPairFacts& facts = pair.facts;
    pairs.push_back({{"from", pair.from},
                     {"to", pair.to},
                     {"verdict", p2p_class_name(pair.verdict)},
                     {"level", facts.nvlink ? "NVL" : facts.level},
                     {"expected_bytes_per_second", known(facts.expected_bytes_per_second)},
                     {"copy_bytes_per_second", known(facts.copy_bytes_per_second)},
                     {"nccl_p2p_bytes_per_second", known(facts.p2p_bytes_per_second)},
                     {"nccl_shm_bytes_per_second", known(facts.shm_bytes_per_second)},
                     {"round_trip_seconds", known(facts.round_trip_seconds)},
                     {"rates_of", facts.rates_from < 0
                                      ? Json(nullptr)
                                      : Json{{"from", facts.rates_from}, {"to", facts.rates_to}}},
                     {"evidence", list(pair.evidence)},
                     {"not_checked", list(pair.not_checked)}});
  }
  Json out = {{"gpu_state", valid_utf8(state)},
              {"verdict", p2p_class_name(verdict.verdict)},
              {"sentence", valid_utf8(verdict.sentence)},
              {"confidence", verdict.confidence},
              {"env", variables(verdict.env)},
              {"proof", valid_utf8(verdict.proof)},
              {"pairs", std::move(pairs)},
              {"evidence", list(verdict.evidence)},
              {"not_checked", list(verdict.not_checked)},
              {"hints", list(verdict.hints)}};
  if (sweep != nullptr) out["sweep"] = sweep_json(*sweep);
  return out.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ocrtune
