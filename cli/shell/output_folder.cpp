// On stderr, for standard output may be the answer itself.
#include "cli/shell/output_folder.h"

#include "base/files.h"
#include "cli/shell/terminal.h"

namespace ocrtune {

Status make_output_folder(const std::string& path) {
  if (path.empty()) return Status();
  const auto made = OCRTUNE_TRY(make_folder(path));
  if (made) say_line("made the folder " + path);
  return Status();
}

}  // namespace ocrtune
