// Is the count of `plan` enough in 95 % of the cases? Plans from simulated measurements against a
// simulated fleet that follows another model (simulated_fleet.h).
//
//   build/capacity_fleet_check [cases] [first seed]
//
// Each case draws a machine, measures it as a tune would (trials, windows, a few batch sizes) and
// asks for a plan. Then the fewest machines are sought with which the fleet meets the target.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/stats.h"
#include "bench/capacity/simulated_fleet.h"
#include "extras/capacity/capacity.h"
#include "tuner/verdict/settings.h"

namespace {

using namespace ocrtune;

constexpr double kPeriodSeconds = 600;

struct Case {
  std::string kind;  // throughput | poisson | bursts | pages | death
  FleetWorld world;
  double load = 0;  // requests per second
  double burst = 1, burst_seconds = 10;
  std::vector<int> lines_per_page;
  FleetFault fault;
  double trial_noise = 0.02;
  double day_spread = 0.02;  // of a fleet's speed from day to day
  std::uint64_t seed = 0;
};

double batch_rate(const FleetWorld& world, int batch, std::uint64_t seed) {
  return batch * world.servers / mean(saturated_batches(world, batch, 1, 4000, seed));
}

double quantile_latency(const std::vector<double>& seconds, double percentile) {
  return quantile(seconds, percentile);
}

Trial measure(const Case& one, int batch, int repetition, double speed, Random& random) {
  Trial trial;
  trial.knobs.nproc = one.world.servers;
  trial.knobs.threads = 1;
  trial.knobs.batch = batch;
  trial.repetition = repetition;
  trial.phase = repetition > 0 ? "race" : "sweep";
  trial.outcome = Outcome::ok;
  trial.peak_bytes = 1U << 30U;
  trial.seconds = 5;
  const double moment = speed * std::exp(one.trial_noise * random.normal());
  std::vector<double> rates, steps;
  for (int window = 0; window < 5; ++window) {
    constexpr double kWindowSeconds = 0.5;
    Sample sample;
    double seconds = 0, lines = 0;
    const auto batches = saturated_batches(one.world, batch, moment, 4000, random.next());
    for (const double each : batches) {
      if (seconds >= kWindowSeconds * one.world.servers) break;
      seconds += each;
      lines += batch;
      ++sample.steps;
      steps.push_back(each);
    }
    sample.samples = lines;
    sample.seconds = seconds / one.world.servers;
    rates.push_back(sample.samples_per_second());
    trial.samples.push_back(sample);
  }
  trial.samples_per_second = median(rates);
  trial.latency = {static_cast<std::int64_t>(steps.size()), quantile(steps, 0.5),
                   quantile(steps, 0.9), quantile(steps, 0.95), quantile(steps, 0.99)};
  return trial;
}

// A run as tune leaves it: each batch size once, the fastest three times more.
RunRecord measured_run(const Case& one, Random& random) {
  RunRecord run;
  run.id = "simulated";
  run.job.kind = ReadingJob();
  run.machine.cpu.usable_cpus.value = one.world.servers;
  const double speed =
      std::exp(one.day_spread * random.normal() + one.world.machine_spread * random.normal());
  std::vector<int> batches;
  for (int batch = 1; batch <= one.world.batch; batch *= 2) batches.push_back(batch);
  for (const int batch : batches) run.trials.push_back(measure(one, batch, 0, speed, random));
  for (int i = 1; i <= 3; ++i) {
    run.trials.push_back(measure(one, one.world.batch, i, speed, random));
    run.trials.push_back(measure(one, std::max(1, one.world.batch / 2), i, speed, random));
  }
  const double noise = repeat_noise(run.trials, 0.03);
  const auto settings = settings_of(run.trials, noise);
  run.result.found = true;
  run.result.recommendation.knobs = settings.front().summary.knobs;
  run.result.recommendation.samples_per_second = settings.front().summary.samples_per_second;
  return run;
}

Case draw_case(std::uint64_t seed) {
  Random random(mix_bits(seed));
  const char* const kinds[] = {"throughput", "poisson", "bursts", "pages", "death"};
  const double widths[] = {0.0, 0.3, 0.5};
  Case one;
  one.seed = seed;
  one.kind = kinds[seed % 5];
  FleetWorld& world = one.world;
  world.servers = static_cast<int>(random.integer(1, 8));
  world.batch = 1 << random.integer(0, 3);
  const double rate = random.uniform(20, 80);  // lines per second of one machine, about
  const double line = world.servers / rate;
  world.seconds_each = line * random.uniform(0.4, 0.9);
  world.fixed_seconds = (line - world.seconds_each) * world.batch;
  world.width_spread = widths[random.integer(0, 2)];
  world.spread = random.uniform(0.03, 0.3);
  world.pause_share = random.uniform() < 0.3 ? 0.01 : 0;
  world.machine_spread = random.uniform(0.01, 0.03);
  world.warm_up_seconds = random.uniform(10, 30);
  world.balancer = static_cast<FleetBalancer>(random.integer(0, 2));
  one.trial_noise = random.uniform(0.005, 0.04);
  one.day_spread = random.uniform(0.01, 0.03);
  if (one.kind == "bursts") {
    one.burst = random.uniform(1.3, 2.5);
    one.burst_seconds = random.uniform(2, 15);
  }
  if (one.kind == "pages") {
    for (int i = 0; i < 40; ++i) {
      one.lines_per_page.push_back(static_cast<int>(random.integer(5, 40)));
    }
  }
  if (one.kind == "death") {
    one.fault.at_seconds = 60;
    one.fault.noticed_seconds = random.uniform(1, 4);
    one.fault.replaced_seconds = random.uniform(120, 600);
  }
  double lines = 1;
  if (!one.lines_per_page.empty()) {
    lines = 0;
    for (const int count : one.lines_per_page) lines += count / 40.0;
  }
  one.load = random.uniform(4, 25) * batch_rate(world, world.batch, seed) / lines;
  return one;
}

struct Outcomes {
  int cases = 0, enough = 0, refused = 0;
  std::vector<double> errors, dearer;  // of the median count; of the count that is advised
  std::vector<double> stated;          // probability of the advised count
};

// How sure the plan is of the count that it advises; measurements may back no surer one.
double stated_probability(const CapacityPlan& plan) {
  double stated = 0;
  for (const CapacityRow& row : plan.rows) {
    if (row.machines == plan.machines.high) stated = row.probability;
  }
  return stated;
}

class Check {
 public:
  explicit Check(Case one) : one_(std::move(one)), random_(mix_bits(one_.seed + 1000003)) {}

  void run(Outcomes& outcomes) {
    const RunRecord run = measured_run(one_, random_);
    const auto settings = measure_settings(run);
    CapacityDemand demand;
    double lines = 1;
    if (!one_.lines_per_page.empty()) {
      demand.lines_per_page = one_.lines_per_page;
      lines = mean_requests(one_.lines_per_page);
    }
    demand.requests_per_second = one_.load * lines;
    if (one_.kind != "throughput") {
      const double alone = (one_.world.fixed_seconds + one_.world.seconds_each * one_.world.batch) *
                           std::max(1.0, lines / (one_.world.batch * one_.world.servers));
      demand.slo =
          LatencySlo{random_.uniform() < 0.5 ? 0.95 : 0.99, alone * random_.uniform(2.5, 8)};
    }
    if (one_.kind == "bursts") demand.trace = load_of(one_.seed + 1).at;
    demand.balancer =
        one_.world.balancer == FleetBalancer::random ? Balancer::random : Balancer::turns;
    const auto plan = plan_capacity(*settings, demand);
    if (!plan || plan->refused() || stated_probability(*plan) < 0.945) {  // it says so itself
      ++outcomes.refused;
      return;
    }
    // The plan names its setting; the fleet runs with it.
    one_.world.batch = batch_of(plan->node.knobs);
    day_speed_ = std::exp(one_.day_spread * random_.normal());
    day_seed_ = random_.next();
    const int truth = fewest(one_, demand, static_cast<int>(plan->machines.median));
    const bool dies = one_.kind == "death";
    const int advised = dies ? plan->spare_machines : static_cast<int>(plan->machines.high);
    const double expected = plan->machines.median + (dies ? 1 : 0);
    ++outcomes.cases;
    outcomes.enough += advised >= truth;
    outcomes.errors.push_back(expected / truth - 1);
    outcomes.dearer.push_back(static_cast<double>(advised) / truth - 1);
    outcomes.stated.push_back(stated_probability(*plan));
    std::fprintf(stderr, "%llu %s/%d plan %g (%g-%g) spare %d truth %d %s\n",
                 static_cast<unsigned long long>(one_.seed), one_.kind.c_str(),
                 static_cast<int>(one_.world.balancer), plan->machines.median, plan->machines.low,
                 plan->machines.high, plan->spare_machines, truth, advised >= truth ? "" : "SHORT");
    if (advised < truth) explain(demand, truth);
  }

 private:
  FleetLoad load_of(std::uint64_t seed) const {
    return bursty_load(one_.load, kPeriodSeconds, one_.burst, one_.burst_seconds,
                       one_.lines_per_page, seed);
  }

  // The same day with one cause less at a time: which of them took the machines?
  void explain(const CapacityDemand& demand, int truth) {
    const auto without = [&](const char* cause, auto change) {
      Case less = one_;
      change(less);
      std::fprintf(stderr, "  %s %d", cause, fewest(less, demand, truth));
    };
    std::fprintf(stderr, "  batch %d x %d, SLO p%g %.3g s; speed that day %.3f; truth without:",
                 one_.world.servers, one_.world.batch,
                 demand.slo ? 100 * demand.slo->percentile : 0,
                 demand.slo ? demand.slo->seconds : 0, day_speed_);
    without("pauses", [](Case& less) { less.world.pause_share = 0; });
    without("machine spread", [](Case& less) { less.world.machine_spread = 0; });
    if (one_.kind == "death") {
      without("slow start", [](Case& less) { less.world.warm_up_seconds = 0; });
      without("late notice", [](Case& less) { less.fault.noticed_seconds = 0; });
      without("death", [](Case& less) { less.fault.at_seconds = -1; });
    }
    std::fprintf(stderr, "\n");
  }

  // The fewest machines with which this day's fleet carries this day's load.
  int fewest(const Case& one, const CapacityDemand& demand, int guess) const {
    const FleetLoad load = load_of(day_seed_);
    const auto holds = [&](int machines) {
      if (machines < 1) return false;
      if (one.fault.at_seconds >= 0 && machines < 2) return false;
      const auto latency =
          simulate_fleet(one.world, load, machines, one.fault, day_speed_, day_seed_);
      if (!demand.slo) {  // the line must not grow: the last tenth waits no longer than the first
        return keeps_up(latency);
      }
      return quantile_latency(latency, demand.slo->percentile) <= demand.slo->seconds;
    };
    int machines = std::max(1, guess);
    if (holds(machines)) {
      while (holds(machines - 1)) --machines;
      return machines;
    }
    while (!holds(machines)) ++machines;
    return machines;
  }

  static bool keeps_up(const std::vector<double>& latency) {
    const auto tenth = static_cast<std::ptrdiff_t>(latency.size() / 10);
    const std::vector<double> last(latency.end() - tenth, latency.end());
    return median(last) < 0.02 * kPeriodSeconds;
  }

  Case one_;
  Random random_;
  double day_speed_ = 1;  // of the whole fleet on the day that the plan is for
  std::uint64_t day_seed_ = 0;
};

void print(const std::string& name, const Outcomes& all) {
  if (all.cases == 0) return;
  std::vector<double> absolute;
  for (const double error : all.errors) absolute.push_back(std::abs(error));
  std::printf("| %s | %d | %d | %.1f %% | %.1f %% | %.1f %% | %+.1f %% | %.1f %% | %+.1f %% |\n",
              name.c_str(), all.cases, all.refused, 100.0 * all.enough / all.cases,
              100 * mean(all.stated), 100 * median(absolute), 100 * median(all.errors),
              100 * quantile(absolute, 0.9), 100 * median(all.dearer));
}

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 500;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::map<std::string, Outcomes> kinds;
  Outcomes all;
  for (int i = 0; i < cases; ++i) {
    const Case one = draw_case(first + static_cast<std::uint64_t>(i));
    Outcomes found;
    Check(one).run(found);
    for (Outcomes* into : {&kinds[one.kind], &all}) {
      into->cases += found.cases;
      into->enough += found.enough;
      into->refused += found.refused;
      into->errors.insert(into->errors.end(), found.errors.begin(), found.errors.end());
      into->stated.insert(into->stated.end(), found.stated.begin(), found.stated.end());
      into->dearer.insert(into->dearer.end(), found.dearer.begin(), found.dearer.end());
    }
  }
  std::printf(
      "| kind | cases | refused | 95 %% count enough | stated | median count's error | its bias | "
      "p90 | "
      "advised count over the truth |\n|--|--|--|--|--|--|--|--|--|\n");
  for (const auto& [kind, outcomes] : kinds) print(kind, outcomes);
  print("all", all);
  return 0;
}
