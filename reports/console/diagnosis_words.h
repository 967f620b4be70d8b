// The sentences of a diagnosis's story and next steps, in English and Chinese.
#pragma once

#include <string>

#include "diagnosis/cause.h"

namespace ocrtune {

// One line: "10:02:11  rank 2 failed with python_exception: KeyError: ...". `chinese`: in Chinese.
std::string story_line(const StoryEvent& event, bool chinese);

// What the command of a next step shows when the first, or the second, suspect is the cause.
struct StepOutcomes {
  std::string first, second;
};
StepOutcomes step_outcomes(const NextStep& step, bool chinese);

}  // namespace ocrtune
