// How many machines a load or a deadline takes: with intervals, and no further than measurements
// reach.
//
// Rate of one machine: its measured rate with the interval of its measurement. Inference: machines
// share nothing but the load balancer; with a latency target the fleet is simulated, each machine a
// queue of its processes (fleet_queue.h), and all measured settings compete. One chain of
// draws leads to the count: the measured rate, what machines and days differ by, the load. A page
// is several line images that come at once and is answered with the last of them; finding the lines
// on it is not part of what was measured. Training: machines of one job wait for each other; their
// common rate comes from a fit over measured node counts, or, with one node measured, lies between
// no loss and the loss that the node's own processes show. Counts beyond what back-tests support
// are refused. A job with a deadline: the count with which it is done in time in 95 % of the draws,
// restarts after interruptions included (deadline.h). An interruption stops all machines
// of a training, and of a reading job only its own; that one is done with its last shard. Without a
// deadline the plan says how long one machine takes, and 2, 4 and 8.
//
// A plan is facts alone; its words are in reports/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stats.h"
#include "extras/capacity/back_test.h"
#include "extras/capacity/day_profile.h"
#include "extras/capacity/deadline.h"
#include "extras/capacity/fleet_queue.h"
#include "extras/capacity/node_measurement.h"
#include "extras/capacity/queueing.h"
#include "extras/capacity/stated.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {

struct CapacityDemand {
  // Inference: line images, requests or images per second at the peak. 0: a job.
  double requests_per_second = 0;
  double daily_requests = 0;  // where the rate came from; 0: given as a rate
  Stated<double> peak_factor = 1.0;
  // A closed population: so many users, each waiting for an answer and then thinking. The rate
  // above is theirs where answers take no time; a plan lowers it by what one answer takes.
  double users = 0, pages_each = 0, think_seconds = 0;
  bool pages = false;  // what was asked for are pages
  // Line images of pages as they were counted, in any order: the load above came as pages of so
  // many. Empty: it came as what the run counted.
  std::vector<int> lines_per_page;
  std::optional<LatencySlo> slo;  // of a request, or of a whole page
  // Recorded arrivals in seconds from 0, of the whole load; the rate above is that of its busiest
  // minute. Empty: Poisson at the rate.
  std::vector<double> trace;
  Stated<Balancer> balancer = Balancer::random;
  double busiest_seconds = 0;  // when that minute begins
  DayProfile profile;          // the load of a day; the rate above is that of its busiest part
  std::string peak_time;       // of day, of that minute or part: "14:00"; empty: unknown
  // A job with a deadline: training, or reading so many images or pages.
  double samples = 0;  // of one epoch; pages where `lines_per_page` is given
  double epochs = 1;
  double deadline_seconds = 0;  // 0: none; asked is how long the job takes
  std::string deadline_time;    // "2026-11-27 18:00"; empty: so long from now
  Interruptions interruptions;

  std::optional<double> cost_per_hour;  // of one machine
  double confidence = 0.9;              // two-sided: the upper end of a count is enough with 95 %

  bool inference() const { return requests_per_second > 0; }
  bool asks_time() const { return !inference() && deadline_seconds <= 0; }
  double total_samples() const { return samples * epochs * mean_requests(lines_per_page); }
};

// Whole numbers. `high` is the count to buy: enough with 95 % probability.
struct MachineCount {
  double median = 0, low = 0, high = 0;
};

enum class RangeReason {
  even_balancer,      // one machine was measured; machines share nothing but a load balancer
  independent,        // one machine was measured; shards share nothing
  few_counts,         // fewer than four process or node counts: no extrapolation was tested
  back_tests_failed,  // of the fit over the counts
  back_tests_held,    // up to `factor` times the largest count
};

struct ValidRange {
  double low = 1, high = 1;  // machines
  RangeReason reason = RangeReason::independent;
  double factor = 1;
};

// What would happen with this many machines.
struct CapacityRow {
  int machines = 1;
  Interval samples_per_second;  // together, without waiting for an SLO
  double busy_share = 0;        // load / rate; inference
  double latency_seconds = 0;   // at the percentile of the SLO; 0: no SLO; infinite: overload
  Interval seconds;             // until the job is done; infinite: no end in sight
  double tail_seconds = 0;      // of a reading job: from the mean machine's end to the last one's
  double interruptions = 0;     // of the job, expected
  double lost_share = 0;        // of its time, to starts, restarts, checkpoints and work done again
  double probability = 0;       // that the demand is met
  std::optional<double> cost_per_hour;
  std::optional<double> cost;  // of the whole job
};

// What makes a plan unsure: relative deviations of the rate, of the load, of a job's time. 0: none.
struct ErrorParts {
  double measurement = 0;    // of the measured rate
  double machines = 0;       // between machines and between days, assumed
  double scaling = 0;        // to a machine that was only probed
  double load = 0;           // between two traces
  double interruptions = 0;  // with the loss of several machines that train together
};

enum class PlanRefusal {
  none,
  too_slow_alone,  // one request alone misses the latency target
  load_too_large,  // more machines than the valid range
  job_too_large,   // the same, of a job that reads
  not_verified,    // more machines would have to train together than was tested
  interrupted,     // in time but for interruptions
  unfit,           // the scaling fit refused, as `unfit` says
};

// Another setting was planned with than the fastest, because it serves more within the target.
struct ChosenSetting {
  Knobs fastest;
  double fastest_rate = 0, rate = 0;  // within the target; 0: it cannot meet it
};

struct CapacityPlan {
  CapacityDemand demand;
  NodeMeasurement node;  // of the setting that is planned with
  ErrorParts errors;
  std::string unit;              // that rates count
  Interval machine_rate;         // samples per second of one machine
  Interval served_rate;          // of one machine with the SLO met; zero without one
  bool served_measured = false;  // ... while it was met; else simulated from machine_rate
  bool extrapolated = false;
  bool one_node_trains = false;  // several machines train, and one was measured
  bool trains = true;            // of a job with a deadline; else it reads
  PlanRefusal refusal = PlanRefusal::none;
  double alone_seconds = 0;    // of a request or page alone, at the percentile of the SLO
  double needed_machines = 0;  // of a load or job that is refused, about
  std::string unfit;
  MachineCount machines;   // zero when refused
  int spare_machines = 0;  // with one more than `machines.high`: N+1
  std::vector<CapacityRow> rows;
  std::vector<BackTest> back_tests;
  ValidRange valid_range;
  std::optional<ChosenSetting> chosen;

  bool refused() const { return refusal != PlanRefusal::none; }
  const CapacityRow* row(double count) const;  // null: there is none
};

// What one machine carries with 95 %, of a plan for inference that was not refused.
double sure_rate(const CapacityPlan& plan);

// What was asked for is counted in: "pages", "line images", "requests", "images".
std::string asked_unit(const CapacityPlan& plan);

// usage: no rate and no job, or both. A latency target that one machine cannot meet at any rate,
// and counts beyond the valid range, give a refused plan. About a second with a latency target.
Result<CapacityPlan> plan_capacity(const NodeMeasurement& node, const CapacityDemand& demand);

// The same with the setting that serves most within the latency target; the first one where there
// is no target, or where it serves nearly as much. `settings` is not empty.
Result<CapacityPlan> plan_capacity(const std::vector<NodeMeasurement>& settings,
                                   const CapacityDemand& demand);

}  // namespace ocrtune
