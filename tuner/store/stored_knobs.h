// Knobs as the store keeps them: an object of those that are not at their default, as texts.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "trial/knobs.h"

namespace ocrtune {

nlohmann::ordered_json stored_knobs(const Knobs& knobs);

// Into `knobs`, which keep what is not named. invalid: no such object; usage: a value that the
// table refuses.
Status read_stored_knobs(const nlohmann::ordered_json& json, Knobs& knobs);

}  // namespace ocrtune
