#include "cli/tune/tune_device.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "core/gpu/device_footprint.h"

namespace ocrtune {
namespace {

// Of the smallest setting on one GPU.
Result<std::uint64_t> min_bytes(const RunOptions& options) {
  if (options.infers()) {
    RecognizerOptions reader;
    reader.model = options.model;
    reader.height = options.height;
    reader.width = options.width;
    reader.batch = 1;
    return device_reading_bytes(reader, options.classes);
  }
  if (options.width_buckets > 0) {
    return Error{ErrorKind::unsupported, "--device gpu: the GPU core has no width buckets yet"};
  }
  TrainerOptions trainer;
  trainer.model = options.model;
  trainer.heights = options.heights;
  trainer.height = options.height;
  trainer.width = options.width;
  trainer.batch = 1;
  return device_training_bytes(trainer);
}

Status can_compute(const RunOptions& options, const DeviceChoice& choice) {
  const auto least = OCRTUNE_TRY(min_bytes(options));
  if (least <= choice.memory_bytes) return Status();
  return Error{ErrorKind::exhausted,
               fmt::format("--device gpu: {} with a batch of 1 takes about {}, and {} are free on "
                           "the fullest GPU",
                           options.model, format_bytes(least), format_bytes(choice.memory_bytes))};
}

void take_gpus(RunOptions& options, const DeviceChoice& choice) {
  for (const VisibleGpu& gpu : choice.gpus) options.gpus.push_back(gpu.uuid);
  if (!options.infers() && !choice.no_nccl.empty() && options.gpus.size() > 1) {
    std::fprintf(stderr, "on one GPU alone, several cannot train together: %s\n",
                 choice.no_nccl.c_str());
    options.gpus.resize(1);
  }
  options.gpu_memory_bytes = choice.memory_bytes;
  options.tensor_cores = choice.tensor_cores;
  std::fprintf(stderr, "on %s (%s): %s\n", how_many(options.gpus.size(), "GPU").c_str(),
               choice.because.c_str(), join(options.gpus, ", ").c_str());
}

}  // namespace

Status check_device_flags(const RunOptions& options, const DeviceRequest& request) {
  const bool asked = request.device != "auto" || !request.gpus.empty();
  if (!asked || (options.command.empty() && options.url.empty())) return Status();
  return Error{ErrorKind::usage,
               "--device, --gpus: only the built-in core is moved; a command or a server of your "
               "own takes its devices by its own flags"};
}

Status read_device(RunOptions& options, DeviceRequest request, const Machine& machine) {
  bool asked = request.device != "auto" || !request.gpus.empty();
  if (!options.command.empty() || !options.url.empty()) return Status();
  // A knob of the CPUs' core is a choice of it.
  const auto backend = options.axes.find("backend");
  const bool cuda =
      backend != options.axes.end() && backend->second == std::vector<std::string>{"cuda"};
  if (backend != options.axes.end() && !cuda && !asked) return Status();
  if (cuda && !asked) {
    request.device = "gpu";
    asked = true;
  }
  const auto choice = OCRTUNE_TRY(choose_device(request, machine, process_environment()));
  std::string why = choice.because;
  if (choice.gpu) {
    const Status fits = can_compute(options, choice);
    if (!fits && asked) return fits;
    if (fits) {
      take_gpus(options, choice);
      return Status();
    }
    why = fits.error().what;
  }
  if (!machine.gpus.empty() && !asked) std::fprintf(stderr, "on the CPUs: %s\n", why.c_str());
  return Status();
}

}  // namespace ocrtune
