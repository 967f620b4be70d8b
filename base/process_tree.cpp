#include "base/process_tree.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/files.h"
#include "base/orphan_guard.h"
#include "base/raw_proc.h"

namespace ocrtune {
namespace {

constexpr double kKillSeconds = 5;     // how long the kernel may take to end a killed process
constexpr double kAppealSeconds = 3;   // of the grace, at most, when every member has been told
constexpr double kMaxPause = 0.05;     // between two looks while a tree ends
constexpr double kAgainSeconds = 0.2;  // after a round of SIGKILL, before the next one
constexpr std::size_t kMaxNamed = 20;

std::atomic<int> g_live_trees{0};

using Identity = std::pair<int, std::uint64_t>;

ProcessFacts facts_of(const ProcessStat& stat) {
  static const double kTicks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  ProcessFacts facts;
  facts.pid = stat.pid;
  facts.parent = stat.parent;
  facts.session = stat.session;
  facts.state = stat.state;
  facts.start_ticks = stat.start_ticks;
  facts.cpu_seconds = static_cast<double>(stat.cpu_ticks) / kTicks;
  facts.children_cpu_seconds = static_cast<double>(stat.children_ticks) / kTicks;
  facts.name = stat.name;
  return facts;
}

bool ended(const ProcessFacts& process) { return process.state == 'Z' || process.state == 'X'; }

std::optional<ProcessFacts> process_facts(int pid) {
  char block[kStatBytes];
  ProcessStat stat;
  if (!read_process_stat(pid, block, stat)) return std::nullopt;
  return facts_of(stat);
}

// What this process had for children before its first tree, and whether all later orphans are ours.
struct Inheritance {
  std::set<Identity> children;
  bool orphans_are_ours = false;
};

std::mutex g_inheritance_mutex;

// Called first before anything is adopted. A forked copy of us takes its own inventory.
const Inheritance& inheritance() {
  static std::map<int, Inheritance> by_owner;
  const std::lock_guard lock(g_inheritance_mutex);
  const int self = ::getpid();
  const auto found = by_owner.find(self);
  if (found != by_owner.end()) return found->second;
  Inheritance& ours = by_owner[self];
  for (const ProcessFacts& process : all_processes()) {
    if (process.parent == self && !started_here(process.pid)) {
      ours.children.insert({process.pid, process.start_ticks});
    }
  }
  int subreaper = 0;  // kept by exec: orphans of those before us come here already
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  ours.orphans_are_ours = self != 1 && subreaper == 0 && ours.children.empty();
  return ours;
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
  ProcessStat stat;
  if (parse_stat_line(line, stat)) return facts_of(stat);
  return Error{ErrorKind::invalid, "not a line of /proc/<pid>/stat"};
}

std::vector<ProcessFacts> all_processes() {
  std::vector<ProcessFacts> processes;
  const auto add = [](int pid, void* all) {
    auto facts = process_facts(pid);
    if (facts) static_cast<std::vector<ProcessFacts>*>(all)->push_back(*std::move(facts));
  };
  for_each_number("/proc", add, &processes);
  return processes;
}

ProcessTree::ProcessTree() {
  static std::atomic<int> next{0};
  start_orphan_guard();  // before we adopt: the guard must not become a member of a tree
  inheritance();
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
  auto process = OCRTUNE_TRY(Process::start(options));
  roots_.push_back(std::make_unique<Process>(std::move(process)));
  if (const auto facts = process_facts(roots_.back()->pid())) {
    seen_.insert({facts->pid, facts->start_ticks});
    if (facts->session != ::getsid(0)) sessions_.insert(facts->session);
    tell_orphan_guard({{facts->pid, facts->start_ticks}});
  }
  return roots_.back().get();
}

// Whether an orphan that has become our child comes from this tree.
bool ProcessTree::adopted(const ProcessFacts& process) const {
  const Inheritance& before = inheritance();
  if (before.children.count({process.pid, process.start_ticks}) != 0) return false;
  if (sessions_.count(process.session) != 0) return true;
  if (has_mark(process.pid, fmt::format("{}={}", kTreeVariable, mark_) + '\0')) return true;
  return before.orphans_are_ours && g_live_trees == 1;
}

const std::vector<ProcessFacts>& ProcessTree::scan() {
  const std::vector<ProcessFacts> processes = all_processes();
  std::multimap<int, const ProcessFacts*> children;
  std::vector<const ProcessFacts*> found;
  std::set<int> roots, sessions;
  for (const auto& root : roots_) {
    if (!root->poll_exit()) roots.insert(root->pid());
  }
  const int self = ::getpid();
  for (const ProcessFacts& process : processes) {
    children.emplace(process.parent, &process);
    sessions.insert(process.session);
    const bool known =
        roots.count(process.pid) != 0 || seen_.count({process.pid, process.start_ticks}) != 0;
    const bool orphan = process.parent == self && !started_here(process.pid);
    if (known || (orphan && !ended(process) && adopted(process))) found.push_back(&process);
    if (orphan && ended(process)) ::waitpid(process.pid, nullptr, WNOHANG);  // nobody else will
  }
  // A session that nobody is in any more may be a stranger's the next time its number is seen.
  std::erase_if(sessions_, [&](int session) { return sessions.count(session) == 0; });
  std::set<int> taken;
  std::vector<ProcessFacts> alive;
  std::vector<GuardedProcess> fresh;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ProcessFacts& process = *found[i];
    if (!taken.insert(process.pid).second) continue;
    const auto [first, last] = children.equal_range(process.pid);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
    if (ended(process)) continue;
    const bool is_new = seen_.insert({process.pid, process.start_ticks}).second;
    if (is_new) fresh.push_back({process.pid, process.start_ticks});
    if (process.session != ::getsid(0)) sessions_.insert(process.session);
    alive.push_back(process);
  }
  tell_orphan_guard(fresh);
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
    if (!ended(*now)) alive.push_back(*std::move(now));
  }
  replace_members(std::move(alive));
  return members_;
}

bool ProcessTree::empty() {
  bool running = false;
  for (const auto& root : roots_) {
    root->read_output({});
    running = !root->poll_exit() || running;
  }
  return scan().empty() && !running;
}

bool ProcessTree::wait_for_end(double grace_seconds, Clock& clock) {
  const double begin = clock.now_seconds();
  const double appeal = begin + grace_seconds - std::min(grace_seconds / 2, kAppealSeconds);
  std::set<Identity> told;
  for (double now = begin; !empty(); now = clock.now_seconds()) {
    std::set<int> pids;
    for (const ProcessFacts& process : members_) pids.insert(process.pid);
    for (const ProcessFacts& process : members_) {
      if (now < appeal && pids.count(process.parent) != 0) continue;
      if (!told.insert({process.pid, process.start_ticks}).second) continue;
      signal_exactly(process.pid, process.start_ticks, SIGTERM);
    }
    if (now >= begin + grace_seconds) return false;
    clock.sleep_seconds(std::clamp((now - begin) / 10, 0.002, kMaxPause));
  }
  return true;
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
        signal_exactly(process.pid, process.start_ticks, SIGSTOP);
        fresh = true;
      }
    }
    for (const ProcessFacts& process : members_) {
      signal_exactly(process.pid, process.start_ticks, SIGKILL);
      if (!forced.insert({process.pid, process.start_ticks}).second) continue;
      ++report.killed;
      if (report.forced.size() < kMaxNamed) report.forced.push_back(label(process));
    }
    const double again = clock.now_seconds() + kAgainSeconds;
    bool gone = empty();
    for (; !gone && clock.now_seconds() < again; gone = empty()) clock.sleep_seconds(0.002);
    if (gone || clock.now_seconds() >= deadline) break;
  }
  for (const ProcessFacts& process : scan()) report.survivors.push_back(label(process));
}

StopReport ProcessTree::stop(double grace_seconds, Clock& clock) {
  StopReport report;
  if (empty()) return report;
  const auto before = static_cast<int>(members_.size());
  const bool ended = grace_seconds > 0 && wait_for_end(grace_seconds, clock);
  report.terminated = std::max(0, before - static_cast<int>(members_.size()));
  if (!ended) kill_all(report, clock);
  return report;
}

}  // namespace ocrtune
