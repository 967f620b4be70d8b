// Two looks at /proc/stat and at all processes, a stretch apart; a stretch is quiet by the rule
// that keeps windows of a trial. The names of the busiest programs are for the reader alone.
#include "tuner/session/quiet_wait.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kStretchSeconds = 5;  // between two looks; less where less may be waited
constexpr double kMinStretchSeconds = 1;
// After so long Ctrl-C is noticed.
constexpr double kSliceSeconds = 0.25;
constexpr std::size_t kNamed = 3;    // programs
constexpr double kLeastCpus = 0.05;  // of a program that is named

// False: interrupted.
bool sleep_for(double seconds, Clock& clock) {
  const double until = clock.now_seconds() + seconds;
  while (clock.now_seconds() < until && !interrupted()) {
    clock.sleep_seconds(std::clamp(until - clock.now_seconds(), 0.001, kSliceSeconds));
  }
  return !interrupted();
}

}  // namespace

LookAtMachine live_look(Clock& clock) {
  const auto nothing = std::make_shared<ProcessTree>();
  return [nothing, &clock] {
    return MachineLook{take_load_snapshot(FileRoot(), *nothing, clock.now_seconds()),
                       all_processes()};
  };
}

std::string busiest_programs(const MachineLook& before, const MachineLook& after, int own_pid) {
  struct Program {
    double cpu_seconds = 0, most = 0;
    int pid = 0;
  };
  std::map<std::pair<int, std::uint64_t>, double> then;
  for (const ProcessFacts& process : before.processes) {
    then[{process.pid, process.start_ticks}] = process.cpu_seconds;
  }
  std::map<std::string, Program> programs;
  for (const ProcessFacts& process : after.processes) {
    if (process.pid == own_pid) continue;
    const auto found = then.find({process.pid, process.start_ticks});
    // A pid with another start time is another process: all its CPU time is of this stretch.
    const double used = process.cpu_seconds - (found == then.end() ? 0 : found->second);
    Program& program = programs[process.name];
    program.cpu_seconds += used;
    if (used <= program.most) continue;
    program.most = used;
    program.pid = process.pid;
  }
  std::vector<std::pair<std::string, Program>> sorted(programs.begin(), programs.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.cpu_seconds > b.second.cpu_seconds;
  });
  const double wall = std::max(after.load.seconds - before.load.seconds, 1e-3);
  std::vector<std::string> named;
  for (const auto& [name, program] : sorted) {
    const double cpus = program.cpu_seconds / wall;
    if (named.size() == kNamed || cpus < kLeastCpus) break;
    named.push_back(fmt::format("{} (pid {}) {:.2f}", valid_utf8(name), program.pid, cpus));
  }
  return join(named, ", ");
}

Result<QuietWait> wait_until_quiet(double max_seconds, double cpus, Clock& clock,
                                   const LookAtMachine& look,
                                   const std::function<void(const QuietWait&)>& tell) {
  const double start = clock.now_seconds();
  const double stretch = std::clamp(max_seconds, kMinStretchSeconds, kStretchSeconds);
  QuietWait wait;
  MachineLook before = look();
  while (true) {
    const double left = max_seconds - (clock.now_seconds() - start);
    if (!sleep_for(std::clamp(left, kMinStretchSeconds, stretch), clock)) {
      return Error{ErrorKind::interrupted, "interrupted while waiting for a quiet machine"};
    }
    MachineLook after = look();
    wait.seconds = clock.now_seconds() - start;
    wait.disturbed_by = interference_between(before.load, after.load, {0, cpus}).spoilt_by;
    wait.quiet = wait.disturbed_by.empty();
    if (wait.quiet) return wait;
    const std::string programs = busiest_programs(before, after, ::getpid());
    if (!programs.empty()) wait.disturbed_by += ": " + programs;
    tell(wait);
    if (wait.seconds >= max_seconds) return wait;
    before = std::move(after);
  }
}

}  // namespace ocrtune
