// When a run lived, and whether what a kernel or a cluster noted falls into that time.
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/consequences.h"

namespace ocrtune {
namespace {

constexpr double kHour = 3600;
// A guess a little above the farthest zone from UTC, 14 hours.
constexpr double kFarthestZone = 15 * kHour;  // containers and hosts log in zones of their own
constexpr double kSkew = 60;
constexpr double kOtherLife = 0.1, kBefore = 0.5;  // what is left of an event's weight

// Of the kernel, a cluster, a guard: noted outside of the program, perhaps long before it.
bool is_outside_event(const Clue& clue) {
  return clue.role == Role::proof || starts_with(clue.signature, "kernel_") ||
         starts_with(clue.signature, "kube_") || starts_with(clue.signature, "pcie_") ||
         clue.signature == "card_counts_errors";
}

struct RunSpan {
  std::optional<double> begin, end;  // seconds into the year, of the programs' own dated lines
};

RunSpan run_span(const std::vector<LogScan>& logs) {
  RunSpan span;
  for (const LogScan& log : logs) {
    if (log.kind != SourceKind::program || !log.described.empty()) continue;
    if (log.first_when && (!span.begin || *log.first_when < *span.begin)) {
      span.begin = log.first_when;
    }
    const std::optional<double>& last = log.last_line.when;
    if (last && (!span.end || *last > *span.end)) span.end = last;
  }
  return span;
}

// How much of an event's weight is left by its distance to the run.
double share_left(double when, const RunSpan& span) {
  if (span.begin && when < *span.begin - kFarthestZone) return kOtherLife;
  if (span.end && when > *span.end + kFarthestZone) return kOtherLife;
  if (span.begin && when < *span.begin - kHour) return kBefore;
  return 1;
}

}  // namespace

KernelLog CauseRanker::kernel_log_of_the_end() const {
  const RunSpan span = run_span(logs_);
  KernelLog best = KernelLog::silent;
  for (const LogScan& log : logs_) {
    if (log.kind != SourceKind::kernel) continue;
    const bool killed = std::ranges::any_of(
        log.findings, [](const auto& one) { return starts_with(one.signature->id, "kernel_oom"); });
    if (killed) return KernelLog::silent;
    const std::optional<double>&first = log.first_when, &last = log.last_line.when;
    if (span.end && first && last && *first <= *span.end && *span.end <= *last) {
      return KernelLog::spans_the_end;
    }
    const bool later = span.end && first && *first > *span.end + kSkew;
    if (!later) best = KernelLog::clean;
  }
  return best;
}

// An event counts by its distance to the run; what lies behind a boot before the run's end belongs
// to another life of the machine.
void CauseRanker::place_in_time() {
  const RunSpan span = run_span(logs_);
  const std::vector<Seen> boots = seen(logs_, " kernel_boot ");
  for (Clue& clue : clues_) {
    if (clue.file < 0) continue;
    const LogScan& log = log_of(clue.file);
    if (!is_outside_event(clue) && log.described.empty()) continue;
    // An undated line within a program's log happened where it stands.
    if (log.kind == SourceKind::program && !clue.dated) continue;
    double left = clue.dated ? share_left(*clue.when, span) : 1;
    for (const auto& [file, boot] : boots) {
      const bool later = file == clue.file && clue.line.line < boot->last.number;
      if (later && boot->last.when && span.end && *boot->last.when < *span.end) left = kOtherLife;
    }
    // A card that fell off the bus, a mount that was lost stay so until the next boot.
    const bool lasts = left == kBefore && any_clue([&](const Clue& other) {
                         return in_table(clue.name(), other.name()) && other.weight >= 0.4;
                       });
    if (!lasts) clue.weight *= left;
    clue.lasting = std::min(clue.lasting, clue.weight);
  }
}

// A machine that boots within the hour after a run's last line ended it, unless the run ended by
// itself.
void CauseRanker::hear_reboot() {
  if (evidence_.exit_code) return;
  const RunSpan span = run_span(logs_);
  bool cut = false, ended = false;
  for (const LogScan& log : logs_) {
    if (log.kind != SourceKind::program) continue;
    cut = cut || log.cut_off;
    ended = ended || log.finished;
  }
  if (!span.end || (ended && !cut)) return;
  for (const Seen& boot : seen(logs_, " kernel_boot ")) {
    if (!boot.finding->last.when) continue;
    const double after = *boot.finding->last.when - *span.end;
    if (after < -kSkew || after > kHour) continue;
    add_seen("host_restarted", Role::proof, cut ? 0.85 : 0.6, boot);
    return;
  }
}

}  // namespace ocrtune
