#include "trial/workloads/engine_train/engine_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Machine four_cores() {
  Machine machine;
  for (int cpu = 0; cpu < 4; ++cpu) {
    CpuPlace place;
    place.cpu = place.core = cpu;
    place.l3 = place.numa = place.package = 0;
    machine.cpu.places.push_back(place);
  }
  machine.cpu.allowed = CpuSet::range(0, 3);
  machine.cpu.usable_cpus.value = 4;
  return machine;
}

Knobs two_ranks(const std::string& binding) {
  Knobs knobs;
  knobs.nproc = knobs.threads = 2;
  knobs.binding = binding;
  return knobs;
}

TEST(EngineTraining, ItsLaunchBindsWhatWasMeasuredBound) {
  const std::string line =
      launch_text(make_engine_training({})->launch(four_cores(), two_ranks("compact"), {}));
  EXPECT_THAT(line, HasSubstr("OMP_NUM_THREADS=2"));
  EXPECT_THAT(line, HasSubstr("OCRTUNE_RANK_CPUS=0-1:2-3 "));
  EXPECT_THAT(line, HasSubstr("--nproc_per_node=2"));
  EXPECT_THAT(line, HasSubstr(" rank-exec -- python -u tools/train.py -c CONFIG.yml"));
}

TEST(EngineTraining, ItsLaunchIsPlainWithoutBinding) {
  const std::string line =
      launch_text(make_engine_training({})->launch(four_cores(), two_ranks("none"), {}));
  EXPECT_THAT(line, HasSubstr("--nproc_per_node=2 tools/train.py -c CONFIG.yml"));
  EXPECT_THAT(line, Not(HasSubstr("rank-exec")));
  EXPECT_THAT(line, Not(HasSubstr("OCRTUNE_RANK_CPUS")));
}

}  // namespace
}  // namespace ocrtune
