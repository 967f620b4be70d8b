// How many lines of text pages have, as counted from results of reading them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// "40" as {40}; else a file with one page a line: a whole number, or a page's results as PaddleOCR
// writes them (`page.png<TAB>[{"transcription": ...}, ...]`), of which the entries are counted.
// Pages without a line are left out. usage: no file and no number above zero. invalid: names the
// line that is neither; a file without any page.
Result<std::vector<int>> read_lines_per_page(const std::string& number_or_path);

}  // namespace ocrtune
