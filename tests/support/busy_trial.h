// Trials of a ScheduledProgram among strangers, through the windows, the interference and the
// stopping rule of real trials.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/scheduled_machine.h"
#include "trial/trial.h"
#include "trial/watch/step_windows.h"
#include "trial/watch/stopping.h"

namespace ocrtune {

// Strangers that compute for a while and pause for a while, each for itself.
struct StrangerLoad {
  int threads = 0;
  double share = 0;  // of the time that each of them computes
  double period_seconds = 2;
};

inline constexpr int kBusyCpus = 2;
inline constexpr std::int64_t kBusyBatch = 8;

// Where a program runs, and on which of its CPUs it and the strangers may run; empty: any.
struct BusyHost {
  Topology topology;
  CpuSet own, strangers;
};

inline void add_strangers(ScheduledMachine& machine, const StrangerLoad& load) {
  for (int i = 0; i < load.threads; ++i) {
    machine.add(true, [&machine, load](ScheduledMachine::Thread& thread) {
      const double period = load.period_seconds * machine.random().uniform(0.5, 1.5);
      const bool on = machine.random().uniform() < load.share;
      (on ? thread.work : thread.sleep) = period;
    });
  }
}

inline std::int64_t samples_of_step(const ScheduledProgram& program) {
  return kBusyBatch * program.ranks;
}
inline std::int64_t samples_of_step(const ForkJoinProgram&) { return kBusyBatch; }
inline std::int64_t samples_of_step(const ForkingProgram&) { return 1; }

inline double threads_of(const ScheduledProgram& program) {
  return program.ranks * (program.loader_seconds > 0 ? 2.0 : 1.0);
}
inline double threads_of(const ForkJoinProgram& program) { return program.threads; }
inline double threads_of(const ForkingProgram& program) { return program.ranks; }

// Samples per second of the program where nobody disturbs it.
template <class Program>
double true_rate(const Program& program, const BusyHost& host = {}) {
  ScheduledMachine machine(host.topology, 99);
  machine.confine(false, host.own);
  typename Program::Running running(machine, program);
  while (running.steps() < 20) machine.step();
  const double begin = machine.now();
  const std::int64_t first = running.steps();
  while (machine.now() - begin < (host.topology.cpus > kBusyCpus ? 6 : 200)) machine.step();
  return static_cast<double>((running.steps() - first) * samples_of_step(program)) /
         (machine.now() - begin);
}

template <class Program>
std::vector<Sample> busy_samples(const Program& program, const StrangerLoad& load,
                                 double measure_seconds, const BusyHost& host, std::uint64_t seed) {
  ScheduledMachine machine(host.topology, seed);
  machine.confine(false, host.own);
  machine.confine(true, host.strangers);
  const SmtSiblings siblings(host.topology.cores());
  add_strangers(machine, load);
  for (int i = 0; i < 2000; ++i) machine.step();
  typename Program::Running running(machine, program);
  while (running.steps() < 5) machine.step();
  StepWindows windows(1, measure_seconds / 8);
  StoppingRule stopping({.measure_seconds = measure_seconds});
  const LoadDemand demand{threads_of(program), static_cast<double>(host.topology.cpus), &siblings};
  std::vector<Sample> samples;
  LoadSnapshot load_before = machine.snapshot();
  double last = machine.now();
  std::int64_t seen = running.steps();
  while (!stopping.reason()) {
    machine.step();
    if (running.steps() == seen) continue;
    StepEvent step;
    step.steps = running.steps() - seen;
    step.samples = step.steps * samples_of_step(program);
    step.seconds = machine.now() - last;
    seen = running.steps();
    last = machine.now();
    auto sample = windows.add(step);
    if (!sample) continue;
    LoadSnapshot load_after = machine.snapshot();
    sample->interference = interference_between(load_before, load_after, demand);
    load_before = std::move(load_after);
    stopping.add(*sample);
    samples.push_back(*sample);
  }
  return samples;
}

template <class Program>
std::vector<Sample> busy_samples(const Program& program, const StrangerLoad& load,
                                 double measure_seconds, double sharing, std::uint64_t seed) {
  const BusyHost host{{.cpus = kBusyCpus, .sharing = sharing}, {}, {}};
  return busy_samples(program, load, measure_seconds, host, seed);
}

}  // namespace ocrtune
