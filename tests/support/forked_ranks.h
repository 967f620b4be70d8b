// Runs a function in one forked process for each rank and brings home what it said.
//
// The thread sanitizer sees nothing of what processes share. Under it ranks are threads, which no
// test may kill, and a file that they map is at one address: tests/support/one_mapping.cpp.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_team.h"

namespace ocrtune {

struct RankEnd {
  std::string said;
  int status = 0;  // as waitpid gives it

  bool killed() const { return WIFSIGNALED(status); }
};

#ifdef __SANITIZE_THREAD__
inline std::vector<RankEnd> fork_ranks(
    int world_size, const std::function<std::string(int rank)>& body,
    const std::function<void(const std::vector<int>& pids)>& /*meanwhile*/ = nullptr) {
  std::vector<RankEnd> finished(static_cast<std::size_t>(world_size));
  if (!run_team(finished.size(),
                [&](std::size_t rank) { finished[rank].said = body(static_cast<int>(rank)); })) {
    std::abort();
  }
  return finished;
}
#else
// The children are reaped only once all have been heard: until then the dead ones are zombies.
inline std::vector<RankEnd> fork_ranks(
    int world_size, const std::function<std::string(int rank)>& body,
    const std::function<void(const std::vector<int>& pids)>& meanwhile = nullptr) {
  std::vector<int> pids;
  std::vector<int> ears;
  for (int rank = 0; rank < world_size; ++rank) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) std::abort();
    const int pid = ::fork();
    if (pid == 0) {
      ::alarm(300);  // a rank that hangs dies, and the test says so
      ::close(ends[0]);
      const std::string said = body(rank);
      const ssize_t written = ::write(ends[1], said.data(), said.size());
      ::_exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    pids.push_back(pid);
    ears.push_back(ends[0]);
  }
  if (meanwhile) meanwhile(pids);
  std::vector<RankEnd> finished(static_cast<std::size_t>(world_size));
  for (std::size_t i = 0; i < finished.size(); ++i) {
    char block[4096];
    for (ssize_t got = 0; (got = ::read(ears[i], block, sizeof block)) > 0;) {
      finished[i].said.append(block, static_cast<std::size_t>(got));
    }
    ::close(ears[i]);
  }
  for (std::size_t i = 0; i < finished.size(); ++i) ::waitpid(pids[i], &finished[i].status, 0);
  return finished;
}
#endif

}  // namespace ocrtune
