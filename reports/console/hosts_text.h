// What `probe --hosts` prints, as text and as one JSON document.
#pragma once

#include <string>

#include "hosts/host_survey.h"

namespace ocrtune {

// Who did not answer, what differs and what is wrong first; then a line for each host.
std::string hosts_text(const HostSurvey& survey);
std::string hosts_json(const HostSurvey& survey);

}  // namespace ocrtune
