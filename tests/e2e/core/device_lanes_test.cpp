// The GPU core's kernels by groups of lanes that take turns, and whole steps that are replayed:
// what races and captured work would show, without a GPU.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/gpu/device_check.h"
#include "core/gpu/device_network.h"
#include "core/graph/optimizer.h"
#include "tests/support/host_executor.h"
#include "tests/support/narrow_models.h"

namespace ocrtune {
namespace {

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

template <typename Value>
using Net = device::DeviceNetwork<HostExecutor, Value>;

template <typename Value>
std::vector<float> gradients_of(Start& start, HostExecutor& executor) {
  std::vector<float> gradients(start.graph.parameter_floats);
  auto network = Net<Value>::create(start.graph, executor, start.image(), {2});
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
  HostExecutor one;
  const std::vector<float> expected = gradients_of<float>(start, one);
  for (const bool backwards : {false, true}) {
    HostExecutor several;
    several.lanes = 5;  // no row of any kernel is a multiple of it
    several.backwards = backwards;
    EXPECT_LT(difference(gradients_of<float>(start, several), expected), 1e-4)
        << (backwards ? "the last lane first" : "the first lane first");
    Shape image = start.image();
    image.n = 5;  // a norm over two numbers has no slope but rounding
    const auto checked = device::check_layers<Bf16>(several, start.graph, image, start.parameters,
                                                    start.statistics, 3);
    ASSERT_TRUE(checked) << checked.error().what;
    EXPECT_LT(checked->error, device::kMaxLayerError / 2) << checked->layer;
  }
}

// Sums in another order round to another side now and then, and layers blow that up; a race does
// more.
TEST_P(LanesOf, AGroupComputesWhatOneLaneDoesInBf16) {
  Start start(GetParam());
  HostExecutor one, several;
  several.lanes = 5;
  EXPECT_LT(difference(gradients_of<Bf16>(start, several), gradients_of<Bf16>(start, one)), 0.05);
}

// Every step has other images and weights; a replay must see them, and nothing of the step before.
template <typename Value>
void expect_replays(const Small& small) {
  std::vector<float> results[2];
  for (const bool replays : {false, true}) {
    Start start(small);
    HostExecutor executor;
    executor.replays = replays;
    auto network = Net<Value>::create(start.graph, executor, start.image(), {2});
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
    EXPECT_EQ(executor.replayed, replays ? 4 : 0);
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_P(LanesOf, AReplayedStepIsTheStep) {
  expect_replays<float>(GetParam());
  expect_replays<Bf16>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Models, LanesOf, testing::ValuesIn(kSmall),
                         [](const auto& small) { return std::string(small.param.name); });

// Each lane gives its number to the next one, with or without a meeting between.
struct HandOnRow {
  bool meets;
  int* mailbox;
  int* got;
  template <typename Lane>
  void operator()(Lane& lane, std::size_t) const {
    mailbox[lane.index()] = lane.index() + 1;
    if (meets) lane.sync();
    got[lane.index()] = mailbox[(lane.index() + 1) % lane.count()];
  }
};

struct PartingRow {
  template <typename Lane>
  void operator()(Lane& lane, std::size_t) const {
    if (lane.index() == 0) lane.sync();
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
