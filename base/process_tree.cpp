#include "base/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>

#include <fmt/format.h>

#include "base/files.h"
#include "base/orphan_guard.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kKillSeconds = 5;  // how long the kernel may take to end a killed process
constexpr std::size_t kMaxNamed = 20;

std::atomic<int> g_live_trees{0};

// A whole small file of /proc without allocating more than once.
std::string read_small(const char* path) {
  std::string text;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 1024> block{};
  const ssize_t got = ::read(file, block.data(), block.size());
  if (got > 0) text.assign(block.data(), static_cast<std::size_t>(got));
  ::close(file);
  return text;
}

Result<ProcessFacts> process_facts(int pid) {
  return parse_process_stat(read_small(fmt::format("/proc/{}/stat", pid).c_str()));
}

// Signals exactly this process: its pid may have been given to another one since the scan.
void signal_exactly(const ProcessFacts& process, int number) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0U));
  if (handle < 0 && errno != ENOSYS) return;  // gone
  const auto now = process_facts(process.pid);
  if (now && now->start_ticks == process.start_ticks) {
    if (handle < 0 || ::syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0U) != 0) {
      ::kill(process.pid, number);
    }
  }
  if (handle >= 0) ::close(handle);
}

bool has_mark(int pid, const std::string& mark) {
  const auto environment = read_file(fmt::format("/proc/{}/environ", pid), 1 << 20);
  return environment && environment->find(mark) != std::string::npos;
}

std::string label(const ProcessFacts& process) {
  return fmt::format("{} ({})", process.pid, process.name);
}

}  // namespace

Result<ProcessFacts> parse_process_stat(const std::string& line) {
  const Error broken{ErrorKind::invalid, "not a line of /proc/<pid>/stat"};
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');  // a name may hold blanks and parentheses
  if (open == std::string::npos || close == std::string::npos || close < open) return broken;
  const std::vector<std::string> fields = words(std::string_view(line).substr(close + 1));
  if (fields.size() < 20 || fields[0].size() != 1) return broken;
  const auto number = [&](std::size_t index) {
    std::uint64_t value = 0;
    std::from_chars(fields[index].data(), fields[index].data() + fields[index].size(), value);
    return value;
  };
  static const double kTicks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  ProcessFacts facts;
  facts.pid = std::atoi(line.c_str());  // NOLINT(cert-err34-c): 0 is refused below
  facts.name = line.substr(open + 1, close - open - 1);
  facts.state = fields[0][0];
  facts.parent = static_cast<int>(number(1));
  facts.session = static_cast<int>(number(3));
  facts.cpu_seconds = static_cast<double>(number(11) + number(12)) / kTicks;
  facts.start_ticks = number(19);
  if (facts.pid <= 0) return broken;
  return facts;
}

std::vector<ProcessFacts> all_processes() {
  std::vector<ProcessFacts> processes;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return processes;
  while (const dirent* entry = ::readdir(folder)) {  // NOLINT(concurrency-mt-unsafe)
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    auto facts = process_facts(std::atoi(entry->d_name));  // NOLINT(cert-err34-c)
    if (facts) processes.push_back(*std::move(facts));
  }
  ::closedir(folder);
  return processes;
}

ProcessTree::ProcessTree() {
  static std::atomic<int> next{0};
  start_orphan_guard();  // before we adopt: the guard must not become a member of a tree
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  mark_ = fmt::format("{}.{}", process_mark(), next++);
  ++g_live_trees;
}

ProcessTree::~ProcessTree() {
  stop(0);
  --g_live_trees;
}

Result<Process*> ProcessTree::start(ProcessOptions options) {
  options.environment.emplace_back(kTreeVariable, mark_);
  auto process = Process::start(options);
  if (!process) return process.error();
  roots_.push_back(std::make_unique<Process>(*std::move(process)));
  if (options.new_session) sessions_.insert(roots_.back()->pid());
  return roots_.back().get();
}

bool ProcessTree::adopted(const ProcessFacts& process) const {
  if (sessions_.count(process.session) != 0) return true;
  if (has_mark(process.pid, fmt::format("{}={}", kTreeVariable, mark_) + '\0')) return true;
  return g_live_trees == 1;
}

const std::vector<ProcessFacts>& ProcessTree::scan() {
  const std::vector<ProcessFacts> processes = all_processes();
  std::multimap<int, const ProcessFacts*> children;
  std::vector<const ProcessFacts*> found;
  std::set<int> roots;
  for (const auto& root : roots_) {
    if (!root->poll_exit()) roots.insert(root->pid());
  }
  const int self = ::getpid();
  for (const ProcessFacts& process : processes) {
    children.emplace(process.parent, &process);
    const bool zombie = process.state == 'Z' || process.state == 'X';
    const bool stranger = process.parent == self && !started_here(process.pid);
    const bool known =
        roots.count(process.pid) != 0 || seen_.count({process.pid, process.start_ticks}) != 0;
    if (known || (stranger && (zombie ? g_live_trees == 1 : adopted(process)))) {
      found.push_back(&process);
    }
  }
  std::set<int> taken;
  std::vector<ProcessFacts> alive;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ProcessFacts& process = *found[i];
    if (!taken.insert(process.pid).second) continue;
    const auto [first, last] = children.equal_range(process.pid);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
    if (process.state == 'Z' || process.state == 'X') {
      if (process.parent == self && !started_here(process.pid)) {
        ::waitpid(process.pid, nullptr, WNOHANG);
      }
      continue;
    }
    seen_.insert({process.pid, process.start_ticks});
    if (process.session != ::getsid(0)) sessions_.insert(process.session);
    alive.push_back(process);
  }
  replace_members(std::move(alive));
  return members_;
}

void ProcessTree::replace_members(std::vector<ProcessFacts> alive) {
  for (const ProcessFacts& before : members_) {
    const bool still = std::any_of(alive.begin(), alive.end(), [&](const ProcessFacts& now) {
      return now.pid == before.pid && now.start_ticks == before.start_ticks;
    });
    if (!still) gone_cpu_seconds_ += before.cpu_seconds;
  }
  members_ = std::move(alive);
}

const std::vector<ProcessFacts>& ProcessTree::refresh() {
  std::vector<ProcessFacts> alive;
  for (const ProcessFacts& before : members_) {
    auto now = process_facts(before.pid);
    if (!now || now->start_ticks != before.start_ticks) continue;
    if (now->state != 'Z' && now->state != 'X') alive.push_back(*std::move(now));
  }
  replace_members(std::move(alive));
  return members_;
}

bool ProcessTree::wait_until_empty(double seconds, Clock& clock) {
  const double deadline = clock.now_seconds() + seconds;
  double roots_gone = -1;
  while (true) {
    bool alive = false;
    for (const auto& root : roots_) {
      root->read_output({});
      alive = alive || !root->poll_exit();
    }
    if (!alive && scan().empty()) return true;
    const double now = clock.now_seconds();
    if (!alive && roots_gone < 0) roots_gone = now;
    // What a root leaves behind gets a moment, not the whole grace: nobody will ask it to end.
    const bool left_behind = !alive && now - roots_gone > 0.05;
    if (now >= deadline || left_behind) return scan().empty();
    clock.sleep_seconds(0.002);
  }
}

void ProcessTree::kill_all(StopReport& report, Clock& clock) {
  const double deadline = clock.now_seconds() + kKillSeconds;
  std::set<Identity> forced;
  while (true) {
    // Freeze until nobody new turns up: a frozen process cannot fork past us.
    std::set<Identity> frozen;
    for (bool fresh = true; fresh && clock.now_seconds() < deadline;) {
      fresh = false;
      for (const ProcessFacts& process : scan()) {
        if (!frozen.insert({process.pid, process.start_ticks}).second) continue;
        signal_exactly(process, SIGSTOP);
        fresh = true;
      }
    }
    for (const ProcessFacts& process : members_) {
      signal_exactly(process, SIGKILL);
      if (!forced.insert({process.pid, process.start_ticks}).second) continue;
      ++report.killed;
      if (report.forced.size() < kMaxNamed) report.forced.push_back(label(process));
    }
    if (wait_until_empty(0.2, clock) || clock.now_seconds() >= deadline) break;
  }
  for (const ProcessFacts& process : scan()) report.survivors.push_back(label(process));
}

StopReport ProcessTree::stop(double grace_seconds, Clock& clock) {
  StopReport report;
  const auto before = static_cast<int>(scan().size());
  if (before == 0 && wait_until_empty(0, clock)) return report;
  if (grace_seconds > 0) {
    for (const auto& root : roots_) root->signal(SIGTERM);
    if (wait_until_empty(grace_seconds, clock)) {
      report.terminated = before;
      return report;
    }
    report.terminated = std::max(0, before - static_cast<int>(members_.size()));
  }
  kill_all(report, clock);
  return report;
}

}  // namespace ocrtune
