// The samples at a place, whatever form they have there.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "core/data/sample_source.h"

namespace ocrtune {

// A folder with data.mdb in it or below is an LMDB (core/data/lmdb_source.h), anything else a label
// file (core/data/label_file.h). Errors are theirs.
Result<std::unique_ptr<SampleSource>> open_samples(const std::string& path,
                                                   const std::string& alphabet_text);

// What the user means by a place: a folder with labels.txt is that file, everything else itself.
std::string samples_path(const std::string& place);

}  // namespace ocrtune
