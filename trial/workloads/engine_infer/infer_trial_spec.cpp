// The worker's specification travels as a text within this one, so that both programs keep their
// own list.
#include "trial/workloads/engine_infer/infer_trial_spec.h"

#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

constexpr auto kTrialFields = [](auto& spec, const auto& visit) {
  visit("place", spec.place);
  visit("masks", spec.masks);
  visit("exclusive", spec.exclusive);
  visit("gpus", spec.gpus);
  visit("start_seconds", spec.start_seconds);
  visit("silence_seconds", spec.silence_seconds);
  visit("queue", spec.queue);
  visit("chunk", spec.chunk);
  visit("max_chunk", spec.max_chunk);
  visit("command", spec.command);
  visit("url", spec.url);
  visit("metrics", spec.metrics);
  visit("copies", spec.copies);
  visit("inputs", spec.inputs);
  visit("reference", spec.reference);
  visit("learns", spec.learns);
  visit("truth", spec.truth);
  visit("max_change", spec.max_change);
  visit("ask_only", spec.ask_only);
  visit("request_seconds", spec.request_seconds);
  visit("first_answer_seconds", spec.first_answer_seconds);
  visit("max_in_flight", spec.max_in_flight);
  // The key is older than the name of the field.
  visit("promise", spec.slo);
  visit("trace", spec.trace);
  visit("seconds", spec.seconds);
  visit("max_seconds", spec.max_seconds);
  visit("prove_per_second", spec.proves.requests_per_second);
  visit("prove_slots", spec.proves.queue.slots);
  visit("prove_service_seconds", spec.proves.queue.service_seconds);
  visit("prove_spread", spec.proves.queue.spread);
  visit("prove_sheds", spec.proves.queue.sheds);
  visit("in_flight", spec.in_flight);
  visit("seed", spec.seed);
};

}  // namespace

std::string infer_trial_spec_text(const InferTrialSpec& spec) {
  FieldsJson json = fields_json(kTrialFields, spec);
  json["infer"] = infer_spec_text(spec.infer);
  return json_line(json);
}

Result<InferTrialSpec> parse_infer_trial_spec(const std::string& text) {
  const auto read_infer = [](const FieldsJson& json, InferTrialSpec& spec) -> Status {
    spec.infer = OCRTUNE_TRY(parse_infer_spec(json.at("infer").get<std::string>()));
    return Status();
  };
  return parse_fields<InferTrialSpec>(kTrialFields, text, "inference trial spec", read_infer);
}

Result<std::vector<CpuSet>> masks_of(const InferTrialSpec& spec) {
  std::vector<CpuSet> masks;
  for (const std::string& text : spec.masks) {
    if (text.empty()) {
      masks.emplace_back();
      continue;
    }
    auto mask = OCRTUNE_TRY(CpuSet::parse(text));
    masks.push_back(std::move(mask));
  }
  return masks;
}

}  // namespace ocrtune
