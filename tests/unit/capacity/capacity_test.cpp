#include "extras/capacity/capacity.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sample_jobs.h"
#include "tests/support/sample_windows.h"
#include "trial/table_runner.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

std::string table_of(const UslCurve& truth, const std::vector<int>& counts, int batch = 1) {
  std::string csv =
      "# cores=16 memory_bytes=68719476736\n"
      "nproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n";
  for (const int n : counts) {
    csv += std::to_string(n) + ",1," + std::to_string(batch) + "," + std::to_string(truth.at(n)) +
           "," + std::to_string(n * 1000000000LL) + ",ok,0.02\n";
  }
  return csv;
}

NodeMeasurement node_of(const std::string& csv) {
  return measure_node(parse_table(csv, "t").value(), "t").value();
}

const UslCurve kTruth{100, 0.02, 0.0005};
const std::string kTable = table_of(kTruth, {1, 2, 4, 6, 8, 12, 16});

CapacityDemand rate_demand(double rate) {
  CapacityDemand demand;
  demand.requests_per_second = rate;
  return demand;
}

CapacityDemand training_demand(double samples, double deadline) {
  CapacityDemand demand;
  demand.samples = samples;
  demand.deadline_seconds = deadline;
  return demand;
}

TEST(MeasureNode, TakesTheBestSettingAndItsCurve) {
  const NodeMeasurement node = node_of(kTable);
  EXPECT_EQ(node.knobs.nproc, 16);
  EXPECT_EQ(node.points.size(), 7u);
  EXPECT_EQ(node.peak_bytes, 16000000000u);
  EXPECT_DOUBLE_EQ(node.usable_cores, 16);
  EXPECT_TRUE(node.batch_cost_known);  // a batch of one needs no model
  ASSERT_EQ(node.service.size(), 1u);
  EXPECT_NEAR(mean(node.service[0].seconds), 16 / kTruth.at(16), 1e-6);
}

TEST(MeasureNode, LearnsWhatABatchCosts) {
  std::string csv = "nproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n";
  for (const int batch : {1, 4, 16}) {  // 10 ms and 2 ms each
    csv += "2,1," + std::to_string(batch) + "," +
           std::to_string(2 * batch / (0.010 + 0.002 * batch)) + ",1,ok,0\n";
  }
  const NodeMeasurement node = node_of(csv);
  EXPECT_EQ(node.knobs.batch, 16);
  EXPECT_TRUE(node.batch_cost_known);
  ASSERT_EQ(node.service.size(), 3u);
  for (const BatchTimes& batch : node.service) {
    EXPECT_NEAR(mean(batch.seconds), 0.010 + 0.002 * batch.requests, 1e-9);
  }
}

TEST(MeasureNode, BelowTheSmallestBatchTheLineGoesOn) {
  std::string csv = "nproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n";
  for (const int batch : {4, 8}) {
    csv += "1,1," + std::to_string(batch) + "," + std::to_string(batch / (0.010 + 0.002 * batch)) +
           ",1,ok,0\n";
  }
  const NodeMeasurement node = node_of(csv);
  ASSERT_EQ(node.service.size(), 3u);
  EXPECT_EQ(node.service[0].requests, 1);
  EXPECT_NEAR(mean(node.service[0].seconds), 0.012, 1e-6);
}

Trial served(int nproc, double rate, const std::string& phase) {
  Trial trial;
  trial.knobs.nproc = nproc;
  trial.knobs.batch = 1;
  trial.outcome = Outcome::ok;
  trial.samples_per_second = rate;
  trial.phase = phase;
  Sample sample = window_of(rate, 5);
  sample.steps = 500;
  trial.samples = {sample};
  return trial;
}

// A hundredth of the steps are pauses: no window shows them, the recorded quantiles do.
TEST(MeasureNode, TakesTheServiceTimesThatWereRecorded) {
  RunRecord run;
  run.id = "r";
  run.job = reading_job();
  run.trials = {served(1, 100, "sweep")};
  run.trials[0].latency = {2500, 0.010, 0.012, 0.013, 0.030};
  const auto node = measure_node(run);
  ASSERT_TRUE(node.ok()) << node.error().what;
  EXPECT_TRUE(node->service_spread_known);
  const std::vector<double>& seconds = node->service[0].seconds;
  EXPECT_NEAR(mean(seconds), 0.010, 1e-9);
  EXPECT_NEAR(quantile(seconds, 0.9) / median(seconds), 1.2, 0.01);
  EXPECT_NEAR(quantile(seconds, 0.99) / median(seconds), 3, 0.4);
  EXPECT_LT(seconds.front(), median(seconds));
}

// What trials differ by is no spread of single steps.
TEST(MeasureNode, WithoutRecordedStepsTheSpreadIsThatWithinTrials) {
  RunRecord run;
  run.id = "r";
  run.job = reading_job();
  for (const double rate : {80.0, 100.0, 125.0}) {
    Trial trial = served(1, rate, "sweep");
    trial.samples.assign(4, trial.samples[0]);
    run.trials.push_back(trial);
  }
  const auto node = measure_node(run);
  ASSERT_TRUE(node.ok()) << node.error().what;
  const std::vector<double>& seconds = node->service[0].seconds;
  EXPECT_LT(quantile(seconds, 0.99) / median(seconds), 1.1);
}

TEST(MeasureNode, TakesTheRateThatWasProvedWithinAnSlo) {
  RunRecord run;
  run.id = "r";
  run.job = reading_job("p99=50ms");
  run.result.found = true;
  run.result.recommendation.knobs.nproc = 2;
  run.result.recommendation.knobs.batch = 1;
  run.trials = {served(1, 140, "sweep"), served(2, 130, "sweep"), served(2, 128, "race")};
  const auto unproved = measure_node(run);
  ASSERT_TRUE(unproved.ok()) << unproved.error().what;
  EXPECT_EQ(unproved->knobs.nproc, 2);  // what was recommended, not what one trial made fastest
  EXPECT_NEAR(median(unproved->rates), 129, 1.1);
  EXPECT_EQ(unproved->proof, SloProof::unproved);
  run.trials.push_back(served(2, 104, "proof"));
  const auto proved = measure_node(run);
  ASSERT_TRUE(proved.ok());
  EXPECT_DOUBLE_EQ(median(proved->rates), 104);
  EXPECT_EQ(proved->proof, SloProof::proved);
}

TEST(MeasureNode, RefusesATableWhereNothingWorked) {
  const auto table = parse_table(
      "nproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n"
      "1,1,8,0,0,crashed,0\n",
      "t");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(measure_node(*table, "t").error().kind, ErrorKind::invalid);
}

TEST(PlanCapacity, DividesALoadByTheRateOfOneMachine) {
  const double each = kTruth.at(16);
  const auto plan = plan_capacity(node_of(kTable), rate_demand(2.5 * each));
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->refused());
  EXPECT_EQ(plan->machines.median, 3);
  EXPECT_EQ(plan->machines.low, 3);
  EXPECT_EQ(plan->machines.high, 3);
  EXPECT_EQ(plan->spare_machines, 4);
  EXPECT_FALSE(plan->back_tests.empty());
}

TEST(PlanCapacity, ALoadNearAStepHasAnInterval) {
  const auto plan = plan_capacity(node_of(kTable), rate_demand(2.99 * kTruth.at(16)));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->machines.low, 3);
  EXPECT_EQ(plan->machines.high, 4);  // what is advised, with how sure it is
  EXPECT_EQ(plan->spare_machines, 5);
}

TEST(PlanCapacity, AnSloCostsMachinesAndIsViolatedBelowThem) {
  CapacityDemand demand = rate_demand(2.9 * kTruth.at(16));
  const double service = 16 / kTruth.at(16);
  demand.slo = LatencySlo{0.99, 2.2 * service};
  const auto plan = plan_capacity(node_of(kTable), demand);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->refused());
  EXPECT_GT(plan->machines.median, 3);
  EXPECT_LT(plan->served_rate.median, plan->machine_rate.median);
  double before = INFINITY;
  for (const CapacityRow& row : plan->rows) {
    EXPECT_LE(row.latency_seconds, before);
    before = row.latency_seconds;
    EXPECT_EQ(row.latency_seconds <= demand.slo->seconds * 1.01,
              row.machines >= plan->machines.median)
        << row.machines;
  }
}

TEST(PlanCapacity, ARateMeasuredWithinTheSloIsDividedAsItIs) {
  NodeMeasurement node = node_of(kTable);
  node.slo = "p99=50ms";
  CapacityDemand demand = rate_demand(2.5 * kTruth.at(16));
  const auto without = plan_capacity(node, demand);
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().kind, ErrorKind::usage);
  EXPECT_THAT(without.error().what, HasSubstr("--slo p99=50ms"));
  demand.slo = LatencySlo{0.99, 0.02};  // stricter than what was measured
  EXPECT_FALSE(plan_capacity(node, demand).ok());
  demand.slo = LatencySlo{0.95, 0.05};
  const auto plan = plan_capacity(node, demand);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->machines.median, 3);
  EXPECT_NEAR(plan->served_rate.median, kTruth.at(16), 1e-3);
  EXPECT_TRUE(plan->served_measured);
}

TEST(PlanCapacity, SaysByHowMuchNothingMeetsAnSlo) {
  CapacityDemand demand = rate_demand(100);
  demand.slo = LatencySlo{0.99, 0.001};
  const auto plan = plan_capacity(node_of(kTable), demand);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->refused());
  EXPECT_EQ(plan->machines.median, 0);
}

TEST(PlanCapacity, RefusesALoadBeyondItsRange) {
  const auto plan = plan_capacity(node_of(kTable), rate_demand(1e9));
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->refused());
  EXPECT_EQ(plan->valid_range.high, 100);
}

TEST(PlanCapacity, OneMachineTrainsInTime) {
  const auto plan = plan_capacity(node_of(kTable), training_demand(3600 * kTruth.at(16), 2 * 3600));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->machines.median, 1);
  EXPECT_FALSE(plan->extrapolated);
  ASSERT_FALSE(plan->rows.empty());
  EXPECT_NEAR(plan->rows[0].seconds.median, 3600, 60);
  EXPECT_LT(plan->rows[0].seconds.low, plan->rows[0].seconds.high);
}

TEST(PlanCapacity, SeveralTrainOnlyAsFarAsBackTestsReachAndLabelled) {
  CapacityDemand demand = training_demand(3600 * kTruth.at(16), 0.7 * 3600);
  demand.cost_per_hour = 2;
  const auto plan = plan_capacity(node_of(kTable), demand);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->refused());
  EXPECT_EQ(plan->machines.median, 2);
  EXPECT_TRUE(plan->extrapolated);
  EXPECT_GE(plan->valid_range.high, 2);
  EXPECT_GT(plan->rows.back().cost.value_or(0), 0);

  const auto far = plan_capacity(node_of(kTable), training_demand(3600 * kTruth.at(16), 60));
  ASSERT_TRUE(far.ok());
  EXPECT_EQ(far->refusal, PlanRefusal::not_verified);
}

TEST(PlanCapacity, TwoCountsBackNoExtrapolation) {
  const NodeMeasurement node = node_of(table_of(kTruth, {1, 2}));
  const auto plan = plan_capacity(node, training_demand(3600 * kTruth.at(2), 1800));
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->refused());
  EXPECT_EQ(plan->valid_range.reason, RangeReason::few_counts);
}

TEST(PlanCapacity, MeasuredNodeCountsCarryFurther) {
  std::string csv = "nproc,threads,batch,nodes,samples_per_second,peak_bytes,outcome,noise_sigma\n";
  const UslCurve nodes{400, 0.05, 0};
  for (const int n : {1, 2, 3, 4, 6, 8}) {
    csv += "4,1,8," + std::to_string(n) + "," + std::to_string(nodes.at(n)) + ",1,ok,0.01\n";
  }
  const NodeMeasurement node = node_of(csv);
  EXPECT_EQ(node.nodes.size(), 6u);
  const auto plan = plan_capacity(node, training_demand(3600 * nodes.at(10), 3700));
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->refused());
  EXPECT_NEAR(plan->machines.median, 10, 1);
  EXPECT_GE(plan->machines.high, plan->machines.median);
}

TEST(PlanCapacity, WantsOneDemand) {
  EXPECT_EQ(plan_capacity(node_of(kTable), {}).error().kind, ErrorKind::usage);
  CapacityDemand both = rate_demand(10);
  both.samples = 5;
  both.deadline_seconds = 5;
  EXPECT_EQ(plan_capacity(node_of(kTable), both).error().kind, ErrorKind::usage);
}

// Batches of 16 are fastest and answer late; single images are slower and in time.
TEST(PlanCapacity, TheSettingThatServesInTimeIsPlannedWith) {
  const auto table = parse_table(
      "# cores=4\nnproc,threads,batch,samples_per_second,peak_bytes,outcome,noise_sigma\n"
      "4,1,16,640,1,ok,0.02\n4,1,1,400,1,ok,0.02\n",
      "t");
  const auto settings = measure_settings(*table, "t");
  ASSERT_TRUE(settings.ok());
  ASSERT_EQ(settings->size(), 2u);
  EXPECT_EQ(settings->front().knobs.batch, 16);
  CapacityDemand demand = rate_demand(500);
  demand.slo = LatencySlo{0.99, 0.04};  // a batch of 16 takes 100 ms
  const auto plan = plan_capacity(*settings, demand);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->refused());
  EXPECT_EQ(plan->node.knobs.batch, 1);
  ASSERT_TRUE(plan->chosen.has_value());
  EXPECT_EQ(plan->chosen->fastest.batch, 16);
  demand.slo = LatencySlo{0.99, 0.001};
  const auto none = plan_capacity(*settings, demand);
  EXPECT_TRUE(none->refused());
}

TEST(PlanCapacity, TheStatedIntervalOfTheRateIsTheOneThatIsPlannedWith) {
  NodeMeasurement node = node_of(kTable);
  const double rate = kTruth.at(16);
  node.stated_rate = {rate, rate / 1.4, rate * 1.4};
  const auto plan = plan_capacity(node, rate_demand(9.5 * rate));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->machines.median, 10);
  EXPECT_NEAR(plan->machines.high, 9.5 * std::pow(1.4, 1.645 / 1.96), 1.2);
  for (const CapacityRow& row : plan->rows) {
    if (row.machines < plan->machines.high) continue;
    EXPECT_GE(row.probability, 0.945);
  }
}

TEST(PlanCapacity, APageIsAnsweredWithTheLastOfItsLines) {
  const NodeMeasurement node = node_of(kTable);
  const double service = 16 / kTruth.at(16);
  CapacityDemand demand = rate_demand(2 * kTruth.at(16));
  demand.slo = LatencySlo{0.99, 6 * service};
  const auto lines = plan_capacity(node, demand);
  demand.lines_per_page = {32};  // the same line images a second, 32 at a time
  const auto pages = plan_capacity(node, demand);
  ASSERT_TRUE(lines.ok() && pages.ok());
  ASSERT_FALSE(pages->refused());
  EXPECT_GT(pages->machines.median, lines->machines.median);
  demand.lines_per_page = {1};
  EXPECT_EQ(plan_capacity(node, demand)->machines.median, lines->machines.median);
}

// A server of two workers that sleep for 0.4 s: told no batch, and 4.88 requests/s with 2 in
// flight.
RunRecord sleeping_server() {
  RunRecord run;
  run.id = "fake";
  run.job = service_job("http://127.0.0.1:{port}/ocr", {"python3", "fake.py"});
  Trial trial = served(2, 4.88, "sweep");
  trial.knobs.batch = 16;
  trial.knobs.absent = {"batch"};
  trial.service = {2, 0.398, 0.442, 0, false, ""};
  run.trials = {trial};
  return run;
}

TEST(MeasureNode, AServiceTakesAsLongAsItsRequestsDid) {
  const auto node = measure_node(sleeping_server());
  ASSERT_TRUE(node.ok()) << node.error().what;
  EXPECT_EQ(node->work, RunWork::serves);
  EXPECT_EQ(node->servers, 2);  // 4.88/s x 0.4 s
  ASSERT_EQ(node->service.size(), 1u);
  EXPECT_EQ(node->service[0].requests, 1);
  EXPECT_NEAR(median(node->service[0].seconds), 0.398, 0.02);
  EXPECT_NEAR(node->servers / mean(node->service[0].seconds), 4.88, 1e-9);
}

TEST(PlanCapacity, OneRequestOfAServiceIsNotTakenForABatch) {
  CapacityDemand demand = rate_demand(40000 * 3 / 86400.0);
  demand.slo = LatencySlo{0.95, 5};
  const auto plan = plan_capacity(*measure_settings(sleeping_server()), demand);
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  ASSERT_FALSE(plan->refused());
  EXPECT_EQ(plan->machines.high, 1);
  const CapacityRow* row = plan->row(1);
  ASSERT_NE(row, nullptr);
  EXPECT_GT(row->latency_seconds, 0.4);
  EXPECT_LT(row->latency_seconds, 2 * 0.442);  // at 28 % load
  demand.slo = LatencySlo{0.95, 0.2};
  const auto slow = plan_capacity(*measure_settings(sleeping_server()), demand);
  EXPECT_EQ(slow->refusal, PlanRefusal::too_slow_alone);
  EXPECT_LT(slow->alone_seconds, 2 * 0.442);
  RunRecord unknown = sleeping_server();
  unknown.trials[0].service = {};
  EXPECT_FALSE(plan_capacity(*measure_settings(unknown), demand).ok());
  unknown.trials[0].service = {16, 0.398, 0.442, 0, false, ""};  // 16 in flight would be 39/s
  EXPECT_FALSE(plan_capacity(*measure_settings(unknown), demand).ok());
}

// Two workers with 4 in flight: each waits as long as it works. One alone takes 0.4 s.
TEST(PlanCapacity, OneRequestAloneTakesWhatItTookAlone) {
  RunRecord run = sleeping_server();
  run.trials[0].samples_per_second = 5;
  run.trials[0].service = {4, 0.8, 1.05, 0.4, false, ""};
  const auto settings = measure_settings(run);
  ASSERT_TRUE(settings.ok()) << settings.error().what;
  EXPECT_NEAR(settings->front().alone_share, 0.5, 0.02);
  CapacityDemand demand = rate_demand(0.5);
  demand.slo = LatencySlo{0.95, 0.7};  // p95 of one alone is below 0.5 s
  const auto plan = plan_capacity(*settings, demand);
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  ASSERT_FALSE(plan->refused());
  EXPECT_EQ(plan->machines.high, 1);
  EXPECT_GT(plan->row(1)->latency_seconds, 0.4);
  EXPECT_LT(plan->row(1)->latency_seconds, 0.65);
  EXPECT_NEAR(plan->machine_rate.median, 5, 1e-6);  // and what all together do is as it was
}

TEST(PlanCapacity, WithoutADeadlineSaysHowLongItTakes) {
  NodeMeasurement node = node_of(
      "nproc,threads,samples_per_second,peak_bytes,outcome,noise_sigma\n4,1,10,1,ok,0.01\n");
  CapacityDemand demand;
  demand.pages = true;
  demand.samples = 360000;  // ten hours of one machine
  demand.cost_per_hour = 0.5;
  const auto plan = plan_capacity(node, demand);
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  ASSERT_FALSE(plan->refused());
  ASSERT_EQ(plan->rows.size(), 4u);  // 1, 2, 4 and 8 machines
  EXPECT_NEAR(plan->rows[0].seconds.median, 36000, 500);
  EXPECT_GT(plan->rows[0].seconds.high, 1.03 * 36000);
  EXPECT_NEAR(*plan->rows[0].cost, 5, 0.1);
  EXPECT_EQ(plan->rows[3].machines, 8);
  EXPECT_NEAR(plan->rows[3].seconds.median, 4500, 250);  // with the slowest of eight
  node.work = RunWork::trains;
  demand.pages = false;
  const auto training = plan_capacity(node, demand);
  ASSERT_TRUE(training.ok()) << training.error().what;
  EXPECT_EQ(training->rows.size(), 1u);  // no more were measured
  EXPECT_NEAR(training->rows[0].seconds.median, 36000, 500);
}

TEST(PlanCapacity, ARateAboveTheClosedLoadIsNotServed) {
  RunRecord run = sleeping_server();
  run.job.inference()->slo = "p95=5s";
  run.result.found = true;
  run.result.recommendation.knobs = run.trials[0].knobs;
  run.result.recommendation.samples_per_second = {5.91, 5.36, 6.51};
  run.trials[0].samples_per_second = 5.91;
  Trial soak = run.trials[0];
  soak.samples_per_second = 4.98;
  run.soaks = {soak};
  const auto node = measure_node(run);
  ASSERT_TRUE(node.ok());
  EXPECT_TRUE(node->capped);
  EXPECT_EQ(node->proof, SloProof::unproved);
  CapacityDemand demand = rate_demand(20);
  demand.slo = LatencySlo{0.95, 5};
  EXPECT_GE(plan_capacity(*node, demand)->machines.high, 5);
}

TEST(WhatItDoes, IsReadFromTheRun) {
  RunRecord run;
  EXPECT_EQ(what_it_does(run), RunWork::trains);
  run.job = reading_job();
  EXPECT_EQ(what_it_does(run), RunWork::recognises);
  run.job = service_job("http://127.0.0.1/ocr", {"python3", "serve.py"});
  EXPECT_EQ(what_it_does(run), RunWork::serves);
  run.job = command_job({"python3", "serve.py"}, "", "runs:4");
  run.job.user()->trains = false;
  EXPECT_EQ(what_it_does(run), RunWork::reads);
  run.job.user()->trains = true;  // as it is where nobody says otherwise
  EXPECT_EQ(what_it_does(run), RunWork::reads);
  run.job.user()->command.log_reader = "paddleocr";
  EXPECT_EQ(what_it_does(run), RunWork::trains);
  run.job.user()->command.log_reader = "torch";
  EXPECT_EQ(what_it_does(run), std::nullopt) << "images/s of either";
  for (const char* metric : {"pages/s", "took:s/page", "speed:Docs/min"}) {
    run.job.user()->command.metric = metric;
    EXPECT_EQ(what_it_does(run), RunWork::reads) << metric;
  }
  run.job.user()->command.metric = "page_loss:img/s";
  EXPECT_EQ(what_it_does(run), std::nullopt);
  run.job.user()->command.preset = "paddleocr-infer";
  EXPECT_EQ(what_it_does(run), RunWork::reads);
  run.job = command_job({"python3", "job.py"}, "", "regex:read (?<file>.+)");
  EXPECT_EQ(what_it_does(run), RunWork::reads) << "the files that it names";
  run.job = command_job({"python3", "job.py"}, "", "torch");
  run.job.user()->command.answers = {"out/*.txt"};
  EXPECT_EQ(what_it_does(run), RunWork::reads) << "its texts are compared";
  run.job = command_job({"python3", "job.py", "{copy}"}, "", "torch");
  EXPECT_EQ(what_it_does(run), RunWork::reads) << "copies train nothing together";
}

TEST(CountedUnit, StepsAndRunsAreOfUnknownSize) {
  RunRecord run;
  EXPECT_EQ(counted_unit(run), "images");
  run.job = command_job({"python3", "job.py"}, "", "progress");
  EXPECT_EQ(counted_unit(run), "images") << "of the batch that it is told";
  run.search.baseline.absent = {"batch"};
  EXPECT_EQ(counted_unit(run), "steps");
  run.job.user()->command.log_reader = "runs";
  EXPECT_EQ(counted_unit(run), "runs");
  run.job.user()->command.log_reader = "runs:40";
  EXPECT_EQ(counted_unit(run), "images");
}

TEST(PlanCapacity, StepsOfUnknownSizeAreNotPlannedWith) {
  NodeMeasurement node = node_of(kTable);
  const auto refused = [&](const char* unit, const CapacityDemand& demand) {
    node.unit = unit;
    const auto plan = plan_capacity(node, demand);
    return plan ? std::string() : plan.error().what;
  };
  for (const CapacityDemand& demand : {training_demand(819200, 3600), rate_demand(5)}) {
    EXPECT_THAT(refused("steps", demand), HasSubstr("--baseline batch=N"));
    EXPECT_THAT(refused("runs", demand), HasSubstr("--log-reader runs:N"));
    EXPECT_EQ(refused("images", demand), "");
  }
}

TEST(PlanCapacity, AProgramThatMayDoEitherIsPlannedAsAsked) {
  NodeMeasurement node = node_of(kTable);
  node.table.clear();
  node.run = "2026-11-28-abcde";
  node.batched = false;
  CapacityDemand demand = training_demand(1000, 3600);
  EXPECT_TRUE(plan_capacity(node, demand)->trains);
  demand.pages = true;
  EXPECT_FALSE(plan_capacity(node, demand)->trains);
  EXPECT_TRUE(plan_capacity(node, rate_demand(5)).ok());
}

TEST(PlanCapacity, TheRunSaysWhatCanBeAsked) {
  NodeMeasurement node = node_of(kTable);
  CapacityDemand pages = training_demand(1000, 3600);
  pages.pages = true;
  node.work = RunWork::recognises;
  EXPECT_THAT(plan_capacity(node, pages).error().what, HasSubstr("--lines-per-page"));
  pages.lines_per_page = {40};
  EXPECT_TRUE(plan_capacity(node, pages).ok());
  node.work = RunWork::serves;
  EXPECT_FALSE(plan_capacity(node, pages).ok());
  node.work = RunWork::trains;
  EXPECT_THAT(plan_capacity(node, rate_demand(5)).error().what, HasSubstr("measured training"));
}

// Workers of one instance that share its cores, and a corpus: 24,800 items at 0.55 a minute.
TEST(PlanCapacity, ATableWithoutBatchesIsOfReading) {
  const auto table = parse_table(
      "# cores=8\nnproc,threads,samples_per_second,peak_bytes,outcome,noise_sigma\n"
      "1,8,0.0041667,1,ok,0.03\n4,2,0.0083333,1,ok,0.03\n8,1,0.0091667,1,ok,0.03\n",
      "t");
  CapacityDemand demand = training_demand(24800, 14 * 86400);
  demand.cost_per_hour = 0.34;
  const auto settings = measure_settings(*table, "t");
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->front().service.front().requests, 1);
  const auto plan = plan_capacity(*settings, demand);
  ASSERT_TRUE(plan.ok()) << plan.error().what;
  ASSERT_FALSE(plan->refused());
  EXPECT_FALSE(plan->trains);
  EXPECT_EQ(plan->machines.high, 3);
  EXPECT_NEAR(plan->row(3)->cost.value_or(0), 24800 / 0.0091667 / 3600 * 0.34, 8);
}

TEST(PlanningCores, AreNotFewerThanThePhysicalOnes) {
  Machine machine;
  machine.cpu.usable_cpus.value = 2;
  machine.cpu.physical_cores = 2;
  machine.cpu.effective_cores.value = 0.98;  // measured beside other load
  EXPECT_DOUBLE_EQ(planning_cores(machine), 2);
  machine.cpu.usable_cpus.value = 16;
  machine.cpu.physical_cores = 8;
  machine.cpu.effective_cores.value = 10.5;
  EXPECT_DOUBLE_EQ(planning_cores(machine), 10.5);
}

}  // namespace
}  // namespace ocrtune
