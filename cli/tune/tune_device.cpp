// The choice of GPUs is made in tuner/space/device_choice.h. Here it is checked against the memory
// of the smallest setting, told, and put into the job.
#include "cli/tune/tune_device.h"

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "cli/shell/terminal.h"
#include "core/gpu/device_footprint.h"

namespace ocrtune {
namespace {

// Of the smallest setting on one GPU.
Result<std::uint64_t> min_bytes(const Job& job) {
  if (job.infers()) {
    RecognizerOptions reader;
    reader.model = job.model();
    reader.height = job.height();
    reader.width = job.width();
    reader.batch = 1;
    return device_reading_bytes(reader, std::get<ReadingJob>(job.kind).classes);
  }
  if (job.training().width_buckets > 0) {
    return Error{ErrorKind::unsupported, "--device gpu: the GPU core has no width buckets yet"};
  }
  TrainerOptions trainer;
  trainer.model = job.model();
  trainer.heights = job.training().heights;
  trainer.height = job.height();
  trainer.width = job.width();
  trainer.batch = 1;
  return device_training_bytes(trainer);
}

Status can_compute(const Job& job, const DeviceChoice& choice) {
  const auto least = OCRTUNE_TRY(min_bytes(job));
  if (least <= choice.memory_bytes) return Status();
  return Error{ErrorKind::exhausted,
               fmt::format("--device gpu: {} with a batch of 1 takes about {}, and {} are free on "
                           "the fullest GPU",
                           job.model(), format_bytes(least), format_bytes(choice.memory_bytes))};
}

void take_gpus(Job& job, const DeviceChoice& choice) {
  std::vector<std::string> gpus;
  for (const VisibleGpu& gpu : choice.gpus) gpus.push_back(gpu.uuid);
  if (!job.infers() && !choice.no_nccl.empty() && gpus.size() > 1) {
    say_line("on one GPU alone, several cannot train together: " + choice.no_nccl);
    gpus.resize(1);
  }
  say_line(fmt::format("on {} ({}): {}", how_many(gpus.size(), "GPU"), choice.because,
                       join(gpus, ", ")));
  if (auto* reads = std::get_if<ReadingJob>(&job.kind)) {
    reads->reading.gpus = std::move(gpus);
    reads->gpu_memory_bytes = choice.memory_bytes;
  } else if (auto* trains = std::get_if<TrainingJob>(&job.kind)) {
    trains->engine.gpus = std::move(gpus);
    trains->engine.tensor_cores = choice.tensor_cores;
    trains->gpu_memory_bytes = choice.memory_bytes;
  }
}

}  // namespace

Status check_device_flags(const JobFlags& typed, const DeviceRequest& request) {
  // Who asks for a GPU gets an error where none can be had; auto falls back in words.
  const bool asked = request.device != "auto" || !request.gpus.empty();
  if (!asked || typed.built_in()) return Status();
  return Error{ErrorKind::usage,
               "--device, --gpus: only the built-in core is moved; a command or a server of your "
               "own takes its devices by its own flags"};
}

Status read_device(Job& job, const SearchRequest& search, DeviceRequest request,
                   const Machine& machine) {
  bool asked = request.device != "auto" || !request.gpus.empty();
  if (!job.command().empty() || !job.url().empty()) return Status();
  // A knob of the CPUs' core is a choice of it.
  const auto backend = search.axes.find("backend");
  const bool cuda =
      backend != search.axes.end() && backend->second == std::vector<std::string>{"cuda"};
  if (backend != search.axes.end() && !cuda && !asked) return Status();
  if (cuda && !asked) {
    request.device = "gpu";
    asked = true;
  }
  const auto choice = OCRTUNE_TRY(choose_device(request, machine, process_environment()));
  std::string why = choice.because;
  if (choice.gpu) {
    const Status fits = can_compute(job, choice);
    if (!fits && asked) return fits;
    if (fits) {
      take_gpus(job, choice);
      return Status();
    }
    why = fits.error().what;
  }
  if (!machine.gpus.empty() && !asked) say_line("on the CPUs: " + why);
  return Status();
}

}  // namespace ocrtune
