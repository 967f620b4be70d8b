// Takes files out of the kernel's page cache, so that the next reader has them from the disk, as in
// a first epoch. Needs no rights but to read them: posix_fadvise(POSIX_FADV_DONTNEED).
//
// Of a data set of many small files a look sees few. The others are those of their ending in their
// folder; where files of one ending were seen in two folders beside each other, also those in all
// folders there.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "trial/stage_use.h"

namespace ocrtune {

struct FilesBeside {
  std::vector<std::string> paths;  // none of them seen; at most 2^18
  std::int64_t count = 0;          // of these
  std::uint64_t bytes = 0;         // of these; of more than 2^14, by a sample of so many
};

// Of a folder and an ending of which `least` were seen, or one that is in `surely`.
FilesBeside files_beside(const std::vector<std::string>& seen, const std::set<std::string>& surely,
                         int least);

// Whether more than 2 % of what it read came from there.
bool reads_from_disk(const StageUse& use);

// Whether what it read came from memory, so that a first epoch may be slower: of files that were
// seen open.
bool reads_from_memory(const StageUse& use);

// Bytes of the files that were dropped: these, and those beside any of them. Pages that are dirty
// or mapped stay, and so does what a file system keeps in memory (tmpfs). At most 2^18 files.
std::uint64_t drop_from_memory(const std::vector<std::string>& files);

}  // namespace ocrtune
