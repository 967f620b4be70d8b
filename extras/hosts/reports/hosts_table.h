// What the extra `hosts` says, in English and in Chinese.
#pragma once

#include <vector>

#include "reports/catalogue/phrases.h"

namespace ocrtune {

const std::vector<Phrase>& hosts_table();

}  // namespace ocrtune
