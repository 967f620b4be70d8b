// The list of fields serves both ways (trial/ipc/json_fields.h); the worker's own pipes go along by
// number.
#include "trial/workloads/engine_infer/infer_spec.h"

#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

constexpr auto kFields = [](auto& spec, const auto& visit) {
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
};

}  // namespace

std::string infer_spec_text(const InferSpec& spec) { return json_line(fields_json(kFields, spec)); }

Result<InferSpec> parse_infer_spec(const std::string& text) {
  return parse_fields<InferSpec>(kFields, text, "inference worker spec");
}

}  // namespace ocrtune
