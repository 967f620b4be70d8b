// Ranks that gave up waiting are witnesses; this room asks what they tell of the one that did not
// come: busy alone, in another collective, or never able to talk to them at all.
#include "diagnosis/waiting_ranks.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/consequences.h"

namespace ocrtune {
namespace {

std::optional<std::int64_t> integer_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t end = at + key.size();
  while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
  const auto number = parse_integer(line.substr(at + key.size(), end - at - key.size()));
  return number ? std::optional<std::int64_t>(*number) : std::nullopt;
}

std::string word_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = line.substr(at + key.size());
  return std::string(rest.substr(0, std::min(rest.find_first_of(", )"), rest.size())));
}

// "[1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] ...": it waited for
// rank 0 to come to the first collective.
constexpr std::string_view kFirstMeeting = "] is setting up NCCL communicator";

bool gave_up_waiting(const Finding& finding) {
  const bool waited = std::string_view(finding.signature->cause) == "collective_timeout" ||
                      finding.first.text.find(kFirstMeeting) != std::string::npos;
  return waited && finding.signature->role != Role::note && !finding.earlier_run &&
         finding.progress_after < 3;
}

std::optional<int> rank_at_first_meeting(std::string_view line) {
  const std::size_t end = line.find(kFirstMeeting);
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t begin = line.rfind('[', end) + 1;
  const auto rank = parse_integer(line.substr(begin, end - begin));
  return rank ? std::optional<int>(static_cast<int>(*rank)) : std::nullopt;
}

}  // namespace

std::vector<Waiting> waiting_ranks(const std::vector<LogScan>& logs) {
  std::vector<Waiting> all;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (const Finding& finding : logs[i].findings) {
      if (!gave_up_waiting(finding)) continue;
      // Asked by another rank to write its flight record: this one had not begun to wait.
      if (finding.first.text.find("dump signal") != std::string::npos) continue;
      const auto known = std::find_if(all.begin(), all.end(), [&](const Waiting& one) {
        return one.file == static_cast<int>(i) && one.rank == finding.rank;
      });
      Waiting one;
      one.file = static_cast<int>(i);
      one.rank = finding.rank ? finding.rank : rank_at_first_meeting(finding.first.text);
      one.line = finding.first;
      const std::string& text = finding.first.text;
      one.operation = word_after(text, "OpType=");
      one.number = integer_after(text, "SeqNum=");
      one.elements = integer_after(text, "NumelIn=");
      const auto milliseconds = integer_after(text, " ran for ");
      const auto receive = integer_after(text, "Timed out waiting ");
      const auto limit = integer_after(text, "timeout:");  // Paddle's
      const auto waited = milliseconds ? milliseconds : receive ? receive : limit;
      if (waited) one.seconds = static_cast<double>(*waited) / 1000;
      if (known == all.end()) {
        all.push_back(std::move(one));
      } else if (!known->number && one.number) {
        *known = std::move(one);
      }
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
  const auto alike = std::count_if(waiting.begin(), waiting.end(),
                                   [&](const Waiting& one) { return one.number == first->number; });
  return alike == 1 ? first : nullptr;
}

bool at_the_first_collective(const std::vector<Waiting>& waiting,
                             const std::vector<LogScan>& logs) {
  const bool early = std::all_of(waiting.begin(), waiting.end(),
                                 [](const Waiting& one) { return one.number && *one.number <= 2; });
  const bool stepped = std::any_of(logs.begin(), logs.end(),
                                   [](const LogScan& log) { return log.progress_lines > 2; });
  return early && waiting.size() > 1 && !stepped;
}

// A task that the kernel saw hang while the ranks waited: storage, mostly.
const Finding* hung_meanwhile(const std::vector<LogScan>& logs, const std::vector<Waiting>& waiting,
                              int* file) {
  const auto began = began_to_wait(waiting);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (const Finding& finding : logs[i].findings) {
      if (std::string_view(finding.signature->id) != "kernel_hung_task") continue;
      const auto& when = finding.first.when;
      const bool later = std::all_of(waiting.begin(), waiting.end(), [&](const Waiting& one) {
        return when && one.line.when && *when > *one.line.when;
      });
      if (later || (began && when && *when < *began - 120)) continue;
      *file = static_cast<int>(i);
      return &finding;
    }
  }
  return nullptr;
}

}  // namespace

const Finding* busy_alone(const std::vector<LogScan>& logs, const std::vector<Waiting>& waiting,
                          int* file) {
  const auto waits = [&](int index, std::optional<int> rank) {
    // Where lines name their ranks, one without a rank says nothing of this one.
    const bool named = rank && std::any_of(waiting.begin(), waiting.end(), [&](const Waiting& one) {
                         return one.file == index && one.rank.has_value();
                       });
    return std::any_of(waiting.begin(), waiting.end(), [&](const Waiting& one) {
      return rank && one.rank ? one.rank == rank : one.file == index && !named;
    });
  };
  const auto began = began_to_wait(waiting);
  const Finding* busy = nullptr;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const int index = static_cast<int>(i);
    const bool shared = std::any_of(waiting.begin(), waiting.end(), [&](const Waiting& one) {
      return one.file == index && one.rank.has_value();
    });
    for (const Finding& finding : logs[i].findings) {
      if (finding.signature->role != Role::activity || finding.earlier_run) continue;
      // In a log of all ranks, a line without a rank is mostly rank 0's: the others are silent.
      const std::optional<int> rank =
          finding.rank ? finding.rank : (shared ? std::optional<int>(0) : std::nullopt);
      if (waits(index, rank) || finding.progress_after > (shared ? 2 : 0)) continue;
      const auto& when = finding.last.when;  // of a bar without a clock: at the earliest
      if (began && when && finding.last.dated && *when < *began - 120) continue;
      if (busy != nullptr && busy->signature->weight >= finding.signature->weight) continue;
      busy = &finding;
      *file = index;
    }
  }
  return busy;
}

void CauseRanker::hear_waiting_ranks() {
  const std::vector<Waiting> waiting = waiting_ranks(logs_);
  if (waiting.empty()) return;
  int file = -1;
  const auto add_at = [&](const char* cause, Role role, double weight, const char* signature,
                          int index, const LogLine& line, std::optional<int> rank) {
    Clue clue{&find_cause(cause), role, weight, signature, {}, line.when, index, rank};
    clue.line = {logs_[static_cast<std::size_t>(index)].file, line.number, line.text};
    clue.dated = line.dated;
    clues_.push_back(std::move(clue));
  };
  // A rank that died has stopped being busy. Where several share a log, what names no rank is
  // mostly rank 0's.
  const auto died = [&](int index, std::optional<int> rank) {
    return std::any_of(clues_.begin(), clues_.end(), [&](const Clue& clue) {
      return clue.file == index && (!rank || clue.rank.value_or(0) == *rank) &&
             tier(clue.role) >= 2 && clue.weight >= 0.4 && !is_witness(clue.cause->name) &&
             !is_generic(clue.cause->name);
    });
  };
  if (const Finding* hung = hung_meanwhile(logs_, waiting, &file); hung != nullptr) {
    add_at("storage_failure", Role::primary, 0.65, hung->signature->id, file, hung->first, {});
  } else if (const Finding* busy = busy_alone(logs_, waiting, &file);
             busy != nullptr && !died(file, busy->rank)) {
    const bool went_on = std::any_of(waiting.begin(), waiting.end(), [&](const Waiting& one) {
      return one.file == file && one.line.number < busy->last.number;
    });
    add_at(busy->signature->cause, Role::primary, busy->signature->weight, busy->signature->id,
           file, went_on ? busy->first : busy->last, busy->rank);
  } else if (const Waiting* late = straggler(waiting); late != nullptr) {
    add_at("rank_mismatch", Role::primary, 0.55, "lower_number", late->file, late->line,
           late->rank);
  } else if (disagree(waiting)) {
    for (const Waiting& one : waiting) {
      add_at("rank_mismatch", Role::primary, 0.6, "waiting_ranks", one.file, one.line, one.rank);
    }
  } else if (at_the_first_collective(waiting, logs_)) {
    add_at("nccl_init_hang", Role::primary, 0.65, "waiting_ranks", waiting[0].file, waiting[0].line,
           waiting[0].rank);
  }
}

// PyTorch before 2.0 cuts NCCL's number, 21003 for 2.10.3, after each two digits as that of older
// ones: "21.0.3".
std::string as_nccl_says(const std::string& version) {
  const std::vector<std::string> parts = split(version, '.');
  const auto number = [&](std::size_t i) { return parse_integer(parts[i]).value_or(0); };
  if (parts.size() != 3 || number(0) < 20) return version;
  const std::int64_t code = 1000 * number(0) + 100 * number(1) + number(2);
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

// Ranks that print different versions of NCCL, in a run that failed.
void CauseRanker::hear_versions() {
  std::set<std::string> versions;
  for (std::size_t i = 0; i < logs_.size() && !clues_.empty(); ++i) {
    for (const Finding& finding : logs_[i].findings) {
      if (std::string_view(finding.signature->id) != "nccl_version_line" || finding.earlier_run) {
        continue;
      }
      for (const std::string& subject : finding.subjects) versions.insert(as_nccl_says(subject));
      if (versions.size() < 2) continue;
      add_seen("nccl_version_mismatch", Role::primary, 0.8, static_cast<int>(i), finding)
          .line.text = fmt::format("NCCL {}", join({versions.begin(), versions.end()}, ", "));
      return;
    }
  }
}

}  // namespace ocrtune
