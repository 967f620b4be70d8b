// Open loops need arrival times and nothing else; a trace is stretched to a rate, so that its
// bursts keep their shape. Everything random comes from a seed, so that two settings meet the same
// arrivals.
#include "trial/workloads/service/arrivals.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.h"
#include "base/files.h"
#include "base/text.h"

namespace ocrtune {

Arrivals Arrivals::poisson(double requests_per_second, std::uint64_t seed) {
  OCRTUNE_CHECK(requests_per_second > 0);
  return {1 / requests_per_second, seed};
}

Arrivals Arrivals::trace(std::vector<double> seconds, double requests_per_second) {
  OCRTUNE_CHECK(seconds.size() >= 2 && seconds.back() > seconds.front());
  const double own = trace_rate(seconds);
  const double rate = requests_per_second > 0 ? requests_per_second : own;
  const double first = seconds.front();
  // Only the gaps change: the pattern of the trace stays.
  for (double& at : seconds) at = (at - first) * own / rate;
  Arrivals arrivals(1 / rate, 0);
  arrivals.trace_ = std::move(seconds);
  return arrivals;
}

double Arrivals::next() {
  if (trace_.empty()) return now_ += random_.exponential(1 / gap_seconds_);
  if (place_ == trace_.size()) {
    place_ = 0;
    // Between two rounds of a trace lies one mean gap.
    round_start_ += trace_.back() + gap_seconds_;
  }
  return round_start_ + trace_[place_++];
}

std::vector<double> take_arrivals(Arrivals arrivals, std::size_t count) {
  std::vector<double> seconds(count);
  for (double& at : seconds) at = arrivals.next();
  return seconds;
}

Result<std::vector<double>> read_trace(const std::string& path, double* began) {
  const auto text = OCRTUNE_TRY(read_file(path));
  std::vector<double> seconds;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::string_view field = trim(std::string_view(line).substr(0, line.find(',')));
    if (field.empty() || field.front() == '#') continue;
    const auto at = parse_number(field);
    // A heading of words is allowed before the first time.
    if (!at && seconds.empty() && std::isalpha(static_cast<unsigned char>(field.front()))) continue;
    if (!at || !std::isfinite(*at)) {
      return Error{ErrorKind::invalid,
                   fmt::format("{}:{}: not a time in seconds: '{}'", path, number, field)};
    }
    seconds.push_back(*at);
  }
  std::sort(seconds.begin(), seconds.end());
  if (seconds.size() < 2 || seconds.back() <= seconds.front()) {
    return Error{ErrorKind::invalid,
                 path + ": a trace needs at least two arrivals at different times"};
  }
  const double first = seconds.front();
  if (began != nullptr) *began = first;
  for (double& at : seconds) at -= first;
  return seconds;
}

double trace_rate(const std::vector<double>& seconds) {
  return static_cast<double>(seconds.size() - 1) / (seconds.back() - seconds.front());
}

double busiest_rate(const std::vector<double>& seconds, double window_seconds, double* begins) {
  std::size_t most = 0;
  std::size_t first = 0;
  for (std::size_t last = 0; last < seconds.size(); ++last) {
    // A window that slides over the sorted times: each arrival enters and leaves once.
    while (seconds[last] - seconds[first] >= window_seconds) ++first;
    if (last - first + 1 <= most) continue;
    most = last - first + 1;
    if (begins != nullptr) *begins = seconds[first];
  }
  return static_cast<double>(most) / window_seconds;
}

KindDraw::KindDraw(const std::vector<double>& weights, std::uint64_t seed) : random_(seed) {
  double sum = 0;
  for (const double weight : weights) upper_.push_back(sum += std::max(weight, 0.0));
}

int KindDraw::next() {
  if (upper_.size() < 2) return 0;
  const double place = random_.uniform() * upper_.back();
  // Rounding must not draw a kind behind the last one.
  const auto kind = std::upper_bound(upper_.begin(), upper_.end() - 1, place);
  return static_cast<int>(kind - upper_.begin());
}

}  // namespace ocrtune
