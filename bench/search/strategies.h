// The search of tune and others beside it, by name.
#pragma once

#include <string>
#include <vector>

#include "tuner/search/search.h"

namespace ocrtune {

struct StrategyRow {
  std::string name;
  SearchMaker make;
};

const std::vector<StrategyRow>& strategy_table();

}  // namespace ocrtune
