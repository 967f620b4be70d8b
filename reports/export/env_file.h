// The recommendation's variables, for a shell (`set -a; . ocrtune.env; set +a`) and for
// `docker run --env-file`: values that a shell would want quoted stand in comments.
#pragma once

#include <string>

#include "tuner/recommendation.h"

namespace ocrtune {

std::string env_file_text(const TuneResult& result);

// A name that a shell can assign to; anything else would be run as a command.
bool is_variable_name(const std::string& name);

}  // namespace ocrtune
