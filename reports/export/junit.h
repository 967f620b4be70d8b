// A verification as JUnit's XML, which CI systems read: one test case, failed unless it is OK.
#pragma once

#include <string>

#include "tuner/session/verification.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

std::string junit_text(const RunRecord& run, const Verification& verification);

}  // namespace ocrtune
