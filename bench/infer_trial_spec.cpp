#include "bench/infer_trial_spec.h"

#include <nlohmann/json.hpp>

namespace ocrtune {
namespace {

using Json = nlohmann::json;

// One list of fields for writing and for reading.
template <typename Spec, typename Visit>
void each_field(Spec& spec, const Visit& visit) {
  visit("place", spec.place);
  visit("masks", spec.masks);
  visit("exclusive", spec.exclusive);
  visit("queue", spec.queue);
  visit("chunk", spec.chunk);
  visit("most_chunk", spec.most_chunk);
  visit("command", spec.command);
  visit("url", spec.url);
  visit("inputs", spec.inputs);
  visit("promise", spec.promise);
  visit("trace", spec.trace);
  visit("seconds", spec.seconds);
  visit("prove_per_second", spec.prove_per_second);
  visit("seed", spec.seed);
}

}  // namespace

std::string infer_trial_spec_text(const InferTrialSpec& spec) {
  Json json;
  each_field(spec, [&](const char* name, const auto& field) { json[name] = field; });
  json["infer"] = infer_spec_text(spec.infer);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<InferTrialSpec> parse_infer_trial_spec(const std::string& text) {
  InferTrialSpec spec;
  try {
    const Json json = Json::parse(text);
    each_field(spec, [&](const char* name, auto& field) { json.at(name).get_to(field); });
    auto infer = parse_infer_spec(json.at("infer").get<std::string>());
    if (!infer) return infer.error();
    spec.infer = std::move(infer).value();
  } catch (const Json::exception& problem) {
    return Error{ErrorKind::usage, std::string("inference trial spec: ") + problem.what()};
  }
  return spec;
}

Result<std::vector<CpuSet>> masks_of(const InferTrialSpec& spec) {
  std::vector<CpuSet> masks;
  for (const std::string& text : spec.masks) {
    if (text.empty()) {
      masks.emplace_back();
      continue;
    }
    auto mask = CpuSet::parse(text);
    if (!mask) return mask.error();
    masks.push_back(std::move(mask).value());
  }
  return masks;
}

}  // namespace ocrtune
