// The recommendation's variables, for a shell (`set -a; . ocrtune.env; set +a`) and for
// `docker run --env-file`: values that a shell would want quoted stand in comments.
#pragma once

#include <string>

#include "tuner/recommendation.h"

namespace ocrtune {

// What a file says of a setting that is handed on without being a recommendation.
inline constexpr const char* kOpenNote =
    "The run is inconclusive: its trials do not settle which setting is the best";

std::string env_file_text(const TuneResult& result);

}  // namespace ocrtune
