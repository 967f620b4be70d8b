// The page's section of what a service answers under each load: latency against rate with the
// target, the rate by requests in flight, and the time until it is ready.
#pragma once

#include <optional>
#include <string>

#include "reports/html/page_documents.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Of the recommended setting, else of any; nothing where no trial loaded a service.
std::optional<LatencyDocument> latency_of(const RunRecord& run);

std::string latency_section(const LatencyDocument& latency);

}  // namespace ocrtune
