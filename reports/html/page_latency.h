// The page's section of the latency that `slo` found at each rate.
#pragma once

#include <string>

#include "reports/html/page_documents.h"

namespace ocrtune {

std::string latency_section(const LatencyDocument& latency);

}  // namespace ocrtune
