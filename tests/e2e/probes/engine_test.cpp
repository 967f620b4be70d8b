// What a container engine's seccomp profile refuses, as a real filter refuses it.
#include "probes/host/engine.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/refused_calls.h"

namespace ocrtune {
namespace {

constexpr int kNoFilters = 77;

// 0: read_engine() says what is expected of it in a child under this filter, which stays there.
int read_under(const std::vector<long>& calls, int error, const std::vector<std::string>& refused,
               std::size_t warnings) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!refuse_calls(calls, error)) ::_exit(kNoFilters);
    Notes notes;
    const EngineFacts engine = read_engine(FileRoot(), {"docker", "/.dockerenv"}, notes);
    const bool right = engine.refused_calls == refused && notes.warnings.size() == warnings &&
                       engine.seccomp.value_or("") == "filter";
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Engine, CallsThatAProfileRefusesAreNamed) {
  const int code = read_under({SYS_clone3, SYS_mbind}, EPERM, {"clone3", "mbind"}, 2);
  if (code == kNoFilters) GTEST_SKIP() << "this kernel has no seccomp filters";
  EXPECT_EQ(code, 0);
}

// ENOSYS is what programs fall back from: threads start by clone().
TEST(Engine, CallsThatAreNotThereAreNoRefusal) {
  const int code = read_under({SYS_clone3}, ENOSYS, {}, 0);
  if (code == kNoFilters) GTEST_SKIP() << "this kernel has no seccomp filters";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace ocrtune
