// SameResult as JSON and back: for the event of a trial and for the store.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "trial/same_result.h"

namespace ocrtune {

// The library's: from_json throws what is missing or of another type.
void to_json(nlohmann::json& json, const SameResult& same);
void from_json(const nlohmann::json& json, SameResult& same);

}  // namespace ocrtune
