// The line images of a folder or a list, in the order in which they will be answered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct LineList {
  std::vector<std::string> names;   // as the results name them: relative to the folder or list
  std::vector<std::string> paths;   // where they are
  std::vector<std::string> truths;  // what they spell; empty, or one for each line
  std::int64_t other_files = 0;     // in the folder, neither PNG nor JPEG by name
  std::int64_t repeated = 0;        // names that stand in the list more than once
};

// A folder with labels.txt is that list; any other folder gives all .png, .jpg and .jpeg files in
// it, at any depth, sorted. A list has a path a line, with or without <TAB>text. missing: nothing
// there, or no image in it.
Result<LineList> read_line_list(const std::string& place);

}  // namespace ocrtune
