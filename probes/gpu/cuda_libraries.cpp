#include "probes/gpu/cuda_libraries.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

std::vector<std::string> children(const std::string& folder) {
  auto names = list_directory(folder);
  if (!names) return {};
  std::sort(names->begin(), names->end());
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

}  // namespace ocrtune
