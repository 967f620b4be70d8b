// The page's section on GPU peer-to-peer: verdict, what to set, and a matrix of all pairs.
#pragma once

#include <string>

#include "reports/html/page_documents.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// `peers` (may be null) adds a judged verdict to each pair. Empty without at least two GPUs.
std::string p2p_section(const RunRecord& run, const PeerDocument* peers);

}  // namespace ocrtune
