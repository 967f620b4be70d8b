#include "probes/gpu/nccl_version.h"

#include <dlfcn.h>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

void* open_library(const std::string& named, const std::string& folders) {
  if (!named.empty()) return ::dlopen(named.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (void* library = ::dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL)) return library;
  for (const std::string& folder : split(folders, ':')) {
    const std::string path = join_path(folder, "libnccl.so.2");
    if (folder.empty() || !path_exists(path)) continue;
    if (void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

}  // namespace

std::string read_nccl_version(const std::string& named, const std::string& folders) {
  void* library = open_library(named, folders);
  if (library == nullptr) return "";
  const auto ask = reinterpret_cast<int (*)(int*)>(::dlsym(library, "ncclGetVersion"));
  int code = 0;
  if (ask == nullptr || ask(&code) != 0) return "";
  // 2709 is 2.7.9, 22809 is 2.28.9: two digits more from 2.9 on.
  const int major = code < 10000 ? 1000 : 10000;
  return fmt::format("{}.{}.{}", code / major, code % major / 100, code % 100);
}

}  // namespace ocrtune
