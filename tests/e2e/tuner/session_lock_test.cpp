// A session holds the machine's turn for as long as it measures.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "tests/support/sample_windows.h"
#include "tuner/session/session.h"

namespace ocrtune {
namespace {

// Whether this process holds the lock: a process does not see its own locks, its child does.
bool locked(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const bool asked = file >= 0 && ::fcntl(file, F_GETLK, &lock) == 0;
    ::_exit(asked && lock.l_type != F_UNLCK ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct LookingRunner : Runner {
  explicit LookingRunner(std::string path) : lock_path(std::move(path)) {}
  Trial run(const Knobs& knobs, const TrialLimits&) override {
    EXPECT_TRUE(locked(lock_path)) << "another ocrtune would measure beside this one";
    Trial trial;
    trial.knobs = knobs;
    trial.outcome = Outcome::ok;
    trial.samples_per_second = 100;
    trial.seconds = 1;
    trial.samples.assign(2, window_of(100));
    return trial;
  }
  std::string lock_path;
};

TEST(SessionLock, IsHeldWhileTuneResumeAndVerifyMeasure) {
  const std::string folder = *make_temporary_directory("session_lock");
  ::setenv("OCRTUNE_LOCK_DIR", folder.c_str(), 1);
  const std::string path = join_path(folder, "ocrtune.lock");
  SessionDoors doors;
  doors.probe = [](const ProbeOptions&) { return Result<Machine>(Machine()); };
  int sessions = 0;
  doors.runner = [&](const Job&, const SearchRequest&, const Machine&) {
    ++sessions;
    return Result<std::unique_ptr<Runner>>(std::make_unique<LookingRunner>(path));
  };
  TuneRequest request;
  request.search.axes = {{"nproc", {"1"}},   {"threads", {"1"}},    {"batch", {"4", "8"}},
                         {"workers", {"0"}}, {"binding", {"none"}}, {"precision", {"fp32"}}};
  request.search.baseline.batch = 4;
  request.search.budget_seconds = 2;
  request.search.trial_seconds = 0.1;
  auto store = Store::open(join_path(folder, "runs.sqlite"), Store::Mode::write);
  ASSERT_TRUE(store) << store.error().what;
  SessionObserver nobody;
  const auto run = tune(request, **store, nobody, doors);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_FALSE(locked(path)) << "given back";
  ResumeRequest more;
  more.budget_seconds = 1;
  EXPECT_TRUE(resume(more, **store, nobody, doors));
  VerifyRequest again;
  again.options.seconds = 0.1;
  const auto answer = verify(again, **store, nobody, doors);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_FALSE(answer->verification.trials.empty());
  EXPECT_EQ(sessions, 3);
  ::unsetenv("OCRTUNE_LOCK_DIR");
  store->reset();
  EXPECT_TRUE(remove_tree(folder));
}

}  // namespace
}  // namespace ocrtune
