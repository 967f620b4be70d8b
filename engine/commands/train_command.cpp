// ocrtune train: the built-in core learns a folder of lines, on the CPUs or a process for each GPU.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/files.h"
#include "base/plural.h"
#include "base/text.h"
#include "cli/commands/engine_flags.h"
#include "cli/model_choice.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "core/data/alphabet.h"
#include "core/data/samples.h"
#include "core/onnx/onnx_recognizer.h"
#include "core/synth/line_dataset.h"
#include "core/train/training_run.h"
#include "engine/commands/engine_commands.h"
#include "engine/work/label_images.h"
#include "probes/gpu/gpu_worker_program.h"
#include "probes/probe.h"
#include "trial/workloads/engine_train/fit_process.h"
#include "tuner/space/device_choice.h"

namespace ocrtune {
namespace {

struct TrainFlags {
  TrainingRunOptions run;
  std::string data, evaluation, alphabet;
  DeviceRequest device{"cpu", "", "", 60};
  bool backend_given = false, height_given = false;
};

// A folder stands for the label file in it, unless it is an LMDB.
std::string label_file_of(const std::string& place) { return samples_path(place); }

// The imported model's, else the dictionary that was asked for, the one beside the labels, none.
Status choose_alphabet(TrainFlags& flags) {
  LoaderOptions& loader = flags.run.loader;
  if (names_onnx_file(flags.run.trainer.model)) {
    if (flags.device.device != "cpu" || !loader.heights.empty()) {
      return Error{ErrorKind::usage,
                   "an imported model is trained on the CPUs, at its own height: not with " +
                       std::string(loader.heights.empty() ? "--device" : "--heights")};
    }
    const auto choice =
        OCRTUNE_TRY(choose_model(flags.run.resume, flags.run.trainer.model, flags.alphabet,
                                 flags.height_given ? loader.height : 0));
    loader.alphabet = choice.alphabet;
    loader.height = choice.height;
    return Status();
  }
  const std::string beside = join_path(parent_path(flags.run.loader.label_file), kAlphabetFileName);
  if (flags.alphabet.empty() && !path_exists(beside)) return Status();
  const std::string& name = flags.alphabet.empty() ? beside : flags.alphabet;
  const auto alphabet =
      OCRTUNE_TRY(path_exists(name) ? Alphabet::load(name) : Alphabet::from_name(name));
  loader.alphabet = alphabet.text();
  return Status();
}

// One line each, as log readers read it; on a terminal as people do, with the time to go.
class StepPrinter {
 public:
  explicit StepPrinter(std::int64_t steps)
      : steps_(steps), terminal_(is_terminal(stdout)), began_(steady_clock().now_seconds()) {}

  void print(const TrainingProgress& progress) {
    first_.reset();
    const double now = steady_clock().now_seconds();
    const std::int64_t done = progress.step - last_;
    if (last_ > 0 && done > 0) step_seconds_ = (now - seen_) / static_cast<double>(done);
    if (last_ == 0) step_seconds_ = (now - began_) / static_cast<double>(progress.step);
    last_ = progress.step;
    seen_ = now;
    const double left = step_seconds_ * static_cast<double>(steps_ - progress.step);
    if (terminal_) {
      std::printf("step %lld/%lld  loss %.4f  label errors %s  %s samples/s%s%s\n",
                  static_cast<long long>(progress.step), static_cast<long long>(steps_),
                  progress.loss, format_percent(progress.label_error_rate).c_str(),
                  format_count(progress.samples_per_second).c_str(), left > 0 ? "  ETA " : "",
                  left > 0 ? format_duration(left).c_str() : "");
    } else {
      std::printf(
          "step %lld loss %.4f label_error_rate %.4f samples_per_second %.1f data_share %.3f "
          "eta_seconds %.0f\n",
          static_cast<long long>(progress.step), progress.loss, progress.label_error_rate,
          progress.samples_per_second, progress.data_share, left);
    }
    std::fflush(stdout);
  }

 private:
  std::int64_t steps_, last_ = 0;
  bool terminal_;
  double began_, seen_ = 0, step_seconds_ = 0;
  std::optional<WorkLine> first_{std::in_place, "first steps"};  // until there is a line of one
};

std::function<void(const TrainingProgress&)> step_printer(std::int64_t steps) {
  return [printer = std::make_shared<StepPrinter>(steps)](const TrainingProgress& progress) {
    printer->print(progress);
  };
}

// Nothing to say where all batches have one width.
void print_buckets(const TrainingMemory& memory, int width) {
  if (memory.buckets.empty()) return;
  std::printf("width buckets: %s\n", describe_width_buckets(memory.buckets, width).c_str());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < memory.buckets.size(); ++i) {
    parts.push_back(std::to_string(memory.buckets[i].width) + " px " +
                    format_bytes(memory.bucket_bytes[i]));
  }
  std::printf("planned memory by bucket: %s; the most counts, %s\n", join(parts, ", ").c_str(),
              format_bytes(memory.planned_bytes).c_str());
}

void print_outcome(const TrainingRunOptions& run, const TrainingOutcome& outcome) {
  if (outcome.counts.bad > 0) {
    std::printf("%s, replaced by others: %s\n", how_many(outcome.counts.bad, "bad line").c_str(),
                join(outcome.counts.bad_examples, "; ").c_str());
  }
  if (outcome.impossible_labels > 0) {
    std::printf("labels too long for --width %d, nothing was learned from them: %s\n",
                run.loader.width, how_many(outcome.impossible_labels, "sample").c_str());
  }
  if (outcome.evaluated) {
    std::printf("held out: label_error_rate %.4f, %lld of %s without an error\n",
                outcome.evaluation.rate(), static_cast<long long>(outcome.evaluation.exact_lines),
                how_many(outcome.evaluation.lines, "line").c_str());
  }
  if (!run.checkpoint.empty()) {
    std::printf("%s holds %s\n", run.checkpoint.c_str(), how_many(outcome.steps, "step").c_str());
  }
}

// A process for each GPU; their checkpoints go on on CPUs and the other way round.
Result<TrainingOutcome> train_on_gpus(TrainingRunOptions run, const DeviceChoice& choice) {
  std::vector<std::string> gpus;
  for (const VisibleGpu& gpu : choice.gpus) gpus.push_back(gpu.uuid);
  if (gpus.size() > 1 && !choice.no_nccl.empty()) {
    std::printf("on one GPU alone, several cannot train together: %s\n", choice.no_nccl.c_str());
    gpus.resize(1);
  }
  // The GPU computes; the process itself needs one thread.
  run.trainer.threads = 1;
  run.memory_bytes = choice.memory_bytes;
  std::printf("training on %s", join(gpus, ", ").c_str());
  if (gpus.size() > 1) {
    std::printf(": %zu ranks, each with %s a step", gpus.size(),
                how_many(run.loader.batch, "line").c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
  FitOptions options;
  options.program = gpu_worker_program("", process_environment());
  return run_fit_processes(run, gpus, options, step_printer(run.steps));
}

Result<TrainingOutcome> train_somewhere(const TrainFlags& flags, TrainingRunOptions& run) {
  ProbeOptions quick;
  quick.quick = true;
  const auto machine = probe_machine(quick);
  if (flags.device.device != "cpu" || !flags.device.gpus.empty()) {
    if (!machine) return machine.error();
    const auto choice = OCRTUNE_TRY(choose_device(flags.device, *machine, process_environment()));
    if (choice.gpu && flags.backend_given) {
      return Error{ErrorKind::usage, "--backend is of the CPUs: not with --device gpu"};
    }
    if (choice.gpu) return train_on_gpus(run, choice);
  }
  if (machine) run.memory_bytes = machine->memory.available_bytes;
  run.planned = [width = run.loader.width](const TrainingMemory& memory) {
    print_buckets(memory, width);
  };
  return run_training(run, step_printer(run.steps));
}

Result<int> train(TrainFlags flags) {
  TrainingRunOptions& run = flags.run;
  run.loader.label_file = label_file_of(flags.data);
  if (!flags.evaluation.empty()) run.evaluation_labels = label_file_of(flags.evaluation);
  for (const std::string& labels : {run.loader.label_file, run.evaluation_labels}) {
    if (labels.empty() || !path_exists(labels)) continue;  // said better when it is opened
    OCRTUNE_TRY(check_label_images(labels));
  }
  if (run.resume == "auto") {
    if (run.checkpoint.empty()) {
      return Error{ErrorKind::usage, "--resume auto needs --checkpoint FILE"};
    }
    run.resume = path_exists(run.checkpoint) ? run.checkpoint : "";
  }
  OCRTUNE_TRY(choose_alphabet(flags));
  if (run.trainer.threads == 0) run.trainer.threads = std::max(current_affinity().count(), 1);
  run.trainer.seed = run.loader.seed;
  const auto outcome = OCRTUNE_TRY(train_somewhere(flags, run));
  print_outcome(run, outcome);
  if (outcome.interrupted) {
    return Error{ErrorKind::interrupted, "interrupted after " + how_many(outcome.steps, "step"),
                 run.checkpoint.empty() ? "" : "go on with --resume auto"};
  }
  return kExitOk;
}

void declare_optimizer(Flags& cli, TrainerOptions& trainer) {
  const char* const title = "Optimiser";
  cli.option("--learning-rate", trainer.learning_rate, "X",
             "Learning rate of AdamW; the peak of the schedule")
      .under(title);
  cli.option("--schedule", trainer.schedule, "SCHEDULE",
             "Keep the rate constant, or let it fall as a cosine from the peak to 0 at --steps")
      .under(title);
  cli.option("--warm-up", trainer.warm_up_steps, "STEPS",
             "Raise the learning rate from 0 to its peak over N steps")
      .range(0, 1e9)
      .under(title);
  cli.option("--weight-decay", trainer.weight_decay, "X",
             "Weight decay of AdamW, except of biases and norms")
      .under(title);
  cli.option("--clip-norm", trainer.clip_norm, "X",
             "Scale gradients whose norm, all together, is greater to X; 0: never")
      .under(title);
}

}  // namespace

CommandRun declare_train(Flags& cli) {
  auto flags = std::make_shared<TrainFlags>();
  TrainingRunOptions& run = flags->run;
  run.trainer.threads = 0;
  cli.argument("data", flags->data, "Folder with labels.txt or data.mdb, or a label file")
      .require("name the lines to train on, for example: ocrtune train lines --steps 2000")
      .file();
  cli.option("--steps", run.steps, "N", "Stop after N optimiser steps in all").range(1, 1e9);
  cli.option("--checkpoint", run.checkpoint, "FILE", "Save here now and then, and at the end")
      .file();
  cli.option("--resume", run.resume, "FILE",
             "Go on from this checkpoint; auto: from --checkpoint if it is there")
      .file();
  cli.option("--evaluate", flags->evaluation, "DATA", "Read these held-out lines at the end")
      .file();
  cli.option("--model", run.trainer.model, "MODEL", "Train this model, or go on with FILE.onnx")
      .from_list("models");
  cli.option("--backend", run.trainer.backend, "BACKEND", "Compute with onednn or reference")
      .from_list("backends")
      .tell(flags->backend_given);
  cli.option("--device", flags->device.device, "DEVICE",
             "Compute on the cpu, the gpu, or auto: a GPU that was proved fit");
  declare_gpus(cli, flags->device.gpus);
  cli.option("--precision", run.trainer.precision, "TYPE",
             "Compute in fp32, bf16 or, on a GPU, tf32");
  cli.option("--batch", run.loader.batch, "N", "Train on N lines a step, of each GPU");
  cli.option("--threads", run.trainer.threads, "N", "Compute with N threads")
      .default_text("all usable CPUs")
      .range(1, 1024);
  cli.option("--workers", run.loader.workers, "N", "Load with N processes");
  declare_batch_flags(cli, {run.loader.heights, run.loader.width_buckets, run.loader.queue_depth},
                      8, 4096);
  cli.option("--height", run.loader.height, "PIXELS", "Scale lines to this height")
      .tell(flags->height_given);
  cli.option("--width", run.loader.width, "PIXELS", "Squeeze lines that are wider than this");
  declare_optimizer(cli, run.trainer);
  declare_alphabet(cli, flags->alphabet, "alphabet.txt of the data");
  cli.option("--seed", run.loader.seed, "N", "Seed of the weights and of the order");
  cli.option("--report-every", run.report_every, "STEPS", "Print the loss every N steps")
      .range(1, 1e9);
  cli.option("--save-every", run.save_every, "STEPS", "Save every N steps; 0: only at the end")
      .range(0, 1e9);
  return [flags] { return train(*flags); };
}

}  // namespace ocrtune
