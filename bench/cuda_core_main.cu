// ocrtune-cuda-core: one rank of a data-parallel training step on a GPU: checked against the
// reference backend on a small batch first, then timed. Started by ocrtune-gpu-worker as the step
// "core".
//
// Options: --model, --batch, --width, --classes, --precision=fp32|tf32|bf16, --steps. Findings:
// "core" with relative_error, samples_per_second, step_seconds, footprint_bytes, used_bytes.
// `step ready` opens every visible GPU with its libraries and says what is free: findings "device",
// "versions". `train --spec JSON`: bench/cuda_rank.h; `infer --spec JSON`:
// bench/cuda_infer.h.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "base/stats.h"
#include "bench/cuda_infer.h"
#include "bench/cuda_rank.h"
#include "core/cuda_machine.h"
#include "core/device_network.h"
#include "core/model.h"
#include "core/network.h"
#include "core/reference_backend.h"
#include "probes/cuda_call.h"
#include "probes/gpu_step_order.h"
#include "probes/nccl_rank.h"

namespace ocrtune {
namespace {

using Net = device::DeviceNetwork<device::CudaMachine>;

constexpr int kMostLabel = 25;

struct Job {
  const ModelRow* model = nullptr;
  int batch = 16, width = 320, classes = 97, steps = 30;
  device::Precision precision = device::Precision::fp32;
  double bound = 1e-3;  // of the relative error
};

Result<Job> read_job(const GpuStepOrder& order) {
  Job job;
  const std::string name = order.text("model").empty() ? "crnn" : order.text("model");
  job.model = find_model(name);
  if (job.model == nullptr) return Error{ErrorKind::usage, "there is no model " + name};
  job.batch = static_cast<int>(order.number("batch", 16));
  job.width = static_cast<int>(order.number("width", job.model->width));
  job.classes = static_cast<int>(order.number("classes", 97));
  job.steps = static_cast<int>(order.number("steps", 30));
  const std::string precision = order.text("precision");
  if (precision == "tf32") {
    job.precision = device::Precision::tf32;
    job.bound = 0.05;
  } else if (precision == "bf16") {
    job.precision = device::Precision::bf16;
    job.bound = 0.2;
  } else if (!precision.empty() && precision != "fp32") {
    return Error{ErrorKind::usage, "precision " + precision + ": there is fp32, tf32 and bf16"};
  }
  if (job.batch < 1 || job.width < 8 || job.classes < 2 || job.steps < 1) {
    return Error{ErrorKind::usage, "batch, width, classes and steps must make sense"};
  }
  return job;
}

Batch draw_batch(const Job& job, int count, int width, std::uint64_t seed) {
  Random random(seed);
  Batch batch;
  batch.count = count;
  batch.height = job.model->height;
  batch.width = width;
  batch.images.resize(device::floats({count, 3, batch.height, width}));
  for (float& pixel : batch.images) pixel = static_cast<float>(random.uniform(-1, 1));
  const int steps = width / job.model->width_per_step;
  for (int n = 0; n < count; ++n) {
    std::vector<int> label(device::many(std::clamp(steps / 3, 1, kMostLabel)));
    for (int& symbol : label) symbol = static_cast<int>(random.integer(1, job.classes - 1));
    batch.labels.push_back(std::move(label));
  }
  return batch;
}

struct HostState {
  std::vector<float> parameters, statistics;
};

HostState initial_state(const Graph& graph) {
  HostState state{std::vector<float>(graph.parameter_floats),
                  std::vector<float>(graph.statistic_floats)};
  fill_initial_parameters(graph, 1, state.parameters.data());
  fill_initial_statistics(graph, state.statistics.data());
  return state;
}

double norm_of(const std::vector<float>& a, const Parameter& p, const std::vector<float>* minus) {
  double sum = 0;
  for (std::size_t i = p.offset; i < p.offset + p.count; ++i) {
    const double d = static_cast<double>(a[i]) - (minus == nullptr ? 0.0 : (*minus)[i]);
    sum += d * d;
  }
  return std::sqrt(sum);
}

// The largest relative error over the loss and every gradient tensor, as the CPU core's check.
Result<double> check_against_reference(const Job& job, const Graph& graph,
                                       device::CudaMachine& machine) {
  const Batch batch = draw_batch(job, 2, job.model->check_width, 77);
  HostState state = initial_state(graph);
  auto network = Net::create(graph, machine, {2, 3, batch.height, batch.width}, {kMostLabel});
  if (!network) return network.error();
  OCRTUNE_TRY((*network)->set_state(state.parameters, state.statistics));
  const auto loss = (*network)->train(batch);
  if (!loss) return loss.error();
  std::vector<float> ours(graph.parameter_floats), theirs(graph.parameter_floats);
  OCRTUNE_TRY((*network)->get_gradients(ours));
  const auto reference = make_reference_backend();
  Network judge(graph, *reference);
  const auto expected = judge.train(batch, state.parameters, state.statistics, theirs);
  if (!expected) return expected.error();
  double largest = 0;
  for (const Parameter& p : graph.parameters)
    largest = std::max(largest, norm_of(theirs, p, nullptr));
  double worst = std::fabs(loss->mean - expected->mean) / std::fabs(expected->mean);
  for (const Parameter& p : graph.parameters) {
    const double error =
        norm_of(ours, p, &theirs) / std::max(norm_of(theirs, p, nullptr), 1e-3 * largest);
    if (!(error <= worst)) worst = error;  // NaN counts as worst
  }
  return worst;
}

// Steps of forward, backward, mean over the ranks and AdamW.
Status time_steps(const Job& job, const Graph& graph, device::CudaMachine& machine, NcclRank* ranks,
                  GpuFinding& finding) {
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  OCRTUNE_CUDA(cudaMemGetInfo(&before, &total));
  auto network =
      Net::create(graph, machine, {job.batch, 3, job.model->height, job.width}, {kMostLabel});
  if (!network) return network.error();
  HostState state = initial_state(graph);
  OCRTUNE_TRY((*network)->set_state(state.parameters, state.statistics));
  const Batch batch = draw_batch(job, job.batch, job.width, 99);
  std::vector<double> seconds;
  for (int step = -5; step < job.steps; ++step) {
    const double start = steady_clock().now_seconds();
    const auto loss = (*network)->train(batch);
    if (!loss) return loss.error();
    if (ranks != nullptr) {
      OCRTUNE_TRY(machine.wait());
      float* gradients = (*network)->gradients();
      OCRTUNE_TRY(ranks->enqueue("gradients", [&](ncclComm_t comm) {
        return ranks->library().all_reduce(gradients, gradients, graph.parameter_floats,
                                           ncclFloat32, ncclAvg, comm, ranks->stream());
      }));
      OCRTUNE_TRY(ranks->wait("gradients", 30));
    }
    OCRTUNE_TRY((*network)->update(AdamW{}));
    OCRTUNE_TRY(await_stream(machine.stream(), 60, "a step"));
    if (step >= 0) seconds.push_back(steady_clock().now_seconds() - start);
    finding.figures["loss"] = loss->mean;
  }
  OCRTUNE_CUDA(cudaMemGetInfo(&after, &total));
  finding.figures["step_seconds"] = median(seconds);
  finding.figures["samples_per_second"] = job.batch / median(seconds);
  finding.figures["footprint_bytes"] = static_cast<double>((*network)->footprint().total());
  finding.figures["used_bytes"] = static_cast<double>(before > after ? before - after : 0);
  return Status();
}

// Is each visible GPU fit for the core?
Status run_ready(const GpuStepOrder& order) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    return Error{ErrorKind::unsupported, "no GPU: CUDA finds no driver or no device"};
  }
  GpuFinding versions = order.finding("versions", "passed");
  const auto library = open_nccl(OCRTUNE_NCCL_FOLDER);
  if (library) {
    versions.words["nccl_version"] = nccl_version(*library);
  } else {
    versions.detail = library.error().what;
  }
  say(versions);
  for (int index = 0; index < count; ++index) {
    auto machine = device::CudaMachine::open(index, device::Precision::fp32);
    if (!machine) return machine.error();
    std::size_t free = 0;
    std::size_t total = 0;
    OCRTUNE_CUDA(cudaMemGetInfo(&free, &total));
    cudaDeviceProp properties{};
    OCRTUNE_CUDA(cudaGetDeviceProperties(&properties, index));
    GpuFinding device = order.finding("device", "passed");
    device.from = index;
    device.figures["free_bytes"] = static_cast<double>(free);
    device.figures["total_bytes"] = static_cast<double>(total);
    device.words["name"] = properties.name;
    say(device);
  }
  return Status();
}

Status run_core(const GpuStepOrder& order, GpuFinding& finding) {
  const auto job = read_job(order);
  if (!job) return job.error();
  if (order.kind == "ready") return run_ready(order);
  auto machine = device::CudaMachine::open(order.world > 1 ? order.rank : 0, job->precision);
  if (!machine) return machine.error();
  const Graph graph = job->model->build(job->classes);
  const auto error = check_against_reference(*job, graph, **machine);
  if (!error) return error.error();
  finding.figures["relative_error"] = *error;
  if (!(*error < job->bound)) {
    return Error{ErrorKind::invalid, "the gradients differ from the reference by " +
                                         std::to_string(*error) + " (at most " +
                                         std::to_string(job->bound) + ")"};
  }
  if (order.world == 1) return time_steps(*job, graph, **machine, nullptr, finding);
  const auto library = open_nccl(OCRTUNE_NCCL_FOLDER);
  if (!library) return library.error();
  NcclRank ranks(order, *library);
  OCRTUNE_TRY(ranks.open("core"));
  const Status done = time_steps(*job, graph, **machine, &ranks, finding);
  if (!done) {
    finding.outcome = outcome_of(done.error());
    finding.detail = done.error().what;
    say(finding);  // before an abort, which may hang
    ranks.abort();
    return done;
  }
  return ranks.close();
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char** argv) {
  const std::string verb = argc == 4 && std::string(argv[2]) == "--spec" ? argv[1] : "";
  if (verb == "train" || verb == "infer") {
    ocrtune::catch_interrupts();
    const int code =
        verb == "train" ? ocrtune::run_cuda_rank(argv[3]) : ocrtune::run_cuda_reader(argv[3]);
    std::fflush(stdout);
    std::_Exit(code);  // the runtime's own farewell may hang on a sick GPU
  }
  const auto order = ocrtune::parse_gpu_step(argc, argv);
  if (!order) {
    std::fputs(("ocrtune-cuda-core: " + order.error().what + "\n").c_str(), stderr);
    return 2;
  }
  ocrtune::GpuFinding finding = order->finding("core", "passed");
  const ocrtune::Status done = ocrtune::run_core(*order, finding);
  if (!done) {
    finding.outcome = ocrtune::outcome_of(done.error());
    finding.detail = done.error().what;
  }
  ocrtune::say(finding);
  ocrtune::say_end(*order, "passed", "");
  std::fflush(stdout);
  std::_Exit(0);
}
