// The list of fields is written once and serves both ways (trial/ipc/json_fields.h). Texts are
// bytes of any encoding, so they are carried as utf8_of_bytes() makes them.
#include "trial/ipc/same_fields.h"

#include "trial/ipc/json_fields.h"

namespace ocrtune {
namespace {

constexpr auto kDifferenceFields = [](auto& one, const auto& visit) {
  visit("input", one.input);
  visit("answers", one.answers);
  visit("differing", one.differing);
  visit("characters", one.characters);
  visit("reference_errors", one.reference_errors);
  visit("errors", one.errors);
};

constexpr auto kExampleFields = [](auto& one, const auto& visit) {
  visit("input", one.input);
  visit("expected", one.expected);
  visit("read", one.read);
};

constexpr auto kSameFields = [](auto& same, const auto& visit) {
  visit("inputs", same.inputs);
  visit("all_inputs", same.all_inputs);
  visit("answers", same.answers);
  visit("characters", same.characters);
  visit("truth_characters", same.truth_characters);
  visit("truth_errors", same.truth_errors);
  visit("left_out", same.left_out);
  visit("wrong_in_flight", same.wrong_in_flight);
  visit("wrong_answers", same.wrong_answers);
  visit("wrong_of_answers", same.wrong_of_answers);
  visit("swapped_answers", same.swapped_answers);
  visit("repeat_speedup", same.repeat_speedup);
  visit("varied", same.varied);
  visit("repeatable", same.repeatable);
};

}  // namespace

void to_json(nlohmann::json& json, const SameResult& same) {
  json = fields_json(kSameFields, same);
  json["compared"] = not_compared_name(same.not_compared);
  json["differing"] = FieldsJson::array();
  for (const InputDifference& one : same.differing) {
    json["differing"].push_back(fields_json(kDifferenceFields, one));
  }
  json["examples"] = FieldsJson::array();
  for (const AnswerExample& one : same.examples) {
    json["examples"].push_back(fields_json(kExampleFields, one));
  }
  change_texts(json, utf8_of_bytes);
}

void from_json(const nlohmann::json& json, SameResult& same) {
  FieldsJson read = json;
  read.emplace("repeatable", false);  // earlier runs are without it
  change_texts(read, bytes_of_utf8);
  same = read_fields<SameResult>(kSameFields, read);
  same.not_compared = parse_not_compared(read.at("compared").get<std::string>());
  for (const FieldsJson& one : read.at("differing")) {
    same.differing.push_back(read_fields<InputDifference>(kDifferenceFields, one));
  }
  for (const FieldsJson& one : read.at("examples")) {
    same.examples.push_back(read_fields<AnswerExample>(kExampleFields, one));
  }
}

}  // namespace ocrtune
