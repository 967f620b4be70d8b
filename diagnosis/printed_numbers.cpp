// What the figures in lines say: whose GPU memory it is, an allocation that no card could hold, a
// version that is known for a fault, a rank with fewer batches.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "diagnosis/cause_ranker.h"
#include "diagnosis/waiting_ranks.h"

namespace ocrtune {
namespace {

constexpr double kGibibyte = 1073741824;

double bytes_of(const std::string& number, const std::string& unit) {
  const double value = parse_number(number).value_or(0);
  if (starts_with(unit, "T")) return value * 1024 * kGibibyte;
  if (starts_with(unit, "G")) return value * kGibibyte;
  return starts_with(unit, "M") ? value * kGibibyte / 1024 : value * 1024;
}

// Sum of what the pattern captures as number and unit; 0: it does not occur.
double bytes_in(const std::string& text, const re2::RE2& pattern) {
  re2::StringPiece rest(text);
  std::string number, unit;
  double sum = 0;
  while (re2::RE2::FindAndConsume(&rest, pattern, &number, &unit)) sum += bytes_of(number, unit);
  return sum;
}

struct CardMemory {
  double asked_bytes = 0, total_bytes = 0, own_bytes = 0, other_bytes = 0;
};

// PyTorch's sentence: "Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 23.65 GiB of
// which 41.00 MiB is free. Process 31877 has 21.90 GiB memory in use. Including non-PyTorch memory,
// this process has 1.20 GiB memory in use."
CardMemory card_memory(const std::string& text) {
  static const re2::RE2 kAsked(R"(ried to allocate ([\d.]+) ([KMGT])i?B)");
  static const re2::RE2 kTotal(R"(total capacity of ([\d.]+) ([KMGT])i?B)");
  static const re2::RE2 kOldTotal(R"(([\d.]+) ([KMGT])i?B total capacity)");
  static const re2::RE2 kOthers(R"(Process \d+ has ([\d.]+) ([KMGT])i?B memory in use)");
  static const re2::RE2 kOwn(R"(this process has ([\d.]+) ([KMGT])i?B memory in use)");
  static const re2::RE2 kAllocated(R"(([\d.]+) ([KMGT])i?B is allocated by PyTorch)");
  CardMemory memory;
  memory.asked_bytes = bytes_in(text, kAsked);
  memory.total_bytes = std::max(bytes_in(text, kTotal), bytes_in(text, kOldTotal));
  // In a container the own process has the number of another.
  memory.own_bytes = std::max(bytes_in(text, kOwn), 1.1 * bytes_in(text, kAllocated));
  memory.other_bytes = bytes_in(text, kOthers);
  return memory;
}

const Finding* finding_of(const std::vector<LogScan>& logs, std::string_view id, int* file) {
  for (std::size_t i = 0; i < logs.size(); ++i) {
    for (const Finding& finding : logs[i].findings) {
      if (id != finding.signature->id || finding.earlier_run) continue;
      *file = static_cast<int>(i);
      return &finding;
    }
  }
  return nullptr;
}

}  // namespace

// More than twice the card, or more than any card has: a wrong shape or label, no shortage. And
// where other processes hold more than this one, they are the cause.
void CauseRanker::read_gpu_memory() {
  constexpr double kAnyCard = 1024 * kGibibyte;
  static const re2::RE2 kAtStart(
      R"(Free memory on device.*?\(([\d.]+)/([\d.]+) GiB\) on startup is less)");
  for (Clue& clue : clues_) {
    if (std::string_view(clue.cause->name) != "gpu_out_of_memory") continue;
    const CardMemory memory = card_memory(clue.line.text);
    const double most = memory.total_bytes > 0 ? 2 * memory.total_bytes : kAnyCard;
    double free = 0, total = 0;
    if (memory.asked_bytes > std::min(most, kAnyCard)) {
      clue.cause = &find_cause("shape_mismatch");
      continue;
    }
    const bool by_others = memory.own_bytes > 0 && memory.other_bytes > 2 * memory.own_bytes &&
                           memory.other_bytes > 0.4 * memory.total_bytes;
    const bool at_start =
        re2::RE2::PartialMatch(clue.line.text, kAtStart, &free, &total) && free < 0.85 * total;
    if (by_others || at_start) clue.cause = &find_cause("gpu_busy");
  }
}

// nvidia-smi's table of processes, beside a failure on the card.
void CauseRanker::hear_other_users_of_the_card() {
  constexpr double kMost = 0.5, kMany = 8192;  // of the card; MiB
  static const re2::RE2 kCard(R"((\d+)MiB / +(\d+)MiB)");
  static const re2::RE2 kOwn(R"((?:^|/)(?:python[\d.]*|train\S*)(?: |$))");
  const bool failed = any("gpu_out_of_memory", 2) || any("cuda_library_error", 2) ||
                      any("gpu_kernel_fault", 1) || any("gpu_busy", 2);
  int file = -1, card_file = -1;
  const Finding* process = finding_of(logs_, "smi_process", &file);
  const Finding* card = finding_of(logs_, "smi_card", &card_file);
  if (!failed || process == nullptr || process->captures.size() < 3) return;
  const double held = parse_number(process->captures[2]).value_or(0);
  double used = 0, total = 0;
  if (card != nullptr) re2::RE2::PartialMatch(card->first.text, kCard, &used, &total);
  if (total > 0 ? held < kMost * total : held < kMany) return;
  // A bare "python" may be the run itself.
  const bool own = re2::RE2::PartialMatch(process->captures[1], kOwn);
  add_seen("gpu_busy", Role::primary, own ? 0.5 : 0.85, file, *process);
}

// Paddle 2.6 dies by SIGILL in the passes over its graph, on CPUs with AVX2 as well. Sources:
// PaddleOCR 11597, 11630, 11631, Paddle 60477; 2.5 and 3.0 do not.
void CauseRanker::doubt_illegal_instruction() {
  int file = -1, other = -1;
  const Finding* version = finding_of(logs_, "paddle_26", &file);
  if (version == nullptr || !any("illegal_instruction", 2)) return;
  const bool has_avx2 = finding_of(logs_, "cpu_has_avx2", &other) != nullptr;
  for (Clue& clue : clues_) {
    if (std::string_view(clue.cause->name) == "illegal_instruction") {
      clue.weight *= has_avx2 ? 0.8 : 0.9;
    }
  }
  add_seen("library_conflict", Role::primary, has_avx2 ? 0.7 : 0.5, file, *version);
}

// Ranks that give up waiting, and one that had fewer batches than the others: it was done.
void CauseRanker::hear_uneven_batches() {
  if (waiting_ranks(logs_).empty()) return;
  struct Loader {
    std::int64_t batches;
    int file;
    const Finding* finding;
  };
  std::vector<Loader> loaders;
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    for (const Finding& finding : logs_[i].findings) {
      if (std::string_view(finding.signature->id) != "batches_of_rank") continue;
      for (const std::string& capture : finding.captures) {
        const auto batches = parse_integer(capture);
        if (batches) loaders.push_back({*batches, static_cast<int>(i), &finding});
      }
    }
  }
  if (loaders.size() < 2) return;
  const auto fewer = [](const Loader& a, const Loader& b) { return a.batches < b.batches; };
  const auto [least, most] = std::minmax_element(loaders.begin(), loaders.end(), fewer);
  if (least->batches == most->batches) return;
  Clue& clue = add_seen("rank_mismatch", Role::primary, 0.8, least->file, *least->finding);
  clue.signature = "uneven_batches";
  clue.rank = least->finding->rank;
  clue.line.text += fmt::format("   (of others up to {})", most->batches);
}

}  // namespace ocrtune
