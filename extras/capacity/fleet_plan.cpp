// Kinds are planned one by one, priced, sorted, and mixed in pairs. The year, the autoscaling rule
// and the alerts are of the cheapest kind.
#include "extras/capacity/fleet_plan.h"

#include <algorithm>
#include <cmath>

#include "extras/capacity/queueing.h"

namespace ocrtune {
namespace {

constexpr double kMillion = 1e6;
// Two kinds are dearer to run than one: a mix has to save something (guess).
constexpr double kWorthMixing = 0.99;  // of the cheapest kind's price

// Asked for in an hour, on average over the day: pages where the load came as pages.
double asked_per_hour(const CapacityDemand& demand) {
  if (demand.daily_requests > 0) return demand.daily_requests / 24;
  return 3600 * demand.requests_per_second / mean_requests(demand.lines_per_page);
}

void price(KindPlan& kind) {
  const CapacityPlan& plan = kind.plan;
  const CapacityDemand& demand = plan.demand;
  if (plan.refused() || !demand.cost_per_hour) return;
  kind.cost_per_hour = plan.machines.high * *demand.cost_per_hour;
  if (demand.inference()) {
    kind.cost_per_million = kMillion * *kind.cost_per_hour / asked_per_hour(demand);
    return;
  }
  const CapacityRow* advised = plan.row(plan.machines.high);
  if (advised == nullptr || !advised->cost) return;
  kind.cost_per_million = kMillion * *advised->cost / (demand.samples * demand.epochs);
}

Status check_alike(const MachineKind& first, const MachineKind& other) {
  const NodeMeasurement& a = first.settings.front();
  const NodeMeasurement& b = other.settings.front();
  if (first.cost_per_hour.has_value() != other.cost_per_hour.has_value()) {
    return Error{ErrorKind::usage, "give each machine its price an hour, or none: " +
                                       (first.cost_per_hour ? other.name : first.name) + "=PRICE"};
  }
  const bool same_work = a.work == b.work || !a.work || !b.work;  // of tables
  if (a.unit == b.unit && same_work) return {};
  const auto what = [](const NodeMeasurement& node) {
    return node.unit + "/s" + (node.work == RunWork::trains ? " of training" : "");
  };
  return Error{ErrorKind::usage, first.name + " measured " + what(a) + " and " + other.name + " " +
                                     what(b) + ": these cannot be planned side by side"};
}

// The cheapest of so many of `a` and the fewest of `b` that carry the rest.
void mix_pair(const KindPlan& a, const KindPlan& b, std::optional<MachineMix>& best) {
  const CapacityDemand& demand = a.plan.demand;
  for (int count = 1; count < static_cast<int>(a.plan.machines.high); ++count) {
    const double rest = demand.requests_per_second - count * sure_rate(a.plan);
    if (rest <= 0) return;
    const double others = std::ceil(rest / sure_rate(b.plan) - 1e-9);
    if (others > b.plan.valid_range.high) continue;
    const double cost = count * *demand.cost_per_hour + others * *b.plan.demand.cost_per_hour;
    if (best && cost >= best->cost_per_hour) continue;
    best = MachineMix{a.name, b.name,
                      count,  static_cast<int>(others),
                      cost,   kMillion * cost / asked_per_hour(demand)};
  }
}

// A user who waits for an answer asks for nothing else meanwhile.
void wait_for_answers(const NodeMeasurement& node, CapacityDemand& demand) {
  if (demand.users <= 0) return;
  // The shortest answer: a longer wait would ask for less.
  const double alone = node.alone_share * mean(node.service.front().seconds);
  const double before = demand.requests_per_second;
  demand.requests_per_second =
      demand.users / (demand.think_seconds + alone) * mean_requests(demand.lines_per_page);
  demand.peak_factor.value *= demand.requests_per_second / before;
}

void find_mix(FleetPlan& all) {
  for (const KindPlan& a : all.kinds) {
    for (const KindPlan& b : all.kinds) {
      if (&a != &b && !a.plan.refused() && !b.plan.refused()) mix_pair(a, b, all.mix);
    }
  }
  if (all.mix && all.mix->cost_per_hour > kWorthMixing * *all.kinds.front().cost_per_hour) {
    all.mix.reset();
  }
}

}  // namespace

Result<FleetPlan> plan_fleet(const std::vector<MachineKind>& kinds, const CapacityDemand& demand,
                             const std::optional<YearDemand>& ahead) {
  FleetPlan all;
  for (const MachineKind& kind : kinds) {
    OCRTUNE_TRY(check_alike(kinds.front(), kind));
    CapacityDemand own = demand;
    if (kind.cost_per_hour) own.cost_per_hour = kind.cost_per_hour;
    wait_for_answers(kind.settings.front(), own);
    KindPlan plan;
    plan.name = kind.name;
    const NodeMeasurement& node = kind.settings.front();
    plan.machine = node.kind.empty() ? node.machine : node.kind;
    plan.plan = OCRTUNE_TRY(plan_capacity(kind.settings, own));
    price(plan);
    all.kinds.push_back(std::move(plan));
  }
  const auto price_of = [](const KindPlan& kind) {
    if (kind.plan.refused()) return HUGE_VAL;
    return kind.plan.demand.inference() ? kind.cost_per_hour.value_or(0)
                                        : kind.cost_per_million.value_or(0);
  };
  std::stable_sort(all.kinds.begin(), all.kinds.end(),
                   [&](const KindPlan& a, const KindPlan& b) { return price_of(a) < price_of(b); });
  if (demand.inference() && all.kinds.front().cost_per_hour) find_mix(all);
  const CapacityPlan& first = all.plan();
  if (!demand.inference() || first.refused()) return all;
  if (ahead) all.year = plan_year(first, *ahead);
  if (!first.demand.profile.parts.empty()) {
    all.autoscale = plan_autoscale(first, all.year ? &*all.year : nullptr);
  }
  return all;
}

}  // namespace ocrtune
