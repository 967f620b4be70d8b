// The list of fields is written once and serves both ways (trial/ipc/json_fields.h). Texts are
// bytes of any encoding, so they are carried as utf8_of_bytes() makes them.
#include "trial/ipc/same_fields.h"

#include "trial/ipc/json_fields.h"

namespace ocrtune {

OCRTUNE_FIELDS(InputDifference, input, answers, differing, characters, reference_errors, errors)
OCRTUNE_FIELDS(AnswerExample, input, expected, read)

namespace {

constexpr auto kSameFields = [](auto& same, const auto& visit) {
  OCRTUNE_VISIT(same, inputs, all_inputs, answers, characters, truth_characters, truth_errors,
                left_out, wrong_in_flight, wrong_answers, wrong_of_answers, swapped_answers,
                repeat_speedup, varied, repeatable, differing, examples);
};

}  // namespace

void to_json(nlohmann::json& json, const SameResult& same) {
  json = fields_json(kSameFields, same);
  json["compared"] = not_compared_name(same.not_compared);
  change_texts(json, utf8_of_bytes);
}

void from_json(const nlohmann::json& json, SameResult& same) {
  FieldsJson read = json;
  read.emplace("repeatable", false);  // earlier runs are without it
  change_texts(read, bytes_of_utf8);
  same = read_fields<SameResult>(kSameFields, read);
  same.not_compared = parse_not_compared(read.at("compared").get<std::string>());
}

}  // namespace ocrtune
