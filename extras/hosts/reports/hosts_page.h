// What `probe --hosts --json` printed, as a section of a run's page: links, speeds, findings, and
// the environment of the best network.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ocrtune {

std::string survey_section(const nlohmann::json& survey);

}  // namespace ocrtune
