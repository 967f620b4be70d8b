// The steps of ocrtune-cuda-core: see trial/cuda/cuda_core_step.h.
#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/random.h"
#include "base/stats.h"
#include "trial/cuda/cuda_core_step.h"
#include "trial/cuda/cuda_device.h"
#include "trial/cuda/nccl_comm.h"
#include "core/gpu/cuda/cuda_reader.h"
#include "core/gpu/cuda/cuda_trainer.h"
#include "core/gpu/device_footprint.h"
#include "core/graph/inference_form.h"
#include "core/models/model.h"
#include "core/graph/network.h"
#include "core/backends/reference/reference_backend.h"
#include "probes/p2p/cuda/cuda_call.h"
#include "probes/p2p/cuda/cuda_steps.h"

namespace ocrtune {
namespace {

constexpr int kWarmUpSteps = 5;
constexpr std::size_t kBucketBytes = std::size_t{4} << 20;

struct Job {
  const ModelRow* model = nullptr;
  TrainerOptions options;
  device::CudaOptions cuda;
  int steps = 30, device = 0;
  double bound = 0.02;  // of the relative errors
};

Result<Job> read_job(const GpuStepOrder& order) {
  Job job;
  TrainerOptions& options = job.options;
  if (!order.text("model").empty()) options.model = order.text("model");
  job.model = find_model(options.model);
  if (job.model == nullptr) {
    return Error{ErrorKind::usage, "there is no model " + options.model};
  }
  if (!order.text("precision").empty()) options.precision = order.text("precision");
  const auto precision = device::precision_named(options.precision);
  if (!precision) return precision.error();
  job.cuda = {*precision, order.text("graphs") != "off"};
  if (*precision != device::Precision::fp32) {
    job.bound = *precision == device::Precision::tf32 ? 0.05 : 0.25;
  }
  options.batch = static_cast<int>(order.number("batch", 16));
  options.height = job.model->height;
  options.width = static_cast<int>(order.number("width", job.model->width));
  options.classes = static_cast<int>(order.number("classes", 97));
  options.bucket_bytes = order.world > 1 ? kBucketBytes : 0;
  job.steps = static_cast<int>(order.number("steps", 30));
  job.device = order.device >= 0 ? order.device : order.world > 1 ? order.rank : 0;
  if (options.batch < 1 || options.width < 8 || options.classes < 2 || job.steps < 1) {
    return Error{ErrorKind::usage, "batch, width, classes and steps must make sense"};
  }
  return job;
}

Batch draw_batch(const Job& job, int count, int width) {
  Random random(99);
  Batch batch;
  batch.count = count;
  batch.height = job.options.height;
  batch.width = width;
  batch.images.resize(device::floats({count, 3, batch.height, width}));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  const int steps = width / job.model->width_per_step;
  for (int n = 0; n < count; ++n) {
    std::vector<int> label(device::many(std::max(steps / 3, 1)));
    for (int& symbol : label) {
      symbol = static_cast<int>(random.integer(1, job.options.classes - 1));
    }
    batch.labels.push_back(std::move(label));
  }
  return batch;
}

Status within(double error, double bound, const char* what) {
  if (error < bound) return Status();  // and not where it is no number
  return Error{ErrorKind::invalid, std::string(what) + " differ from the reference by " +
                                       std::to_string(error) + " (at most " +
                                       std::to_string(bound) + ")"};
}

// What is measured, and all that it needs. Never destroyed: after a fault the runtime may hang.
struct Bench {
  Job job;
  std::unique_ptr<device::CudaExecutor> executor;
  std::unique_ptr<Comm> comm;
  std::unique_ptr<Trainer> trainer;
  InferenceForm form;
  std::unique_ptr<LogitMaker> reader;
};

Status open_trainer(Bench& bench, const GpuStepOrder& order) {
  if (order.world == 1) {
    bench.comm = make_single_comm();
  } else {
    auto comm =
        NcclComm::open({order.rank, order.world, order.rank, order.world, 0, 1}, order.folder,
                       OCRTUNE_NCCL_FOLDER, bench.executor->stream(), bench.job.device);
    if (!comm) return comm.error();
    bench.comm = std::move(*comm);
  }
  auto trainer = make_cuda_trainer(bench.job.options, *bench.executor, *bench.comm);
  if (!trainer) return trainer.error();
  bench.trainer = std::move(*trainer);
  return Status();
}

Status time_steps(Bench& bench, GpuFinding& finding) {
  const auto error = bench.trainer->check_against_reference();
  if (!error) return error.error();
  finding.figures["relative_error"] = *error;
  OCRTUNE_TRY(within(*error, bench.job.bound, "the gradients"));
  const Batch batch = draw_batch(bench.job, bench.job.options.batch, bench.job.options.width);
  std::vector<double> seconds;
  for (int step = -kWarmUpSteps; step < bench.job.steps; ++step) {
    const double start = steady_clock().now_seconds();
    const auto report = bench.trainer->step(batch);
    if (!report) return report.error();
    if (step >= 0) seconds.push_back(steady_clock().now_seconds() - start);
    finding.figures["loss"] = report->loss;
  }
  finding.figures["step_seconds"] = median(seconds);
  finding.figures["samples_per_second"] = batch.count / median(seconds);
  return Status();
}

// Seeded weights, folded, on the GPU; and the logits of a small batch as the reference makes them.
Result<double> open_reader(Bench& bench) {
  const Graph trained = bench.job.model->build(bench.job.options.classes);
  bench.form = make_inference_form(trained);
  std::vector<float> weights(trained.parameter_floats), statistics(trained.statistic_floats);
  fill_initial_parameters(trained, 1, weights.data());
  fill_initial_statistics(trained, statistics.data());
  std::vector<float> folded(bench.form.graph.parameter_floats),
      kept(bench.form.graph.statistic_floats);
  fold_parameters(bench.form, trained, weights.data(), statistics.data(), folded.data(),
                  kept.data());
  bench.reader = make_cuda_reader(*bench.executor);
  OCRTUNE_TRY(bench.reader->take(bench.form.graph, folded, kept));

  const Batch batch = draw_batch(bench.job, 2, bench.job.model->check_width);
  const auto backend = make_reference_backend();
  Network reference(trained, *backend);
  const auto expected = reference.infer(batch, weights, statistics);
  if (!expected) return expected.error();
  double worst = 0;
  for (int run = 0; run < bench.executor->runs_until_replay(); ++run) {
    const auto ours = bench.reader->infer(batch);
    if (!ours) return ours.error();
    double size = 0, difference = 0;
    for (std::size_t i = 0; i < expected->size(); ++i) {
      const double theirs = (*expected)[i], d = (*ours)[i] - theirs;
      size += theirs * theirs;
      difference += d * d;
    }
    const double error = std::sqrt(difference / size);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

Status time_reading(Bench& bench, GpuFinding& finding) {
  const auto error = open_reader(bench);
  if (!error) return error.error();
  finding.figures["read_error"] = *error;
  OCRTUNE_TRY(within(*error, bench.job.bound, "the logits"));
  const Batch batch = draw_batch(bench.job, bench.job.options.batch, bench.job.options.width);
  std::vector<double> seconds;
  for (int run = -kWarmUpSteps; run < bench.job.steps; ++run) {
    const double start = steady_clock().now_seconds();
    const auto logits = bench.reader->infer(batch);
    if (!logits) return logits.error();
    if (run >= 0) seconds.push_back(steady_clock().now_seconds() - start);
  }
  finding.figures["read_seconds"] = median(seconds);
  finding.figures["read_samples_per_second"] = batch.count / median(seconds);
  return Status();
}

Status run_core(const GpuStepOrder& order, GpuFinding& finding) {
  const auto job = read_job(order);
  if (!job) return job.error();
  Bench& bench = *new Bench;
  bench.job = *job;
  if (const auto planned = device_training_bytes(job->options)) {
    finding.figures["footprint_bytes"] = static_cast<double>(*planned);
  }
  auto executor = device::CudaExecutor::open(bench.job.device, bench.job.cuda);
  if (!executor) return executor.error();
  bench.executor = std::move(*executor);
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  OCRTUNE_CUDA(cudaMemGetInfo(&before, &total));
  OCRTUNE_TRY(open_trainer(bench, order));
  OCRTUNE_TRY(time_steps(bench, finding));
  OCRTUNE_CUDA(cudaMemGetInfo(&after, &total));
  finding.figures["used_bytes"] = before > after ? static_cast<double>(before - after) : 0;
  if (order.world == 1) OCRTUNE_TRY(time_reading(bench, finding));
  finding.words["graphs"] = !job->cuda.graphs                          ? "off"
                            : bench.executor->capture_refusal().empty() ? "replayed"
                                                                       : "refused";
  if (!bench.executor->capture_refusal().empty()) {
    finding.detail = bench.executor->capture_refusal();
  }
  return Status();
}

}  // namespace

int ready_step(const GpuStepOrder& order) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0) return say_no_device(order, code);
  say_versions(order, OCRTUNE_NCCL_FOLDER);
  for (int index = 0; index < count; ++index) {
    const auto executor = device::CudaExecutor::open(index, {});
    const Status said = executor ? say_device(order, index) : Status(executor.error());
    if (!said) return say_end(order, outcome_of(said.error()), said.error().what);
  }
  return say_end(order, "passed", "");
}

int core_step(const GpuStepOrder& order) {
  GpuFinding finding = order.finding("core", "passed");
  const Status done = run_core(order, finding);
  if (!done) {
    finding.outcome = outcome_of(done.error());
    finding.detail = done.error().what;
  }
  say(finding);
  return say_end(order, "passed", "");
}

}  // namespace ocrtune
