// The page's sections from other commands' documents: capacity, and latency against rate.
#pragma once

#include <string>

#include "reports/html/page_documents.h"

namespace ocrtune {

std::string capacity_section(const CapacityDocument& capacity);
std::string latency_section(const LatencyDocument& latency);

}  // namespace ocrtune
