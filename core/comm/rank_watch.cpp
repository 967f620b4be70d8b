// pidfd_open(2) where the kernel has it (Linux 5.3), else the state letter of /proc/PID/stat. A
// process descriptor becomes readable when its process ends.
#include "core/comm/rank_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "base/files.h"

namespace ocrtune {
namespace {

char state_letter(int pid) {
  const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
  if (!stat) return 0;
  const std::size_t end = stat->rfind(") ");  // the name before it may hold anything
  return end == std::string::npos || end + 2 >= stat->size() ? '\0' : (*stat)[end + 2];
}

}  // namespace

bool process_ended(int pid) {
  const char letter = state_letter(pid);
  return letter == 0 || letter == 'Z' || letter == 'X';
}

RankWatch::~RankWatch() {
  for (int descriptor : descriptors_) {
    if (descriptor >= 0) ::close(descriptor);
  }
}

void RankWatch::watch(const std::vector<int>& pids) {
  pids_ = pids;
  for (int pid : pids_) {
    const bool own = pid == ::getpid();
    descriptors_.push_back(own ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
  }
}

std::vector<int> RankWatch::dead_ranks() const {
  std::vector<int> dead_ranks;
  std::vector<pollfd> polls;
  for (int descriptor : descriptors_) polls.push_back({descriptor, POLLIN, 0});
  // poll() passes over negative descriptors: those ranks are looked up in /proc below.
  ::poll(polls.data(), polls.size(), 0);
  for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
    if (pids_[rank] == ::getpid()) continue;
    const bool dead =
        descriptors_[rank] >= 0 ? (polls[rank].revents & POLLIN) != 0 : process_ended(pids_[rank]);
    if (dead) dead_ranks.push_back(static_cast<int>(rank));
  }
  return dead_ranks;
}

std::string process_state(int pid) {
  switch (state_letter(pid)) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "waiting for the disk";
    case 'T':
    case 't':
      return "stopped";
    case 'Z':
    case 'X':
    case '\0':
      return "gone";
    default:
      return "in an unknown state";
  }
}

}  // namespace ocrtune
