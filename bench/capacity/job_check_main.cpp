// Is a job done when `plan` says with 95 %? Plans from simulated measurements against a simulated
// cluster that goes event by event: machines with their own clocks, chunks of work, checkpoints.
//
//   build/capacity_job_check [cases] [first seed]
//
// Shares no code with capacity/deadline.h. A case is held when the job with the advised machines
// is done before the upper end of the stated time; 95 % of the cases should be.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "extras/capacity/capacity.h"
#include "tuner/verdict/settings.h"

namespace {

using namespace ocrtune;

struct ClusterJob {
  std::string kind;           // training | reading
  double rate = 0, loss = 0;  // of one machine; of each further one (Amdahl)
  double samples = 0;
  double between = 0;  // mean seconds between interruptions of one machine
  double restart = 0, restart_spread = 0;
  double every = 0, written = 0;  // checkpoints
  double trial_noise = 0.02, machine_spread = 0.02, day_spread = 0.02, chunk_noise = 0.05;
};

double cluster_rate(const ClusterJob& job, int machines) {
  return job.rate * machines / (1 + job.loss * (machines - 1));
}

// --- the world ---

class Cluster {
 public:
  Cluster(const ClusterJob& job, int machines, std::uint64_t seed)
      : job_(job), machines_(machines), random_(seed) {
    const double day = std::exp(job.day_spread * random_.normal());
    for (int i = 0; i < machines; ++i) {
      speeds_.push_back(day * std::exp(job.machine_spread * random_.normal()));
      taken_.push_back(lifetime());
    }
  }

  double done_at(double limit) { return job_.kind == "reading" ? read(limit) : train(limit); }

 private:
  double lifetime() { return -job_.between * std::log(1 - random_.uniform()); }
  double chunk_seconds(double samples, double rate) {
    return samples / rate * std::exp(job_.chunk_noise * random_.normal());
  }
  double down() { return job_.restart * std::exp(job_.restart_spread * random_.normal()); }

  // All machines step together, in chunks of about 20 s; the slowest sets the pace.
  double train(double limit) {
    const double speed = *std::min_element(speeds_.begin(), speeds_.end());
    const double rate = speed * cluster_rate(job_, machines_);
    const double chunk = 20 * rate;
    double now = job_.restart, kept = 0, done = 0, since = 0;
    while (now < limit) {
      const double samples = std::min(chunk, job_.samples - done);
      double next = now + chunk_seconds(samples, rate);
      const bool writes = since + (next - now) >= job_.every || done + samples >= job_.samples;
      if (writes) next += job_.written;
      const int victim = first_taken();
      if (taken_[static_cast<std::size_t>(victim)] < next) {
        now = taken_[static_cast<std::size_t>(victim)];
        taken_[static_cast<std::size_t>(victim)] = now + lifetime();
        now += bring_back(now);
        done = kept;
        since = 0;
        continue;
      }
      since += next - now;
      now = next;
      done += samples;
      if (!writes) continue;
      kept = done;
      since = 0;
      if (done >= job_.samples) return now;
    }
    return std::numeric_limits<double>::infinity();
  }

  int first_taken() const {
    int first = 0;
    for (int i = 1; i < machines_; ++i) {
      const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(first);
      if (taken_[a] < taken_[b]) first = i;
    }
    return first;
  }

  // A machine that is taken while the job restarts starts that again.
  double bring_back(double from) {
    double at = from;
    for (double ready = at + down();; ready = at + down()) {
      const auto victim = static_cast<std::size_t>(first_taken());
      if (taken_[victim] >= ready) return ready - from;
      at = taken_[victim];
      taken_[victim] = at + lifetime();
    }
  }

  // Each goes through a shard of its own, chunk by chunk; what it held when it was lost is read
  // again. The job ends with the last of them.
  double read(double limit) {
    const double chunk = 2 * job_.rate;
    double last = 0;
    for (std::size_t machine = 0; machine < speeds_.size(); ++machine) {
      double at = job_.restart;
      for (double left = job_.samples / machines_; left > 0;) {
        const double samples = std::min(chunk, left);
        const double end = at + chunk_seconds(samples, speeds_[machine] * job_.rate);
        if (end > limit) return std::numeric_limits<double>::infinity();
        if (taken_[machine] < end) {
          const double from = std::max(at, taken_[machine]);
          taken_[machine] = from + lifetime();
          at = from + down();
          continue;
        }
        left -= samples;
        at = end;
      }
      last = std::max(last, at);
    }
    return last;
  }

  const ClusterJob& job_;
  int machines_;
  Random random_;
  std::vector<double> speeds_, taken_;  // when each machine is interrupted next
};

// --- the measurement and the plan ---

RunRecord measured_run(const ClusterJob& job, Random& random) {
  RunRecord run;
  run.id = "simulated";
  if (job.kind == "reading") run.job.kind = ReadingJob();
  run.machine.cpu.usable_cpus.value = 4;
  const double day = std::exp(job.day_spread * random.normal());
  std::vector<double> speeds;
  for (int i = 0; i < 8; ++i) speeds.push_back(std::exp(job.machine_spread * random.normal()));
  const std::vector<int> counts =
      job.kind == "reading" ? std::vector<int>{1} : std::vector<int>{1, 2, 3, 4, 6, 8};
  for (const int nodes : counts) {
    const double speed = day * *std::min_element(speeds.begin(), speeds.begin() + nodes);
    for (int repetition = 0; repetition < 4; ++repetition) {
      Trial trial;
      trial.knobs.nproc = 4;
      trial.knobs.batch = 8;
      trial.knobs.dims["nodes"] = std::to_string(nodes);
      trial.repetition = repetition;
      trial.phase = repetition > 0 ? "race" : "sweep";
      trial.outcome = Outcome::ok;
      trial.start_seconds = job.restart;
      trial.samples_per_second =
          speed * cluster_rate(job, nodes) * std::exp(job.trial_noise * random.normal());
      run.trials.push_back(trial);
    }
  }
  return run;
}

ClusterJob draw_job(std::uint64_t seed, Random& random) {
  ClusterJob job;
  job.kind = seed % 3 == 0 ? "reading" : "training";
  job.rate = random.uniform(50, 500);
  job.loss = random.uniform(0.01, 0.08);
  job.between = 3600 * std::exp(random.uniform(std::log(3.0), std::log(60.0)));
  job.machine_spread = random.uniform(0.01, 0.03);  // as in fleet_check_main.cpp
  job.day_spread = random.uniform(0.01, 0.03);
  job.restart = random.uniform(30, 900);
  job.restart_spread = random.uniform(0, 0.4);
  job.written = random.uniform(1, 60);
  job.every = random.uniform(300, 3600);
  return job;
}

CapacityDemand demand_of(const ClusterJob& job, Random& random) {
  CapacityDemand demand;
  const double machines = random.uniform(0.5, 7);
  demand.deadline_seconds = 3600 * random.uniform(4, 60);
  demand.samples = machines * job.rate * demand.deadline_seconds * 0.8;
  Interruptions& stops = demand.interruptions;
  stops.counted = random.uniform() < 0.5;
  stops.watched_seconds = job.between;
  if (stops.counted) {  // what a log of some machine hours holds
    stops.watched_seconds = job.between * random.uniform(1, 30);
    stops.seen = 0;
    for (double at = random.exponential(1 / job.between); at < stops.watched_seconds;
         at += random.exponential(1 / job.between)) {
      ++stops.seen;
    }
  }
  stops.restart_seconds = job.restart * std::exp(0.5 * job.restart_spread * job.restart_spread);
  if (job.kind == "training") {
    stops.checkpoint_every_seconds = job.every;
    stops.checkpoint_seconds = job.written;
  }
  return demand;
}

struct Tally {
  int cases = 0, held = 0, in_time = 0, refused = 0;
  double stated = 0;  // sum of the stated probabilities to be in time
};

}  // namespace

int main(int argc, char** argv) {
  const int cases = argc > 1 ? std::atoi(argv[1]) : 300;
  const auto first = static_cast<std::uint64_t>(argc > 2 ? std::atoll(argv[2]) : 1);
  std::map<std::string, Tally> tallies;
  for (int i = 0; i < cases; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    Random random(mix_bits(seed));
    ClusterJob job = draw_job(seed, random);
    const CapacityDemand demand = demand_of(job, random);
    job.samples = demand.samples;
    const auto settings = measure_settings(measured_run(job, random));
    if (!settings) continue;
    const auto plan = plan_capacity(*settings, demand);
    const std::string known = demand.interruptions.counted ? "counted" : "known";
    for (const std::string& kind : {job.kind + ", " + known, std::string("all")}) {
      Tally& tally = tallies[kind];
      if (!plan || plan->refused()) {
        ++tally.refused;
        continue;
      }
      for (const CapacityRow& row : plan->rows) {
        if (row.machines != static_cast<int>(plan->machines.high)) continue;
        const double done = Cluster(job, row.machines, mix_bits(seed + 77777))
                                .done_at(20 * demand.deadline_seconds);
        ++tally.cases;
        tally.held += done <= row.seconds.high;
        tally.stated += row.probability;
        tally.in_time += done <= demand.deadline_seconds;
      }
    }
  }
  for (const auto& [kind, tally] : tallies) {
    std::printf(
        "%-20s %4d cases, %3d refused: done by the stated 95 %% time in %.1f %%, by the "
        "deadline in %.1f %% (stated %.1f %%)\n",
        kind.c_str(), tally.cases, tally.refused, 100.0 * tally.held / tally.cases,
        100.0 * tally.in_time / tally.cases, 100.0 * tally.stated / tally.cases);
  }
  return 0;
}
