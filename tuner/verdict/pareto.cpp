// Every axis is turned so that more is better; sorted by them, a member is beaten only by one
// before it.
#include "tuner/verdict/pareto.h"

#include <algorithm>

namespace ocrtune {
namespace {

// More is better; 0: not measured.
struct AxisRow {
  const char* name;
  double (*worth)(const SettingSummary&);
};

double inverse(double value) { return value > 0 ? 1 / value : 0; }

constexpr AxisRow kAxes[] = {
    {"samples_per_second", [](const SettingSummary& s) { return s.samples_per_second.median; }},
    {"peak_bytes",
     [](const SettingSummary& s) { return inverse(static_cast<double>(s.peak_bytes)); }},
    {"step_seconds", [](const SettingSummary& s) { return inverse(s.step_seconds); }},
};

bool works(const SettingSummary& setting) {
  return setting.outcome == Outcome::ok && setting.samples_per_second.median > 0;
}

}  // namespace

std::vector<std::string> pareto_axes(const std::vector<SettingSummary>& settings,
                                     bool with_step_seconds) {
  std::vector<std::string> names;
  for (const AxisRow& row : kAxes) {
    if (row.name == std::string("step_seconds") && !with_step_seconds) continue;
    const bool known = std::any_of(settings.begin(), settings.end(), [&](const auto& setting) {
      return works(setting) && row.worth(setting) > 0;
    });
    if (known) names.emplace_back(row.name);
  }
  return names;
}

std::vector<SettingSummary> pareto_set(const std::vector<SettingSummary>& settings,
                                       const std::vector<std::string>& axes) {
  struct Candidate {
    const SettingSummary* setting;
    std::vector<double> worth;
  };
  std::vector<Candidate> candidates;
  for (const SettingSummary& setting : settings) {
    Candidate candidate{&setting, {}};
    for (const AxisRow& row : kAxes) {
      if (std::find(axes.begin(), axes.end(), row.name) == axes.end()) continue;
      candidate.worth.push_back(row.worth(setting));
    }
    const bool known = std::all_of(candidate.worth.begin(), candidate.worth.end(),
                                   [](double worth) { return worth > 0; });
    if (works(setting) && known) candidates.push_back(std::move(candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.worth > b.worth; });
  // Sorted, so that whatever beats or equals a candidate stands before it.
  std::vector<Candidate> members;
  for (Candidate& candidate : candidates) {
    const bool beaten = std::any_of(members.begin(), members.end(), [&](const Candidate& member) {
      return std::equal(member.worth.begin(), member.worth.end(), candidate.worth.begin(),
                        [](double theirs, double ours) { return theirs >= ours; });
    });
    if (!beaten) members.push_back(std::move(candidate));
  }
  std::vector<SettingSummary> found;
  for (const Candidate& member : members) found.push_back(*member.setting);
  return found;
}

}  // namespace ocrtune
