// The sentences of a diagnosis's story and next steps, in English and Chinese.
#pragma once

#include <string>

#include "diagnosis/cause.h"

namespace ocrtune {

// One line: "10:02:11  rank 2 failed with python_exception: KeyError: ...". `chinese`: in Chinese.
std::string story_line(const StoryEvent& event, bool chinese);

// "host_out_of_memory" -> "host out of memory", "主机内存不足".
std::string spoken_cause(const std::string& cause, bool chinese);

// What the command of a next step shows when the first, or the second, suspect is the cause.
struct StepOutcomes {
  std::string first, second;
};
StepOutcomes step_outcomes(const NextStep& step, bool chinese);

}  // namespace ocrtune
