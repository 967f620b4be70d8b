// Month by month: the peak grows, the machines for it come from the sure rate, spares from the
// binomial, zones on top. Hours at risk are summed over the minutes of the profile.
#include "extras/capacity/year.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace ocrtune {
namespace {

constexpr double kHoursInMonth = 365.0 * 24 / 12;
constexpr int kMaxSpares = 1000;

// Peak load times so much, minute by minute of the profile; one minute of 1 without a profile.
std::vector<double> shape_of(const CapacityDemand& demand) {
  if (demand.profile.parts.empty()) return {1};
  const double peak = busiest_part(demand.profile).requests_per_second;
  std::vector<double> shape = rates_by_minute(demand.profile);
  for (double& rate : shape) rate /= peak;
  return shape;
}

class Fleet {
 public:
  Fleet(const CapacityPlan& plan, const YearDemand& demand)
      : demand_(demand), shape_(shape_of(plan.demand)) {
    sure_rate = ocrtune::sure_rate(plan);
  }

  int machines_for(double load) const {
    return std::max(1, static_cast<int>(std::ceil(load / sure_rate - 1e-9)));
  }

  // Machines that are up in each minute, so that those of the next ones are warm in time.
  std::vector<int> scaled(double peak) const {
    std::vector<int> needed;
    for (const double share : shape_) needed.push_back(machines_for(share * peak));
    // A machine that a minute needs was started the warm-up before.
    const auto ahead = std::min<std::size_t>(
        shape_.size() - 1, static_cast<std::size_t>(std::ceil(demand_.warm_up_seconds.value / 60)));
    std::vector<int> up = needed;
    for (std::size_t minute = 0; minute < needed.size(); ++minute) {
      for (std::size_t i = 1; i <= ahead; ++i) {
        up[minute] = std::max(up[minute], needed[(minute + i) % needed.size()]);
      }
    }
    return up;
  }

  YearRow month(int number, double peak) const {
    YearRow row;
    row.month = number;
    row.requests_per_second = peak;
    row.fleet = fleet_for(machines_for(peak), demand_);
    const int fixed = row.fleet.bought, extra = row.fleet.bought - row.fleet.machines;
    row.fixed_hours = fixed * kHoursInMonth;
    const std::vector<int> up = scaled(peak);
    const double hours = kHoursInMonth / static_cast<double>(shape_.size());  // of one minute
    // Many minutes need the same count: each binomial is summed once.
    std::vector<double> risks(static_cast<std::size_t>(row.fleet.machines) + 1, -1);  // by need
    std::vector<double> scaled_risks = risks;
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      const auto need = static_cast<std::size_t>(machines_for(shape_[i] * peak));
      if (risks[need] < 0) {
        const int n = static_cast<int>(need);
        risks[need] = share_short(fixed, n, demand_.machine_availability);
        scaled_risks[need] = share_short(n + extra, n, demand_.machine_availability);
      }
      row.scaled_hours += hours * (up[i] + extra);
      row.fixed_risk_hours += hours * risks[need];
      row.scaled_risk_hours += hours * scaled_risks[need];
    }
    return row;
  }

  double sure_rate = 0;

 private:
  const YearDemand& demand_;
  std::vector<double> shape_;
};

}  // namespace

double share_short(int machines, int needed, double machine_availability) {
  OCRTUNE_CHECK(machines >= 0 && machine_availability > 0 && machine_availability <= 1);
  if (needed > machines) return 1;
  if (machine_availability == 1) return 0;
  double share = 0;
  const double odds = std::log(machine_availability), against = std::log1p(-machine_availability);
  for (int up = 0; up < needed; ++up) {
    // By logarithms: factorials of large fleets overflow.
    share += std::exp(std::lgamma(machines + 1.0) - std::lgamma(up + 1.0) -
                      std::lgamma(machines - up + 1.0) + up * odds + (machines - up) * against);
  }
  return std::min(share, 1.0);
}

int spares_for(int needed, double machine_availability, double availability) {
  int spares = 0;
  while (spares < kMaxSpares &&
         share_short(needed + spares, needed, machine_availability) > 1 - availability + 1e-15) {
    ++spares;
  }
  return spares;
}

FleetSize fleet_for(int needed, const YearDemand& demand) {
  FleetSize fleet;
  fleet.machines = needed;
  fleet.spares = spares_for(needed, demand.machine_availability, demand.availability);
  const int zones = demand.zones;
  const auto share = [](int count, int parts) { return (count + parts - 1) / parts; };
  fleet.each_zone = share(needed + fleet.spares, zones);
  if (zones > 1) fleet.each_zone = std::max(fleet.each_zone, share(needed, zones - 1));
  fleet.bought = zones * fleet.each_zone;
  return fleet;
}

const YearRow& largest_month(const YearPlan& year) {
  const YearRow* largest = &year.rows.front();
  for (const YearRow& row : year.rows) {
    if (row.fleet.bought >= largest->fleet.bought) largest = &row;
  }
  return *largest;
}

YearPlan plan_year(const CapacityPlan& plan, const YearDemand& demand) {
  OCRTUNE_CHECK(plan.demand.inference() && !plan.refused() && demand.zones >= 1);
  YearPlan year;
  year.demand = demand;
  if (!demand.warm_up_seconds.given && plan.node.start_seconds > 0) {
    year.demand.warm_up_seconds.value = plan.node.start_seconds;
  }
  const Fleet fleet(plan, year.demand);
  year.sure_rate = fleet.sure_rate;
  double peak = plan.demand.requests_per_second;
  for (int month = 0; month <= demand.months; ++month) {
    year.rows.push_back(fleet.month(month, peak));
    peak *= 1 + demand.growth;
  }
  const YearRow& largest = largest_month(year);
  for (const YearRow& row : year.rows) {
    if (&row == &year.rows.back()) break;  // it begins the year after
    year.fixed_machine_hours += largest.fixed_hours;
    year.scaled_machine_hours += row.scaled_hours;
  }
  if (!plan.demand.profile.parts.empty()) {
    const std::vector<int> up = fleet.scaled(plan.demand.requests_per_second);
    for (std::size_t minute = 0; minute < up.size(); minute += 60) {
      const auto first = up.begin() + static_cast<std::ptrdiff_t>(minute);
      const auto end = up.begin() + static_cast<std::ptrdiff_t>(std::min(minute + 60, up.size()));
      year.hours.push_back({static_cast<int>(minute), *std::max_element(first, end)});
    }
  }
  return year;
}

}  // namespace ocrtune
