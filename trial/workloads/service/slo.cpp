#include "trial/workloads/service/slo.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxBlocks = 1024;
constexpr std::size_t kFewestBlocks = 16;

// Variance of the block shares over that of as many independent requests.
double effect_of(const std::vector<std::int64_t>& blocks, double block_requests) {
  double sum = 0;
  for (std::int64_t events : blocks) sum += static_cast<double>(events);
  const double count = static_cast<double>(blocks.size());
  const double mean_events = sum / count;
  const double share = mean_events / block_requests;
  if (share <= 0 || share >= 1) return 1;
  double squares = 0;
  for (std::int64_t events : blocks) {
    const double distance = static_cast<double>(events) - mean_events;
    squares += distance * distance;
  }
  return squares / (count - 1) / (block_requests * share * (1 - share));
}

// The continued fraction of the incomplete beta function, by Lentz's method.
// Source: Abramowitz and Stegun, 26.5.8.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto held = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / held(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int i = 1; i < 100000; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / held(1 + even * d);
    c = held(1 + even / c);
    value *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / held(1 + odd * d);
    c = held(1 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1) < 1e-13) break;
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

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

double binomial_at_most(double successes, double trials, double share) {
  if (successes < 0) return 0;
  if (successes >= trials) return 1;
  return incomplete_beta(trials - successes, successes + 1, 1 - share);
}

std::int64_t min_requests(double percentile, double confidence, std::int64_t over) {
  const auto proves = [&](std::int64_t requests) {
    return binomial_at_most(static_cast<double>(over), static_cast<double>(requests),
                            1 - percentile) <= 1 - confidence + 1e-12;
  };
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
  const double doubt = 1 - confidence + 1e-12;
  if (binomial_at_most(late, trials, allowed) <= doubt) return SloVerdict::met;
  if (late > 0 && 1 - binomial_at_most(late - 1, trials, allowed) <= doubt) {
    return SloVerdict::violated;
  }
  return SloVerdict::undecided;
}

void BlockCounts::add(bool event) {
  ++requests_;
  ++open_requests_;
  if (event) {
    ++events_;
    ++open_events_;
  }
  if (open_requests_ < block_requests_) return;
  blocks_.push_back(open_events_);
  open_requests_ = open_events_ = 0;
  if (blocks_.size() == kMaxBlocks) halve();
}

void BlockCounts::halve() {
  for (std::size_t i = 0; i < blocks_.size() / 2; ++i) {
    blocks_[i] = blocks_[2 * i] + blocks_[2 * i + 1];
  }
  blocks_.resize(blocks_.size() / 2);
  block_requests_ *= 2;
}

double BlockCounts::design_effect() const {
  if (events_ < kFewestEvents || blocks_.size() < kFewestBlocks) return 1;
  // Longer blocks see longer queues but are fewer: the largest ratio down to 24 blocks counts.
  std::vector<std::int64_t> blocks = blocks_;
  double requests = static_cast<double>(block_requests_);
  double effect = 1;
  while (true) {
    effect = std::max(effect, effect_of(blocks, requests));
    if (blocks.size() < 48) return effect;
    for (std::size_t i = 0; i < blocks.size() / 2; ++i) {
      blocks[i] = blocks[2 * i] + blocks[2 * i + 1];
    }
    blocks.resize(blocks.size() / 2);
    requests *= 2;
  }
}

}  // namespace ocrtune
