// A failure of several ranks in the order in which it went: who, what, when, what followed.
//
// Codes with arguments; the sentences are in reports/console/diagnosis_words.cpp.
#pragma once

#include <vector>

#include "diagnosis/cause_ranker.h"

namespace ocrtune {

inline constexpr std::size_t kMaxStory = 6;

// At most kMaxStory events, the first cause first; empty where one line tells it all.
std::vector<StoryEvent> tell_story(const std::vector<LogScan>& logs,
                                   const FailureEvidence& evidence, const CauseRanker& ranker,
                                   const std::vector<Cause>& causes);

}  // namespace ocrtune
