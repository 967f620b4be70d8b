// Planner makes one plan: draws of a machine's rate first, then for each draw the count that it
// needs, then the rows around the answer. A load and a job share the draws and the settling of the
// count; questions that the run cannot answer are refused before.
#include "extras/capacity/capacity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "base/random.h"
#include "extras/capacity/job_times.h"
#include "trial/workloads/service/arrivals.h"

namespace ocrtune {
namespace {

// Numbers of draws and requests are bounds on the time of a plan, about a second.
constexpr int kDraws = 400;
constexpr std::uint64_t kSeed = 11;
constexpr int kQueueDraws = 40;
constexpr int kQueueRequests = 60000;
// And for each machine at least so many full batches, or pages: at a high load a queue takes some
// hundred services to settle.
constexpr int kServicesEach = 2000, kPagesEach = 500;
// Up to where one measured machine is taken to speak for a fleet; guesses.
constexpr double kMaxSharedNothing = 100;  // machines behind one load balancer
constexpr double kMaxShards = 1000;        // machines that read shards of their own
constexpr int kMostTimed = 8;              // machines, where no deadline says how many
constexpr double kEndlessFactor = 10;      // of the undisturbed time

// What a machine of this kind may do on the day that counts. The measured one is itself off the
// mean of its kind, and it was measured on another day.
std::vector<double> rate_draws(const NodeMeasurement& node) {
  Random random(kSeed);
  const double centre = centre_of(node);
  const double measured = std::hypot(rate_error(node), node.widened);
  std::vector<double> draws;
  for (int i = 0; i < kDraws; ++i) {
    const double widened = std::hypot(measured, speed_error() * draw_spread(random));
    draws.push_back(centre * std::exp(widened * random.normal()));
  }
  return draws;
}

Interval interval_of(std::vector<double> draws, double centre, double confidence) {
  const double tail = (1 - confidence) / 2;
  return {centre, quantile(draws, tail), quantile(std::move(draws), 1 - tail)};
}

// Line images per second that a machine of this speed serves within the latency target.
double served_lines(const NodeMeasurement& node, const CapacityDemand& demand, double speed,
                    int requests) {
  return highest_rate(queue_of(node, speed), *demand.slo, kSeed, requests, demand.lines_per_page) *
         mean_requests(demand.lines_per_page);
}

// Where it is not known what was measured, pages are read, and all else is taken as training, whose
// machines wait for each other; of a table, batches in steps.
bool trains(const NodeMeasurement& node, const CapacityDemand& demand) {
  if (node.work) return *node.work == RunWork::trains;
  const bool steps = node.batched || node.table.empty();
  return !demand.pages && demand.lines_per_page.empty() && steps;
}

// Relative standard deviation of the time that one page or image takes.
double page_spread(const NodeMeasurement& node, const CapacityDemand& demand) {
  const std::vector<double>& seconds = node.service.front().seconds;
  const double centre = mean(seconds);
  double spread = 0;
  for (const double each : seconds) spread += (each - centre) * (each - centre);
  spread = std::sqrt(spread / static_cast<double>(seconds.size())) / centre;
  const double lines = mean_requests(demand.lines_per_page);
  double skew = 0;
  for (const int each : demand.lines_per_page) skew += (each - lines) * (each - lines);
  if (skew > 0) skew = std::sqrt(skew / static_cast<double>(demand.lines_per_page.size())) / lines;
  return std::hypot(spread / std::sqrt(lines), skew);
}

class Planner {
 public:
  Planner(const NodeMeasurement& node, const CapacityDemand& demand)
      : node_(node), demand_(demand), draws_(rate_draws(node)) {}

  CapacityPlan plan() {
    plan_.demand = demand_;
    plan_.node = node_;
    plan_.errors = {rate_error(node_), speed_error(), node_.widened, 0, 0};
    plan_.unit = node_.unit;
    plan_.extrapolated = node_.widened > 0;
    plan_.trains = trains(node_, demand_);
    if (!demand_.inference() && plan_.trains) plan_.unit = "images";
    plan_.machine_rate = interval_of(draws_, centre_of(node_), demand_.confidence);
    if (demand_.inference()) {
      plan_inference();
    } else {
      plan_job();
    }
    return std::move(plan_);
  }

 private:
  // --- inference: machines that share nothing ---

  void plan_inference() {
    plan_.valid_range = {1, kMaxSharedNothing, RangeReason::even_balancer};
    plan_.back_tests = back_tests(node_.points, {demand_.confidence, 200, kSeed});
    if (!serve()) return;
    count_machines();
    const double tail = (1 - demand_.confidence) / 2;
    settle({count_at(0.5), count_at(tail), count_at(1 - tail)});
    if (!plan_.refused()) add_rows([this](int machines) { return inference_row(machines); });
  }

  // The node's rate is one that meets an SLO, so there is nothing to simulate.
  bool has_slo() const { return !node_.slo.empty(); }
  bool simulated() const { return demand_.slo && !has_slo(); }

  // How many machines each draw of their rate and of the load needs.
  void count_machines() {
    if (!simulated()) {
      for (const double draw : draws_) {
        // 1e-9: a load that fits exactly is not rounded up by the last bit.
        needed_.push_back(std::ceil(demand_.requests_per_second / draw - 1e-9));
      }
      return;
    }
    const auto limit = static_cast<int>(kMaxSharedNothing);
    Random random(kSeed + 2);
    const double error = std::sqrt(2.0) * load_error(demand_.trace);  // that of two records
    plan_.errors.load = error;
    double guess = std::min<double>(demand_.requests_per_second / plan_.served_rate.median, limit);
    QueueModel machine = queue_of(node_, 1);
    const double measured = machine.speed;
    for (int i = 0; i < kQueueDraws; ++i) {
      // Ascending ranks of the draws: each simulated count starts from its neighbour's.
      const double rank = (i + 0.5) / kQueueDraws;
      machine.speed = measured * quantile(draws_, rank) / plan_.machine_rate.median;
      const FleetDemand arrivals = fleet_demand(std::exp(error * random.normal()), kSeed + i);
      const int count = fewest_machines(machine, arrivals, *demand_.slo, static_cast<int>(guess),
                                        limit, kSeed + i);
      needed_.push_back(count);
      guess = std::min<double>(count, limit);  // the next draw is a little faster
    }
  }

  // The load once, at so many times its rate.
  FleetDemand fleet_demand(double factor, std::uint64_t seed) const {
    FleetDemand load{demand_.trace, demand_.lines_per_page, demand_.balancer.value, kMachineSpread};
    if (!load.arrivals.empty()) {
      // A recorded load is stretched in time: its bursts keep their shape.
      for (double& at : load.arrivals) at /= factor;
      return load;
    }
    const double lines = mean_requests(demand_.lines_per_page);
    const double each =
        std::min(kMaxSharedNothing, demand_.requests_per_second / plan_.machine_rate.median);
    const double pages = std::max<double>({kQueueRequests / lines,
                                           kServicesEach * batch_of(node_.knobs) / lines * each,
                                           lines > 1 ? kPagesEach * each : 0, 2000.0});
    load.arrivals = take_arrivals(
        Arrivals::poisson(factor * demand_.requests_per_second / lines, mix_bits(seed)),
        static_cast<std::size_t>(pages));
    return load;
  }

  // A node that is f times as fast keeps a limit L at f times the rate at which this one keeps f L.
  bool serve() {
    if (!demand_.slo) return true;
    if (has_slo()) {
      plan_.served_rate = plan_.machine_rate;
      plan_.served_measured = true;
      return true;
    }
    const auto served = [&](double rate) {
      return served_lines(node_, demand_, rate / plan_.machine_rate.median, kQueueRequests);
    };
    plan_.served_rate = {served(plan_.machine_rate.median), served(plan_.machine_rate.low),
                         served(plan_.machine_rate.high)};
    if (plan_.served_rate.low > 0) return true;
    // At a thousandth of its rate requests hardly ever meet: what is left is one alone.
    const QueueModel idle = queue_of(node_, plan_.machine_rate.low / plan_.machine_rate.median);
    plan_.alone_seconds = latency_quantile(
        simulate_pages(idle,
                       take_arrivals(Arrivals::poisson(1e-3 * saturated_rate(idle, 1), 5), 5000),
                       demand_.lines_per_page, 7),
        demand_.slo->percentile);
    refuse(PlanRefusal::too_slow_alone);
    return false;
  }

  CapacityRow inference_row(int machines) const {
    CapacityRow row;
    row.machines = machines;
    row.samples_per_second = times(plan_.machine_rate, machines);
    const double each = demand_.requests_per_second / machines;
    row.busy_share = each / plan_.machine_rate.median;
    row.probability = share_enough(machines);
    if (simulated()) {
      row.latency_seconds = std::numeric_limits<double>::infinity();
      // A recorded load ends, so that even an overload has a latency; Poisson arrivals go on.
      if (!demand_.trace.empty() || row.busy_share < 1) {
        row.latency_seconds = fleet_latency(queue_of(node_, 1), fleet_demand(1, kSeed), machines,
                                            demand_.slo->percentile, kSeed);
      }
    }
    return row;
  }

  double share_enough(double machines) const {
    const auto enough = std::count_if(needed_.begin(), needed_.end(),
                                      [&](double needed) { return needed <= machines; });
    return static_cast<double>(enough) / static_cast<double>(needed_.size());
  }

  // The fewest machines that are enough in this share of the draws.
  double count_at(double share) const {
    std::vector<double> sorted = needed_;
    std::sort(sorted.begin(), sorted.end());
    // No interpolation: a count is whole.
    const auto at = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
    return sorted[std::clamp<std::size_t>(at, 1, sorted.size()) - 1];
  }

  // --- training: machines that wait for each other ---

  void plan_job() {
    const bool one_node = node_.nodes.empty();
    ScalingFit fit;
    if (plan_.trains) {
      const auto& points = one_node ? node_.points : node_.nodes;
      plan_.back_tests = back_tests(points, {demand_.confidence, 200, kSeed});
      auto fitted = fit_scaling(points, {demand_.confidence, kDraws, kSeed});
      if (!fitted) {
        plan_.unfit = fitted.error().what;
        return refuse(PlanRefusal::unfit);
      }
      fit = *std::move(fitted);
      const double factor = valid_factor(plan_.back_tests);
      const double reach = one_node ? factor : factor * fit.max_processes;
      plan_.valid_range = {1, std::max(1.0, std::floor(reach + 1e-9)),
                           plan_.back_tests.empty() ? RangeReason::few_counts
                           : factor <= 1            ? RangeReason::back_tests_failed
                                                    : RangeReason::back_tests_held,
                           factor};
    } else {
      plan_.valid_range = {1, kMaxShards, RangeReason::independent};
    }
    // Without a deadline a time from which on there is no end in sight.
    const double limit = demand_.asks_time()
                             ? kEndlessFactor * demand_.total_samples() / plan_.machine_rate.median
                             : demand_.deadline_seconds;
    JobTimes times(node_,
                   {demand_.total_samples(), limit, demand_.interruptions, demand_.confidence,
                    plan_.trains, page_spread(node_, demand_)},
                   draws_, std::move(fit));
    const int most = static_cast<int>(plan_.valid_range.high);
    if (demand_.asks_time()) return add_times(times, most);
    const double tail = (1 - demand_.confidence) / 2;
    const auto needed = [&](double share) -> double { return times.machines_for(share, most); };
    const MachineCount count{needed(0.5), needed(tail), needed(1 - tail)};
    plan_.one_node_trains = plan_.trains && one_node && count.median > 1;
    plan_.extrapolated = plan_.extrapolated || plan_.one_node_trains;
    if (count.median > plan_.valid_range.high) return refuse_deadline(job_row(times, most));
    settle(count);
    if (plan_.refused()) return;
    add_rows([&](int machines) { return job_row(times, machines); });
    // What the interval of the time holds beyond that of the rate.
    const Interval seconds = times.row(static_cast<int>(plan_.machines.high)).seconds;
    if (!std::isfinite(seconds.high)) return;
    // Back from a 90 % interval to one deviation.
    const double all = std::log(seconds.high / seconds.low) / (2 * 1.645);
    const double rate = std::hypot(rate_error(node_), node_.widened, speed_error());
    plan_.errors.interruptions = std::sqrt(std::max(0.0, all * all - rate * rate));
  }

  // How long one machine takes, and a few more together.
  void add_times(JobTimes& times, int most) {
    plan_.machines = {1, 1, 1};
    for (int machines = 1; machines <= std::min(most, kMostTimed); machines *= 2) {
      CapacityRow row = job_row(times, machines);
      if (demand_.cost_per_hour) row.cost_per_hour = machines * *demand_.cost_per_hour;
      plan_.rows.push_back(row);
    }
  }

  CapacityRow job_row(JobTimes& times, int machines) const {
    const JobRow job = times.row(machines);
    CapacityRow row;
    row.machines = machines;
    row.samples_per_second = job.samples_per_second;
    row.seconds = job.seconds;
    row.tail_seconds = job.tail_seconds;
    row.interruptions = job.interruptions;
    row.lost_share = job.lost_share;
    row.probability = job.probability;
    if (demand_.cost_per_hour && std::isfinite(job.seconds.median)) {
      row.cost = machines * *demand_.cost_per_hour * job.seconds.median / 3600;
    }
    return row;
  }

  void refuse_deadline(const CapacityRow& row) {
    const double work = demand_.total_samples();
    // In time without interruptions: more machines are not what is lacking.
    if (demand_.interruptions.expected() &&
        work / row.samples_per_second.median < demand_.deadline_seconds) {
      plan_.needed_machines = row.machines;
      return refuse(PlanRefusal::interrupted);
    }
    plan_.needed_machines = std::ceil(work / demand_.deadline_seconds / plan_.machine_rate.median);
    refuse(plan_.trains ? PlanRefusal::not_verified : PlanRefusal::job_too_large);
  }

  // --- both ---

  static Interval times(const Interval& one, double factor) {
    return {one.median * factor, one.low * factor, one.high * factor};
  }

  void refuse(PlanRefusal why) {
    plan_.refusal = why;
    plan_.machines = {};
  }

  void settle(const MachineCount& count) {
    plan_.machines = {std::max(1.0, count.median), std::max(1.0, count.low),
                      std::max(1.0, count.high)};
    if (plan_.machines.median > plan_.valid_range.high) {
      plan_.needed_machines = count.median;
      return refuse(PlanRefusal::load_too_large);
    }
    plan_.machines.high = std::min(plan_.machines.high, plan_.valid_range.high);
    plan_.spare_machines = static_cast<int>(plan_.machines.high) + 1;
  }

  template <typename MakeRow>
  void add_rows(MakeRow make_row) {
    const int middle = static_cast<int>(plan_.machines.median);
    const int first = std::max(1, std::min(static_cast<int>(plan_.machines.low), middle - 1));
    const int wanted = static_cast<int>(plan_.machines.high);
    const int last = static_cast<int>(std::min(plan_.valid_range.high, wanted + 1.0));
    // About eight rows, and all those around the two counts that are named.
    const int step = std::max(1, (last - first) / 8);
    for (int machines = first; machines <= last; ++machines) {
      const bool near = std::abs(machines - middle) <= 1 || std::abs(machines - wanted) <= 1;
      if (!near && (machines - first) % step != 0 && machines != last) continue;
      CapacityRow row = make_row(machines);
      if (demand_.cost_per_hour) row.cost_per_hour = machines * *demand_.cost_per_hour;
      plan_.rows.push_back(row);
    }
  }

  const NodeMeasurement& node_;
  const CapacityDemand& demand_;
  std::vector<double> draws_;   // of one machine's rate
  std::vector<double> needed_;  // machines, in each draw
  CapacityPlan plan_;
};

// Whether the run measured what is asked for.
Status question_fits(const NodeMeasurement& node, const CapacityDemand& demand) {
  const auto wrong = [&](const char* why) {
    return Error{ErrorKind::usage, node.source + " " + why};
  };
  if (node.unit == "steps") {
    return wrong(
        "measured steps/s and was not told how many images a step takes: tune with --baseline "
        "batch=N, the batch of the command");
  }
  if (node.unit == "runs") {
    return wrong(
        "measured whole runs and was not told what one of them takes: tune with --log-reader "
        "runs:N, N being its images or pages");
  }
  const bool trained = node.work == RunWork::trains;
  if (demand.inference() && trained) {
    return wrong(
        "measured training: plan from a run of tune --mode infer, or of a program that "
        "reads");
  }
  if (trained && (demand.pages || !demand.lines_per_page.empty())) {
    return wrong("measured training, and pages are read");
  }
  if (demand.pages && demand.lines_per_page.empty() && node.work == RunWork::recognises) {
    return wrong(
        "measured the recognition of line images alone, without finding them on a page: "
        "give --lines-per-page to plan for that part, or tune the program that reads "
        "your pages");
  }
  const bool own = node.work == RunWork::serves || node.work == RunWork::reads ||
                   (!node.work && node.table.empty());
  if (!demand.lines_per_page.empty() && own) {
    return wrong(
        "measured a program of your own: its requests and files are no line images, so "
        "leave --lines-per-page out");
  }
  if (demand.inference() && demand.slo && node.slo.empty() && node.work == RunWork::serves &&
      !node.request_seconds_known) {
    return wrong(
        "recorded no times of requests that agree with its rate, so no latency can be planned: "
        "tune again, or with --slo");
  }
  return {};
}

// A run under an SLO tells the rate for that SLO and for looser ones, and no other.
Status slo_fits(const NodeMeasurement& node, const CapacityDemand& demand) {
  const auto kept = parse_slo(node.slo);
  if (node.slo.empty() || !kept) return Status();
  if (demand.slo && demand.slo->percentile <= kept->percentile &&
      demand.slo->seconds >= kept->seconds) {
    return Status();
  }
  return Error{ErrorKind::usage,
               fmt::format("{} measured the rate that keeps {}: plan with --slo {}, or from a run "
                           "of tune --mode infer without --slo",
                           node.source, slo_target(*kept), node.slo)};
}

}  // namespace

const CapacityRow* CapacityPlan::row(double count) const {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const CapacityRow& row) {
    return row.machines == static_cast<int>(count);
  });
  return found == rows.end() ? nullptr : &*found;
}

double sure_rate(const CapacityPlan& plan) {
  const double each = plan.demand.requests_per_second / plan.machines.high;
  if (!plan.demand.trace.empty()) return each;  // its bursts are in the count alone
  const Interval& rate = plan.served_rate.median > 0 ? plan.served_rate : plan.machine_rate;
  // One machine fewer than the plan's count does not carry its load, whatever one carries alone:
  // the machines of a fleet differ.
  const double fewer = plan.machines.high > 1
                           ? (1 - 1e-6) * plan.demand.requests_per_second / (plan.machines.high - 1)
                           : rate.low;
  return std::max(std::min(rate.low, fewer), each);
}

std::string asked_unit(const CapacityPlan& plan) {
  return plan.demand.pages || !plan.demand.lines_per_page.empty() ? "pages" : plan.unit;
}

Result<CapacityPlan> plan_capacity(const NodeMeasurement& node, const CapacityDemand& demand) {
  const bool job = demand.total_samples() > 0;
  if (demand.inference() == job) {
    return Error{ErrorKind::usage, "give either --rate (or --daily) or --pages"};
  }
  if (node.rates.empty() || median(node.rates) <= 0) {
    return Error{ErrorKind::invalid, node.source + ": no rate was measured"};
  }
  OCRTUNE_TRY(question_fits(node, demand));
  OCRTUNE_TRY(slo_fits(node, demand));
  return Planner(node, demand).plan();
}

Result<CapacityPlan> plan_capacity(const std::vector<NodeMeasurement>& settings,
                                   const CapacityDemand& demand) {
  const NodeMeasurement& first = settings.front();
  if (!demand.slo || !first.slo.empty() || settings.size() == 1) {
    return plan_capacity(first, demand);
  }
  constexpr int kRequestsToCompare = 20000;
  // Within the noise of the simulation the run's own answer stays.
  constexpr double kNearlyAsMuch = 1.02;
  const double served = served_lines(first, demand, 1, kRequestsToCompare);
  const NodeMeasurement* best = &first;
  double most = served;
  for (const NodeMeasurement& one : settings) {
    const double here = served_lines(one, demand, 1, kRequestsToCompare);
    if (here > most * kNearlyAsMuch) {
      most = here;
      best = &one;
    }
  }
  auto plan = plan_capacity(*best, demand);
  if (plan && best != &first) {
    plan->chosen = ChosenSetting{first.knobs, served, most};
  }
  return plan;
}

}  // namespace ocrtune
