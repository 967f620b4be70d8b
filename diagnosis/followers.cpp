// What follows from what: the order of causes among ranks, and what launchers saw fail first.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <re2/re2.h>

#include "base/text.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/consequences.h"

namespace ocrtune {
namespace {

bool same_actor(const Clue& a, const Clue& b) {
  const bool other = !a.actor.empty() && !b.actor.empty() && a.actor != b.actor;
  return a.file == b.file && (!a.rank || !b.rank || a.rank == b.rank) && !other;
}

// A probe, a watchdog, an init system that gave up on a process says so in its own words before it
// sends SIGKILL. A SIGTERM alone explains none.
bool kill_of_supervisor(const Clue& supervisor, const Clue& kill) {
  return tier(supervisor.role) >= 3 &&
         listed(" terminated_from_outside stalled worker_timeout health_check_failed ",
                supervisor.name()) &&
         kill.role != Role::proof && listed(" host_out_of_memory killed_by_other ", kill.name());
}

// A scheduler's verdict on a job is proof of how it ended, not of why.
bool is_verdict(const Clue& clue) {
  return listed(" preempted_or_evicted time_limit ", clue.name());
}

// What a kernel or a controller noted, and how a pod stands, is mostly looked up, and pasted, after
// the end: lines say nothing of when it was.
bool is_looked_up(const Clue& clue) {
  return (clue.role == Role::proof && !is_verdict(clue)) ||
         starts_with(clue.signature, "kernel_") || starts_with(clue.signature, "kube_") ||
         listed(" container_setup no_place ", clue.signature);
}

// A connection that broke while data was on its way, beside another rank that had failed by then.
bool left_hanging(const Clue& clue, const Clue& other) {
  return clue.signature == "nccl_ib_completion" && tier(other.role) >= 2 && other.rank &&
         other.rank != clue.rank && other.name() != clue.name() && !is_witness(other.name());
}

// Did `a` happen before `b`, as far as lines and clocks say? Unknown counts as yes. A cause that
// the table names for `b` alone may be told a few lines later: a driver, an allocator says why at
// last.
bool not_later(const Clue& a, const Clue& b) {
  // Seconds; a guess: clocks that NTP keeps differ by far less.
  constexpr double kClockSkew = 5;
  constexpr std::int64_t kAfterwards = 40;  // lines
  const bool close =
      kill_of_supervisor(a, b) || (!is_witness(a.name()) && in_table(a.name(), b.name()));
  if (is_looked_up(a) && (is_witness(b.name()) || !a.dated)) {
    return !a.dated || !b.dated || *a.when <= *b.when + kClockSkew;
  }
  if (same_actor(a, b) && a.file >= 0)
    return a.line.line <= b.line.line + (close ? kAfterwards : 0);
  return !a.when || !b.when || *a.when <= *b.when + kClockSkew;
}

}  // namespace

// Steps after a failure speak against it, unless what it left behind failed later: a file that a
// full disk cut short is read hours afterwards.
void CauseRanker::restore_lasting() {
  for (Clue& clue : clues_) {
    if (clue.lasting <= clue.weight || is_witness(clue.name()) || clue.is_sigkill()) continue;
    const bool followed = any_clue([&](const Clue& other) {
      return in_table(clue.name(), other.name()) && tier(other.role) >= 2 && other.weight >= 0.4 &&
             not_later(clue, other);
    });
    if (followed) clue.weight = 0.85 * clue.lasting;
  }
}

// The process that launchers saw fail first: the earliest of the last run's reports.
void CauseRanker::hear_launchers() {
  constexpr double kOneRun = 7200;  // seconds from the first rank's death to the last report
  double latest = 0;
  for (const LogScan& log : logs_) {
    for (const FirstFailure& one : log.first_failures) {
      latest = std::max(latest, one.when.value_or(0));
    }
  }
  for (const LogScan& log : logs_) {
    for (const FirstFailure& one : log.first_failures) {
      if (one.when.value_or(latest) < latest - kOneRun) continue;
      const bool sooner =
          first_failed_ && one.when && first_failed_->when && *one.when < *first_failed_->when;
      if (!first_failed_ || sooner) first_failed_ = one;
    }
  }
  for (const Seen& one : seen(logs_, " paddle_container_failed paddle_legacy_abort ")) {
    if (first_failed_ || one.finding->captures.empty()) continue;
    const auto rank = parse_integer(split(one.finding->captures[0], ',')[0]);
    if (!rank || *rank < 0) continue;
    first_failed_ = FirstFailure{static_cast<int>(*rank), {}, {}, one.finding->first.when};
  }
  hear_pids();
}

// A kernel, or a crash handler, names who died by the pid; a launcher, or the process, said whose
// it is.
void CauseRanker::hear_pids() {
  static const re2::RE2 kPid(
      R"((?:\bpid[ =:]+|\bPID |[Kk]illed process |^\[\w+:|[a-z]\w*\[)(\d+)\b)");
  constexpr std::pair<std::string_view, int> kSignals[] = {
      {" host_out_of_memory cgroup_out_of_memory numa_node_full ", -9},
      {" segmentation_fault ", -11},
      {" shm_full ", -7}};
  for (const Clue& clue : clues_) {
    const auto by = std::ranges::find_if(
        kSignals, [&](const auto& row) { return listed(row.first, clue.name()); });
    if (first_failed_ || by == std::end(kSignals) || !clue.is(2, 0.4)) continue;
    std::string pid;
    for (re2::StringPiece rest(clue.line.text); re2::RE2::FindAndConsume(&rest, kPid, &pid);) {
      for (const LogScan& log : logs_) {
        const auto child = std::ranges::find(log.children, pid, &Child::pid);
        if (first_failed_ || child == log.children.end()) continue;
        const std::string name = child->rank < 0 ? child->name + " (pid " + pid + ")" : "";
        first_failed_ = FirstFailure{child->rank, name, by->second, clue.when};
      }
    }
  }
}

// Marks what another clue produces: the table says that it may, and nothing says that it came
// first. Exceptions and panics count as causes of what other ranks report.
void CauseRanker::explain_followers() {
  for (Clue& clue : clues_) {
    const int level = tier(clue.role);
    if (level == 0) continue;
    clue.explained = any_clue([&](const Clue& other) {
      if (level == 4) {  // a kill for memory is proved, and may have a leak behind it
        const bool may_follow =
            is_verdict(clue) || other.name() == "memory_leak" || clue.name() == "gpu_kernel_fault";
        return may_follow && in_table(other.name(), clue.name()) && tier(other.role) >= 3 &&
               other.weight >= 0.4 && not_later(other, clue);
      }
      const int least = level == 3 ? 2 : 1;
      if (&other == &clue || other.weight < 0.25 || tier(other.role) < least) return false;
      if (kill_of_supervisor(clue, other)) return false;
      if (!produces(other.name(), clue.name()) && !left_hanging(clue, other)) return false;
      // Who gave up waiting aborts, and a launcher sees that it did: not the other way round.
      if (is_generic(other.name()) && !other.is_exception() &&
          in_table(clue.name(), other.name()) &&
          !(clue.dated && other.dated && *other.when < *clue.when)) {
        return false;
      }
      // An exception of the rank that gave up, and the lines above its text, are how it did.
      constexpr std::int64_t kHeader = 4;
      const bool of_a_host = other.rank && !clue.rank && !origin_of(clue.line.text).host.empty();
      if (tier(other.role) == 1 &&
          (!other.is_exception() ||
           (same_actor(other, clue) && !of_a_host && other.line.line + kHeader > clue.line.line))) {
        return false;
      }
      return not_later(other, clue);
    });
  }
}

// Whatever is later than the first root cause, or weaker in kind, follows from it.
void CauseRanker::discount_followers() {
  const Clue* first = nullptr;
  const auto earlier = [&](const Clue& a, const Clue& b) {
    if (first_failed_ && a.rank && b.rank && a.rank != b.rank) {
      // The launcher's word stands above the clocks of the ranks.
      if (a.rank == first_failed_->rank) return true;
      if (b.rank == first_failed_->rank) return false;
    }
    if (a.when && b.when && *a.when != *b.when) return *a.when < *b.when;
    return std::pair(a.file, a.line.line) < std::pair(b.file, b.line.line);
  };
  for (const Clue& clue : clues_) {
    if (tier(clue.role) != 3 || clue.weight < 0.4 || clue.file < 0 || clue.explained) continue;
    if (first == nullptr || earlier(clue, *first)) first = &clue;
  }
  const auto proves = std::ranges::find_if(clues_, [](const Clue& clue) {
    return tier(clue.role) == 4 && clue.weight >= 0.6 && !clue.explained;
  });
  const bool proved = proves != clues_.end();
  const CauseRow* proof = proved ? proves->cause : nullptr;
  const bool rooted = first != nullptr || proved;
  const bool seen = any_clue([](const Clue& clue) {
    return tier(clue.role) == 2 && clue.weight >= 0.4 && !clue.explained;
  });
  const CauseRow* root = first == nullptr ? nullptr : first->cause;
  for (Clue& clue : clues_) {
    const int level = tier(clue.role);
    // The factors are set by hand and checked on the told logs.
    if (level == 4 && clue.explained) clue.weight *= 0.4;
    if (level == 3 && root != nullptr && clue.cause != root) clue.weight *= 0.6;
    // What it went on after, where another is known to have ended it.
    if (level == 3 && proved && clue.stepped && clue.cause != proof) clue.weight *= 0.4;
    if (level == 3 && clue.explained && clue.cause != root) clue.weight *= 0.5;
    if (level == 2 && (rooted ? clue.cause != root : clue.explained)) {
      clue.weight *= clue.explained ? 0.35 : 0.45;
    }
    if (level == 1) clue.weight *= rooted ? 0.35 : seen ? 0.5 : 1.0;
    if (clue.signature == "cpp_terminate" && clue.explained) clue.weight *= 0.5;
  }
}

}  // namespace ocrtune
