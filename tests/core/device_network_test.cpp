// The GPU core on the host: every kernel's logic, the operators' use of them and the whole step,
// run by loops and compared with the reference backend. What a GPU alone can show is that the
// hardware and NVIDIA's libraries do what these loops do.
#include "core/device_network.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/model.h"
#include "core/network.h"
#include "core/optimizer.h"
#include "core/reference_backend.h"
#include "core/reference_ops.h"

namespace ocrtune {
namespace {

class HostConv final : public ConvEngine {
 public:
  explicit HostConv(const ConvSizes& sizes) : loop_{sizes.conv, sizes.in, sizes.out} {}
  std::size_t scratch_bytes() const override { return 0; }
  Status forward(const float* x, const float* w, float* y, std::byte*) override {
    reference::conv_forward(loop_, x, w, static_cast<const float*>(nullptr), y);
    return Status();
  }
  Status backward_input(const float* w, const float* dy, float* dx, std::byte*) override {
    reference::conv_backward_input(loop_, w, dy, dx);
    return Status();
  }
  Status backward_weight(const float* x, const float* dy, float* dw, std::byte*) override {
    reference::conv_backward_weight(loop_, x, dy, dw, static_cast<float*>(nullptr));
    return Status();
  }

 private:
  reference::ConvLoop loop_;
};

struct HostMachine {
  struct Buffer {
    std::vector<double> words;  // aligned for everything
    template <typename T>
    T* as() const {
      return reinterpret_cast<T*>(const_cast<double*>(words.data()));
    }
  };
  int products = 0;

  template <typename Work>
  Status each(std::size_t count, const Work& work) {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < count; ++i) work(i);
    return Status();
  }
  template <typename Work>
  Status rows(std::size_t count, const Work& work) {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < count; ++i) {
      HostLane lane;
      work(lane, i);
    }
    return Status();
  }
  Status product(const DeviceProduct& p) {
    ++products;
    const auto value = [](const DeviceMatrix& m, int batch, int row, int column) {
      const std::size_t r = device::many(m.transposed ? column : row);
      const std::size_t c = device::many(m.transposed ? row : column);
      return m.start[device::many(batch) * m.step + r * device::many(m.stride) + c];
    };
#pragma omp parallel for collapse(2) schedule(static)
    for (int batch = 0; batch < p.batch; ++batch) {
      for (int i = 0; i < p.rows; ++i) {
        for (int j = 0; j < p.columns; ++j) {
          double sum = 0;
          for (int k = 0; k < p.depth; ++k) {
            sum += static_cast<double>(value(p.a, batch, i, k)) * value(p.b, batch, k, j);
          }
          float& to = p.c[device::many(batch) * p.c_step +
                          device::many(i) * device::many(p.c_stride) + device::many(j)];
          to = static_cast<float>(p.scale * sum) + (p.beta == 0 ? 0 : p.beta * to);
        }
      }
    }
    return Status();
  }
  Status clear(void* start, std::size_t bytes) {
    std::memset(start, 0, bytes);
    return Status();
  }
  Result<std::unique_ptr<ConvEngine>> make_conv(const ConvSizes& sizes) {
    return std::unique_ptr<ConvEngine>(std::make_unique<HostConv>(sizes));
  }
  Result<Buffer> allocate(std::size_t bytes) {
    return Buffer{std::vector<double>((bytes + 7) / 8, std::nan(""))};
  }
  Status upload(void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    return Status();
  }
  Status download(void* to, const void* from, std::size_t bytes) { return upload(to, from, bytes); }
};

Batch draw_batch(int count, int height, int width, int classes, int label) {
  Random random(11);
  Batch batch;
  batch.count = count;
  batch.height = height;
  batch.width = width;
  batch.images.resize(static_cast<std::size_t>(count * 3 * height * width));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  for (int n = 0; n < count; ++n) {
    std::vector<int> symbols(static_cast<std::size_t>(n == 0 ? 1 : label));
    for (int& symbol : symbols) symbol = static_cast<int>(random.integer(1, classes - 1));
    if (symbols.size() > 2) symbols[1] = symbols[0];  // a repeat needs a blank between
    batch.labels.push_back(std::move(symbols));
  }
  return batch;
}

double relative_error(const std::vector<float>& a, const std::vector<float>& b, std::size_t first,
                      std::size_t count, double least) {
  double size = 0, difference = 0;
  for (std::size_t i = first; i < first + count; ++i) {
    size += static_cast<double>(b[i]) * b[i];
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
  }
  return std::sqrt(difference) / std::max(std::sqrt(size), least);
}

struct Case {
  const char* model;
  int height, width, label;
  double bound;
};

TEST(DeviceNetwork, AStepAgreesWithTheReference) {
  constexpr int kClasses = 12;
  for (const Case& given : {Case{"crnn", 32, 40, 4, 1e-3}, Case{"crnn-mv3", 32, 16, 2, 2e-3},
                            Case{"svtrv2-small", 48, 24, 2, 1e-3}}) {
    const Graph graph = find_model(given.model)->build(kClasses);
    const Batch batch = draw_batch(2, given.height, given.width, kClasses, given.label);
    std::vector<float> parameters(graph.parameter_floats), statistics(graph.statistic_floats);
    fill_initial_parameters(graph, 5, parameters.data());
    fill_initial_statistics(graph, statistics.data());

    HostMachine machine;
    auto network = device::DeviceNetwork<HostMachine>::create(graph, machine,
                                                              {2, 3, given.height, given.width}, 4);
    ASSERT_TRUE(network) << given.model;
    ASSERT_TRUE((*network)->set_state(parameters, statistics));
    const auto loss = (*network)->train(batch);
    ASSERT_TRUE(loss) << given.model << ": " << loss.error().what;
    std::vector<float> ours(graph.parameter_floats), theirs(graph.parameter_floats, 0.0F);
    ASSERT_TRUE((*network)->get_gradients(ours));

    const auto backend = make_reference_backend();
    Network judge(graph, *backend);
    const auto expected = judge.train(batch, parameters, statistics, theirs);
    ASSERT_TRUE(expected);
    EXPECT_NEAR(loss->mean, expected->mean, 1e-4 * expected->mean) << given.model;
    EXPECT_EQ(loss->impossible, expected->impossible);
    double largest = 0;
    for (const Parameter& p : graph.parameters) {
      double size = 0;
      for (std::size_t i = p.offset; i < p.offset + p.count; ++i) size += theirs[i] * theirs[i];
      largest = std::max(largest, std::sqrt(size));
    }
    for (const Parameter& p : graph.parameters) {
      EXPECT_LT(relative_error(ours, theirs, p.offset, p.count, 1e-3 * largest), given.bound)
          << given.model << ": " << p.name;
    }
    EXPECT_GT((*network)->footprint().total(), 4 * graph.parameter_floats * sizeof(float));

    AdamW settings;
    std::vector<float> first(graph.parameter_floats, 0.0F), second = first, updated(first.size());
    AdamWState state{first, second, 0};
    update_parameters(settings, graph, ours, state, parameters);
    ASSERT_TRUE((*network)->update(settings));
    ASSERT_TRUE((*network)->get_parameters(updated));
    for (const Parameter& p : graph.parameters) {
      EXPECT_LT(relative_error(updated, parameters, p.offset, p.count, 1e-6), 1e-4) << p.name;
    }
  }
}

TEST(DeviceNetwork, LabelsThatCannotBeSpeltCostNothing) {
  const Graph graph = find_model("crnn")->build(12);
  HostMachine machine;
  auto network = device::DeviceNetwork<HostMachine>::create(graph, machine, {2, 3, 32, 16}, 9);
  ASSERT_TRUE(network);
  std::vector<float> parameters(graph.parameter_floats), statistics(graph.statistic_floats);
  fill_initial_parameters(graph, 5, parameters.data());
  fill_initial_statistics(graph, statistics.data());
  ASSERT_TRUE((*network)->set_state(parameters, statistics));
  const auto loss = (*network)->train(draw_batch(2, 32, 16, 12, 9));  // T is 4
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->impossible, 1);
  EXPECT_TRUE(std::isfinite(loss->mean));
  std::vector<float> gradients(graph.parameter_floats);
  ASSERT_TRUE((*network)->get_gradients(gradients));
  for (const float one : gradients) ASSERT_TRUE(std::isfinite(one));
}

TEST(DeviceNetwork, BatchesOfAnotherShapeAreRefused) {
  const Graph graph = find_model("crnn")->build(12);
  HostMachine machine;
  auto network = device::DeviceNetwork<HostMachine>::create(graph, machine, {2, 3, 32, 40}, 4);
  ASSERT_TRUE(network);
  EXPECT_FALSE((*network)->train(draw_batch(2, 32, 48, 12, 3)));
  EXPECT_FALSE((*network)->train(draw_batch(3, 32, 40, 12, 3)));
  EXPECT_FALSE((*network)->train(draw_batch(2, 32, 40, 12, 5))) << "a label beyond the plan";
  Batch wrong = draw_batch(2, 32, 40, 12, 3);
  wrong.labels[1][0] = 12;
  EXPECT_FALSE((*network)->train(wrong)) << "a class that is not there";
}

}  // namespace
}  // namespace ocrtune
