// The network of the GPU core is built on an Executor that has no memory and computes nothing; what
// it would allocate is its plan. So the figures come from the code that runs on the GPU.
#include "core/gpu/device_footprint.h"

#include <memory>
#include <string>

#include "core/gpu/device_network.h"
#include "core/graph/inference_form.h"
#include "core/infer/initial_model.h"
#include "core/models/model.h"

namespace ocrtune {
namespace {

// Context, cuBLAS and cuDNN with their workspaces: no measurement, what CUDA 12 and 13 usually take
// on data-centre cards.
constexpr std::uint64_t kLibraryBytes = std::uint64_t{700} << 20;

class NoConv final : public ConvEngine {
 public:
  std::size_t scratch_bytes() const override { return 0; }
  Status forward(const void*, const void*, void*, std::byte*) override { return Status(); }
  Status backward_input(const void*, const void*, void*, std::byte*) override { return Status(); }
  Status backward_weight(const void*, const void*, float*, std::byte*) override { return Status(); }
};

// Has no memory and computes nothing: a network on it is a plan.
struct PlanningExecutor {
  struct Buffer {
    template <typename T>
    T* as() const {
      return nullptr;
    }
  };
  struct Recording {};
  template <typename Work>
  Status for_each(std::size_t, const Work&) {
    return Status();
  }
  template <typename Work>
  Status rows(std::size_t, const Work&) {
    return Status();
  }
  Status product(const DeviceProduct&) { return Status(); }
  Status clear(void*, std::size_t) { return Status(); }
  std::size_t max_scratch() const { return device::kMaxScratch; }
  Result<std::unique_ptr<ConvEngine>> make_conv(const ConvSizes&) {
    return std::unique_ptr<ConvEngine>(std::make_unique<NoConv>());
  }
  Result<Buffer> allocate(std::size_t) { return Buffer(); }
  Status upload(void*, const void*, std::size_t) { return Status(); }
  Status download(void*, const void*, std::size_t) { return Status(); }
};

template <typename Value>
Result<std::uint64_t> planned_bytes(const Graph& graph, const Shape& image,
                                    const device::DeviceUse& use) {
  PlanningExecutor executor;
  const auto network =
      device::DeviceNetwork<PlanningExecutor, Value>::create(graph, executor, image, use);
  if (!network) return network.error();
  return (*network)->footprint().total() + kLibraryBytes;
}

Result<std::uint64_t> bytes_of(const Graph& graph, const Shape& image, const std::string& precision,
                               const device::DeviceUse& use) {
  return precision == "bf16" ? planned_bytes<Bf16>(graph, image, use)
                             : planned_bytes<float>(graph, image, use);
}

}  // namespace

Result<std::uint64_t> device_training_bytes(const TrainerOptions& options) {
  const ModelRow* model = find_model(options.model);
  if (model == nullptr) return Error{ErrorKind::usage, "there is no model " + options.model};
  if (!options.heights.empty() || !options.widths.empty()) {
    return Error{ErrorKind::unsupported, "the GPU core takes batches of one shape alone"};
  }
  return bytes_of(model->build(options.classes), {options.batch, 3, options.height, options.width},
                  options.precision, {options.width / model->width_per_step + 1});
}

Result<std::uint64_t> device_reading_bytes(const RecognizerOptions& options, int classes) {
  const Graph graph =
      make_inference_form(OCRTUNE_TRY(recognition_graph(options.model, options.height, classes)))
          .graph;
  return bytes_of(graph, {options.batch, 3, options.height, options.width}, options.precision,
                  {1, false});
}

}  // namespace ocrtune
