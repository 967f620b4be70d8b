// The loader's cache is searched for paths as text, without its format, which differs between
// versions of glibc. A file of another architecture in it would only make the loader warn.
#include "probes/host/allocators.h"

#include <algorithm>

#include "base/text.h"

namespace ocrtune {
namespace {

// Asked only where the loader's cache names none.
constexpr const char* kFolders[] = {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu",
                                    "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"};

// Word length and kind of machine, from the start of an ELF file; empty: it is none.
std::string elf_kind(const std::string& path) {
  const std::string start = read_file(path, 20).value_or("");
  if (start.size() < 20 || !starts_with(start,
                                        "\x7f"
                                        "ELF"))
    return "";
  // EI_CLASS is byte 4 and e_machine are bytes 18 and 19 (elf(5)).
  return start.substr(4, 1) + start.substr(18, 2);
}

bool of_this_machine(const FileRoot& root, const std::string& path) {
  static const std::string kOwn = elf_kind("/proc/self/exe");
  return root.exists(path) && elf_kind(root.path(path)) == kOwn;
}

}  // namespace

const std::vector<Allocator>& allocator_table() {
  static const std::vector<Allocator> kTable = {
      {"tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"}, "libtcmalloc-minimal4"},
      {"jemalloc", {"libjemalloc.so.2"}, "libjemalloc2"},
      {"mimalloc", {"libmimalloc.so.3", "libmimalloc.so.2"}, "libmimalloc2.0"},
  };
  return kTable;
}

const Allocator* find_allocator(const std::string& name) {
  for (const Allocator& allocator : allocator_table()) {
    if (name == allocator.name) return &allocator;
  }
  return nullptr;
}

std::string allocator_library(const std::string& name, const FileRoot& root) {
  const Allocator* allocator = find_allocator(name);
  if (allocator == nullptr) return "";
  // The cache is binary; its names and paths are C strings.
  const auto cached = split(root.read("/etc/ld.so.cache").value_or(""), '\0');
  for (const char* library : allocator->libraries) {
    const std::string end = std::string("/") + library;
    for (const std::string& path : cached) {
      if (starts_with(path, "/") && ends_with(path, end) && of_this_machine(root, path)) {
        return path;
      }
    }
    for (const char* folder : kFolders) {
      if (of_this_machine(root, folder + end)) return folder + end;
    }
  }
  return "";
}

std::vector<std::string> installed_allocators(const FileRoot& root) {
  std::vector<std::string> names;
  for (const Allocator& allocator : allocator_table()) {
    if (!allocator_library(allocator.name, root).empty()) names.emplace_back(allocator.name);
  }
  return names;
}

const Allocator* preloaded_allocator(const std::string& preload) {
  for (const Allocator& allocator : allocator_table()) {
    // The stem fits every version and variant: "libtcmalloc_minimal.so.4", a path, a list.
    const std::string stem = std::string("lib") + allocator.name;
    if (preload.find(stem) != std::string::npos) return &allocator;
  }
  return nullptr;
}

}  // namespace ocrtune
