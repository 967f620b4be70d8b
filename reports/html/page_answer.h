// The page's first sections: the answer, what not to launch, and the rules of thumb audited.
#pragma once

#include <string>
#include <vector>

#include "tuner/recommendation.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Rows of a list of facts, as a supervised run's page has them too.
std::string held_back_facts(const std::vector<HeldBack>& causes);
std::string answer_section(const RunRecord& run);
std::string rejected_section(const TuneResult& result);
std::string rules_section(const RunRecord& run);
std::string failures_section(const RunRecord& run);

}  // namespace ocrtune
