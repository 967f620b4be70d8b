// The outline fonts that are installed here.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

// Where distributions, users and the archive of scripts/portable keep fonts; folders that do not
// exist are left out.
std::vector<std::string> font_folders();

// All .ttf, .otf and .ttc files under the given folders (at any depth) and the given files
// themselves, sorted by path, each once. missing: names what is not there.
Result<std::vector<std::string>> find_fonts(const std::vector<std::string>& places);

}  // namespace ocrtune
