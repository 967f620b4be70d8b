// What the search for the highest rate found, as console text and as JSON.
#pragma once

#include <string>

#include "tuner/slo/slo_search.h"

namespace ocrtune {

std::string slo_text(const SloSearchResult& result, const LatencySlo& slo, int width);
std::string slo_json(const SloSearchResult& result, const LatencySlo& slo);

}  // namespace ocrtune
