// The lines of a place by padded width: each width is a kind of request of its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct LineKinds {
  std::vector<std::vector<std::string>> paths;  // of each kind
  std::vector<double> weights;                  // its share of the requests
  std::vector<int> widths;                      // ascending, in pixels
};

// Looks at up to 400 lines spread over the list and sends each width as often as it occurs; the
// widest, which is the slowest, at least once in 20. invalid: none of them can be read.
Result<LineKinds> line_kinds(const std::vector<std::string>& paths, int height, int max_width);

// Pictures of noise, four of each width up to `max_width`, where the user has no lines to give:
// the arithmetic does not depend on what a line shows. Gives their paths in `folder`.
Result<std::vector<std::string>> write_noise_lines(const std::string& folder, int height,
                                                   int max_width);

}  // namespace ocrtune
