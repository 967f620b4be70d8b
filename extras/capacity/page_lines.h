// How many lines of text pages have, as counted from results of reading them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// "40" as {40}; else a file whose lines are "12" (a page of 12 lines), "12 340" or "12,340" (340
// pages of 12 lines: a histogram), or a page's results, of which the entries are counted:
// PaddleOCR's `page.png<TAB>[{"transcription": ...}, ...]`, RapidOCR's `... INFO: [[box, 'text',
// 0.99], ...]`. Pages without a line are left out. usage: no file and no number above zero.
// invalid: names the line that is none of these; a file without any page.
Result<std::vector<int>> read_lines_per_page(const std::string& number_or_path);

}  // namespace ocrtune
