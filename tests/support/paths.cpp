#include "paths.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>

namespace {

// A test's measurements wait for each other and not for those of the machine's other users or of
// tests beside it.
struct PrivateLock {
  char folder[32] = "/tmp/ocrtune-test.XXXXXX";
  int owner = ::getpid();
  PrivateLock() {
    if (::mkdtemp(folder) != nullptr) ::setenv("OCRTUNE_LOCK_DIR", folder, 1);
  }
  ~PrivateLock() {
    if (::getpid() != owner) return;
    ::unlink((std::string(folder) + "/ocrtune.lock").c_str());
    ::rmdir(folder);
  }
};
const PrivateLock kPrivateLock;

}  // namespace

std::string test_source_directory() { return OCRTUNE_TEST_SOURCE_DIRECTORY; }
std::string test_binary() { return OCRTUNE_TEST_BINARY; }
std::string test_nvml_stub() { return OCRTUNE_TEST_NVML_STUB; }
std::string test_fake_worker() { return OCRTUNE_TEST_FAKE_WORKER; }
std::string test_fake_gpu_worker() { return OCRTUNE_TEST_FAKE_GPU_WORKER; }
