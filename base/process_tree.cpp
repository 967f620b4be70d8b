#include "base/process_tree.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <map>

#include <fmt/format.h>

#include "base/orphan_guard.h"
#include "base/raw_proc.h"

namespace ocrtune {
namespace {

constexpr double kKillSeconds = 5;     // how long the kernel may take to end a killed process
constexpr double kAppealSeconds = 3;   // of the grace, at most, when every member has been told
constexpr double kMaxPause = 0.05;     // between two looks while a tree ends
constexpr double kAgainSeconds = 0.2;  // after a round of SIGKILL, before the next one
constexpr std::size_t kMaxNamed = 20;

ProcessFacts facts_of(const ProcessStat& stat) {
  ProcessFacts facts;
  facts.pid = stat.pid;
  facts.parent = stat.parent;
  facts.session = stat.session;
  facts.state = stat.state;
  facts.start_ticks = stat.start_ticks;
  facts.cpu_seconds = tick_seconds(stat.cpu_ticks);
  facts.children_cpu_seconds = tick_seconds(stat.children_ticks);
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

// Of this PID namespace. Of those that are passed over only the ones that are still there stay so.
std::vector<ProcessFacts> processes_but(std::set<int>& passed_over) {
  struct Look {
    const std::set<int>& before;
    std::set<int> still;
    std::vector<ProcessFacts> found;
  };
  const auto add = [](int pid, void* context) {
    Look& look = *static_cast<Look*>(context);
    if (look.before.count(pid) != 0) {
      look.still.insert(look.still.end(), pid);
    } else if (auto facts = process_facts(pid)) {
      look.found.push_back(*std::move(facts));
    }
  };
  Look look{passed_over, {}, {}};
  for_each_number("/proc", add, &look);
  passed_over = std::move(look.still);
  return std::move(look.found);
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
  std::set<int> none;
  return processes_but(none);
}

ProcessTree::ProcessTree() {
  static std::atomic<int> next{0};
  mark_ = fmt::format("{}.{}", process_mark(), next++);
}

ProcessTree::~ProcessTree() { stop(0); }

Result<Process*> ProcessTree::start(ProcessOptions options) {
  options.environment.emplace_back(kTreeVariable, mark_);
  options.guarded = true;
  auto process = OCRTUNE_TRY(Process::start(options));
  roots_.push_back(std::make_unique<Process>(std::move(process)));
  if (const auto facts = process_facts(roots_.back()->pid())) {
    seen_.insert({facts->pid, facts->start_ticks});
  }
  return roots_.back().get();
}

// One whose parent is no member can never become one. A parent that ended before it was read may
// have been a member, and our own children may be roots that are not started yet, or for us to
// reap.
void ProcessTree::remember_strangers(const std::vector<ProcessFacts>& processes,
                                     const std::set<int>& taken) {
  const int self = ::getpid();
  std::set<int> known = strangers_;
  for (const ProcessFacts& process : processes) known.insert(process.pid);
  for (const ProcessFacts& process : processes) {
    if (taken.count(process.pid) != 0 || process.parent == self || process.pid == self) continue;
    if (process.parent == 0 || known.count(process.parent) != 0) strangers_.insert(process.pid);
  }
}

const std::vector<ProcessFacts>& ProcessTree::scan_all() {
  strangers_.clear();
  return scan();
}

const std::vector<ProcessFacts>& ProcessTree::scan() {
  // A pid may be another process's by now, and a stranger may have become ours to reap.
  constexpr int kLooks = 64;
  if (++looks_ % kLooks == 0) strangers_.clear();
  const std::vector<ProcessFacts> processes = processes_but(strangers_);
  std::multimap<int, const ProcessFacts*> children;
  std::vector<const ProcessFacts*> found;
  std::set<int> guards;
  for (const auto& root : roots_) guards.insert(root->guard_pid());
  const int self = ::getpid();
  for (const ProcessFacts& process : processes) {
    children.emplace(process.parent, &process);
    const bool ours =
        guards.count(process.parent) != 0 || seen_.count({process.pid, process.start_ticks}) != 0;
    if (ours) found.push_back(&process);
    // As PID 1 of a container we are the parent of strangers, whom nobody else reaps.
    if (process.parent == self && ended(process) && !started_here(process.pid)) {
      ::waitpid(process.pid, nullptr, WNOHANG);
    }
  }
  std::set<int> taken;
  std::vector<ProcessFacts> alive;
  std::set<Identity> still;  // of a watch of weeks only those that are there are kept
  unreaped_.clear();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ProcessFacts& process = *found[i];
    if (!taken.insert(process.pid).second) continue;
    const auto [first, last] = children.equal_range(process.pid);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
    still.insert({process.pid, process.start_ticks});
    (ended(process) ? unreaped_ : alive).push_back(process);
  }
  seen_ = std::move(still);
  remember_strangers(processes, taken);
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
  // Every process of the machine is looked at only to be sure at the end.
  return scan().empty() && !running && scan_all().empty();
}

bool ProcessTree::wait_for_end(double grace_seconds, const std::function<bool()>& cut,
                               Clock& clock) {
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
    if (now >= begin + grace_seconds || (cut && cut())) return false;
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
      for (const ProcessFacts& process : scan_all()) {
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
  for (const ProcessFacts& process : scan_all()) report.survivors.push_back(label(process));
}

StopReport ProcessTree::stop(double grace_seconds, const std::function<bool()>& cut, Clock& clock) {
  StopReport report;
  if (empty()) return report;
  const bool ended = grace_seconds > 0 && wait_for_end(grace_seconds, cut, clock);
  if (!ended) kill_all(report, clock);
  return report;
}

}  // namespace ocrtune
