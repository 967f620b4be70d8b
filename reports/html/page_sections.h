// The sections of the page of a run, each as HTML; one without anything to show is empty.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/html/page_documents.h"
#include "tuner/recommendation.h"
#include "tuner/store/run_record.h"
#include "tuner/verdict/comparison.h"

namespace ocrtune {

// Rows of a list of facts, as a supervised run's page has them too.
std::string held_back_facts(const std::vector<HeldBack>& causes);
std::string answer_section(const RunRecord& run);
std::string rejected_section(const TuneResult& result);
std::string rules_section(const RunRecord& run);
std::string failures_section(const RunRecord& run);

// A run beside an earlier one.
std::string comparison_section(const RunComparison& comparison);

// The same for a terminal: differences, verdict, the settings that changed most. Its lines are
// whole, for the figures stand last.
std::string comparison_text(const RunComparison& comparison);

// Settings that read another text than the present one. Empty where none did. `run` was judged.
std::string texts_section(const RunRecord& run);

// What was found, where each fact came from, what is unknown.
std::string machine_section(const RunRecord& run);

// GPU peer-to-peer: verdict, what to set, and a matrix of all pairs. `peers` (may be null) adds a
// judged verdict to each pair. Empty without at least two GPUs.
std::string p2p_section(const RunRecord& run, const PeerDocument* peers);

std::string hosts_section(const RunRecord& run);  // empty without a setting of several hosts

// Of the recommended setting, else of any; nothing where no trial loaded a service.
std::optional<LatencyDocument> latency_of(const RunRecord& run);

// Latency against rate with the target, the rate by requests in flight, the time until it is ready.
std::string latency_section(const LatencyDocument& latency);

}  // namespace ocrtune
