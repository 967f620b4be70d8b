// Children are found by /proc/PID/task/TID/children from the processes that stay, without a scan of
// the whole machine. Only the state of a thread is read: "R" is running or waiting for a CPU, and
// each look speaks for the time since the one before.
#include "trial/observe/short_lives.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kPause = 0.02, kIdlePause = 1;  // seconds
constexpr double kMaxGap = 0.1;                  // seconds that one look speaks for
constexpr double kCostShare = 50;  // of a pause to the time that the look before it took
constexpr int kLongLife = 8;       // windows, from which it stays

bool can_run(const std::string& stat_file) {
  const auto stat = read_file(stat_file, 1024);
  if (!stat) return false;
  // The name may hold any character, so the last bracket ends it.
  const std::size_t name_end = stat->rfind(')');
  return name_end != std::string::npos && stat->compare(name_end, 3, ") R") == 0;
}

}  // namespace

void ShortLives::begin(const ProcessTree& tree) {
  *this = ShortLives();
  for (const ProcessFacts& process : tree.members()) staying_.insert(process.pid);
  // They inherit whose parent ends.
  for (const auto& root : tree.roots()) staying_.insert(root->guard_pid());
  active_ = true;
  last_ = steady_clock().now_seconds();
}

void ShortLives::look(double now) {
  if (staying_.empty() || now < next_) return;
  // After a longer gap nothing is known of the time before the last tenth of a second.
  const double seconds = std::clamp(now - last_, 0.0, kMaxGap);
  threads_now_ = 0;
  for (const int pid : staying_) visit(pid, pid, seconds);
  max_threads_ = std::max(max_threads_, threads_now_);
  looked_ += seconds;
  last_ = now;
  const double cost = steady_clock().now_seconds() - now;
  // At the start nothing is known of the pace: a second shows whether any come and go.
  active_ = !lives_.empty() || (active_ && looked_ < kIdlePause);
  next_ = now + std::max(active_ ? kPause : kIdlePause, kCostShare * cost);
}

void ShortLives::visit(int pid, int ancestor, double seconds) {
  const std::string folder = fmt::format("/proc/{}/task", pid);
  const auto threads = list_directory(folder);
  if (!threads) return;
  for (const std::string& thread : *threads) {
    const int id = std::atoi(thread.c_str());  // NOLINT(cert-err34-c): a folder of numbers
    const bool stays = pid == ancestor;
    // Of a process that stays only its first thread: it is the one that starts children and waits.
    const bool runs = (!stays || id == pid) && can_run(folder + "/" + thread + "/stat");
    if (runs) (stays ? ancestor_seconds_[pid] : lives_[pid].runnable_seconds) += seconds;
    if (!stays) {
      Life& life = lives_[pid];
      life.threads.insert(id);
      if (runs) life.worked.insert(id);
      // From its first look on which it could run, a thread counts as one that works.
      if (life.worked.contains(id)) working_ += seconds;
      ++threads_now_;
    }
    const auto children = read_file(folder + "/" + thread + "/children", 1 << 16);
    if (!children) continue;
    for (const std::string& word : words(*children)) {
      const int child = std::atoi(word.c_str());  // NOLINT(cert-err34-c): the kernel's number
      if (staying_.count(child) != 0) continue;
      starts_ += lives_.contains(child) ? 0 : 1;
      lives_[child].ancestor = ancestor;
      visit(child, ancestor, seconds);
    }
  }
}

BriefLives ShortLives::take(const ProcessTree& tree) {
  BriefLives brief;
  brief.looked_seconds = std::exchange(looked_, 0);
  brief.working_seconds = std::exchange(working_, 0);
  brief.max_threads = std::exchange(max_threads_, 0);
  brief.starts = std::exchange(starts_, 0);
  active_ = !lives_.empty();
  std::set<int> alive;
  for (const ProcessFacts& process : tree.members()) alive.insert(process.pid);
  for (const auto& [pid, life] : lives_) {
    // Only ancestors of which some child has ended: the others' children still tell their own
    // times.
    if (alive.count(pid) == 0) brief.runnable_seconds[life.ancestor] = 0;
  }
  for (const auto& [ancestor, seconds] : brief.runnable_seconds) {
    brief.ancestor_seconds[ancestor] = ancestor_seconds_[ancestor];
  }
  ancestor_seconds_.clear();
  for (auto at = lives_.begin(); at != lives_.end();) {
    auto& [pid, life] = *at;
    const auto of_ancestor = brief.runnable_seconds.find(life.ancestor);
    if (of_ancestor != brief.runnable_seconds.end()) {
      of_ancestor->second += life.runnable_seconds;
      if (alive.count(pid) != 0) brief.threads.merge(life.threads);
    }
    life.runnable_seconds = 0;
    life.threads.clear();
    // It has outlived eight windows, so it is no process that comes and goes.
    const bool stays = ++life.windows >= kLongLife;
    if (stays && alive.count(pid) != 0) staying_.insert(pid);
    at = stays || alive.count(pid) == 0 ? lives_.erase(at) : std::next(at);
  }
  return brief;
}

}  // namespace ocrtune
