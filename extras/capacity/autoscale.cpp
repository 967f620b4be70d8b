// A rule that is tried: arrivals of the busiest day go through one line, whose servers come and go
// as the autoscaler decides every 15 s. The first share of the sure rate that keeps the target
// gives the rule.
#include "extras/capacity/autoscale.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "base/random.h"
#include "trial/workloads/service/arrivals.h"

namespace ocrtune {
namespace {

constexpr std::uint64_t kDaySeed = 21;
constexpr double kDaySeconds = 86400, kMinute = 60;
// Kubernetes' horizontal autoscaler, by default: --horizontal-pod-autoscaler-sync-period and
// behavior.scaleDown.stabilizationWindowSeconds.
constexpr double kLookSeconds = 15, kSettleSeconds = 300;
// Bounds the time of a plan; guess.
constexpr double kMaxSimulated = 4e6;                       // requests of a day
constexpr double kShares[] = {1, 0.9, 0.8, 0.7, 0.6, 0.5};  // of the sure rate, as the target

// Requests, or pages, of the day that holds the peak.
std::vector<double> day_of(const CapacityDemand& demand) {
  const std::vector<double> rates = rates_by_minute(demand.profile);
  constexpr std::size_t kDayMinutes = std::size_t{24} * 60;
  const auto minute_of_peak = static_cast<std::size_t>(busiest_part(demand.profile).begins_minute);
  const std::size_t first = minute_of_peak / kDayMinutes * kDayMinutes;
  Random random(kDaySeed);
  std::vector<double> arrivals;
  for (std::size_t minute = 0; minute < kDayMinutes; ++minute) {
    const double rate = rates[(first + minute) % rates.size()];
    const double begin = static_cast<double>(minute) * kMinute;
    if (rate <= 0) continue;
    for (double at = random.exponential(rate); at < kMinute; at += random.exponential(rate)) {
      arrivals.push_back(begin + at);
    }
  }
  return arrivals;
}

struct Rule {
  double target = 1;  // in flight of a replica
  int least = 1, most = 1;
  double start_seconds = 0;
};

struct Day {
  double late = 0, requests = 0, replica_seconds = 0;
};

// One line for all replicas, whose number follows the rule.
class ScaledLine {
 public:
  ScaledLine(const QueueModel& replica, const Rule& rule, int replicas)
      : replica_(replica), rule_(rule), wanted_(replicas) {
    add_servers(replicas, 0);
  }

  Day run(const std::vector<double>& arrivals, double limit_seconds) {
    Random random(mix_bits(kDaySeed));
    for (std::size_t first = 0; first < arrivals.size();) {
      double start = std::max(free_at_.top(), arrivals[first]);
      while (next_look_ <= start) {
        look(arrivals);
        start = std::max(free_at_.top(), arrivals[first]);
      }
      // A replica takes as many as wait, up to its batch.
      std::size_t end = first + 1;
      while (end < arrivals.size() && end < first + static_cast<std::size_t>(replica_.batch) &&
             arrivals[end] <= start) {
        ++end;
      }
      free_at_.pop();
      const int taken = static_cast<int>(end - first);
      const double finish =
          start + share_at(start) * replica_.service(random, taken) / replica_.speed;
      free_at_.push(finish);
      if (replica_.alone_share < 1) in_service_.add(finish);
      for (; first < end; ++first) {
        finishes_.push(finish);
        day_.late += finish - arrivals[first] > limit_seconds ? 1 : 0;
        day_.requests += 1;
      }
    }
    while (next_look_ <= kDaySeconds) look(arrivals);
    return day_;
  }

 private:
  using Times = std::priority_queue<double, std::vector<double>, std::greater<>>;

  // Of a busy replica's service time, with as many in service as there are of each replica.
  double share_at(double start) {
    if (replica_.alone_share >= 1) return 1;
    return replica_.share_among((in_service_.at(start) + wanted_) / wanted_);
  }

  void add_servers(int replicas, double from) {
    for (int i = 0; i < replicas * replica_.servers; ++i) free_at_.push(from);
  }

  void look(const std::vector<double>& arrivals) {
    const double now = next_look_;
    next_look_ += kLookSeconds;
    day_.replica_seconds += wanted_ * kLookSeconds;  // those that start are paid for
    while (arrived_ < arrivals.size() && arrivals[arrived_] <= now) ++arrived_;
    while (!finishes_.empty() && finishes_.top() <= now) {
      finishes_.pop();
      ++finished_;
    }
    // Waiting ones included, as a server's own metric counts them.
    const auto in_flight = static_cast<double>(arrived_ - finished_);
    const int asked = std::clamp(static_cast<int>(std::ceil(in_flight / rule_.target - 1e-9)),
                                 rule_.least, rule_.most);
    asked_.push_back({now, asked});
    while (asked_.front().at < now - kSettleSeconds) asked_.pop_front();
    int settled = asked;
    for (const Asked& before : asked_) settled = std::max(settled, before.replicas);
    // Up at once; down only to the most that was asked for within the last five minutes.
    const int next = std::max(asked, std::min(wanted_, settled));
    if (next > wanted_) add_servers(next - wanted_, now + rule_.start_seconds);
    // What is idle, or idle first, is stopped.
    for (int i = 0; i < (wanted_ - next) * replica_.servers; ++i) free_at_.pop();
    wanted_ = next;
  }

  struct Asked {
    double at = 0;
    int replicas = 0;
  };

  const QueueModel& replica_;
  Rule rule_;
  int wanted_;
  Times free_at_, finishes_;
  InService in_service_;
  std::deque<Asked> asked_;
  double next_look_ = kLookSeconds;
  std::size_t arrived_ = 0, finished_ = 0;
  Day day_;
};

// Pages (requests of a service) in flight of one replica at this rate of lines: Little's law.
double in_flight_at(const QueueModel& replica, double rate,
                    const std::vector<int>& lines_per_page) {
  const double pages = rate / mean_requests(lines_per_page);
  // Enough for a mean.
  const auto arrivals = take_arrivals(Arrivals::poisson(pages, kDaySeed), 20000);
  const auto run = simulate_pages(replica, arrivals, lines_per_page, kDaySeed);
  return pages * mean(run.latency_seconds);
}

}  // namespace

std::optional<AutoscalePlan> plan_autoscale(const CapacityPlan& plan, const YearPlan* year) {
  const CapacityDemand& demand = plan.demand;
  const double lines = mean_requests(demand.lines_per_page);
  const double sure = sure_rate(plan);
  const auto machines_for = [&](double rate) {
    return std::max(1, static_cast<int>(std::ceil(rate * lines / sure - 1e-9)));
  };
  const std::vector<double> rates = rates_by_minute(demand.profile);
  AutoscalePlan scale;
  scale.start_measured = plan.node.start_seconds > 0;
  scale.start_seconds =
      year != nullptr ? year->demand.warm_up_seconds.value : YearDemand().warm_up_seconds.value;
  if (year == nullptr && scale.start_measured) scale.start_seconds = plan.node.start_seconds;
  if (year != nullptr && year->demand.warm_up_seconds.given) scale.start_measured = false;
  scale.fixed_machines =
      year != nullptr ? year->rows.front().fleet.bought : static_cast<int>(plan.machines.high);
  const int zones = year != nullptr ? year->demand.zones.value : 1;
  Rule rule;
  rule.least = std::max(machines_for(*std::min_element(rates.begin(), rates.end())), zones);
  rule.most = year != nullptr ? largest_month(*year).fleet.bought : plan.spare_machines;
  if (rule.least >= rule.most) return std::nullopt;
  rule.start_seconds = scale.start_seconds;
  scale.min_replicas = rule.least;
  scale.max_replicas = rule.most;
  const QueueModel replica = queue_of(plan.node, 1);
  scale.target_in_flight = rule.target = in_flight_at(replica, sure, demand.lines_per_page);
  // Pages of many lines come as bursts, which the one line does not follow.
  if (lines > 1 || demand.daily_requests > kMaxSimulated) return scale;
  const std::vector<double> arrivals = day_of(demand);
  const double limit = demand.slo ? demand.slo->seconds : HUGE_VAL;
  Day day;
  for (const double share : kShares) {
    rule.target = in_flight_at(replica, share * sure, demand.lines_per_page);
    day = ScaledLine(replica, rule, machines_for(rates.front())).run(arrivals, limit);
    if (!demand.slo || day.late <= (1 - demand.slo->percentile) * day.requests) break;
  }
  scale.target_in_flight = rule.target;
  scale.machine_hours = day.replica_seconds / 3600;
  Rule fixed = rule;
  fixed.least = fixed.most = scale.fixed_machines;
  const Day beside = ScaledLine(replica, fixed, fixed.most).run(arrivals, limit);
  scale.fixed_machine_hours = scale.fixed_machines * kDaySeconds / 3600;
  if (!demand.slo) return scale;
  scale.late_share = day.late / std::max(1.0, day.requests);
  scale.fixed_late_share = beside.late / std::max(1.0, beside.requests);
  return scale;
}

}  // namespace ocrtune
