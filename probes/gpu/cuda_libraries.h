// Where CUDA's libraries lie on a machine whose linker does not know: a CUDA folder, or a Python
// environment that PyTorch's or Paddle's wheels have brought them into.
#pragma once

#include <string>
#include <vector>

namespace ocrtune {

// The folders under `root` that hold cuBLAS, cuDNN or NCCL. `root` is a CUDA installation, a Python
// environment, its site-packages or the wheels' folder nvidia; empty: none.
std::vector<std::string> cuda_library_folders(const std::string& root);

// What LD_LIBRARY_PATH must be so that they are found: these folders, then what it was.
std::string cuda_library_path(const std::string& root, const std::string& was);

// Of OCRTUNE_NCCL_PATH's library where `named` is not empty, else of the loader's libnccl.so.2,
// else of the first in `folders` (as LD_LIBRARY_PATH lists them): "2.28.9". "" where there is none.
std::string read_nccl_version(const std::string& named, const std::string& folders);

}  // namespace ocrtune
