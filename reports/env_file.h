// The recommendation as a file that a shell can source: `set -a; . ocrtune.env; set +a`.
#pragma once

#include <string>

#include "tuner/recommendation.h"

namespace ocrtune {

std::string env_file_text(const TuneResult& result);

}  // namespace ocrtune
