// On stderr, for standard output may be the answer itself.
#include "cli/shell/output_folder.h"

#include <cstdio>

#include "base/files.h"

namespace ocrtune {

Status make_output_folder(const std::string& path) {
  if (path.empty()) return Status();
  const auto made = OCRTUNE_TRY(make_folder(path));
  if (made) std::fprintf(stderr, "made the folder %s\n", path.c_str());
  return Status();
}

}  // namespace ocrtune
