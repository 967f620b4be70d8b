// As many missing images as the loader replaces (max_bad_share) are a note; more are an error
// before any process is started.
#include "engine/work/label_images.h"

#include <fmt/format.h>

#include "base/files.h"
#include "cli/shell/terminal.h"
#include "core/data/label_file.h"
#include "core/data/lmdb_source.h"
#include "core/data/loader.h"

namespace ocrtune {

Status check_label_images(const std::string& path) {
  if (is_lmdb_folder(path)) return Status();
  const auto images = OCRTUNE_TRY(LabelFile::look_for_images(path));
  if (images.missing > 0) {
    const std::string folder = parent_path(path);
    const std::string what = fmt::format(
        "{} not found ({} of {} missing); paths count from the label file's folder, {}",
        images.first_missing, images.missing, images.lines, folder.empty() ? "." : folder);
    const double bearable = LoaderOptions().max_bad_share * static_cast<double>(images.lines);
    if (static_cast<double>(images.missing) > bearable) return Error{ErrorKind::missing, what};
    say_line("note: " + what);
  }
  if (images.opened > 0 && images.unreadable == images.opened) {
    return Error{ErrorKind::invalid, images.first_unreadable};
  }
  return Status();
}

}  // namespace ocrtune
