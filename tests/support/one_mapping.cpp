// Linked under the thread sanitizer, where ranks are threads (tests/support/forked_ranks.h): a file
// that several of them map is at one address, for the sanitizer knows addresses, and a lock on a
// file is one that it sees. The linker sends the calls here (--wrap).
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <map>
#include <mutex>
#include <tuple>

namespace {

using Part = std::tuple<dev_t, ino_t, off_t, std::size_t>;
struct Mapping {
  void* memory = nullptr;
  int users = 0;
};

std::mutex g_mutex, g_file_lock;
std::map<Part, Mapping> g_mappings;

}  // namespace

// Neither oneDNN nor its locks are instrumented.
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libdnnl.so\n"; }

extern "C" void* __real_mmap(void*, std::size_t, int, int, int, off_t);
extern "C" int __real_munmap(void*, std::size_t);
extern "C" int __real_flock(int, int);

extern "C" void* __wrap_mmap(void* address, std::size_t size, int access, int flags, int file,
                             off_t offset) {
  struct stat facts {};
  if ((flags & MAP_SHARED) == 0 || file < 0 || ::fstat(file, &facts) != 0) {
    return __real_mmap(address, size, access, flags, file, offset);
  }
  const std::lock_guard lock(g_mutex);
  Mapping& one = g_mappings[{facts.st_dev, facts.st_ino, offset, size}];
  if (one.users++ == 0) one.memory = __real_mmap(address, size, access, flags, file, offset);
  return one.memory;
}

extern "C" int __wrap_munmap(void* address, std::size_t size) {
  const std::lock_guard lock(g_mutex);
  for (auto& [part, one] : g_mappings) {
    if (one.memory != address || one.users == 0) continue;
    if (--one.users > 0) return 0;
  }
  return __real_munmap(address, size);
}

extern "C" int __wrap_flock(int file, int operation) {
  if (operation != LOCK_EX && operation != LOCK_UN) return __real_flock(file, operation);
  operation == LOCK_UN ? g_file_lock.unlock() : g_file_lock.lock();
  return 0;
}
