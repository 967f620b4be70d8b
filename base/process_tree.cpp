// There are two ways to look. From the guards down by /proc/<pid>/task/<tid>/children (proc(5))
// costs only the tree; through all of /proc needs no kernel option. The end of a tree is sure only
// by a look that can miss nobody: see empty(). Every signal goes to a pid with its start time.
#include "base/process_tree.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <csignal>
#include <map>

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
constexpr std::uint64_t kMaxListBytes = 64 << 20;  // eight bytes a child

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

// Adds what the kernel tells of the children of each thread. On a kernel without
// CONFIG_PROC_CHILDREN there is nothing to read.
void add_children(int pid, std::vector<int>& children) {
  struct Look {
    std::string folder;
    std::vector<int>& children;
  };
  const auto add = [](int thread, void* context) {
    Look& look = *static_cast<Look*>(context);
    const auto text = read_file(fmt::format("{}/{}/children", look.folder, thread), kMaxListBytes);
    if (!text) return;
    const char *at = text->data(), *const end = at + text->size();
    for (int child = 0; at < end; ++at) {  // each is followed by a blank
      const auto [next, error] = std::from_chars(at, end, child);
      if (error == std::errc()) look.children.push_back(child);
      at = next;
    }
  };
  Look look{fmt::format("/proc/{}/task", pid), children};
  for_each_number(look.folder.c_str(), add, &look);
}

bool children_are_told() {
  static const bool kTold = path_exists(fmt::format("/proc/self/task/{}/children", ::getpid()));
  return kTold;
}

// These and all that descends from them, as far as they are there.
std::vector<ProcessFacts> with_descendants(std::vector<int> pids) {
  std::vector<ProcessFacts> found;
  std::set<int> looked_at;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    if (!looked_at.insert(pids[i]).second) continue;
    auto facts = process_facts(pids[i]);
    if (!facts) continue;
    found.push_back(*std::move(facts));
    add_children(pids[i], pids);
  }
  return found;
}

// As PID 1 of a container we are the parent of strangers, whom nobody else reaps.
void reap_strangers(const std::vector<int>& own_children) {
  for (const int pid : own_children) {
    // Those that Process has started are left for it: it needs their exit status.
    if (!started_here(pid)) ::waitpid(pid, nullptr, WNOHANG);
  }
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
  std::vector<ProcessFacts> found;
  const auto add = [](int pid, void* context) {
    auto facts = process_facts(pid);
    if (facts) static_cast<decltype(found)*>(context)->push_back(*std::move(facts));
  };
  for_each_number("/proc", add, &found);
  return found;
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
    // Noted at once: the root stays a member even where its guard has died before the first look.
    seen_.insert({facts->pid, facts->start_ticks});
  }
  return roots_.back().get();
}

const std::vector<ProcessFacts>& ProcessTree::scan() {
  roots_alone_ = children_are_told();
  if (!roots_alone_) return scan_all();
  std::vector<int> pids;
  for (const auto& root : roots_) {
    const std::size_t before = pids.size();
    add_children(root->guard_pid(), pids);
    // The guard's only child is the root: then nobody was handed to it as an orphan.
    const bool alone = pids.size() == before + 1 && pids.back() == root->pid();
    roots_alone_ = roots_alone_ && alone;
  }
  // Members seen before are looked at too: a dead guard no longer leads to them. That a pid is
  // still theirs is checked in take_members().
  for (const auto& [pid, start_ticks] : seen_) pids.push_back(pid);
  std::vector<int> own_children;
  add_children(::getpid(), own_children);
  reap_strangers(own_children);
  return take_members(with_descendants(std::move(pids)));
}

const std::vector<ProcessFacts>& ProcessTree::scan_all() {
  const std::vector<ProcessFacts> processes = all_processes();
  std::vector<int> own_children;
  for (const ProcessFacts& process : processes) {
    if (process.parent == ::getpid()) own_children.push_back(process.pid);
  }
  reap_strangers(own_children);
  return take_members(processes);
}

const std::vector<ProcessFacts>& ProcessTree::take_members(
    const std::vector<ProcessFacts>& processes) {
  std::multimap<int, const ProcessFacts*> children;
  std::vector<const ProcessFacts*> found;
  std::set<int> guards;
  for (const auto& root : roots_) guards.insert(root->guard_pid());
  for (const ProcessFacts& process : processes) {
    children.emplace(process.parent, &process);
    const bool ours =
        guards.count(process.parent) != 0 || seen_.count({process.pid, process.start_ticks}) != 0;
    if (ours) found.push_back(&process);
  }
  std::set<int> taken;
  std::vector<ProcessFacts> alive;
  std::set<Identity> still;  // of a watch of weeks only those that are there are kept
  unreaped_.clear();
  // `found` grows by the children of each member, so the loop goes down the whole tree.
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ProcessFacts& process = *found[i];
    if (!taken.insert(process.pid).second) continue;
    const auto [first, last] = children.equal_range(process.pid);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
    still.insert({process.pid, process.start_ticks});
    (ended(process) ? unreaped_ : alive).push_back(process);
  }
  seen_ = std::move(still);
  replace_members(std::move(alive));
  return members_;
}

void ProcessTree::replace_members(std::vector<ProcessFacts> alive) {
  for (const ProcessFacts& before : members_) {
    const bool still = std::any_of(alive.begin(), alive.end(), [&](const ProcessFacts& now) {
      return now.pid == before.pid && now.start_ticks == before.start_ticks;
    });
    // What it used after the look before is not known here.
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
  // Whom a dying parent left to its guard after that one was asked is missed by a look. Roots that
  // ended before it, and are alone with their guards, have left nobody.
  return scan().empty() && !running && (roots_alone_ || scan_all().empty());
}

bool ProcessTree::wait_for_end(double grace_seconds, const std::function<bool()>& cut,
                               Clock& clock) {
  const double begin = clock.now_seconds();
  // The last half of a short grace, its last 3 s otherwise: who has saved nothing by then is told
  // directly, whatever its parent does.
  const double appeal = begin + grace_seconds - std::min(grace_seconds / 2, kAppealSeconds);
  std::set<Identity> told;
  for (double now = begin; !empty(); now = clock.now_seconds()) {
    std::set<int> pids;
    for (const ProcessFacts& process : members_) pids.insert(process.pid);
    for (const ProcessFacts& process : members_) {
      // A parent in the tree passes the end on as it sees fit; see the header.
      if (now < appeal && pids.count(process.parent) != 0) continue;
      if (!told.insert({process.pid, process.start_ticks}).second) continue;
      signal_exactly(process.pid, process.start_ticks, SIGTERM);
    }
    if (now >= begin + grace_seconds || (cut && cut())) return false;
    // A tenth of the time that has passed: quick ends are seen at once, and long ones cost little.
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
    if (gone) return;
    if (clock.now_seconds() >= deadline) break;
  }
  for (const ProcessFacts& process : members_) report.survivors.push_back(label(process));
}

StopReport ProcessTree::stop(double grace_seconds, const std::function<bool()>& cut, Clock& clock) {
  StopReport report;
  if (empty()) return report;
  const bool ended = grace_seconds > 0 && wait_for_end(grace_seconds, cut, clock);
  if (!ended) kill_all(report, clock);
  return report;
}

}  // namespace ocrtune
