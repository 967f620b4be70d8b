// What a capacity plan says, in English and in Chinese.
#pragma once

#include <vector>

#include "reports/catalogue/phrases.h"

namespace ocrtune {

const std::vector<Phrase>& plan_table();

}  // namespace ocrtune
