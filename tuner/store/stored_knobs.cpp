#include "tuner/store/stored_knobs.h"

#include <string>

namespace ocrtune {

nlohmann::ordered_json stored_knobs(const Knobs& knobs) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, text] : knob_texts(knobs)) json[name] = text;
  return json;
}

Status read_stored_knobs(const nlohmann::ordered_json& json, Knobs& knobs) {
  const Error damaged{
      ErrorKind::invalid,
      "knobs are damaged: " +
          json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)};
  if (!json.is_object()) return damaged;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) return damaged;
    OCRTUNE_TRY(set_knob(knobs, name, value.get<std::string>()));
  }
  knobs.untold.batch = !json.contains("batch");
  return Status();
}

}  // namespace ocrtune
