#include "bench/infer_spec.h"

#include <nlohmann/json.hpp>

namespace ocrtune {
namespace {

using Json = nlohmann::json;

// One list of fields for writing and for reading.
template <typename Spec, typename Visit>
void each_field(Spec& spec, const Visit& visit) {
  visit("model", spec.recognizer.model);
  visit("backend", spec.recognizer.backend);
  visit("precision", spec.recognizer.precision);
  visit("threads", spec.recognizer.threads);
  visit("batch", spec.recognizer.batch);
  visit("height", spec.recognizer.height);
  visit("width", spec.recognizer.width);
  visit("seed", spec.recognizer.seed);
  visit("checkpoint", spec.recognizer.checkpoint);
  visit("alphabet", spec.alphabet);
  visit("gpu", spec.gpu);
  visit("check", spec.check);
  visit("request_descriptor", spec.request_descriptor);
  visit("result_descriptor", spec.result_descriptor);
}

}  // namespace

std::string infer_spec_text(const InferSpec& spec) {
  Json json;
  each_field(spec, [&](const char* name, const auto& field) { json[name] = field; });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<InferSpec> parse_infer_spec(const std::string& text) {
  InferSpec spec;
  try {
    const Json json = Json::parse(text);
    each_field(spec, [&](const char* name, auto& field) { json.at(name).get_to(field); });
  } catch (const Json::exception& problem) {
    return Error{ErrorKind::usage, std::string("inference worker spec: ") + problem.what()};
  }
  return spec;
}

}  // namespace ocrtune
