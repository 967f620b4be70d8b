// A missing labels.txt is told by its folder, with both forms that would do; other errors are those
// of the source.
#include "core/data/samples.h"

#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "core/data/label_file.h"
#include "core/data/lmdb_source.h"

namespace ocrtune {

Result<std::unique_ptr<SampleSource>> open_samples(const std::string& path,
                                                   const std::string& alphabet_text) {
  if (is_lmdb_folder(path)) {
    auto source = OCRTUNE_TRY(LmdbSource::open(path, alphabet_text));
    return std::unique_ptr<SampleSource>(std::move(source));
  }
  const std::string folder = parent_path(path);
  const Status there = check_there(path);
  const bool lacks = !there && there.error().kind == ErrorKind::missing;
  if (lacks && path == join_path(folder, kLabelFileName) && is_directory(folder)) {
    return Error{ErrorKind::missing,
                 folder + " has no " + kLabelFileName +
                     " (lines of image<TAB>text) and no data.mdb; `ocrtune make-data " +
                     shell_quote(folder) + "` renders some"};
  }
  auto source = OCRTUNE_TRY(LabelFile::read(path, alphabet_text));
  return std::unique_ptr<SampleSource>(std::move(source));
}

}  // namespace ocrtune
