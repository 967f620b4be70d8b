// A binomial test on counts that the design effect has made smaller. Clusters are measured by the
// variance between blocks of neighbouring requests. What a queue with the same arrivals would have
// made late is taken out by regression.
#include "trial/workloads/service/slo.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "base/stats.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxBlocks = 1024;
constexpr std::size_t kFewestBlocks = 16;

}  // namespace

Result<LatencySlo> parse_slo(std::string_view text) {
  const auto wrong = [&] {
    return Error{ErrorKind::usage,
                 fmt::format("'{}' is no latency target; write it like p99=50ms", text)};
  };
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || text.empty() || (text[0] != 'p' && text[0] != 'P')) {
    return wrong();
  }
  const auto percent = parse_number(text.substr(1, equals - 1));
  const auto seconds = parse_duration(text.substr(equals + 1));
  if (!percent || !seconds) return wrong();
  // "200" alone is taken by parse_duration() as seconds, but may mean milliseconds.
  if (parse_number(text.substr(equals + 1))) {
    return Error{ErrorKind::usage,
                 fmt::format("'{0}': the time has no unit; write {0}ms or {0}s", text)};
  }
  if (*percent < 1 || *percent > 99.99) {
    return Error{ErrorKind::usage,
                 fmt::format("'{}': the percentile must lie between p1 and p99.99", text)};
  }
  return LatencySlo{*percent / 100, *seconds};
}

std::string slo_target(const LatencySlo& slo) {
  const double percent = std::round(slo.percentile * 1e6) / 1e4;
  if (slo.seconds >= 1) return fmt::format("p{:g} under {:.4g} s", percent, slo.seconds);
  return fmt::format("p{:g} under {:.4g} ms", percent, slo.seconds * 1e3);
}

std::string milliseconds_text(double seconds) {
  const double milliseconds = 1e3 * seconds;
  return milliseconds < 999.5 ? fmt::format("{:.3g}", milliseconds)
                              : fmt::format("{:.0f}", milliseconds);
}

Reason slo_reason(const LatencySlo& slo) {
  const bool slow = slo.seconds >= 1;
  return {slow ? ReasonCode::target_in_seconds : ReasonCode::target_in_milliseconds,
          {general(std::round(slo.percentile * 1e6) / 1e4, 6),
           general(slow ? slo.seconds : slo.seconds * 1e3, 4)}};
}

std::int64_t min_requests(double percentile, double confidence, std::int64_t over) {
  const auto proves = [&](std::int64_t requests) {
    return binomial_at_most(static_cast<double>(over), static_cast<double>(requests),
                            1 - percentile) <= 1 - confidence + 1e-12;
  };
  // Doubled until it proves, then halved: the test is monotonous in the number.
  std::int64_t high = over + 1;
  while (!proves(high)) high *= 2;
  std::int64_t low = over;  // never enough
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (proves(middle) ? high : low) = middle;
  }
  return high;
}

SloVerdict judge_slo(const LatencySlo& slo, double requests, double over, double confidence,
                     double design_effect) {
  const double effect = std::max(1.0, design_effect);
  const double trials = requests / effect;
  const double late = over / effect;
  const double allowed = 1 - slo.percentile;
  // Rounding must not turn 459 into 460.
  const double doubt = 1 - confidence + 1e-12;
  if (binomial_at_most(late, trials, allowed) <= doubt) return SloVerdict::met;
  if (late > 0 && binomial_at_least(late, trials, allowed) <= doubt) return SloVerdict::violated;
  return SloVerdict::undecided;
}

void BlockCounts::add(bool event, bool expected) {
  ++requests_;
  ++open_requests_;
  events_ += event ? 1 : 0;
  expected_ += expected ? 1 : 0;
  both_ += event && expected ? 1 : 0;
  surprises_ += event != expected ? 1 : 0;
  open_.events += event ? 1 : 0;
  open_.expected += expected ? 1 : 0;
  if (open_requests_ < block_requests_) return;
  blocks_.push_back(open_);
  open_requests_ = 0;
  open_ = {};
  if (blocks_.size() < kMaxBlocks) return;
  halve(blocks_);
  block_requests_ *= 2;
}

void BlockCounts::halve(std::vector<Block>& blocks) {
  for (std::size_t i = 0; i < blocks.size() / 2; ++i) {
    const Block &one = blocks[2 * i], &next = blocks[2 * i + 1];
    blocks[i] = {one.events + next.events, one.expected + next.expected};
  }
  blocks.resize(blocks.size() / 2);
}

double BlockCounts::weight() const {
  const auto count = static_cast<double>(requests_), expected = static_cast<double>(expected_);
  // The slope of events on what was expected, by counts of zeros and ones.
  const double variance = count * expected - expected * expected;
  if (variance <= 0) return 0;
  const double covariance =
      count * static_cast<double>(both_) - static_cast<double>(events_) * expected;
  return std::max(0.0, covariance / variance);
}

double BlockCounts::explained() const {
  if (surprises_ == 0) return 1;
  const auto count = static_cast<double>(requests_), events = static_cast<double>(events_);
  const double variance = count * events - events * events;
  if (variance <= 0) return 0;
  const auto expected = static_cast<double>(expected_);
  return weight() * weight() * (count * expected - expected * expected) / variance;
}

double BlockCounts::expected_share() const {
  return static_cast<double>(expected_) / static_cast<double>(std::max<std::int64_t>(requests_, 1));
}

double BlockCounts::share(double expected_share) const {
  if (requests_ == 0) return 0;
  const double seen = static_cast<double>(events_) / static_cast<double>(requests_);
  return std::clamp(seen - weight() * (this->expected_share() - expected_share), 0.0, 1.0);
}

// Variance of what the blocks hold beyond the expected over that of as many independent requests.
double BlockCounts::effect_of(const std::vector<Block>& blocks, double block_requests,
                              double share) const {
  const double expected = weight();
  const auto rest = [&](const Block& block) { return block.events - expected * block.expected; };
  double sum = 0;
  for (const Block& block : blocks) sum += rest(block);
  const double count = static_cast<double>(blocks.size());
  if (share <= 0 || share >= 1) return 1;
  double squares = 0;
  for (const Block& block : blocks) {
    const double distance = rest(block) - sum / count;
    squares += distance * distance;
  }
  return squares / (count - 1) / (block_requests * share * (1 - share));
}

double BlockCounts::design_effect(double expected_share) const {
  if (surprises_ < kFewestEvents || blocks_.size() < kFewestBlocks) return 1;
  const double long_share = std::max(share(expected_share), 1 / static_cast<double>(requests_));
  // Longer blocks see longer queues but are fewer: the largest ratio down to 24 blocks counts.
  std::vector<Block> blocks = blocks_;
  double requests = static_cast<double>(block_requests_);
  double effect = 1;
  while (true) {
    effect = std::max(effect, effect_of(blocks, requests, long_share));
    if (blocks.size() < 48) return effect;
    halve(blocks);
    requests *= 2;
  }
}

}  // namespace ocrtune
