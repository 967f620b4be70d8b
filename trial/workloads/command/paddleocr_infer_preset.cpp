// Only the flags that really act are turned; those without effect are errors with the way out. On
// GPUs a shell starts the processes, each with its device and its share of the images, because
// use_mp would put all of them on one.
#include "trial/workloads/command/paddleocr_infer_preset.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "trial/observe/gpu_names.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/flag_words.h"

namespace ocrtune {
namespace {

using Words = std::vector<std::string>;

bool is_on(const Words& command, const std::string& flag, bool usual) {
  const auto value = flag_value(command, flag);
  if (!value) return usual;
  const std::string word = lower(*value);
  return word == "true" || word == "t" || word == "1" || word == "yes" || word == "y";
}

// The program that the command starts; predict_rec.py is one process, and says nothing before it
// has read all images.
Result<std::string> program_of(const CommandWorkload& workload) {
  for (const std::string& word : workload.command) {
    const std::string name = base_name(word);
    if (name == "predict_system.py" || name == "predict_det.py") return name;
    if (name != "predict_rec.py") continue;
    if (!times_whole_runs(workload)) {
      return Error{ErrorKind::usage,
                   "predict_rec.py prints its lines when all images are read: time whole runs over "
                   "some hundred images with --log-reader runs:IMAGES, or use predict_system.py"};
    }
    if (turns(workload, "nproc")) {
      return Error{ErrorKind::usage,
                   "predict_rec.py is one process whatever it is told: leave --nproc out, or use "
                   "predict_system.py"};
    }
    return name;
  }
  return Error{ErrorKind::usage,
               "--preset paddleocr-infer is for PaddleOCR's tools/infer/predict_system.py"};
}

Status check_images(const CommandWorkload& workload) {
  const auto images = flag_value(workload.command, "--image_dir");
  if (!images) return Error{ErrorKind::usage, "the command has no --image_dir"};
  const bool relative = !images->empty() && images->front() != '/' && !workload.directory.empty();
  if (path_exists(relative ? join_path(workload.directory, *images) : *images)) return Status();
  return Error{ErrorKind::missing, "--image_dir " + *images + " is not there"};
}

Status check_knobs(const CommandWorkload& workload, bool gpu) {
  if (turns(workload, "workers")) {
    return Error{ErrorKind::usage, "PaddleOCR's inference has no loader workers; leave --workers"};
  }
  if (!turns(workload, "threads")) return Status();
  if (gpu) return Error{ErrorKind::usage, "cpu_threads does nothing on a GPU; leave --threads"};
  if (is_on(workload.command, "--enable_mkldnn", false)) return Status();
  return Error{ErrorKind::usage,
               "cpu_threads has an effect only with --enable_mkldnn=True: add that to the command, "
               "or leave --threads"};
}

// One process for each GPU, the number given explicitly, every n-th image each.
Words one_process_each_gpu(const Words& command, const Words& gpus) {
  Words words = {
      "sh", "-c",
      fmt::format("i=0; while [ $i -lt {{nproc}} ]; do "
                  "CUDA_VISIBLE_DEVICES=$(echo {} | cut -d, -f$((i+1))) \"$@\" --use_mp=False "
                  "--process_id=$i --total_process_num={{nproc}} & i=$((i+1)); done; wait",
                  join(gpus, ",")),
      "sh"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

int number_of(const Words& command, const std::string& flag, int otherwise) {
  const auto text = flag_value(command, flag);
  const auto number = text ? parse_integer(*text) : Result<std::int64_t>(Error());
  return number && *number > 0 && *number < 100000 ? static_cast<int>(*number) : otherwise;
}

// The setting that the command has now; the numbers are PaddleOCR's defaults.
Knobs current_setting(const Words& command, bool threads_count) {
  Knobs knobs;
  if (is_on(command, "--use_mp", false)) knobs.nproc = number_of(command, "--total_process_num", 1);
  knobs.batch = number_of(command, "--rec_batch_num", 6);
  if (threads_count) knobs.threads = number_of(command, "--cpu_threads", 10);
  return knobs;
}

// Its log: predict_rec.py names the picture beside its text, predict_system.py before its texts.
Words answer_places() {
  return {R"(regex:Predicts of (?<input>.+?):\(['"](?<text>.*)['"], [0-9.e-]+\))",
          R"(regex:Predict time of (?<input>.+): [0-9.]+s)",
          R"(regex:ppocr (?:DEBUG|INFO): (?<text>.+), [01]\.[0-9]{3}$)"};
}

}  // namespace

Status apply_paddleocr_infer_preset(PreparedCommand& command, const Machine& machine,
                                    const KnobChoice& choose) {
  CommandWorkload& workload = command.workload;
  const std::string program = OCRTUNE_TRY(program_of(workload));
  OCRTUNE_TRY(check_images(workload));
  bool gpu = is_on(workload.command, "--use_gpu", true);
  Words words = workload.command;
  if (gpu && machine.gpus.empty()) {
    gpu = false;
    set_flag(words, "--use_gpu", "False");
    command.warnings.push_back("no GPU here: --use_gpu=False is added (" + machine.gpu_state + ")");
  }
  // cpu_threads is read with enable_mkldnn alone.
  const bool threads_count = !gpu && is_on(words, "--enable_mkldnn", false);
  command.current = current_setting(words, threads_count);
  command.current_names = {"nproc", "threads", "batch"};
  if (program != "predict_rec.py") command.turnable.emplace_back("nproc");
  command.turnable.emplace_back("batch");
  if (threads_count) command.turnable.emplace_back("threads");
  if (choose) OCRTUNE_TRY(choose(command));
  OCRTUNE_TRY(check_knobs(workload, gpu));
  if (turns(workload, "batch")) set_flag(words, "--rec_batch_num", "{batch}");
  if (turns(workload, "threads")) set_flag(words, "--cpu_threads", "{threads}");
  if (turns(workload, "nproc") && !gpu) {
    set_flag(words, "--use_mp", "True");
    set_flag(words, "--total_process_num", "{nproc}");
    command.warnings.emplace_back(
        "the processes of use_mp write the same system_results.txt and the last one wins: give "
        "each "
        "share of the images a folder of its own (--draw_img_save_dir)");
    if (!turns(workload, "threads")) {
      command.warnings.emplace_back(
          "each process has cpu_threads threads (10 unless it is set): vary --threads with "
          "--enable_mkldnn=True, or processes crowd each other");
    }
  }
  const Words gpus = visible_gpu_names(machine, process_environment());
  const bool spread = turns(workload, "nproc") && gpu;
  if (gpu) command.gpus = static_cast<int>(gpus.size());
  command.launch = spread ? one_process_each_gpu(words, gpus) : words;
  // Results of a trial go to its folder; the launch keeps the user's.
  set_flag(words, "--draw_img_save_dir", "{trial_dir}/out");
  workload.command = spread ? one_process_each_gpu(words, gpus) : words;
  if (workload.answers.empty()) workload.answers = answer_places();
  if (workload.log_reader.empty()) workload.log_reader = "paddleocr-infer";
  if (spread) {
    const int most = static_cast<int>(gpus.size());
    command.refuse = [most](const Knobs& knobs) -> std::optional<Refusal> {
      if (knobs.nproc <= most) return std::nullopt;
      return Refusal{Outcome::unsupported, "gpus",
                     fmt::format("{} processes on {} GPU{}: more processes on one GPU do not read "
                                 "more images",
                                 knobs.nproc, most, most == 1 ? "" : "s")};
    };
  }
  return Status();
}

}  // namespace ocrtune
