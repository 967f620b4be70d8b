// The real worker, as the harness starts it.
#include "trial/workloads/engine_train/worker.h"

#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/line_splitter.h"
#include "base/process.h"
#include "probes/probe.h"
#include "trial/ipc/events.h"
#include "trial/workloads/engine_train/process_runner.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

WorkerSpec small() {
  WorkerSpec spec;
  spec.batch = 2;
  spec.width = 64;
  spec.classes = 11;
  spec.warm_up_seconds = 0;
  spec.run_seconds = 0.05;
  return spec;
}

struct Said {
  std::vector<Event> events;
  std::vector<std::string> garbage;
  ProcessExit exit;
};

Said run_rank(const WorkerSpec& spec) {
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY, "worker", "--spec", spec_text(spec)};
  options.output_bytes = 1 << 20;
  Said said;
  auto process = Process::start(options);
  if (!process) return said;
  said.exit = process->wait(60).value_or(ProcessExit{-1, 0, 0, 0});
  LineSplitter lines;
  lines.add(process->output().contents(), [&](const std::string& line) {
    const auto event = parse_event(line);
    event ? said.events.push_back(*event) : said.garbage.push_back(line);
  });
  return said;
}

template <typename T>
std::vector<T> all_of(const Said& said) {
  std::vector<T> found;
  for (const Event& event : said.events) {
    if (const auto* one = std::get_if<T>(&event)) found.push_back(*one);
  }
  return found;
}

TEST(Worker, SaysWhatItDoesInOrder) {
  const Said said = run_rank(small());
  EXPECT_TRUE(said.exit.clean()) << said.exit.text();
  EXPECT_TRUE(said.garbage.empty()) << said.garbage[0];
  ASSERT_GE(said.events.size(), 4u);
  ASSERT_TRUE(std::holds_alternative<HelloEvent>(said.events[0]));
  const auto& hello = std::get<HelloEvent>(said.events[0]);
  EXPECT_EQ(hello.cpus, current_affinity().text());
  EXPECT_EQ(hello.team_size, 1);
  EXPECT_GT(hello.planned_bytes, 1u << 20);
  ASSERT_TRUE(std::holds_alternative<ReadyEvent>(said.events[1]));
  EXPECT_GT(std::get<ReadyEvent>(said.events[1]).check_error, 0) << "the check really compared";
  EXPECT_LT(std::get<ReadyEvent>(said.events[1]).check_error, 2e-3);
  ASSERT_TRUE(std::holds_alternative<DoneEvent>(said.events.back()));
  std::int64_t steps = 0;
  for (const StepEvent& step : all_of<StepEvent>(said)) {
    steps += step.steps;
    EXPECT_EQ(step.samples, 2 * step.steps);
    EXPECT_GT(step.times.compute_seconds, 0);
    EXPECT_LE(step.times.compute_seconds, 1.01 * step.seconds / static_cast<double>(step.steps));
    EXPECT_GT(step.loss, 0);
  }
  EXPECT_GE(steps, 1);
}

TEST(Worker, ErrorsAreEvents) {
  WorkerSpec spec = small();
  spec.model = "crn";
  Said said = run_rank(spec);
  ASSERT_EQ(all_of<ErrorEvent>(said).size(), 1u);
  EXPECT_EQ(all_of<ErrorEvent>(said)[0].outcome, Outcome::unsupported);
  EXPECT_THAT(all_of<ErrorEvent>(said)[0].reason, HasSubstr("crnn"));
  EXPECT_EQ(said.exit.code, 1);

  spec = small();
  spec.label_file = "/no/such/labels.txt";
  said = run_rank(spec);
  ASSERT_EQ(all_of<ErrorEvent>(said).size(), 1u);
  EXPECT_EQ(all_of<ErrorEvent>(said)[0].outcome, Outcome::crashed);
  EXPECT_THAT(all_of<ErrorEvent>(said)[0].reason, HasSubstr("/no/such/labels.txt"));
}

TEST(Worker, EndsWhenNobodyListens) {
  WorkerSpec spec = small();
  spec.run_seconds = 0;
  ProcessOptions options;
  options.arguments = {"sh", "-c",
                       "'" + std::string(OCRTUNE_BINARY) + "' worker --spec '" + spec_text(spec) +
                           "' | head -n 3 >/dev/null"};
  auto process = Process::start(options);
  ASSERT_TRUE(process.ok());
  ASSERT_TRUE(process->wait(30).has_value()) << "still running after its reader has gone";
}

TEST(Worker, BadOrdersAreWrongUse) {
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY, "worker", "--spec", "{\"rank\":3}"};
  auto process = Process::start(options);
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(process->wait(30)->code, 2);
  EXPECT_THAT(process->output().contents(), HasSubstr("no rank 3 of 1"));
}

TEST(Worker, TwoRanksAreMeasuredTogether) {
  ProbeOptions quick;
  quick.quick = true;
  const auto machine = probe_machine(quick);
  ASSERT_TRUE(machine.ok());
  TrainingWorkload workload;
  workload.width = 64;
  workload.classes = 11;
  ProcessRunnerOptions options;
  options.worker_command = {OCRTUNE_BINARY, "worker"};
  Knobs knobs;
  knobs.nproc = 2;
  knobs.batch = 2;
  TrialLimits limits;
  limits.measure_seconds = 0.1;
  const Trial trial = make_process_runner(workload, *machine, options)->run(knobs, limits);
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.reason << "\n" << trial.log_tail;
  EXPECT_GT(trial.samples_per_second, 0);
  EXPECT_GT(trial.peak_bytes, 8u << 20);
  for (const Sample& sample : trial.samples) {
    const StepTimes& step = sample.step;
    const double sum =
        step.data_seconds + step.compute_seconds + step.all_reduce_seconds + step.wait_seconds;
    EXPECT_NEAR(sum * static_cast<double>(sample.steps), sample.seconds, 0.4 * sample.seconds);
  }
}

}  // namespace
}  // namespace ocrtune
