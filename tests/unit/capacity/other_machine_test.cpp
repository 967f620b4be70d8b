#include "extras/capacity/other_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "probes/machine/machine_json.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;

NodeMeasurement measured() {
  NodeMeasurement node;
  node.source = "table t";
  node.knobs.nproc = 16;
  node.knobs.batch = 1;
  const UslCurve truth{100, 0.03, 0.0005};
  for (const int n : {1, 2, 4, 8, 12, 16}) node.points.push_back({n, 1, {truth.at(n)}});
  node.rates = {truth.at(16)};
  node.service = {{1, {16 / truth.at(16)}}};
  node.usable_cores = 16;
  node.peak_bytes = 16ULL << 30;
  return node;
}

Machine machine_of(double cores, double memory_gib = 0) {
  Machine machine;
  machine.host = "n7";
  machine.cpu.usable_cpus.value = cores;
  if (memory_gib > 0) machine.memory.limit_bytes.value = memory_gib * (1ULL << 30);
  return machine;
}

TEST(ScaleToMachine, FewerCoresDoLessWithTheirOwnEfficiency) {
  const auto other = scale_to_machine(measured(), machine_of(8, 64));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->knobs.nproc, 8);
  const UslCurve truth{100, 0.03, 0.0005};
  EXPECT_NEAR(other->rates[0] / truth.at(8), 1, 0.05);
  EXPECT_NEAR(other->service[0].seconds[0], 8 / truth.at(8), 0.05 * 8 / truth.at(8));
  EXPECT_GE(other->widened, 0.2);
  EXPECT_EQ(other->peak_bytes, 8ULL << 30);
  ASSERT_TRUE(other->scaled.has_value());
  EXPECT_THAT(other->kind, HasSubstr("n7"));
}

TEST(ScaleToMachine, FasterCoresDoMoreAndAreSurer) {
  NodeMeasurement node = measured();
  node.core_multiply_adds_per_second = 10e9;
  Machine machine = machine_of(16);
  machine.cpu.core_multiply_adds_per_second.value = 15e9;
  const auto other = scale_to_machine(node, machine);
  ASSERT_TRUE(other.ok());
  EXPECT_NEAR(other->rates[0] / node.rates[0], 1.5, 1e-9);
  EXPECT_NEAR(other->service[0].seconds[0] / node.service[0].seconds[0], 1 / 1.5, 1e-9);
  EXPECT_NEAR(other->widened, 0.1, 1e-9);
  EXPECT_DOUBLE_EQ(other->scaled->core_factor, 1.5);
}

TEST(ScaleToMachine, ARateWithinAnSloIsNotCarriedOver) {
  NodeMeasurement node = measured();
  node.slo = "p99=50ms";
  const auto other = scale_to_machine(node, machine_of(16));
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().what, HasSubstr("without --slo"));
}

TEST(ScaleToMachine, CoresSayNothingOfGpus) {
  NodeMeasurement node = measured();
  NodeMeasurement command = measured();
  node.knobs.backend = "cuda";
  command.on_gpus = true;
  for (const NodeMeasurement& one : {node, command}) {
    const auto other = scale_to_machine(one, machine_of(16));
    ASSERT_FALSE(other.ok());
    EXPECT_THAT(other.error().what, HasSubstr("on GPUs"));
  }
}

TEST(ScaleToMachine, LessBandwidthBoundsTheGain) {
  NodeMeasurement node = measured();
  node.bandwidth_bytes_per_second = 100e9;
  Machine machine = machine_of(16);
  machine.memory.bandwidth_bytes_per_second.value = 25e9;
  const auto other = scale_to_machine(node, machine);
  ASSERT_TRUE(other.ok());
  EXPECT_NEAR(other->rates[0] / node.rates[0], 0.5, 0.01);  // between 1 and a quarter
  EXPECT_GT(other->widened, 0.6);
}

TEST(ScaleToMachine, RefusesWhatNothingBacks) {
  const auto far = scale_to_machine(measured(), machine_of(400));
  ASSERT_FALSE(far.ok());
  EXPECT_EQ(far.error().kind, ErrorKind::unsupported);
  const auto small = scale_to_machine(measured(), machine_of(16, 8));
  ASSERT_FALSE(small.ok());
  EXPECT_THAT(small.error().what, HasSubstr("16 processes there take about 16.0 GiB of 8.0 GiB"));
  NodeMeasurement unknown = measured();
  unknown.usable_cores = 0;
  EXPECT_FALSE(scale_to_machine(unknown, machine_of(8)).ok());
}

TEST(ReadMachine, ReadsAProbeAndRefusesOthersInOneLine) {
  const std::string folder = make_temporary_directory("machine").value();
  const auto read = [&](const std::string& text) {
    const std::string path = join_path(folder, "probe.json");
    EXPECT_TRUE(write_file(path, text).ok());
    return read_machine(path);
  };
  const auto good = read(machine_json(machine_of(24)));
  ASSERT_TRUE(good.ok()) << good.error().what;
  EXPECT_DOUBLE_EQ(good->cpu.usable_cpus.value_or(0), 24);
  for (const char* text :
       {"", "[]", "{}", "not json", "{\"schema\": 99}", "{\"usable_cpus\": 3e}"}) {
    const auto bad = read(text);
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_EQ(bad.error().kind, ErrorKind::invalid);
    EXPECT_THAT(bad.error().what, HasSubstr("no probe file"));
    EXPECT_EQ(bad.error().what.find('\n'), std::string::npos);
  }
  auto newer = nlohmann::json::parse(machine_json(machine_of(24)));
  EXPECT_EQ(newer["schema"], 1);
  newer["schema"] = 2;
  EXPECT_THAT(read(newer.dump()).error().what,
              HasSubstr("its schema is 2, and this version reads 1"));
  EXPECT_EQ(read_machine("/no/probe.json").error().kind, ErrorKind::missing);
  EXPECT_TRUE(remove_tree(folder).ok());
}

}  // namespace
}  // namespace ocrtune
