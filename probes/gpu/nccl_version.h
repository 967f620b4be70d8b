// Which NCCL a program started here would load. For the GPU worker: it runs code of others.
#pragma once

#include <string>

namespace ocrtune {

// Of OCRTUNE_NCCL_PATH's library where `named` is not empty, else of the loader's libnccl.so.2,
// else of the first in `folders` (as LD_LIBRARY_PATH lists them): "2.28.9". "" where there is none.
std::string read_nccl_version(const std::string& named, const std::string& folders);

}  // namespace ocrtune
