// What `probe --hosts` prints, as text and as one JSON document.
#pragma once

#include <string>
#include <vector>

#include "extras/hosts/host_survey.h"

namespace ocrtune {

// Who did not answer, what differs and what is wrong first; then a line for each host.
std::string hosts_text(const HostSurvey& survey);
std::string hosts_json(const HostSurvey& survey);

// "a to b (eth0, 10.77.0.0/24): 942 Mbit/s, 85 us" of a few links; of many, what each network's
// median and slowest are.
std::vector<std::string> link_lines(const HostSurvey& survey);

}  // namespace ocrtune
