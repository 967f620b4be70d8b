// What the figures in lines say: whose GPU memory it is, an allocation that no card could hold, a
// rank with fewer batches.
#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "diagnosis/cause_ranker.h"

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

}  // namespace

// More than twice the card, or more than any card has: a wrong shape or label, no shortage. And
// where other processes hold more than this one, they are the cause.
void CauseRanker::read_gpu_memory() {
  // 1 TiB: far above any card's memory.
  constexpr double kAnyCard = 1024 * kGibibyte;
  static const re2::RE2 kAtStart(
      R"(Free memory on device.*?\(([\d.]+)/([\d.]+) GiB\) on startup is less)");
  for (Clue& clue : clues_) {
    if (clue.name() != "gpu_out_of_memory") continue;
    const CardMemory memory = card_memory(clue.line.text);
    const double most = memory.total_bytes > 0 ? 2 * memory.total_bytes : kAnyCard;
    double free = 0, total = 0;
    if (memory.asked_bytes > std::min(most, kAnyCard)) {
      clue.cause = &find_cause("shape_mismatch");
      continue;
    }
    // 0.4 is a guess: other processes that only share a card hold less. What does not fit beside
    // the own memory is the own process, by its number outside of the container.
    const bool by_others = memory.own_bytes > 0 && memory.other_bytes > memory.own_bytes &&
                           memory.other_bytes + memory.own_bytes <= 1.02 * memory.total_bytes &&
                           memory.other_bytes > 0.4 * memory.total_bytes;
    const bool at_start =
        re2::RE2::PartialMatch(clue.line.text, kAtStart, &free, &total) && free < 0.85 * total;
    if (by_others || at_start) clue.cause = &find_cause("gpu_busy");
  }
}

// Ranks that give up waiting, and one that had fewer batches than the others: it was done.
void CauseRanker::hear_uneven_batches() {
  if (waiting_ranks(logs_).empty()) return;
  std::multimap<std::int64_t, Seen> loaders;
  for (const Seen& loader : seen(logs_, " batches_of_rank ")) {
    for (const std::string& capture : loader.finding->captures) {
      if (const auto batches = parse_integer(capture)) loaders.emplace(*batches, loader);
    }
  }
  if (loaders.empty() || loaders.begin()->first == loaders.rbegin()->first) return;
  const Seen& least = loaders.begin()->second;
  Clue& clue = add_seen("rank_mismatch", Role::primary, 0.8, least);
  clue.signature = "uneven_batches";
  clue.rank = least.finding->rank;
  clue.line.text += fmt::format("   (of others up to {})", loaders.rbegin()->first);
}

}  // namespace ocrtune
