// Counters of all members are summed, and what the sums grew by is kept. A process that ends and is
// waited for moves its counters to its parent, so the sums hardly notice.
#include "trial/stages/tree_counters.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/raw_proc.h"
#include "base/text.h"
#include "trial/observe/thread_runtimes.h"

namespace ocrtune {
namespace {

constexpr double kMuch = 200e3;  // bytes a second, from which a process's files are glanced at
constexpr int kLooks = 3;  // at a process's environment: a shell becomes the program that it starts
constexpr std::string_view kRead = "rchar", kStorage = "read_bytes", kWritten = "write_bytes";

constexpr double kOneThread = 1.5;  // CPUs, up to which a process computes with one

// Launchers that set a variable inside of the processes that they start, where nobody has: no file
// of theirs tells. Ray takes the CPUs of the task, 1 unless it is told
// (set_omp_num_threads_if_unset of its _private/utils.py).
struct InnerSetter {
  std::string_view process;  // how its name begins
  const char* variable;
  const char* value;
};
constexpr InnerSetter kInnerSetters[] = {{"ray::", "OMP_NUM_THREADS", "1"}};

double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

}  // namespace

void TreeCounters::look(double now, const std::vector<ProcessFacts>& members) {
  Sums sums;
  std::set<int> alive;
  for (const ProcessFacts& process : members) alive.insert(process.pid);
  files_.forget_others(alive);
  for (const ProcessFacts& process : members) {
    const std::string folder = root_.path(fmt::format("/proc/{}", process.pid));
    const auto stat_line = read_file(folder + "/stat", 4096);
    ProcessStat stat;
    if (!stat_line || !parse_stat_line(*stat_line, stat)) continue;
    sums.minor_faults += static_cast<double>(stat.minor_faults + stat.children_minor_faults);
    sums.major_faults += static_cast<double>(stat.major_faults + stat.children_major_faults);
    sums.cpu_seconds += tick_seconds(stat.cpu_ticks + stat.children_ticks);
    sums.system_seconds += tick_seconds(stat.system_ticks + stat.children_system_ticks);
    const double ran = tick_seconds(stat.cpu_ticks);
    // One that came later counts from zero, one that was there from what it had.
    cpu_seconds_.try_emplace(process.pid, begun_ ? 0 : ran, ran).first->second.second = ran;
    double read_bytes = 0;
    const auto io = read_file(folder + "/io", 4096);
    for (const std::string& line : split(io ? *io : std::string(), '\n')) {
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string_view name = std::string_view(line).substr(0, colon);
      const double value = number(line.substr(colon + 1));
      // rchar counts what read() gave, page cache included; read_bytes what came from the disk
      // (proc(5)).
      if (name == kRead) read_bytes = value;
      if (name == kStorage) sums.storage_bytes += value;
      if (name == kWritten) sums.written_bytes += value;
    }
    sums.read_bytes += read_bytes;
    const auto [entry, fresh] = read_bytes_.try_emplace(process.pid, read_bytes);
    const double grown = read_bytes - std::exchange(entry->second, read_bytes);
    // At the first look nobody has a rate yet, so all are glanced at.
    files_.look(process.pid, !begun_ || (!fresh && grown >= kMuch * (now - last_)));
    note_environment(process);
  }
  // A process that ended without being waited for takes its counters with it.
  const auto grow = [&](double Sums::*field) {
    if (begun_) grown_.*field += std::max(0.0, sums.*field - before_.*field);
  };
  for (const auto field :
       {&Sums::cpu_seconds, &Sums::system_seconds, &Sums::minor_faults, &Sums::major_faults,
        &Sums::storage_bytes, &Sums::written_bytes, &Sums::read_bytes}) {
    grow(field);
  }
  nodes_.look(busiest());
  before_ = sums;
  if (!begun_) begin_ = now;
  begun_ = true;
  last_ = now;
}

void TreeCounters::note_environment(const ProcessFacts& process) {
  if (given_.empty() || ++looks_[process.pid] > kLooks) return;
  const auto block = root_.read(fmt::format("/proc/{}/environ", process.pid));
  if (!block || block->empty()) return;
  const Environment has = parse_environment(*block);
  // The last look counts: a shell's environment is not yet the program's.
  std::vector<LauncherVariable>& set = set_[process.pid];
  set.clear();
  const auto compare = [&](const std::string& name) {
    const std::string value = environment_value(has, name);
    // Equal to what the command was given: nobody set it on the way.
    if (!value.empty() && value != environment_value(given_, name)) set.push_back({name, value});
  };
  for (const ThreadRuntime& runtime : thread_runtime_table()) compare(runtime.variable);
  // It sizes no pool by itself, so it is not in the table.
  compare("OMP_THREAD_LIMIT");
  for (const InnerSetter& one : kInnerSetters) {
    if (!starts_with(process.name, one.process) || has.count(one.variable) > 0) continue;
    set.push_back({one.variable, one.value});
    set_inside_.insert(process.pid);
  }
}

int TreeCounters::busiest() const {
  double most = 0;
  int found = 0;
  for (const auto& [pid, cpu] : cpu_seconds_) {
    if (cpu.second - cpu.first > most) found = pid;
    most = std::max(most, cpu.second - cpu.first);
  }
  return found;
}

// What the busiest process has, and with it processes of half of the CPU time or more.
std::vector<LauncherVariable> TreeCounters::launcher_set() const {
  double all = 0, most = 0;
  std::map<std::string, double> seconds;
  const std::vector<LauncherVariable>* busiest = nullptr;
  for (const auto& [pid, set] : set_) {
    const auto cpu = cpu_seconds_.find(pid);
    const double ran = cpu == cpu_seconds_.end() ? 0 : cpu->second.second - cpu->second.first;
    all += ran;
    // It computes with more than one thread, so it was told another value than its launcher's.
    if (set_inside_.count(pid) > 0 && ran > kOneThread * (last_ - begin_)) continue;  // was told
    if (ran > most) busiest = &set;
    most = std::max(most, ran);
    for (const LauncherVariable& variable : set) seconds[variable.text()] += ran;
  }
  std::vector<LauncherVariable> found = busiest ? *busiest : std::vector<LauncherVariable>();
  std::erase_if(found, [&](const auto& one) { return 2 * seconds[one.text()] < all; });
  return found;
}

void TreeCounters::fill(StageUse& use) const {
  const double seconds = last_ - begin_;
  files_.fill(use);
  nodes_.fill(use);
  use.launcher_set = launcher_set();
  if (!(seconds > 0)) return;
  use.minor_faults_per_second = grown_.minor_faults / seconds;
  use.major_faults_per_second = grown_.major_faults / seconds;
  use.storage_bytes_per_second = grown_.storage_bytes / seconds;
  use.written_bytes_per_second = grown_.written_bytes / seconds;
  use.read_bytes_per_second = grown_.read_bytes / seconds;
  if (grown_.cpu_seconds > 0) use.system_share = grown_.system_seconds / grown_.cpu_seconds;
  for (const auto& [pid, cpu] : cpu_seconds_) {
    use.busiest_process_cpus =
        std::max(use.busiest_process_cpus, (cpu.second - cpu.first) / seconds);
  }
}

}  // namespace ocrtune
