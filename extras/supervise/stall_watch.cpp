// Gaps between steps tell what is usual; CPU times since the last step tell who is waited for. The
// odd rank out is named, else what all of them do.
#include "extras/supervise/stall_watch.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMinGaps = 5;
constexpr std::size_t kKeptGaps = 64;
// An evaluation or a checkpoint takes many steps' time (guess).
constexpr double kMuchLonger = 20;
constexpr double kBusy = 0.5, kIdle = 0.1;  // shares of one CPU

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (int rank : ranks) names.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
}

std::string who(const std::map<int, double>& shares) {
  std::vector<int> busy, idle;
  for (const auto& [rank, share] : shares) {
    if (share >= kBusy) busy.push_back(rank);
    if (share <= kIdle) idle.push_back(rank);
  }
  if (shares.size() < 2) return "";
  if (busy.size() == shares.size()) return "all ranks compute or spin";
  if (idle.size() == shares.size()) return "all ranks sleep";
  if (!idle.empty() && idle.size() < busy.size()) {
    return fmt::format("{} sleeps while the others are busy: they wait for it", ranks_text(idle));
  }
  if (!busy.empty() && busy.size() < idle.size()) {
    return fmt::format("{} is busy while the others sleep: they wait for it", ranks_text(busy));
  }
  return fmt::format("{} of {} ranks are busy", busy.size(), shares.size());
}

}  // namespace

void StallWatch::progress(double now_seconds) {
  if (last_ >= 0) {
    if (gaps_.size() < kKeptGaps) gaps_.push_back(0);
    gaps_[next_++ % kKeptGaps] = now_seconds - last_;
  }
  last_ = now_seconds;
  // CPU times are compared from the next look on, when all ranks have taken up their work.
  looked_ = -1;
}

std::optional<Stall> StallWatch::look(double now_seconds,
                                      const std::map<int, double>& cpu_seconds) {
  if (looked_ < 0) {
    looked_ = now_seconds;
    cpu_then_ = cpu_seconds;
  }
  if (gaps_.size() < kMinGaps) return std::nullopt;
  Stall stall;
  stall.seconds = now_seconds - last_;
  stall.usual_seconds = median(gaps_);
  stall.ranks = static_cast<int>(cpu_seconds.size());
  if (stall.seconds < std::max(min_seconds_, kMuchLonger * stall.usual_seconds)) {
    return std::nullopt;
  }
  std::map<int, double> shares;
  const double watched = std::max(now_seconds - looked_, 1e-9);
  for (const auto& [rank, seconds] : cpu_seconds) {
    const auto then = cpu_then_.find(rank);
    shares[rank] = (seconds - (then == cpu_then_.end() ? 0 : then->second)) / watched;
  }
  const std::string blame = who(shares);
  stall.words = fmt::format("no step for {}, usually one in {}{}{}", format_duration(stall.seconds),
                            format_duration(stall.usual_seconds), blame.empty() ? "" : "; ", blame);
  return stall;
}

}  // namespace ocrtune
