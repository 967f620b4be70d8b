// The page's section on several hosts: what each count of them brought.
#pragma once

#include <string>

#include "tuner/store/run_record.h"

namespace ocrtune {

std::string hosts_section(const RunRecord& run);  // empty without a setting of several hosts

}  // namespace ocrtune
