// The GPU core's kernels by groups of lanes that take turns, and whole steps that are replayed:
// what races and captured work would show, without a GPU.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/device_network.h"
#include "core/lcnet_model.h"
#include "core/mobile_model.h"
#include "core/model.h"
#include "core/optimizer.h"

#include "host_machine.h"

namespace ocrtune {
namespace {

constexpr int kClasses = 9;

// The layers of the models, made narrow: fibers are slow.
struct Small {
  const char* name;
  int height, width;
  Graph (*build)();
};

Graph small_crnn() { return build_crnn(kClasses, CrnnSizes{{3, 4, 5, 6}, 7}); }

Graph small_mv3() {
  Mv3Sizes sizes;
  sizes.stem = 4;
  sizes.units = {{3, 8, 4, true, Activation::relu, {1, 1}},
                 {5, 9, 5, false, Activation::hard_swish, {2, 1}}};
  sizes.last = 11;
  sizes.hidden = 6;
  return build_crnn_mv3("small", kClasses, sizes);
}

Graph small_lcnet() {
  LcnetSizes sizes;
  sizes.stem = 4;
  sizes.blocks = {{3, 6, {2, 1}, false}, {3, 6, {1, 1}, false}, {5, 8, {1, 2}, true}};
  sizes.neck = 12;
  sizes.heads = 2;
  return build_lcnet("small", kClasses, sizes);
}

struct Start {
  explicit Start(const Small& small)
      : graph(small.build()),
        parameters(graph.parameter_floats),
        statistics(graph.statistic_floats) {
    fill_initial_parameters(graph, 5, parameters.data());
    fill_initial_statistics(graph, statistics.data());
    batch.count = 2;
    batch.height = small.height;
    batch.width = small.width;
    batch.images.resize(static_cast<std::size_t>(2 * 3 * small.height * small.width));
    draw(7);
    batch.labels = {{3}, {1}};
  }
  void draw(std::uint64_t seed) {
    Random random(seed);
    for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  }
  Shape image() const { return {2, 3, batch.height, batch.width}; }

  Graph graph;
  std::vector<float> parameters, statistics;
  Batch batch;
};

using Net = device::DeviceNetwork<HostMachine>;

std::vector<float> gradients_of(Start& start, HostMachine& machine) {
  std::vector<float> gradients(start.graph.parameter_floats);
  auto network = Net::create(start.graph, machine, start.image(), {2});
  EXPECT_TRUE(network);
  EXPECT_TRUE((*network)->set_state(start.parameters, start.statistics));
  const auto loss = (*network)->train(start.batch);
  EXPECT_TRUE(loss) << loss.error().what;
  EXPECT_TRUE((*network)->get_gradients(gradients));
  return gradients;
}

// Of the whole vector, which one lane's and several lanes' orders of adding may move a little.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double size = 0, apart = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    size += static_cast<double>(b[i]) * b[i];
    apart += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
  }
  return std::sqrt(apart / size);
}

class LanesOf : public testing::TestWithParam<Small> {};

TEST_P(LanesOf, AGroupComputesWhatOneLaneDoes) {
  Start start(GetParam());
  HostMachine one;
  const std::vector<float> expected = gradients_of(start, one);
  for (const bool backwards : {false, true}) {
    HostMachine several;
    several.lanes = 5;  // no row of any kernel is a multiple of it
    several.backwards = backwards;
    EXPECT_LT(difference(gradients_of(start, several), expected), 1e-4)
        << (backwards ? "the last lane first" : "the first lane first");
  }
}

// Every step has other images and weights; a replay must see them, and nothing of the step before.
TEST_P(LanesOf, AReplayedStepIsTheStep) {
  std::vector<float> results[2];
  for (const bool replays : {false, true}) {
    Start start(GetParam());
    HostMachine machine;
    machine.replays = replays;
    auto network = Net::create(start.graph, machine, start.image(), {2});
    ASSERT_TRUE(network);
    ASSERT_TRUE((*network)->set_state(start.parameters, start.statistics));
    std::vector<float>& result = results[replays ? 1 : 0];
    for (std::uint64_t step = 0; step < 3; ++step) {
      start.draw(step);
      start.batch.labels[0][0] = static_cast<int>(step) + 1;
      const auto loss = (*network)->train(start.batch);
      ASSERT_TRUE(loss) << loss.error().what;
      result.push_back(static_cast<float>(loss->mean));
      ASSERT_TRUE((*network)->update(AdamW{}));
      const auto logits = (*network)->infer(start.batch);  // a recording of its own
      ASSERT_TRUE(logits) << logits.error().what;
      result.insert(result.end(), logits->begin(), logits->end());
    }
    std::vector<float> state(start.graph.parameter_floats);
    ASSERT_TRUE((*network)->get_parameters(state));
    result.insert(result.end(), state.begin(), state.end());
    EXPECT_EQ(machine.replayed, replays ? 4 : 0);
  }
  EXPECT_EQ(results[0], results[1]);
}

INSTANTIATE_TEST_SUITE_P(Models, LanesOf,
                         testing::Values(Small{"crnn", 32, 16, small_crnn},
                                         Small{"mv3", 8, 12, small_mv3},
                                         Small{"lcnet", 12, 24, small_lcnet}),
                         [](const auto& small) { return std::string(small.param.name); });

// Each lane gives its number to the next one, with or without a meeting between.
struct HandOnRow {
  bool meets;
  int* mailbox;
  int* got;
  template <typename Lane>
  void operator()(Lane& lane, std::size_t) const {
    mailbox[lane.index()] = lane.index() + 1;
    if (meets) lane.join();
    got[lane.index()] = mailbox[(lane.index() + 1) % lane.count()];
  }
};

struct PartingRow {
  template <typename Lane>
  void operator()(Lane& lane, std::size_t) const {
    if (lane.index() == 0) lane.join();
  }
};

TEST(LaneTeam, ShowsAMissingMeeting) {
  for (const bool backwards : {false, true}) {
    LaneTeam team(4, backwards);
    int mailbox[4] = {}, got[4] = {};
    ASSERT_TRUE(team.run(HandOnRow{true, mailbox, got}, 0));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got[i], (i + 1) % 4 + 1);
    int fresh[4] = {};
    ASSERT_TRUE(team.run(HandOnRow{false, fresh, got}, 0));
    int wrong = 0;
    for (int i = 0; i < 4; ++i) wrong += got[i] != (i + 1) % 4 + 1 ? 1 : 0;
    EXPECT_GT(wrong, 0);
    EXPECT_FALSE(team.run(PartingRow{}, 0)) << "one lane waits for others that are gone";
  }
}

}  // namespace
}  // namespace ocrtune
