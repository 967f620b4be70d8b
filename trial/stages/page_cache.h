// Takes files out of the kernel's page cache, so that the next reader has them from the disk, as in
// a first epoch. Needs no rights but to read them: posix_fadvise(POSIX_FADV_DONTNEED).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ocrtune {

// Bytes of the files that were dropped. With each file go those of its ending in its folder: of a
// data set of many small files a look sees few. Pages that are dirty or mapped stay, and so does
// what a file system keeps in memory (tmpfs). At most 2^18 files.
std::uint64_t drop_from_memory(const std::vector<std::string>& files);

}  // namespace ocrtune
