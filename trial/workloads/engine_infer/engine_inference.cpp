// Spaces and plans of the built-in reader, apart for CPUs and for GPUs: there threads only prepare
// pictures, and several processes share a GPU. Plans are priors for the memory model, which
// measured trials correct.
#include "trial/workloads/engine_infer/engine_inference.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "core/gpu/device_footprint.h"
#include "core/infer/logit_maker.h"
#include "core/infer/recognizer.h"
#include "core/onnx/onnx_recognizer.h"
#include "probes/placement/partition.h"
#include "trial/workloads/engine_infer/framework_table.h"
#include "trial/workloads/engine_parts.h"
#include "trial/workloads/planned_bytes.h"
#include "trial/workloads/usual_axes.h"

namespace ocrtune {
namespace {

// Of all that a reader keeps, the sum of their sizes, the largest batch being 1.
double kept_sizes(int batch, int width) {
  std::vector<double> sizes;
  // Widths are padded to steps, and lines taken in powers of two: each pair is a shape of its own.
  for (int wide = kLineWidthStep; wide < width + kLineWidthStep; wide += kLineWidthStep) {
    const double share = std::min(wide, width) / static_cast<double>(width);
    for (int lines = 1; lines < 2 * batch; lines *= 2) {
      sizes.push_back(share * std::min(lines, batch) / batch);
    }
  }
  // Only the most frequent shapes stay; the largest are assumed, so that the plan is from above.
  const std::size_t kept = std::min(sizes.size(), kMaxReaderShapes);
  const auto end = sizes.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(sizes.begin(), end, sizes.end(), std::greater<>());
  return std::accumulate(sizes.begin(), end, 0.0);
}

// More than a few processes on one GPU only take turns: what one of them leaves idle, while it
// decodes and writes, two or three fill.
constexpr int kMaxOnOneGpu = 4;

// Python, the framework's libraries and its own copy of the weights; a guess, which trials correct.
constexpr double kFrameworkBytes = 200e6;

// `has_int8`: the file that frameworks compute in int8 from is there.
bool computes(const Knobs& knobs, bool has_int8) {
  const FrameworkRow* framework = find_framework(knobs.backend);
  return framework == nullptr ||
         (computes_in(*framework, knobs.precision) && (has_int8 || knobs.precision != "int8"));
}

class EngineInference : public Workload {
 public:
  EngineInference(InferenceWorkload inference, int classes)
      : inference_(std::move(inference)), classes_(classes) {}

  Unit unit() const override { return has_slo() ? Unit::request_rate : Unit::sample_rate; }

  WorkloadSpace space(const Machine& machine) const override {
    WorkloadSpace space = on_gpus() ? space_on_gpus(machine) : space_on_cpus(machine);
    // The reader loads its own lines; who hands them out is the axis here.
    set_axis(space.axes, {"workers", {}, {"0"}});
    set_axis(space.axes, {"queue", {}, {"shared", "static"}});
    return space;
  }

  WorkloadMemory memory() const override {
    if (!on_gpus()) return {cpu_prior()};
    const auto gpus = static_cast<int>(inference_.gpus.size());
    return {gpu_prior(), gpus, false, gpus};
  }

  TrialLimits limits(double measure_seconds) const override {
    TrialLimits limits = Workload::limits(measure_seconds);
    if (on_gpus()) limits.max_seconds += kGpuStartSeconds;
    return limits;
  }

  Result<std::unique_ptr<Runner>> runner(const Machine& machine) const override {
    const std::string& model = inference_.model;
    OCRTUNE_TRY(check_measured_files({inference_.place, inference_.checkpoint, inference_.trace,
                                      names_onnx_file(model) ? model : std::string()}));
    return make_infer_runner(inference_, machine);
  }

  Result<Launch> launch(const Machine& machine, const Knobs& knobs,
                        const SeenOfProgram& /*seen*/) const override {
    return infer_launch(inference_, machine, knobs);
  }

 private:
  bool has_slo() const { return !inference_.slo.empty(); }
  bool on_gpus() const { return !inference_.gpus.empty(); }

  RecognizerOptions recognizer() const {
    RecognizerOptions recognizer;
    recognizer.model = inference_.model;
    recognizer.height = inference_.height;
    recognizer.width = inference_.width;
    return recognizer;
  }

  // Small batches are tried as well: one that waits to fill meets no latency target, and on a few
  // CPUs a line alone may be read fastest (bench/RESULTS.md, "Engines").
  WorkloadSpace space_on_cpus(const Machine& machine) const {
    WorkloadSpace space;
    space.axes = cpu_axes(machine, has_slo() ? BatchRange{1, 16} : BatchRange{1, 64});
    const bool has_int8 = path_exists(int8_file(inference_.model));
    std::vector<std::string> precisions = {"fp32"};
    if (machine.cpu.native_bf16.value_or(false)) precisions.emplace_back("bf16");
    if (has_int8) precisions.emplace_back("int8");
    if (precisions.size() > 1) space.axes.push_back({"precision", {}, precisions});
    space.sensible = [machine, has_int8](const Knobs& knobs, const std::set<std::string>& listed) {
      return computes(knobs, has_int8) && sensible_on_cpus(machine, knobs, listed);
    };
    return space;
  }

  // Threads decode and scale for the GPU.
  WorkloadSpace space_on_gpus(const Machine& machine) const {
    const int gpus = static_cast<int>(inference_.gpus.size());
    const int cpus = usable_cpu_count(machine.cpu);
    std::vector<int> processes = half_doublings(gpus);
    for (int each = 2; each <= kMaxOnOneGpu; ++each) processes.push_back(each * gpus);
    WorkloadSpace space;
    space.axes = {{"nproc", {}, number_texts(processes)},
                  {"threads", {}, doublings({1, std::min(16, cpus)})},
                  {"batch", {}, doublings(has_slo() ? BatchRange{1, 32} : BatchRange{8, 256})},
                  {"backend", {}, {"cuda"}}};
    space.sensible = [cpus](const Knobs& knobs, const std::set<std::string>& listed) {
      // One process has no one to share the queue with, so both values are one setting.
      if (knobs.nproc == 1 && knobs.queue != "shared" && listed.count("queue") == 0) return false;
      return listed.count("threads") != 0 || knobs.threads == 1 ||
             knobs.nproc * knobs.threads <= cpus;
    };
    return space;
  }

  MemoryPrior cpu_prior() const {
    const RecognizerOptions own = recognizer();
    auto plans =
        planned_once(fmt::format("read {} {} {}", classes_, own.height, own.width), own.model,
                     [recognizer = own, classes = classes_](const Knobs& knobs) {
                       RecognizerOptions process = recognizer;
                       if (find_framework(knobs.backend) == nullptr)
                         process.backend = knobs.backend;
                       process.precision = knobs.precision;
                       process.batch = knobs.batch;
                       process.threads = knobs.threads;
                       return reading_bytes(process, classes).value_or(0);
                     });
    return [plans](const Knobs& knobs) {
      const double planned = plans->of(knobs);
      const double framework = find_framework(knobs.backend) == nullptr ? 0.0 : kFrameworkBytes;
      // The process that hands out the lines is one more.
      return planned == 0 ? 0.0
                          : kProcessBytes + knobs.nproc * (kProcessBytes + planned + framework);
    };
  }

  // Of the processes that read on the fullest GPU.
  MemoryPrior gpu_prior() const {
    auto plans = std::make_shared<PlannedBytes>(
        [recognizer = recognizer(), classes = classes_](const Knobs& knobs) {
          RecognizerOptions process = recognizer;
          process.precision = knobs.precision;
          process.batch = knobs.batch;
          return all_shapes_reading_bytes(process, classes).value_or(0);
        });
    // Processes on the fullest GPU, where they do not divide evenly.
    return [plans, gpus = static_cast<int>(inference_.gpus.size())](const Knobs& knobs) {
      const int together = (knobs.nproc + gpus - 1) / gpus;
      return together * plans->of(knobs);
    };
  }

  InferenceWorkload inference_;
  int classes_;
};

}  // namespace

std::unique_ptr<const Workload> make_engine_inference(InferenceWorkload inference, int classes) {
  return std::make_unique<EngineInference>(std::move(inference), classes);
}

Result<std::uint64_t> all_shapes_reading_bytes(const RecognizerOptions& options, int classes) {
  RecognizerOptions twice = options;
  // What a doubled batch takes more is the part that grows with the lines: the activations.
  twice.batch = 2 * options.batch;
  const auto once = device_reading_bytes(options, classes);
  const auto more = device_reading_bytes(twice, classes);
  if (!once || !more) return once ? more.error() : once.error();
  const auto activations = static_cast<double>(*more - std::min(*more, *once));
  const double others = kept_sizes(options.batch, options.width) - 1;
  return *once + static_cast<std::uint64_t>(activations * std::max(0.0, others));
}

}  // namespace ocrtune
