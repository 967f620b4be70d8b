// The names of glibc's variables are those of mallopt(3). Whether an allocator was really loaded is
// found out by trial/watch/preload_watch.h.
#include "trial/malloc_environment.h"

#include <cstdlib>

#include "probes/host/allocators.h"

namespace ocrtune {
namespace {

// Blocks up to here are not given back to the kernel one by one.
constexpr const char* kGibibyte = "1073741824";

}  // namespace

std::string preload_of(const std::string& malloc) {
  const Allocator* allocator = find_allocator(malloc);
  if (allocator == nullptr) return "";
  const std::string path = allocator_library(malloc);
  return path.empty() ? allocator->libraries[0] : path;
}

std::string with_preload(const std::string& given, const std::string& library) {
  return given.empty() ? library : given + ":" + library;
}

std::vector<std::pair<std::string, std::string>> malloc_environment(const std::string& malloc) {
  if (malloc == "arena1") return {{"MALLOC_ARENA_MAX", "1"}};
  if (malloc == "keep") {
    return {{"MALLOC_MMAP_THRESHOLD_", kGibibyte}, {"MALLOC_TRIM_THRESHOLD_", kGibibyte}};
  }
  const std::string library = preload_of(malloc);
  if (library.empty()) return {};
  const char* own = std::getenv("LD_PRELOAD");
  return {{"LD_PRELOAD", with_preload(own == nullptr ? "" : own, library)}};
}

}  // namespace ocrtune
