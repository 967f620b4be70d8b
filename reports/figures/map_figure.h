// The safe envelope as a picture: processes against batch, one cell for the best setting of each.
#pragma once

#include <string>

#include "tuner/store/run_record.h"

namespace ocrtune {

// Empty when fewer than two cells would stand in it. A measured cell is coloured by its rate, a
// failed one carries a cross and the cause; the recommended one a star; rules a triangle.
std::string map_figure(const RunRecord& run);

}  // namespace ocrtune
