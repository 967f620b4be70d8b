// kernels: every operator of every backend alone (Google Benchmark), with GFLOP/s or GB/s and their
// share of what the machine was measured to do at most.
//
//   build/kernels --threads=1 --benchmark_filter=onednn/conv
#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include "base/random.h"
#include "bench/kernels/flops.h"
#include "bench/kernels/peaks.h"
#include "core/backends/backend_table.h"
#include "core/graph/ctc.h"
#include "core/graph/graph.h"
#include "core/graph/tensor.h"

namespace {

using namespace ocrtune;

struct KernelCase {
  std::string name;
  Shape input;
  std::function<int(GraphBuilder&)> add;  // one layer on value 0
  bool slow = false;                      // too slow for plain loops
};

Conv conv_of(int out, Extent kernel, Extent stride, int groups = 1, int branches = 1) {
  Conv conv;
  conv.out_channels = out;
  conv.kernel = kernel;
  conv.stride = stride;
  conv.pad = {kernel.h / 2, kernel.w / 2};
  conv.groups = groups;
  conv.branches = branches;
  return conv;
}

KernelCase conv_case(const std::string& name, const Shape& input, const Conv& conv) {
  return {name, input, [conv](GraphBuilder& net) { return net.conv("x", 0, conv); }, true};
}

// Shapes that the models have at batch 8.
std::vector<KernelCase> cases() {
  const Shape tokens{8, 256, 6, 80};
  std::vector<KernelCase> all = {
      conv_case("conv3x3", {8, 64, 16, 160}, conv_of(128, {3, 3}, {1, 1})),
      conv_case("conv1x1", {8, 240, 12, 80}, conv_of(960, {1, 1}, {1, 1})),
      conv_case("conv5x5_grouped", {8, 256, 6, 80}, conv_of(256, {5, 5}, {1, 1}, 8)),
      conv_case("depthwise3x3", {8, 128, 12, 160}, conv_of(128, {3, 3}, {1, 1}, 128)),
      conv_case("depthwise5x5", {8, 240, 12, 80}, conv_of(240, {5, 5}, {1, 1}, 240)),
      conv_case("depthwise5x5_4_branches", {8, 240, 12, 80}, conv_of(960, {5, 5}, {1, 1}, 240, 4)),
  };
  BatchNorm pooled;
  pooled.activation = Activation::relu;
  pooled.pool = {2, 2};
  BatchNorm plain;
  plain.activation = Activation::hard_swish;
  const Shape image{8, 64, 16, 160};
  const auto add = [&](const char* name, const Shape& input,
                       const std::function<int(GraphBuilder&)>& layer, bool slow = false) {
    all.push_back({name, input, layer, slow});
  };
  add("batch_norm_pool", image, [=](auto& net) { return net.batch_norm("x", 0, pooled); });
  add("batch_norm_hard_swish", image, [=](auto& net) { return net.batch_norm("x", 0, plain); });
  add("norm_sum_4_branches", {8, 256, 12, 160},
      [](auto& net) { return net.norm_sum("x", {0}, 64); });
  add("affine_hard_swish", image,
      [](auto& net) { return net.affine("x", 0, Activation::hard_swish); });
  add("gelu", tokens, [](auto& net) { return net.activate("x", 0, Activation::gelu); });
  add("layer_norm", tokens, [](auto& net) { return net.layer_norm("x", 0, LayerNorm{}); });
  add("average_pool", image, [](auto& net) { return net.average_pool("x", 0, {{0, 2}}); });
  add("max_pool", image, [](auto& net) { return net.max_pool("x", 0, {{2, 2}}); });
  add(
      "linear", tokens,
      [](auto& net) {
        return net.linear("x", 0, Linear{1024, true});
      },
      true);
  add(
      "attention", {8, 768, 6, 80}, [](auto& net) { return net.attention("x", 0, Attention{8}); },
      true);
  add(
      "bi_lstm", {8, 256, 1, 80}, [](auto& net) { return net.bi_lstm("x", 0, BiLstm{96}); }, true);
  return all;
}

// One operator with memory for everything that it may touch.
class Bed {
 public:
  static std::unique_ptr<Bed> make(const KernelCase& test, const std::string& backend_name) {
    auto bed = std::make_unique<Bed>();
    GraphBuilder net("kernel", test.input.c);
    bed->graph_ = net.finish(test.add(net));
    auto backend = make_backend({backend_name, "fp32"});
    if (!backend) return nullptr;
    bed->backend_ = std::move(*backend);
    return bed->prepare(test.input) ? std::move(bed) : nullptr;
  }

  bool forward() {
    call_.scratch = forward_scratch_.bytes();
    return op_->forward(call_).ok();
  }
  bool backward() {
    call_.scratch = backward_scratch_.bytes();
    return op_->backward(call_).ok();
  }
  // As a forward pass left it: a backward pass may overwrite what was saved for it, and the next
  // one would compute with ever smaller numbers.
  void renew_saved() { std::copy(kept_.begin(), kept_.end(), saved_.bytes()); }
  double flops() const { return layer_flops(graph_.layers[0], in_.shape, out_.shape); }
  double bytes() const {  // input and output once
    return static_cast<double>((in_.floats() + out_.floats()) * sizeof(float));
  }

 private:
  bool prepare(const Shape& shape) {
    const Layer& layer = graph_.layers[0];
    const std::vector<Shape> shapes = {shape};
    const auto output = output_shape(layer, shapes);
    if (!output) return false;
    const std::vector<ImageDesc> plain = {{shape, Layout{8}}};
    in_ = {shape, backend_->wanted_layout(layer, plain, *output, 0)};
    auto op = backend_->create({layer, {in_}, *output, true, true});
    if (!op) return false;
    op_ = std::move(*op);
    const OperatorNeeds& needs = op_->needs();
    out_ = {*output, needs.output_layout};
    for (const Parameter& parameter : graph_.parameters) {
      parameters_.push_back(random_floats(parameter.count));
      parameter_gradients_.emplace_back(parameter.count);
    }
    for (const Parameter& statistic : graph_.statistics) {
      statistics_.emplace_back(statistic.count, 1.0F);
    }
    input_ = random_floats(in_.floats());
    output_ = random_floats(out_.floats());
    output_gradient_ = random_floats(out_.floats());
    input_gradient_.resize(in_.floats());
    return reserve(needs) && point();
  }

  bool reserve(const OperatorNeeds& needs) {
    const auto room = [](std::size_t bytes, Memory& memory) {
      auto made = Memory::allocate(bytes + kMemoryAlignment);
      if (made) memory = std::move(*made);
      return made.ok();
    };
    return room(needs.saved_bytes, saved_) && room(needs.forward_scratch_bytes, forward_scratch_) &&
           room(needs.backward_scratch_bytes, backward_scratch_);
  }

  bool point() {
    inputs_ = {input_.data()};
    input_gradients_ = {input_gradient_.data()};
    for (auto& floats : parameters_) parameter_pointers_.push_back(floats.data());
    for (auto& floats : parameter_gradients_) gradient_pointers_.push_back(floats.data());
    for (auto& floats : statistics_) statistic_pointers_.push_back(floats.data());
    call_.inputs = inputs_;
    call_.output = output_.data();
    call_.parameters = parameter_pointers_;
    call_.statistics = statistic_pointers_;
    call_.saved = saved_.bytes();
    call_.output_gradient = output_gradient_.data();
    call_.input_gradients = input_gradients_;
    call_.parameter_gradients = gradient_pointers_;
    if (!forward()) return false;
    kept_.assign(saved_.bytes(), saved_.bytes() + saved_.size());
    return true;
  }

  static std::vector<float> random_floats(std::size_t count) {
    Random random(1);
    std::vector<float> floats(count);
    for (float& value : floats) value = static_cast<float>(random.uniform(-1, 1));
    return floats;
  }

  Graph graph_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Operator> op_;
  ImageDesc in_, out_;
  std::vector<float> input_, output_, output_gradient_, input_gradient_;
  std::vector<std::vector<float>> parameters_, parameter_gradients_, statistics_;
  Memory saved_, forward_scratch_, backward_scratch_;
  std::vector<std::byte> kept_;
  std::vector<const float*> inputs_, parameter_pointers_;
  std::vector<float*> input_gradients_, gradient_pointers_, statistic_pointers_;
  OperatorCall call_;
};

struct Roof {
  double flops = 1, bytes = 1;
};

// Backward counts twice the arithmetic of forward: input and weight gradients.
void set_counters(benchmark::State& state, const Bed& bed, const Roof& roof, double passes) {
  const auto kind = benchmark::Counter::kIsIterationInvariantRate;
  if (bed.flops() > 0) {
    state.counters["GFLOP/s"] = benchmark::Counter(passes * bed.flops() * 1e-9, kind);
    state.counters["of_peak"] = benchmark::Counter(passes * bed.flops() / roof.flops, kind);
  } else {
    state.counters["GB/s"] = benchmark::Counter(passes * bed.bytes() * 1e-9, kind);
    state.counters["of_peak"] = benchmark::Counter(passes * bed.bytes() / roof.bytes, kind);
  }
}

void run_case(benchmark::State& state, const KernelCase& test, const std::string& backend,
              bool forward, const Roof& roof) {
  const std::unique_ptr<Bed> bed = Bed::make(test, backend);
  if (bed == nullptr) {
    state.SkipWithError("this backend has no such operator");
    return;
  }
  while (state.KeepRunning()) {
    if (!forward) {
      state.PauseTiming();
      bed->renew_saved();
      state.ResumeTiming();
    }
    if (!(forward ? bed->forward() : bed->backward())) state.SkipWithError("the operator failed");
  }
  set_counters(state, *bed, roof, forward ? 1 : 2);
}

void run_ctc(benchmark::State& state) {
  Random random(1);
  std::vector<float> logits(8UL * 80 * 97), gradient(logits.size());
  for (float& value : logits) value = static_cast<float>(random.uniform(-1, 1));
  const std::vector<std::vector<int>> labels(8, std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8});
  while (state.KeepRunning()) ctc_loss(logits, 80, 97, labels, gradient.data());
  state.SetItemsProcessed(state.iterations() * 8);
}

int threads_of(int& argc, char** argv) {
  int threads = 1, kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--threads=", 0) == 0) {
      threads = std::max(1, std::atoi(argument.c_str() + 10));
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return threads;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = threads_of(argc, argv);
  omp_set_num_threads(threads);
  const Roof roof{measure_peak_flops(threads), measure_peak_bytes(threads)};
  fmt::print("threads {}, fp32 peak {:.1f} GFLOP/s, memory {:.1f} GB/s (measured)\n", threads,
             roof.flops * 1e-9, roof.bytes * 1e-9);
  for (const char* backend : {"onednn", "reference"}) {
    for (const KernelCase& test : cases()) {
      if (test.slow && std::string(backend) == "reference") continue;
      for (const bool forward : {true, false}) {
        const std::string name =
            fmt::format("{}/{}/{}", backend, test.name, forward ? "forward" : "backward");
        benchmark::RegisterBenchmark(name.c_str(), run_case, test, std::string(backend), forward,
                                     roof)
            ->UseRealTime();
      }
    }
  }
  benchmark::RegisterBenchmark("ctc", run_ctc)->UseRealTime();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
