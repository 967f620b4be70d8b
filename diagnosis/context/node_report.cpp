#include "diagnosis/context/node_report.h"

#include <string>

#include <re2/re2.h>

namespace ocrtune {
namespace {

constexpr std::string_view kBegins = "invoked oom-killer", kEnds = "oom-kill:constraint=";
constexpr std::uint64_t kKibibyte = 1024, kUsualPage = 4096;
constexpr std::size_t kMaxShortages = 64;

bool mentions_part(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

}  // namespace

bool NodeReport::begins(std::string_view line) {
  return mentions_part(line, kBegins) || mentions_part(line, kEnds);
}

void NodeReport::take_line(std::string_view line, std::int64_t number) {
  static const re2::RE2 kZone(R"(\bNode (\d+) (?:(\w+) free|.*?\bfree):(\d+)kB)");
  static const re2::RE2 kPages(R"((?:^|[\] ])free:(\d+)(?: |$))");
  static const re2::RE2 kSmallest(R"(\bNode \d+ \w+: \d+\*(\d+)kB)");
  static const re2::RE2 kConstraint(
      R"(constraint=CONSTRAINT_(MEMORY_POLICY|CPUSET),nodemask=(?:\(null\)|([\d,-]*\d)),cpuset=.*?,mems_allowed=([\d,-]*\d))");
  if (mentions_part(line, kBegins)) {
    open_ = true;
    nodes_.clear();
    free_pages_ = page_bytes_ = 0;
    return;
  }
  if (mentions_part(line, kEnds)) {
    std::string constraint, policy, allowed;
    if (re2::RE2::PartialMatch(line, kConstraint, &constraint, &policy, &allowed)) {
      const auto nodes = CpuSet::parse(constraint == "CPUSET" ? allowed : policy);
      if (nodes && !nodes->empty()) take_shortage(*nodes, number);
    }
    open_ = false;
    nodes_.clear();
    return;
  }
  int node = 0;
  std::string zone;
  std::uint64_t count = 0;
  if (re2::RE2::PartialMatch(line, kZone, &node, &zone, &count)) {
    Free& free = nodes_[node];
    const bool reserved = zone == "DMA" || zone == "DMA32";
    (reserved ? free.reserved_bytes : free.usable_bytes) += count * kKibibyte;
    free.has_usable = free.has_usable || !reserved;
  } else if (page_bytes_ == 0 && re2::RE2::PartialMatch(line, kSmallest, &count)) {
    page_bytes_ = count * kKibibyte;
  } else if (free_pages_ == 0 && re2::RE2::PartialMatch(line, kPages, &count)) {
    free_pages_ = count;
  }
}

void NodeReport::take_shortage(const CpuSet& bound, std::int64_t number) {
  if (shortages_.size() == kMaxShortages) return;
  NodeShortage shortage;
  shortage.line = number;
  shortage.full = bound;
  std::uint64_t of_bound = 0;
  std::vector<int> others;
  for (const auto& [node, free] : nodes_) {
    if (bound.contains(node)) {
      shortage.full_free_bytes += free.bytes();
      of_bound += free.reserved_bytes + free.usable_bytes;
    } else {
      shortage.others_free_bytes += free.bytes();
      others.push_back(node);
    }
  }
  const std::uint64_t all = free_pages_ * (page_bytes_ > 0 ? page_bytes_ : kUsualPage);
  if (others.empty() && of_bound > 0 && all > of_bound) shortage.others_free_bytes = all - of_bound;
  shortage.others = CpuSet(others);
  shortages_.push_back(shortage);
}

}  // namespace ocrtune
