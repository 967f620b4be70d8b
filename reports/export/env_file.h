// The recommendation as a file that a shell can source: `set -a; . ocrtune.env; set +a`.
#pragma once

#include <string>

#include "tuner/recommendation.h"

namespace ocrtune {

std::string env_file_text(const TuneResult& result);

// A name that a shell can assign to; anything else would be run as a command.
bool is_variable_name(const std::string& name);

}  // namespace ocrtune
