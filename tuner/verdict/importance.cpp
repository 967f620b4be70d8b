// Functional analysis of variance on the points themselves: means of groups with equal values, no
// surrogate. Predicted settings take part, since a search measures the good ones and leaves the
// rest of the space thin.
#include "tuner/verdict/importance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMinRun = 8;  // settings with a rate, below which shares are the prior's
constexpr std::size_t kMostNamed = 4;
constexpr double kMinStddev = 0.02;  // of the logarithms: below it nothing differs
constexpr double kMinShare = 0.01;   // to be named

struct KnownRate {
  Knobs knobs;
  double log_rate = 0;
};

std::vector<KnownRate> known_rates(const std::vector<SettingSummary>& measured,
                                   const std::vector<PredictedSetting>& predicted) {
  std::vector<KnownRate> known;
  const auto add = [&](const Knobs& knobs, double rate) {
    if (rate > 0) known.push_back({knobs, std::log(rate)});
  };
  for (const SettingSummary& one : measured) add(one.knobs, one.samples_per_second.median);
  for (const PredictedSetting& one : predicted) add(one.knobs, one.samples_per_second.median);
  return known;
}

// Names of the knobs that have several values here.
std::vector<std::string> varying(const std::vector<KnownRate>& known) {
  std::set<std::string> names;
  for (const KnobRow& row : knob_table()) names.insert(row.name);
  for (const KnownRate& one : known) {
    for (const auto& [name, value] : one.knobs.dims) names.insert(name);
  }
  std::vector<std::string> vary;
  for (const std::string& name : names) {
    std::set<std::string> values;
    for (const KnownRate& one : known) values.insert(knob_text(one.knobs, name));
    if (values.size() > 1) vary.push_back(name);
  }
  return vary;
}

// Of the means of the groups that have the same values of these knobs, each as often as it has
// members. No names: of one group, 0; all: near the whole.
double variance_between(const std::vector<KnownRate>& known, const std::vector<std::string>& names,
                        double mean) {
  std::map<std::vector<std::string>, std::pair<double, double>> groups;  // sum, count
  for (const KnownRate& one : known) {
    std::vector<std::string> values;
    for (const std::string& name : names) values.push_back(knob_text(one.knobs, name));
    auto& [sum, count] = groups[values];
    sum += one.log_rate - mean;
    count += 1;
  }
  double squares = 0;
  for (const auto& [values, group] : groups) squares += group.first * group.first / group.second;
  return squares / static_cast<double>(known.size());
}

}  // namespace

Reason importance_reason(const std::vector<SettingSummary>& measured,
                         const std::vector<PredictedSetting>& predicted) {
  const std::vector<KnownRate> known = known_rates(measured, predicted);
  const std::vector<std::string> names = varying(known);
  const auto run = std::count_if(measured.begin(), measured.end(), [](const auto& setting) {
    return setting.samples_per_second.median > 0;
  });
  // Predictions from fewer trials would tell the model's prior.
  if (run < static_cast<std::ptrdiff_t>(kMinRun) || names.size() < 2) return {};
  double mean = 0, whole = 0;
  for (const KnownRate& one : known) mean += one.log_rate / static_cast<double>(known.size());
  for (const KnownRate& one : known) whole += (one.log_rate - mean) * (one.log_rate - mean);
  whole /= static_cast<double>(known.size());
  if (whole < kMinStddev * kMinStddev) return {};
  std::vector<std::pair<double, std::string>> shares;
  for (const std::string& name : names) {
    shares.emplace_back(variance_between(known, {name}, mean) / whole, name);
  }
  double most = 0;
  std::pair<std::string, std::string> pair;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = i + 1; j < names.size(); ++j) {
      const double both = variance_between(known, {names[i], names[j]}, mean) / whole;
      // What the pair adds: an interaction, where it is above 0.
      const double more = both - shares[i].first - shares[j].first;
      if (more <= most) continue;
      most = more;
      pair = {names[i], names[j]};
    }
  }
  std::sort(shares.rbegin(), shares.rend());
  std::vector<std::string> told;
  for (const auto& [share, name] : shares) {
    if (share >= kMinShare && told.size() < kMostNamed) {
      told.push_back(fmt::format("{} {:.0f} %", name, 100 * share));
    }
  }
  if (told.empty()) return {};
  const std::string list = join(told, ", ");
  if (most < kMinShare) return reason<ReasonCode::knobs_matter>(list);
  return reason<ReasonCode::knobs_matter_together>(list, pair.first, pair.second, in_percent(most));
}

}  // namespace ocrtune
