#include "capacity/capacity.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/random.h"
#include "base/text.h"
#include "capacity/job_times.h"
#include "trial/workloads/service/arrivals.h"

namespace ocrtune {
namespace {

constexpr int kDraws = 400;
constexpr std::uint64_t kSeed = 11;
constexpr int kQueueDraws = 40;
constexpr int kQueueRequests = 60000;
// And for each machine at least so many full batches, or pages: at a high load a queue takes some
// hundred services to settle.
constexpr int kServicesEach = 2000, kPagesEach = 500;
constexpr double kMaxSharedNothing = 100;  // machines for each measured one

// What a machine of this kind may do on the day that counts. The measured one is itself off the
// mean of its kind, and it was measured on another day.
std::vector<double> rate_draws(const NodeMeasurement& node) {
  Random random(kSeed);
  const double centre = centre_of(node);
  const double widened = std::hypot(rate_error(node), node.widened, speed_error());
  std::vector<double> draws;
  for (int i = 0; i < kDraws; ++i) {
    draws.push_back(centre * std::exp(widened * random.normal()));
  }
  return draws;
}

Interval interval_of(std::vector<double> draws, double centre, double confidence) {
  const double tail = (1 - confidence) / 2;
  return {centre, quantile(draws, tail), quantile(std::move(draws), 1 - tail)};
}

// A machine of so many times the speed that the node's rate states.
QueueModel queue_of(const NodeMeasurement& node, double speed) {
  QueueModel model;
  model.servers = node.knobs.nproc;
  model.batch = node.knobs.batch;
  model.service = measured_service(node.service);
  model.speed = speed * centre_of(node) / median(node.rates);
  return model;
}

// Line images per second that a machine of this speed serves within the latency target.
double served_lines(const NodeMeasurement& node, const CapacityDemand& demand, double speed,
                    int requests) {
  return highest_rate(queue_of(node, speed), *demand.slo, kSeed, requests, demand.lines_per_page) *
         mean_requests(demand.lines_per_page);
}

class Planner {
 public:
  Planner(const NodeMeasurement& node, const CapacityDemand& demand)
      : node_(node), demand_(demand), draws_(rate_draws(node)) {}

  CapacityPlan plan() {
    plan_.demand = demand_;
    plan_.source = node_.source;
    plan_.machine = node_.machine;
    plan_.started = node_.started;
    plan_.start_seconds = node_.start_seconds;
    plan_.errors = {rate_error(node_), speed_error(), node_.widened, 0, 0};
    plan_.unit = node_.unit;
    plan_.knobs = node_.knobs;
    plan_.peak_bytes = node_.peak_bytes;
    plan_.extrapolated = node_.widened > 0;
    plan_.trains = node_.mode != "infer";
    if (!demand_.inference() && plan_.trains) plan_.unit = "images";
    plan_.machine_kind = node_.kind.empty() ? "this kind" : node_.kind;
    plan_.notes = node_.notes;
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
    plan_.valid_range = {1, kMaxSharedNothing,
                         "one machine was measured, and an even load balancer is assumed"};
    plan_.back_tests = back_tests(node_.points, {demand_.confidence, 200, kSeed});
    note_service();
    if (!serve()) return;
    count_machines();
    const double tail = (1 - demand_.confidence) / 2;
    settle({count_at(0.5), count_at(tail), count_at(1 - tail)});
    if (!plan_.refused) add_rows([this](int machines) { return inference_row(machines); });
  }

  // The node's rate is one that meets an SLO, so there is nothing to simulate.
  bool has_slo() const { return !node_.slo.empty(); }
  bool simulated() const { return demand_.slo && !has_slo(); }

  // How many machines each draw of their rate and of the load needs.
  void count_machines() {
    if (!simulated()) {
      for (const double draw : draws_) {
        needed_.push_back(std::ceil(demand_.requests_per_second / draw - 1e-9));
      }
      return;
    }
    const auto limit = static_cast<int>(kMaxSharedNothing);
    Random random(kSeed + 2);
    const double error = std::sqrt(2.0) * load_error(demand_.trace);  // that of two records
    plan_.errors.load = error;
    double guess = demand_.requests_per_second / plan_.served_rate.median;
    QueueModel machine = queue_of(node_, 1);
    const double measured = machine.speed;
    for (int i = 0; i < kQueueDraws; ++i) {
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
    FleetDemand load{demand_.trace, demand_.lines_per_page, demand_.balancer, kMachineSpread};
    if (!load.arrivals.empty()) {
      for (double& at : load.arrivals) at /= factor;
      return load;
    }
    const double lines = mean_requests(demand_.lines_per_page);
    const double each =
        std::min(kMaxSharedNothing, demand_.requests_per_second / plan_.machine_rate.median);
    const double pages =
        std::max<double>({kQueueRequests / lines, kServicesEach * node_.knobs.batch / lines * each,
                          lines > 1 ? kPagesEach * each : 0, 2000.0});
    load.arrivals = take_arrivals(
        Arrivals::poisson(factor * demand_.requests_per_second / lines, mix_bits(seed)),
        static_cast<std::size_t>(pages));
    return load;
  }

  void note_service() {
    plan_.notes.emplace_back(
        demand_.balancer == Balancer::random
            ? "machines share nothing but a load balancer that sends each request to any of them "
              "(--balancer turns: to one after the other)"
            : "machines share nothing but a load balancer that sends requests to one after the "
              "other");
    note_machines();
    note_pages();
    if (!demand_.slo) {
      plan_.notes.emplace_back(
          "no --slo was given: the count keeps up with the load and names no latency target");
      return;
    }
    if (has_slo()) {
      plan_.notes.push_back("the rate of one machine was measured with " +
                            slo_target(*demand_.slo) + " kept; nothing is simulated");
      return;
    }
    if (!node_.service_spread_known) {
      plan_.notes.emplace_back("the spread of service times was not measured; 25 % is assumed");
    }
    if (!node_.batch_cost_known) {
      plan_.notes.emplace_back(
          "only one batch size was measured: a part-filled batch is taken to last as long as a "
          "full one");
    }
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
    const QueueModel idle = queue_of(node_, plan_.machine_rate.low / plan_.machine_rate.median);
    const double alone = latency_quantile(
        simulate_pages(idle,
                       take_arrivals(Arrivals::poisson(1e-3 * saturated_rate(idle, 1), 5), 5000),
                       demand_.lines_per_page, 7),
        demand_.slo->percentile);
    refuse(
        fmt::format("no measured setting meets {} on any number of machines: with {} one {} alone "
                    "takes {} ms, {} ms "
                    "too long; measure a smaller batch or more threads a process",
                    slo_target(*demand_.slo), knobs_text(node_.knobs),
                    demand_.lines_per_page.empty() ? "request" : "page", milliseconds_text(alone),
                    milliseconds_text(std::max(0.0, alone - demand_.slo->seconds))));
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
      if (!fitted) return refuse(fitted.error().what);
      fit = *std::move(fitted);
      const double factor = valid_factor(plan_.back_tests);
      const double reach = one_node ? factor : factor * fit.max_processes;
      plan_.valid_range = {1, std::max(1.0, std::floor(reach + 1e-9)),
                           training_reason(one_node, factor)};
    } else {
      plan_.valid_range = {1, kMaxSharedNothing, "one machine was measured"};
    }
    note_machines();
    note_pages();
    JobTimes times(node_,
                   {demand_.total_samples(), demand_.deadline_seconds, demand_.interruptions,
                    demand_.confidence},
                   draws_, std::move(fit));
    const int most = static_cast<int>(plan_.valid_range.high);
    const double tail = (1 - demand_.confidence) / 2;
    const auto needed = [&](double share) -> double { return times.machines_for(share, most); };
    const MachineCount count{needed(0.5), needed(tail), needed(1 - tail)};
    if (plan_.trains && one_node && count.median > 1) {
      plan_.extrapolated = true;
      plan_.notes.emplace_back(
          "one node was measured: several are taken to lose between nothing and what "
          "its own processes lose to each other");
    }
    for (std::string& note : interruption_notes(node_, demand_.interruptions, count.high)) {
      plan_.notes.push_back(std::move(note));
    }
    if (count.median > plan_.valid_range.high) return refuse_deadline(job_row(times, most));
    settle(count);
    if (plan_.refused) return;
    add_rows([&](int machines) { return job_row(times, machines); });
    // What the interval of the time holds beyond that of the rate.
    const Interval seconds = times.row(static_cast<int>(plan_.machines.high)).seconds;
    if (!std::isfinite(seconds.high)) return;
    const double all = std::log(seconds.high / seconds.low) / (2 * 1.645);
    const double rate = std::hypot(rate_error(node_), node_.widened, speed_error());
    plan_.errors.interruptions = std::sqrt(std::max(0.0, all * all - rate * rate));
  }

  CapacityRow job_row(JobTimes& times, int machines) const {
    const JobRow job = times.row(machines);
    CapacityRow row;
    row.machines = machines;
    row.samples_per_second = job.samples_per_second;
    row.seconds = job.seconds;
    row.interruptions = job.interruptions;
    row.lost_share = job.lost_share;
    row.probability = job.probability;
    if (demand_.cost_per_hour && std::isfinite(job.seconds.median)) {
      row.cost = machines * *demand_.cost_per_hour * job.seconds.median / 3600;
    }
    return row;
  }

  void refuse_deadline(const CapacityRow& row) {
    if (demand_.interruptions.expected() &&
        demand_.total_samples() / row.samples_per_second.median < demand_.deadline_seconds) {
      return refuse(fmt::format(
          "{} would be done in time but for interruptions: checkpoint more "
          "often (--checkpoint-every), restart faster, or take machines that are interrupted less",
          how_many(row.machines, "machine")));
    }
    const double least =
        demand_.total_samples() / demand_.deadline_seconds / plan_.machine_rate.median;
    if (!plan_.trains) {
      return refuse(
          fmt::format("the job needs at least {:.0f} machines and the measurements back "
                      "{:.0f}: {}",
                      std::ceil(least), plan_.valid_range.high, plan_.valid_range.reason));
    }
    const double alone = demand_.total_samples() / plan_.machine_rate.median;
    refuse(fmt::format(
        "one machine needs {} and {} is asked: at least {:.0f} machines with perfect scaling, "
        "which is not verified: measurements back {:.0f} ({}); measure more process counts "
        "(--nproc 1,2,4,8) or a second node",
        format_duration(alone), format_duration(demand_.deadline_seconds), std::ceil(least),
        plan_.valid_range.high, plan_.valid_range.reason));
  }

  void note_machines() {
    plan_.notes.push_back(
        fmt::format("machines of one kind are taken to differ by {:.0f} % in speed, and days by "
                    "{:.0f} %",
                    100 * kMachineSpread, 100 * kDaySpread));
  }

  void note_pages() {
    if (demand_.lines_per_page.empty()) return;
    plan_.notes.emplace_back(
        "pages: recognition of their lines alone was measured; finding the lines on a page comes "
        "on top, in time and in machines");
  }

  std::string training_reason(bool one_node, double factor) const {
    if (plan_.back_tests.empty()) {
      return fmt::format("fewer than four {} counts were measured, so no extrapolation was tested",
                         one_node ? "process" : "node");
    }
    if (factor <= 1) return "extrapolations failed their back-test";
    return fmt::format("extrapolations held in back-tests up to {:.3g} times", factor);
  }

  // --- both ---

  static Interval times(const Interval& one, double factor) {
    return {one.median * factor, one.low * factor, one.high * factor};
  }

  void refuse(std::string why) {
    plan_.refused = true;
    plan_.refusal = std::move(why);
    plan_.machines = {};
  }

  void settle(const MachineCount& count) {
    plan_.machines = {std::max(1.0, count.median), std::max(1.0, count.low),
                      std::max(1.0, count.high)};
    if (plan_.machines.median > plan_.valid_range.high) {
      return refuse(
          fmt::format("the load needs about {:.0f} machines and the measurements back {:.0f}: {}",
                      count.median, plan_.valid_range.high, plan_.valid_range.reason));
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

Result<CapacityPlan> plan_capacity(const NodeMeasurement& node, const CapacityDemand& demand) {
  const bool training = demand.total_samples() > 0 && demand.deadline_seconds > 0;
  if (demand.inference() == training) {
    return Error{ErrorKind::usage, "give either --rate (or --daily) or --samples with --deadline"};
  }
  if (node.rates.empty() || median(node.rates) <= 0) {
    return Error{ErrorKind::invalid, node.source + ": no rate was measured"};
  }
  if (!demand.lines_per_page.empty() && node.unit == "requests") {
    return Error{ErrorKind::usage,
                 node.source +
                     " counted requests to your own server: give --rate in those, without "
                     "--lines-per-page"};
  }
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
    plan->notes.push_back(served > 0
                              ? fmt::format("{} serves {} {}/s in time, the fastest setting {} {}",
                                            knobs_text(best->knobs), format_count(most), best->unit,
                                            knobs_text(first.knobs), format_count(served))
                              : fmt::format("the fastest setting {} cannot meet {} at any rate",
                                            knobs_text(first.knobs), slo_target(*demand.slo)));
  }
  return plan;
}

}  // namespace ocrtune
