// The state of each thread is classified by wait_kind.h and counted; means over all looks are the
// result. Counters at the first and the last look tell which threads never ran, ask for the
// interpreter, or spin in system calls.
#include "trial/stages/thread_looks.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/raw_proc.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxThreads = 1 << 16;  // that are remembered
constexpr double kAsksPerSecond = 30;  // of one that waits for an interpreter; 200 on a free CPU

std::string text_of(const std::string& path) {
  auto text = read_file(path, 1024);
  return text ? *std::move(text) : std::string();
}

// The third number of "run wait times".
std::uint64_t times_run(const std::string& schedstat) {
  const auto fields = words(schedstat);
  return fields.size() < 3 ? 0 : std::strtoull(fields[2].c_str(), nullptr, 10);
}

}  // namespace

void ThreadLooks::look(double now, const std::vector<ProcessFacts>& members) {
  bool any = false;
  for (const ProcessFacts& process : members) {
    const std::string folder = root_.path(fmt::format("/proc/{}/task", process.pid));
    const auto threads = list_directory(folder);
    if (!threads) continue;
    for (const std::string& thread : *threads) {
      const int id = std::atoi(thread.c_str());  // NOLINT(cert-err34-c): a folder of numbers
      look_at(now, folder + "/" + thread, process, id);
      any = true;
    }
  }
  looks_ += any ? 1 : 0;
}

void ThreadLooks::look_at(double now, const std::string& folder, const ProcessFacts& process,
                          int thread) {
  const std::string line = text_of(folder + "/stat");
  ProcessStat stat;
  if (!parse_stat_line(line, stat)) return;
  const bool first = !threads_.contains(thread);
  // Programs that start a thread for each page would fill the memory.
  if (first && threads_.size() >= kMaxThreads) return;
  const std::string place =
      // Reading wchan of a running thread would cost and say nothing.
      stat.state == 'S' || stat.state == 'D' ? text_of(folder + "/wchan") : "";
  // The system call is read where it decides only.
  const std::string call = needs_call(stat.state, place) ? text_of(folder + "/syscall") : "";
  Seen& seen = threads_[thread];
  const Seen::Spent spent = {tick_seconds(stat.cpu_ticks), tick_seconds(stat.system_ticks),
                             static_cast<double>(stat.minor_faults)};
  // How often it got a CPU: a thread that waits for work all the time has the same number.
  const std::uint64_t runs = times_run(text_of(folder + "/schedstat"));
  if (first) {
    seen.name = stat.name;
    seen.process = process.name;
    seen.pid = process.pid;
    seen.first_runs = runs;
    seen.first_seconds = now;
    seen.first = spent;
  }
  seen.last = spent;
  seen.last_runs = runs;
  seen.last_seconds = now;
  ++seen.looks[static_cast<std::size_t>(wait_kind(stat.state, place, call))];
}

bool ThreadLooks::waits_for_nothing(const Seen& seen) const {
  const auto running = seen.looks[static_cast<std::size_t>(WaitKind::running)];
  // It may run at this moment for the first time in long.
  return seen.last_runs == seen.first_runs && running == 0;
}

// Who waits for Python's interpreter wakes every 5 ms to ask for it; who waits for work does not.
bool ThreadLooks::waits_for_interpreter(const Seen& seen) const {
  const auto runs = static_cast<double>(seen.last_runs - seen.first_runs);
  return starts_with(seen.process, "python") &&
         runs >= kAsksPerSecond * (seen.last_seconds - seen.first_seconds);
}

// One that hardly ever sleeps and spends its time in the kernel without getting memory there.
bool ThreadLooks::asks(const Seen& seen) const {
  // Two microseconds for a page fault (a guess) are what memory costs; the rest is asking.
  constexpr double kAwake = 0.85, kSystem = 0.5, kSeconds = 0.3, kFault = 2e-6, kOfFaults = 0.2;
  const double system = seen.last.system_seconds - seen.first.system_seconds;
  const double cpu = seen.last.cpu_seconds - seen.first.cpu_seconds;
  const double faults = seen.last.faults - seen.first.faults;
  double looks = 0;
  for (const int count : seen.looks) looks += count;
  const double running = seen.looks[static_cast<std::size_t>(WaitKind::running)];
  return running >= kAwake * looks && system >= kSeconds && system >= kSystem * cpu &&
         kFault * faults <= kOfFaults * system;
}

void ThreadLooks::fill(StageUse& use) const {
  use.looks = looks_;
  if (looks_ == 0) return;
  using Means = std::array<double, kWaitKinds>;
  const auto in = [](const Means& means, WaitKind kind) {
    return means[static_cast<std::size_t>(kind)];
  };
  Means all = {};
  std::map<int, Means> processes;
  for (const auto& [id, seen] : threads_) {
    if (waits_for_nothing(seen)) continue;
    if (asks(seen)) {
      use.asking_threads += static_cast<double>(seen.looks[0]) / static_cast<double>(looks_);
    }
    auto counts = seen.looks;
    const auto count_of = [&](WaitKind kind) -> int& {
      return counts[static_cast<std::size_t>(kind)];
    };
    // Python waits for its interpreter with a limit of 5 ms on each wait.
    const WaitKind timed = waits_for_interpreter(seen) ? WaitKind::mutex : WaitKind::futex;
    count_of(timed) += std::exchange(count_of(WaitKind::timed), 0);
    for (std::size_t kind = 0; kind < all.size(); ++kind) {
      const double mean = static_cast<double>(counts[kind]) / static_cast<double>(looks_);
      all[kind] += mean;
      processes[seen.pid][kind] += mean;
    }
  }
  for (const auto& [pid, means] : processes) {
    const double others =
        in(means, WaitKind::sleeping) + in(means, WaitKind::network) + in(means, WaitKind::disk);
    const double pipe = in(means, WaitKind::pipe);
    // A process that only waits for its pipe is fed by another one.
    if (others < pipe / 10) use.fed_threads += pipe;
  }
  const auto threads = [&](WaitKind kind) { return in(all, kind); };
  use.running_threads = threads(WaitKind::running);
  use.disk_threads = threads(WaitKind::disk);
  use.mutex_threads = threads(WaitKind::mutex);
  use.lock_threads = threads(WaitKind::mutex) + threads(WaitKind::futex);
  use.network_threads = threads(WaitKind::network);
  use.sleeping_threads = threads(WaitKind::sleeping);
  use.pipe_threads = threads(WaitKind::pipe);
  use.child_threads = threads(WaitKind::child);
}

std::string ThreadLooks::name_of(int thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? "" : found->second.name;
}

std::string ThreadLooks::process_of(int thread) const {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? "" : found->second.process;
}

}  // namespace ocrtune
