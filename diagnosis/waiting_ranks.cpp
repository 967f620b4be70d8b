// Ranks that gave up waiting are witnesses; this room asks what they tell of the one that did not
// come: busy alone, in another collective, or never able to talk to them at all.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/consequences.h"

namespace ocrtune {
namespace {

constexpr double kWaitSkew = 120;  // seconds

// What the pattern captures in the line; nothing: it does not fit.
template <typename T>
std::optional<T> captured(const std::string& line, const re2::RE2& pattern) {
  T value{};
  return re2::RE2::PartialMatch(line, pattern, &value) ? std::optional<T>(value) : std::nullopt;
}

// "[1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] ...": it waited for
// rank 0 to come to the first collective.
const re2::RE2& first_meeting() {
  static const re2::RE2 kPattern(R"(\[(\d+)\] is setting up NCCL communicator)");
  return kPattern;
}

bool gave_up_waiting(const Finding& finding) {
  const SignatureRow& row = *finding.signature;
  const bool waited = row.cause == "collective_timeout" ||
                      re2::RE2::PartialMatch(finding.first.text, first_meeting());
  // Asked by another rank to write its flight record: this one had not begun to wait.
  const bool asked = finding.first.text.find("dump signal") != std::string::npos;
  return waited && !asked && row.role != Role::note && !finding.over;
}

}  // namespace

std::vector<Waiting> waiting_ranks(const std::vector<LogScan>& logs) {
  static const re2::RE2 kOperation(R"(OpType=([^, )]*))"), kNumber(R"(SeqNum=(\d+))"),
      kElements(R"(NumelIn=(\d+))"),
      kMilliseconds(R"((?: ran for |Timed out waiting |timeout:)(\d+))");  // the last is Paddle's
  std::vector<Waiting> all;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (const Finding& finding : logs[i].findings) {
      if (!gave_up_waiting(finding)) continue;
      const std::string& text = finding.first.text;
      Waiting one;
      one.file = static_cast<int>(i);
      one.rank = finding.rank ? finding.rank : captured<int>(text, first_meeting());
      one.line = finding.first;
      one.operation = captured<std::string>(text, kOperation).value_or("");
      one.number = captured<std::int64_t>(text, kNumber);
      one.elements = captured<std::int64_t>(text, kElements);
      one.seconds = captured<double>(text, kMilliseconds);
      if (one.seconds) *one.seconds /= 1000;
      const auto known = std::ranges::find_if(all, [&](const Waiting& other) {
        return other.file == one.file && other.rank == finding.rank;
      });
      if (known == all.end()) all.push_back(std::move(one));
    }
  }
  return all;
}

namespace {

// When the first of them began to wait.
std::optional<double> began_to_wait(const std::vector<Waiting>& waiting) {
  std::optional<double> first;
  for (const Waiting& one : waiting) {
    if (!one.line.when) continue;
    const double began = *one.line.when - one.seconds.value_or(0);
    if (!first || began < *first) first = began;
  }
  return first;
}

// NCCL numbers collectives in each group: another kind, or another size of a sum, under one number
// means that the ranks went different ways.
bool disagree(const std::vector<Waiting>& waiting) {
  for (const Waiting& a : waiting) {
    for (const Waiting& b : waiting) {
      if (!a.number || a.number != b.number) continue;
      if (a.operation != b.operation) return true;
      if (a.operation == "ALLREDUCE" && a.elements != b.elements) return true;
    }
  }
  return false;
}

// The one rank that gave up in an earlier collective than all others: they waited for it.
const Waiting* straggler(const std::vector<Waiting>& waiting) {
  const Waiting* first = nullptr;
  std::set<std::int64_t> numbers;
  for (const Waiting& one : waiting) {
    if (!one.number) return nullptr;
    numbers.insert(*one.number);
    if (first == nullptr || *one.number < *first->number) first = &one;
  }
  if (numbers.size() != 2 || waiting.size() < 3) return nullptr;
  const auto alike = std::ranges::count_if(
      waiting, [&](const Waiting& one) { return one.number == first->number; });
  return alike == 1 ? first : nullptr;
}

bool at_the_first_collective(const std::vector<Waiting>& waiting,
                             const std::vector<LogScan>& logs) {
  const bool early = std::ranges::all_of(
      waiting, [](const Waiting& one) { return one.number && *one.number <= 2; });
  const bool stepped =
      std::ranges::any_of(logs, [](const LogScan& log) { return log.progress_lines > 2; });
  return early && waiting.size() > 1 && !stepped;
}

// A task that the kernel saw hang while the ranks waited: storage, mostly.
Seen hung_meanwhile(const std::vector<LogScan>& logs, const std::vector<Waiting>& waiting) {
  const auto began = began_to_wait(waiting);
  for (const Seen& hung : seen(logs, " kernel_hung_task ")) {
    const auto& when = hung.finding->first.when;
    const bool later = std::ranges::all_of(waiting, [&](const Waiting& one) {
      return when && one.line.when && *when > *one.line.when;
    });
    if (!later && !(began && when && *when < *began - kWaitSkew)) return hung;
  }
  return {};
}

// The last thing that a rank did alone while the others waited.
Seen busy_alone(const std::vector<LogScan>& logs, const std::vector<Waiting>& waiting) {
  const auto names_ranks_in = [&](int file) {
    return std::ranges::any_of(
        waiting, [&](const Waiting& one) { return one.file == file && one.rank.has_value(); });
  };
  const auto began = began_to_wait(waiting);
  Seen busy;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const int file = static_cast<int>(i);
    const bool shared = names_ranks_in(file);
    for (const Finding& finding : logs[i].findings) {
      if (finding.signature->role != Role::activity || finding.earlier_run) continue;
      // In a log of all ranks, a line without a rank is mostly rank 0's: the others are silent.
      const int rank = finding.rank.value_or(shared ? 0 : -1);  // -1: unknown
      const bool waits = std::ranges::any_of(waiting, [&](const Waiting& one) {
        // Where lines name their ranks, one without a rank says nothing of this one.
        return rank >= 0 && one.rank ? *one.rank == rank
                                     : one.file == file && !(rank >= 0 && shared);
      });
      if (waits || finding.progress_after > (shared ? 2 : 0)) continue;
      const auto& when = finding.last.when;  // of a bar without a clock: at the earliest
      if (began && when && finding.last.dated && *when < *began - kWaitSkew) continue;
      const bool weaker =
          busy.finding != nullptr && busy.finding->signature->weight >= finding.signature->weight;
      if (!weaker) busy = {file, &finding};
    }
  }
  return busy;
}

}  // namespace

void CauseRanker::hear_waiting_ranks() {
  const std::vector<Waiting> waiting = waiting_ranks(logs_);
  if (waiting.empty()) return;
  const auto add_at = [&](std::string_view cause, double weight, std::string_view signature,
                          int file, const LogLine& line, std::optional<int> rank) {
    Clue clue{&find_cause(cause), Role::primary, weight, signature, {}, line.when, file, rank};
    clue.line = {log_of(file).file, line.number, line.text};
    clue.dated = line.dated;
    clues_.push_back(std::move(clue));
  };
  // From the strongest to the weakest explanation; the first that fits is the only one.
  const Seen hung = hung_meanwhile(logs_, waiting), busy = busy_alone(logs_, waiting);
  // A rank that died has stopped being busy. Where several share a log, what names no rank is
  // mostly rank 0's.
  const bool died = busy.finding != nullptr && any_clue([&](const Clue& clue) {
                      const std::optional<int>& rank = busy.finding->rank;
                      return clue.file == busy.file && (!rank || clue.rank.value_or(0) == *rank) &&
                             clue.is(2, 0.4) && !is_witness(clue.name()) &&
                             !is_generic(clue.name());
                    });
  if (hung.finding != nullptr) {
    add_at("storage_failure", 0.65, hung.finding->signature->id, hung.file, hung.finding->first,
           {});
  } else if (busy.finding != nullptr && !died) {
    const Finding& work = *busy.finding;
    const bool went_on = std::ranges::any_of(waiting, [&](const Waiting& one) {
      return one.file == busy.file && one.line.number < work.last.number;
    });
    add_at(work.signature->cause, work.signature->weight, work.signature->id, busy.file,
           went_on ? work.first : work.last, work.rank);
  } else if (const Waiting* late = straggler(waiting); late != nullptr) {
    add_at("rank_mismatch", 0.55, "lower_number", late->file, late->line, late->rank);
  } else if (disagree(waiting)) {
    for (const Seen& left : seen(logs_, " skipped_step ")) {
      const Finding& step = *left.finding;
      add_at("rank_mismatch", 0.7, step.signature->id, left.file, step.last, step.rank);
    }
    for (const Waiting& one : waiting) {
      add_at("rank_mismatch", 0.6, "waiting_ranks", one.file, one.line, one.rank);
    }
  } else if (at_the_first_collective(waiting, logs_)) {
    const Waiting& one = waiting[0];
    add_at("nccl_init_hang", 0.65, "waiting_ranks", one.file, one.line, one.rank);
  }
}

// Ranks that print different versions of NCCL, in a run that failed.
void CauseRanker::hear_versions() {
  std::set<std::string> versions;
  for (const Seen& one : seen(logs_, " nccl_version_line ")) {
    versions.insert(one.finding->subjects.begin(), one.finding->subjects.end());
    if (versions.size() < 2 || clues_.empty()) continue;
    add_seen("nccl_version_mismatch", Role::primary, 0.8, one).line.text =
        fmt::format("NCCL {}", join({versions.begin(), versions.end()}, ", "));
    return;
  }
}

}  // namespace ocrtune
