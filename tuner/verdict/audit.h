// The rules of thumb, judged by measurement: what following each would cost here.
#pragma once

#include <vector>

#include "tuner/recommendation.h"
#include "tuner/search/search.h"
#include "tuner/space/default_space.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {

// For each rule the best measured setting with the rule's process count; if none was run, the
// verdict says why (it would not fit, it crashed, the budget ended).
std::vector<RuleVerdict> audit_rules(const std::vector<RuleSetting>& rules,
                                     const std::vector<Setting>& settings, const Setting& chosen,
                                     const Search& search);

}  // namespace ocrtune
