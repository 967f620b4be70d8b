// One function for each part of the document. What was not measured is null, never 0. A sentence
// has the code of its reason beside it, so that a program need not read words.
#include "reports/export/run_json.h"

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/reasons.h"
#include "tuner/verdict/explain.h"
#include "tuner/verdict/text_claim.h"

namespace ocrtune {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

std::string said(const Reason& reason) { return valid_utf8(sentence(reason)); }

Json code(const Reason& reason) { return reason.empty() ? Json() : Json(row_of(reason.code).name); }

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(valid_utf8(text));
  return list;
}

// Counts as numbers, categories as text; the user's own dimensions under "dims". What does not
// reach the command is null.
Json knobs_json(const Knobs& knobs) {
  // Knobs come from the table, so that a new one has its key here at once.
  Json json = Json::object();
  for (const KnobRow& row : knob_table()) {
    json[row.name] =
        row.number != nullptr ? Json(knobs.*row.number) : Json(valid_utf8(knobs.*row.word));
  }
  for (const std::string& name : knobs.absent) json[name] = nullptr;
  Json dims = Json::object();
  for (const auto& [name, value] : knobs.dims) dims[valid_utf8(name)] = valid_utf8(value);
  json["dims"] = dims;
  return json;
}

// null where nothing was measured.
Json interval_json(const Interval& interval, bool measured) {
  if (!measured) return nullptr;
  return {{"median", interval.median}, {"low", interval.low}, {"high", interval.high}};
}

Json rate_json(const Interval& rate) { return interval_json(rate, rate.median > 0); }

// null where no thread was observed.
Json threads_json(const ThreadUse& use) {
  if (use.alive == 0) return nullptr;
  return {{"alive", use.alive},
          {"busy", use.busy},
          {"cpus", use.cpus},
          {"runnable", use.runnable},
          {"voluntary_switches_per_second", use.voluntary_switches_per_second},
          {"involuntary_switches_per_second", use.involuntary_switches_per_second},
          {"throttled_share", use.throttled_share},
          {"runtimes", texts_json(use.runtimes)}};
}

Json setting_json(const SettingSummary& setting) {
  return {
      {"knobs", knobs_json(setting.knobs)},
      {"outcome", outcome_name(setting.outcome)},
      {"reason", said(setting.reason)},
      {"reason_code", code(setting.reason)},
      {"trials", setting.trials},
      {"samples_per_second", rate_json(setting.samples_per_second)},
      {"peak_bytes", setting.peak_bytes},
      {"step_seconds", setting.step_seconds > 0 ? Json(setting.step_seconds) : Json()},
      {"clean_samples", setting.clean_samples},
      {"spoilt_samples", setting.discarded_samples},
      {"modelled", setting.modelled},
      {"cpu_seconds_per_sample",
       setting.cpu_seconds_per_sample > 0 ? Json(setting.cpu_seconds_per_sample) : Json(nullptr)},
      {"threads", threads_json(setting.threads)}};
}

Json safety_json(const Safety& safety) {
  constexpr const char* kResources[] = {"host_memory", "gpu_memory", "tasks", "open_files"};
  const auto known = [](std::uint64_t value) { return value == 0 ? Json() : Json(value); };
  Json resources = Json::array();
  for (const Resource& resource : safety.resources) {
    resources.push_back({{"resource", kResources[static_cast<int>(resource.kind)]},
                         {"limit", known(resource.limit)},
                         {"peak", known(resource.peak)},
                         {"possible_peak", known(resource.possible)}});
  }
  return {{"margin", safety.margin},
          {"decided_by", kResources[static_cast<int>(safety.by)]},
          {"resources", resources}};
}

Json recommendation_json(const RunRecord& run) {
  const TuneResult& result = run.result;
  if (!result.found) return nullptr;
  const Recommendation& recommended = result.recommendation;
  Json reasons = Json::array(), codes = Json::array();
  for (const Reason& reason : recommended.reasons) {
    reasons.push_back(said(reason));
    codes.push_back(code(reason));
  }
  Json env = Json::object();
  for (const auto& [name, value] : recommended.env) env[valid_utf8(name)] = valid_utf8(value);
  return {{"knobs", knobs_json(recommended.knobs)},
          {"env", env},
          {"command", valid_utf8(recommended.command)},
          {"gpus", texts_json(used_gpus(run))},
          {"samples_per_second", rate_json(recommended.samples_per_second)},
          {"peak_bytes", recommended.peak_bytes},
          {"limit_bytes", recommended.limit_bytes == 0 ? Json() : Json(recommended.limit_bytes)},
          {"safety", safety_json(result.verdict.safety)},
          {"reasons", reasons},
          {"reason_codes", codes}};
}

Json contender_json(const TuneResult& result) {
  if (!result.contender) return nullptr;
  const auto& [knobs, gain] = *result.contender;
  return {{"knobs", knobs_json(knobs)}, {"gain", interval_json(gain, true)}};
}

Json worth_json(const std::optional<LearningWorth>& worth) {
  if (!worth) return nullptr;
  return {{"proved", worth->proved},
          {"noise_samples", worth->noise_samples > 0 ? Json(worth->noise_samples) : Json()},
          {"efficiency", interval_json(worth->efficiency, true)},
          {"speedup", interval_json(worth->speedup, true)},
          {"loss", worth->proved ? Json(worth->loss) : Json()},
          {"samples", worth->samples},
          {"starts", worth->starts},
          {"rate_factor", worth->rate_factor > 0 ? Json(worth->rate_factor) : Json()}};
}

Json recipe_json(const TuneResult& result) {
  if (result.recipe_batch == 0) return nullptr;
  Json beyond;
  if (result.beyond_recipe) {
    beyond = {{"knobs", knobs_json(result.beyond_recipe->knobs)},
              {"global_batch", result.beyond_recipe->global_batch},
              {"ratio", interval_json(result.beyond_recipe->ratio, true)},
              {"worth", worth_json(result.beyond_recipe->worth)}};
  }
  return {{"global_batch", result.recipe_batch}, {"beyond", beyond}};
}

// The texts that the recommended setting reads, beside those of the baseline.
Json text_json(const TuneResult& result) {
  constexpr const char* kClaims[] = {"not_compared", "same", "allowed"};
  const auto facts = [](const SameJudgement& same) -> Json {
    Json examples = Json::array();
    for (const AnswerExample& one : same.examples) {
      examples.push_back({{"input", valid_utf8(one.input)},
                          {"expected", valid_utf8(one.expected)},
                          {"read", valid_utf8(one.read)}});
    }
    const auto rate = [](double share) { return share < 0 ? Json() : Json(share); };
    return {{"inputs", same.inputs},
            {"all_inputs", same.all_inputs},
            {"differing_inputs", same.differing_inputs},
            {"changed_share", same.changed_share},
            {"error_rate", rate(same.error_rate)},
            {"reference_error_rate", rate(same.reference_error_rate)},
            {"examples", examples}};
  };
  const SameJudgement same = recommended_text(result);
  Json json = {
      {"claim", kClaims[static_cast<int>(result.verdict.text)]},
      {"not_compared", same.compared ? Json() : Json(not_compared_name(same.not_compared))},
      {"recommended", same.compared ? facts(same) : Json()},
      {"other", nullptr}};
  if (!result.other_text) return json;
  json["other"] = facts(result.other_text->same);
  json["other"]["knobs"] = knobs_json(result.other_text->knobs);
  json["other"]["ratio"] = interval_json(result.other_text->ratio, true);
  return json;
}

Json inert_json(const std::vector<InertKnob>& knobs) {
  Json list = Json::array();
  for (const InertKnob& knob : knobs) {
    list.push_back({{"knob", knob.name},
                    {"kept", knob.kept},
                    {"rate_ratio", interval_json(knob.rate, true)},
                    {"cpu_seconds_ratio", interval_json(knob.cpu_seconds, true)},
                    {"busy_threads", knob.busy_threads},
                    {"runtimes", texts_json(knob.runtimes)},
                    {"seconds", knob.seconds},
                    {"sentence", said(inert_reason(knob))}});
  }
  return list;
}

Json rules_json(const std::vector<RuleVerdict>& rules) {
  Json list = Json::array();
  for (const RuleVerdict& rule : rules) {
    const bool measured = rule.setting.samples_per_second.median > 0;
    list.push_back({{"name", rule.name},
                    {"text", said(rule.text)},
                    {"setting", setting_json(rule.setting)},
                    {"loss", interval_json(rule.loss, measured)},
                    {"verdict", said(rule.verdict)},
                    {"verdict_code", code(rule.verdict)}});
  }
  return list;
}

Json neighbours_json(const std::vector<Neighbour>& neighbours) {
  Json list = Json::array();
  for (const Neighbour& neighbour : neighbours) {
    list.push_back({{"knobs", knobs_json(neighbour.knobs)},
                    {"reason", said(neighbour.reason)},
                    {"reason_code", code(neighbour.reason)}});
  }
  return list;
}

}  // namespace

Json held_back_json(const std::vector<HeldBack>& held) {
  Json list = Json::array();
  for (const HeldBack& one : held) {
    list.push_back({{"cause", said(one.cause)},
                    {"cause_code", code(one.cause)},
                    {"next", said(one.next)},
                    {"next_code", code(one.next)}});
  }
  return list;
}

std::string run_json(const RunRecord& run, int indent) {
  const TuneResult& result = run.result;
  Json ties = Json::array(), settings = Json::array();
  Json pareto = Json::array();
  for (const SettingSummary& member : result.pareto) pareto.push_back(setting_json(member));
  for (const SettingSummary& tie : result.ties) ties.push_back(setting_json(tie));
  for (const SettingSummary& setting : result.settings) settings.push_back(setting_json(setting));
  Json terms = Json::array();
  for (const FittedTerm& term : result.terms) {
    terms.push_back(
        {{"name", valid_utf8(term.name)}, {"value", term.value}, {"words", said(term.words)}});
  }
  const Json json = {
      {"schema", kSchemaVersion},
      {"run_id", run.id},
      {"run_name", run.name},
      {"state", run.state},
      {"started", run.started},
      {"host", valid_utf8(run.machine.host)},
      {"machine_fingerprint", run.machine.fingerprint},
      {"versions", run.versions},
      {"found", result.found},
      {"verdict", verdict_name(result.verdict)},
      {"beside_load", result.verdict.beside_load},
      {"same_when_idle", result.verdict.beside_load ? Json(result.verdict.same_when_idle) : Json()},
      {"headline", valid_utf8(headline(run).english)},
      {"headline_code", answer_name(result.verdict.answer)},
      {"subject", valid_utf8(subject(run).english)},
      {"inconclusive", said(result.inconclusive)},
      {"inconclusive_code", code(result.inconclusive)},
      {"answer", said(result.answer)},
      {"answer_code", code(result.answer)},
      {"recommendation", recommendation_json(run)},
      {"baseline", setting_json(result.baseline)},
      {"gain", interval_json(result.gain, result.gain.median > 0)},
      {"contender", contender_json(result)},
      {"recipe", recipe_json(result)},
      {"text", text_json(result)},
      {"objective", result.objective},
      {"ties", ties},
      {"pareto", {{"axes", result.pareto_axes}, {"settings", pareto}}},
      {"certificate", said(result.certificate)},
      {"certificate_code", code(result.certificate)},
      {"rules", rules_json(result.rules)},
      {"close", neighbours_json(result.close)},
      {"rejected", neighbours_json(result.rejected)},
      {"terms", terms},
      {"inert", inert_json(result.inert)},
      {"held_back", held_back_json(result.held_back)},
      {"settings", settings},
      {"trials", run.trials.size()},
      {"space_points", result.space_points},
      {"seconds", result.seconds},
      {"outcomes", result.outcomes},
      {"noise", result.noise_measured ? Json(result.noise) : Json(nullptr)},
      {"noise_statement", said(result.noise_statement)},
      {"noise_statement_code", code(result.noise_statement)},
      {"spoilt_samples", result.discarded_samples},
      {"stop_reason", valid_utf8(result.stop_reason)},
      {"advice", said(result.advice)},
      {"advice_code", code(result.advice)},
  };
  // The names of the run and of versions are not checked for UTF-8; a strict dump() would throw.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string progress_json(const TrialProgress& progress) {
  const Trial& trial = progress.trial;
  const auto measured = [](double rate) { return rate > 0 ? Json(rate) : Json(); };
  const auto clean = std::count_if(trial.samples.begin(), trial.samples.end(),
                                   [](const Sample& sample) { return sample.clean(); });
  const Json json = {{"trial", progress.number},
                     {"phase", valid_utf8(trial.phase)},
                     {"knobs", knobs_json(trial.knobs)},
                     {"outcome", outcome_name(trial.outcome)},
                     {"reason", valid_utf8(trial.reason)},
                     {"samples_per_second", measured(trial.ok() ? trial.samples_per_second : 0)},
                     {"unit", progress.unit},
                     {"peak_bytes", trial.peak_bytes},
                     {"clean_samples", clean},
                     {"spoilt_samples", static_cast<std::int64_t>(trial.samples.size()) - clean},
                     {"seconds", trial.seconds},
                     {"best_samples_per_second", measured(progress.best_samples_per_second)},
                     {"budget_left_seconds", progress.budget_left_seconds}};
  return json.dump();
}

}  // namespace ocrtune
