// Plans of memory come from the engine itself (core), on CPUs for all processes and on GPUs for
// one. The answer is not the engine's own command but Paddle's launcher with the same setting.
#include "trial/workloads/engine_train/engine_training.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "core/gpu/device_footprint.h"
#include "core/graph/batch.h"
#include "trial/observe/thread_runtimes.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/engine_parts.h"
#include "trial/workloads/engine_train/gpu_runner.h"
#include "trial/workloads/planned_bytes.h"
#include "trial/workloads/usual_axes.h"

namespace ocrtune {
namespace {

TrainerOptions trainer_of(const EngineTrainingOptions& options) {
  TrainerOptions trainer;
  trainer.model = options.training.model;
  trainer.classes = options.training.classes;
  trainer.height = options.training.height;
  trainer.width = options.widest_bucket > 0 ? options.widest_bucket : options.training.width;
  trainer.heights = options.training.heights;
  return trainer;
}

MemoryPrior cpu_prior(const EngineTrainingOptions& options) {
  const TrainerOptions trainer = trainer_of(options);
  // Plans are kept by these words for the life of this process.
  const std::string job = fmt::format("train {} {} {} {}", trainer.classes, trainer.height,
                                      trainer.width, fmt::join(trainer.heights, ","));
  auto plans = planned_once(job, trainer.model, [trainer](const Knobs& knobs) {
    TrainerOptions rank = trainer;
    rank.backend = knobs.backend;
    rank.precision = knobs.precision;
    rank.batch = knobs.batch;
    rank.threads = knobs.threads;
    rank.accumulate = knobs.accumulate;
    return training_bytes(rank).value_or(0);
  });
  return [trainer, plans, depth = options.training.queue_depth](const Knobs& knobs) {
    const double planned = plans->of(knobs);
    if (planned == 0) return 0.0;
    std::size_t images = 0;  // of the largest shape
    for (const BatchShape& shape :
         batch_shapes(knobs.batch, trainer.height, trainer.width, trainer.heights)) {
      images = std::max(images, image_floats(shape) * sizeof(float));
    }
    // One batch that is trained, and those that the loader holds ready.
    const double queues = static_cast<double>(images) * (1 + 1.0 * depth * knobs.workers);
    return knobs.nproc * (kProcessBytes + planned + queues);
  };
}

// Of one process on its GPU: the limit is one GPU's memory.
MemoryPrior gpu_prior(const EngineTrainingOptions& options) {
  TrainerOptions trainer = trainer_of(options);
  trainer.heights.clear();
  auto plans = std::make_shared<PlannedBytes>([trainer](const Knobs& knobs) {
    TrainerOptions rank = trainer;
    rank.precision = knobs.precision;
    rank.batch = knobs.batch;
    return device_training_bytes(rank).value_or(0);
  });
  return [plans](const Knobs& knobs) { return plans->of(knobs); };
}

// Devices by UUID in front, so that Paddle's ids count within what is visible.
Launch paddle_on_gpus(std::vector<std::string> uuids, const Knobs& knobs) {
  Launch launch;
  launch.environment = knob_environment(knobs);
  std::vector<std::string> ids;
  uuids.resize(std::min(uuids.size(), static_cast<std::size_t>(knobs.nproc)));
  for (std::size_t i = 0; i < uuids.size(); ++i) ids.push_back(fmt::format("{}", i));
  set_variable(launch.environment, "CUDA_VISIBLE_DEVICES", join(uuids, ","));
  launch.arguments = {"python",
                      "-m",
                      "paddle.distributed.launch",
                      "--gpus",
                      join(ids, ","),
                      "tools/train.py",
                      "-c",
                      "CONFIG.yml",
                      "-o",
                      "Global.use_gpu=true",
                      fmt::format("Train.loader.batch_size_per_card={}", knobs.batch),
                      fmt::format("Train.loader.num_workers={}", knobs.workers)};
  if (knobs.precision == "bf16") {
    launch.arguments.insert(launch.arguments.end(),
                            {"Global.use_amp=true", "Global.amp_dtype=bfloat16"});
  }
  return launch;
}

// Bound as the engine's ranks were, where they were.
PreparedCommand paddle_on_cpus() {
  PreparedCommand prepared;
  prepared.workload.command = {"python",
                               "-m",
                               "paddle.distributed.launch",
                               "--nproc_per_node={nproc}",
                               "tools/train.py",
                               "-c",
                               "CONFIG.yml",
                               "-o",
                               "Global.use_gpu=false",
                               "Train.loader.batch_size_per_card={batch}",
                               "Train.loader.num_workers={workers}"};
  for (const KnobRow& row : knob_table()) prepared.workload.knobs.emplace_back(row.name);
  // Nothing of the program was seen, so no variable of a runtime is told but OMP_NUM_THREADS.
  prepared.workload.unread = unread_thread_variables({});
  return prepared;
}

class EngineTraining : public Workload {
 public:
  explicit EngineTraining(EngineTrainingOptions options) : options_(std::move(options)) {}

  WorkloadSpace space(const Machine& machine) const override {
    WorkloadSpace space;
    if (options_.lines > 0) {
      space.constraints.push_back(fmt::format("nproc*batch<={}", options_.lines));
    }
    if (on_gpus()) {
      add_gpus(machine, space);
      return space;
    }
    // A batch beyond the data set would never be full.
    space.axes = cpu_axes(machine, batches_within({}, options_.lines));
    space.sensible = [machine](const Knobs& knobs, const std::set<std::string>& listed) {
      return sensible_on_cpus(machine, knobs, listed);
    };
    space.rules_of_thumb = true;
    return space;
  }

  WorkloadMemory memory() const override {
    if (!on_gpus()) return {cpu_prior(options_)};
    return {gpu_prior(options_), gpu_count(), false};
  }

  TrialLimits limits(double measure_seconds) const override {
    TrialLimits limits = Workload::limits(measure_seconds);
    if (on_gpus()) limits.max_seconds += kGpuStartSeconds;
    return limits;
  }

  Result<std::unique_ptr<Runner>> runner(const Machine& machine) const override {
    OCRTUNE_TRY(check_measured_files({options_.training.label_file}));
    if (!on_gpus()) return controlled(make_process_runner(options_.training, machine), machine);
    GpuRunnerOptions gpus;
    gpus.gpus = options_.gpus;
    return controlled(make_gpu_runner(options_.training, machine, gpus), machine);
  }

  Result<Launch> launch(const Machine& machine, const Knobs& knobs,
                        const SeenOfProgram& /*seen*/) const override {
    return on_gpus() ? paddle_on_gpus(options_.gpus, knobs)
                     : launch_of(paddle_on_cpus(), machine, knobs);
  }

 private:
  bool on_gpus() const { return !options_.gpus.empty(); }
  int gpu_count() const { return static_cast<int>(options_.gpus.size()); }

  void add_gpus(const Machine& machine, WorkloadSpace& space) const {
    const int gpus = gpu_count();
    // Both ends are guesses.
    constexpr BatchRange kLarge{8, 1024};
    space.axes = gpu_axes(machine, gpus, doublings(batches_within(kLarge, options_.lines)));
    space.axes.push_back({"backend", {}, {"cuda"}});
    if (options_.tensor_cores) space.axes.push_back({"precision", {}, {"fp32", "tf32", "bf16"}});
    if (gpus > 1) {
      space.axes.push_back({"p2p", {}, {"auto", "off"}});
      space.axes.push_back({"ctas", {}, {"auto", "4", "16"}});
    }
    space.constraints.push_back(fmt::format("nproc<={}", gpus));
    space.sensible = [machine](const Knobs& knobs, const std::set<std::string>& listed) {
      return sensible_on_gpus(machine, knobs, listed);
    };
  }

  EngineTrainingOptions options_;
};

}  // namespace

std::unique_ptr<const Workload> make_engine_training(EngineTrainingOptions options) {
  return std::make_unique<EngineTraining>(std::move(options));
}

}  // namespace ocrtune
