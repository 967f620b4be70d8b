// A look at folders by the names of their files; only read_nccl_version() loads a library. Wheels
// put each library into a folder of its own: site-packages/nvidia/<name>/lib.
#include "probes/gpu/cuda_libraries.h"

#include <dlfcn.h>

#include <algorithm>

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

std::vector<std::string> children(const std::string& folder) {
  auto names = list_directory(folder);
  if (!names) return {};
  for (std::string& name : *names) name = join_path(folder, name);
  return std::move(*names);
}

bool holds_cuda(const std::string& folder) {
  const auto names = list_directory(folder);
  if (!names) return false;
  return std::any_of(names->begin(), names->end(), [](const std::string& name) {
    return starts_with(name, "libcublas.so") || starts_with(name, "libcudnn.so") ||
           starts_with(name, "libnccl.so");
  });
}

}  // namespace

std::vector<std::string> cuda_library_folders(const std::string& root) {
  if (root.empty()) return {};
  std::vector<std::string> places = {join_path(root, "lib64"), join_path(root, "lib")};
  std::vector<std::string> wheels = {root, join_path(root, "nvidia")};
  for (const std::string& python : children(join_path(root, "lib"))) {
    wheels.push_back(join_path(python, "site-packages/nvidia"));
  }
  for (const std::string& folder : wheels) {
    for (const std::string& wheel : children(folder)) places.push_back(join_path(wheel, "lib"));
  }
  std::erase_if(places, [](const std::string& place) { return !holds_cuda(place); });
  return places;
}

std::string cuda_library_path(const std::string& root, const std::string& was) {
  std::vector<std::string> folders = cuda_library_folders(root);
  if (!was.empty()) folders.push_back(was);
  return join(folders, ":");
}

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
