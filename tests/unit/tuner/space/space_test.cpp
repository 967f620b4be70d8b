#include "tuner/space/space.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "trial/workloads/command/user_command.h"
#include "trial/workloads/engine_infer/engine_inference.h"
#include "trial/workloads/engine_train/engine_training.h"
#include "tuner/space/constraint.h"
#include "tuner/space/default_space.h"

namespace ocrtune {
namespace {

Machine machine_with(int cpus) {
  Machine machine;
  machine.cpu.usable_cpus = {static_cast<double>(cpus), "test"};
  machine.cpu.physical_cores = cpus;
  machine.cpu.packages = machine.cpu.numa_nodes = machine.cpu.l3_groups = 1;
  machine.rules_of_thumb = {4, 1, 7};
  return machine;
}

// Of training with the built-in engine.
SpaceRequest request_on(const Machine& machine) {
  SpaceRequest request;
  request.workload = make_engine_training({})->space(machine);
  return request;
}

TEST(Space, FindsAxesFromPoints) {
  Knobs a;
  a.nproc = 1;
  a.dims["width"] = "320";
  Knobs b = a;
  b.nproc = 8;
  b.dims["width"] = "64";
  Knobs c = a;
  c.dims["width"] = "1000";
  const Space space({a, b, c, a});
  EXPECT_EQ(space.size(), 3);
  ASSERT_EQ(space.axes().size(), 2U);
  EXPECT_EQ(space.axes()[0].name, "nproc");
  EXPECT_EQ(space.axes()[1].values, (std::vector<std::string>{"64", "320", "1000"}));
  EXPECT_EQ(space.axes()[1].scale, KnobScale::count);
  EXPECT_EQ(space.find(b), 1);
  EXPECT_EQ(space.axis("batch"), -1);
}

TEST(Space, NeighboursDifferInOneStep) {
  std::vector<Knobs> points;
  for (int n : {1, 2, 4}) {
    for (const char* binding : {"none", "compact", "spread"}) {
      Knobs knobs;
      knobs.nproc = n;
      knobs.binding = binding;
      points.push_back(knobs);
    }
  }
  const Space space(points);
  EXPECT_EQ(space.neighbours(space.find(points[3])).size(), 4U);  // two of nproc, two bindings
  EXPECT_EQ(space.neighbours(space.find(points[0])).size(), 3U);
}

TEST(DefaultSpace, SmallMachineStaysSmall) {
  const auto space = make_space(machine_with(2), request_on(machine_with(2)));
  ASSERT_TRUE(space.ok());
  EXPECT_LE(space->size(), 150);
  EXPECT_GE(space->size(), 40);
  const auto& points = space->points();
  EXPECT_TRUE(std::any_of(points.begin(), points.end(),
                          [](const Knobs& k) { return k.nproc * k.threads == 4; }));
  EXPECT_TRUE(std::none_of(points.begin(), points.end(),
                           [](const Knobs& k) { return k.nproc * k.threads > 4; }));
}

TEST(DefaultSpace, LargeMachineStaysSearchable) {
  Machine machine = machine_with(128);
  machine.cpu.packages = machine.cpu.numa_nodes = 2;
  machine.cpu.native_bf16 = {true, "test"};
  SpaceRequest request;
  request.workload = make_engine_inference({}, 97)->space(machine);
  const auto space = make_space(machine, request);
  ASSERT_TRUE(space.ok());
  EXPECT_LE(space->size(), 5000);
  EXPECT_GT(space->size(), 1500);
  EXPECT_GE(space->axis("precision"), 0);
  EXPECT_GE(space->axis("binding"), 0);
}

// A million settings would take gigabytes; what is left still holds each value and meets the
// constraints.
TEST(DefaultSpace, ALargeProductIsSampled) {
  SpaceRequest request;
  Axis axis{"", {}, {}};
  for (int value = 0; value < 200; ++value) axis.values.push_back(std::to_string(value));
  for (const char* name : {"alpha", "beta", "gamma"}) {
    axis.name = name;
    request.lists.push_back(axis);
  }
  request.constraints = {"beta<=150", "alpha*beta<=20000"};
  request.max_points = 100000;
  const auto space = make_space(machine_with(2), request);
  ASSERT_TRUE(space) << space.error().what;
  EXPECT_GT(space->size(), 10000);
  EXPECT_LE(space->size(), 100001);
  std::set<std::string> alphas, betas, gammas;
  for (const Knobs& knobs : space->points()) {
    if (knobs.dims.size() < 3) continue;  // the user's own
    alphas.insert(knobs.dims.at("alpha"));
    betas.insert(knobs.dims.at("beta"));
    gammas.insert(knobs.dims.at("gamma"));
  }
  EXPECT_EQ(alphas.size(), 200U);
  EXPECT_EQ(betas.size(), 151U);
  EXPECT_EQ(gammas.size(), 200U);
}

TEST(DefaultSpace, ReadingOnGpusSharesThem) {
  Machine machine;
  machine.cpu.usable_cpus = {8, "online CPUs"};
  InferenceWorkload inference;
  inference.gpus = {"GPU-0", "GPU-1"};
  SpaceRequest request;
  request.workload = make_engine_inference(inference, 97)->space(machine);
  const auto space = make_space(machine, request);
  ASSERT_TRUE(space) << space.error().what;
  std::set<int> processes;
  for (const Knobs& knobs : space->points()) {
    processes.insert(knobs.nproc);
    EXPECT_EQ(knobs.backend, "cuda");
    EXPECT_EQ(knobs.precision, "fp32");
    EXPECT_TRUE(knobs.threads == 1 || knobs.nproc * knobs.threads <= 8) << knobs_text(knobs);
    EXPECT_TRUE(knobs.nproc > 1 || knobs.queue == "shared") << knobs_text(knobs);
  }
  EXPECT_EQ(processes, (std::set<int>{1, 2, 4, 6, 8}));
  request.lists = {{"precision", {}, {"fp32", "bf16"}}, {"nproc", {}, {"2"}}};
  const auto listed = make_space(machine, request);
  ASSERT_TRUE(listed);
  std::set<std::string> precisions;
  for (const Knobs& knobs : listed->points()) {
    precisions.insert(knobs.precision);
    EXPECT_EQ(knobs.nproc, 2);
  }
  EXPECT_EQ(precisions.size(), 2u);
}

TEST(DefaultSpace, UserListReplacesAnAxis) {
  SpaceRequest request = request_on(machine_with(4));
  request.lists = {{"batch", KnobScale::count, {"10", "20"}},
                   {"width", KnobScale::count, {"100", "200"}}};
  const auto space = make_space(machine_with(4), request);
  ASSERT_TRUE(space.ok());
  for (const Knobs& knobs : space->points()) {
    EXPECT_TRUE(knobs.batch == 10 || knobs.batch == 20);
    EXPECT_EQ(knobs.dims.count("width"), 1U);
  }
}

TEST(DefaultSpace, BaselineAndRulesAreAlwaysPoints) {
  const Machine machine = machine_with(2);
  SpaceRequest request = request_on(machine);
  request.base.batch = 13;
  request.base.workers = 4;
  for (const RuleSetting& rule : rule_settings(machine, request.base)) {
    request.always.push_back(rule.knobs);
  }
  ASSERT_EQ(request.always.size(), 3U);
  const auto space = make_space(machine, request);
  ASSERT_TRUE(space.ok());
  for (const Knobs& knobs : request.always) EXPECT_GE(space->find(knobs), 0);
  EXPECT_EQ(request.always[2].nproc, 7);
  EXPECT_EQ(request.always[2].threads, 1);
}

// Two CPUs: four bound ranks would only fail, cost trials and be counted as what might be faster.
TEST(DefaultSpace, WhatCannotBeBoundIsNoPoint) {
  Machine machine = machine_with(2);
  machine.cpu.allowed = CpuSet::range(0, 1);
  SpaceRequest request = request_on(machine);
  for (const RuleSetting& rule : rule_settings(machine, request.base)) {
    request.always.push_back(rule.knobs);
    request.always.back().binding = "compact";
  }
  const auto space = make_space(machine, request);
  ASSERT_TRUE(space.ok());
  bool oversubscribed = false, bound = false;
  for (const Knobs& knobs : space->points()) {
    const int team = knobs.nproc * knobs.threads;
    EXPECT_TRUE(knobs.binding == "none" || team <= 2) << knobs_text(knobs);
    oversubscribed = oversubscribed || team > 2;
    bound = bound || knobs.binding == "compact";
  }
  EXPECT_TRUE(oversubscribed);
  EXPECT_TRUE(bound);
  request.lists = {{"nproc", {}, {"4"}}, {"binding", {}, {"compact"}}};
  const auto refused = make_space(machine, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_NE(refused.error().what.find("binding=compact: 4 ranks"), std::string::npos)
      << refused.error().what;
}

// Ranks beyond the GPUs and steps beyond the data would only fail.
TEST(DefaultSpace, WhatTheWorkloadCannotRunIsNoPoint) {
  const Machine machine = machine_with(8);
  EngineTrainingOptions training;
  training.gpus = {"GPU-0", "GPU-1"};
  UserCommandOptions command;
  command.gpus = 2;
  for (const WorkloadSpace& workload :
       {make_engine_training(training)->space(machine), command_space(command, machine)}) {
    SpaceRequest request;
    request.workload = workload;
    request.lists = {{"nproc", {}, {"1", "2", "4"}}};
    const auto space = make_space(machine, request);
    ASSERT_TRUE(space) << space.error().what;
    for (const Knobs& knobs : space->points()) EXPECT_LE(knobs.nproc, 2) << knobs_text(knobs);
    request.lists = {{"nproc", {}, {"4"}}};
    const auto none = make_space(machine, request);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().what.find("nproc<=2"), std::string::npos) << none.error().what;
  }
  EngineTrainingOptions few;
  few.lines = 20;
  SpaceRequest request;
  request.workload = make_engine_training(few)->space(machine);
  const auto space = make_space(machine, request);
  ASSERT_TRUE(space) << space.error().what;
  for (const Knobs& knobs : space->points()) EXPECT_LE(knobs.nproc * knobs.batch, 20);
}

TEST(DefaultSpace, RulesKeepToTheConstraints) {
  const Machine machine = machine_with(2);
  SpaceRequest request = request_on(machine);
  for (const RuleSetting& rule : rule_settings(machine, request.base)) {
    request.always.push_back(rule.knobs);
  }
  request.constraints = {"nproc<=4"};
  const auto space = make_space(machine, request);
  ASSERT_TRUE(space.ok());
  for (const Knobs& knobs : space->points()) EXPECT_LE(knobs.nproc, 4);
}

TEST(DefaultSpace, RefusesWhatMakesNoSense) {
  SpaceRequest bad_value = request_on(machine_with(2));
  bad_value.lists = {{"precision", KnobScale::category, {"fp17"}}};
  const auto refused = make_space(machine_with(2), bad_value);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_NE(refused.error().what.find("fp17"), std::string::npos);

  SpaceRequest contradiction = request_on(machine_with(2));
  contradiction.constraints = {"nproc>=2", "nproc*threads<=1"};
  const auto empty = make_space(machine_with(2), contradiction);
  ASSERT_FALSE(empty.ok());
  EXPECT_NE(empty.error().what.find("nproc*threads<=1"), std::string::npos);

  SpaceRequest unknown = request_on(machine_with(2));
  unknown.constraints = {"procs<=4"};
  const auto no_such = make_space(machine_with(2), unknown);
  ASSERT_FALSE(no_such.ok());
  EXPECT_NE(no_such.error().what.find("procs"), std::string::npos);

  SpaceRequest nothing = request_on(machine_with(2));
  nothing.lists = {{"batch", KnobScale::count, {}}};
  EXPECT_FALSE(make_space(machine_with(2), nothing).ok());
}

TEST(Constraint, ComparesProductsAndWords) {
  Knobs knobs;
  knobs.nproc = 4;
  knobs.threads = 4;
  knobs.precision = "bf16";
  EXPECT_TRUE(satisfies(knobs, *parse_constraint("nproc*threads <= 16")));
  EXPECT_FALSE(satisfies(knobs, *parse_constraint("nproc*threads<16")));
  EXPECT_TRUE(satisfies(knobs, *parse_constraint("precision=bf16")));
  EXPECT_FALSE(satisfies(knobs, *parse_constraint("precision!=bf16")));
  for (const char* text : {"", "nproc", "nproc<=", "<=4", "nproc**2<=4", "nproc<=many"}) {
    EXPECT_FALSE(parse_constraint(text).ok()) << text;
  }
}

}  // namespace
}  // namespace ocrtune
