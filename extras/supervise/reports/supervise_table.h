// What a supervised run says, in English and in Chinese.
#pragma once

#include <vector>

#include "reports/catalogue/phrases.h"

namespace ocrtune {

const std::vector<Phrase>& supervise_table();

}  // namespace ocrtune
