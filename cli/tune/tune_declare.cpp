// The flags that `tune` and `doctor` share: what is tuned, and how it is searched.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/engine_flags.h"
#include "cli/settings_file.h"
#include "cli/tune/command_flags.h"
#include "cli/tune/reading_engines.h"
#include "cli/tune/tune_device.h"
#include "cli/tune/tune_flags.h"
#include "cli/tune/tune_inference.h"
#include "probes/host/allocators.h"

namespace ocrtune {
namespace {

// An allocator needs its library here, and no other one in front of it.
Status check_allocators(const TuneFlags& flags) {
  const char* own = std::getenv("LD_PRELOAD");
  // --env may set it for the command alone.
  std::string preload = own == nullptr ? "" : own;
  for (const auto& [name, value] : flags.typed.program.environment) {
    if (name == "LD_PRELOAD") preload = value;
  }
  const auto axis = flags.search.axes.find("malloc");
  if (axis == flags.search.axes.end()) return Status();
  for (const std::string& value : axis->second) {
    const Allocator* allocator = find_allocator(value);
    if (allocator == nullptr) continue;
    if (allocator_library(value).empty()) {
      const auto installed = installed_allocators();
      return Error{ErrorKind::missing,
                   fmt::format("--malloc {}: {} is not installed here (Debian's package: {}); "
                               "installed: {}",
                               value, allocator->libraries[0], allocator->package,
                               installed.empty() ? "none" : join(installed, ", "))};
    }
    const Allocator* first = preloaded_allocator(preload);
    if (first == nullptr) continue;
    return Error{ErrorKind::usage,
                 fmt::format("--malloc {}: LD_PRELOAD has {} in front of it; start without that",
                             value, first->name)};
  }
  return Status();
}

// One option for each knob, with the values to try.
void declare_knobs(Flags& cli, TuneFlags& flags) {
  const char* const title = "Knobs (values to try, such as --nproc 1,2,4 or --nproc 1-4)";
  for (const KnobRow& row : knob_table()) {
    std::string help = row.help;
    // The knob table's help begins small, a flag's with a capital.
    if (help[0] >= 'a' && help[0] <= 'z') help[0] = static_cast<char>(help[0] - 'a' + 'A');
    const bool words = *row.choices != '\0';
    if (words) help += " (" + join(split(row.choices, '|'), ", ") + ")";
    cli.option(("--" + std::string(row.name)).c_str(), flags.lists[row.name],
               words ? "WORD,..." : "N,...", help)
        .under(title);
  }
  cli.option("--dim", flags.dims, "NAME=A,B,...", "Try these values of a placeholder of your own")
      .under(title);
}

void declare_search_flags(Flags& cli, TuneFlags& flags) {
  SearchRequest& search = flags.search;
  const char* const title = "Search";
  cli.option("--constraint", search.constraints, "CONDITION",
             "Keep only settings for which this holds: nproc*threads<=16")
      .under(title);
  cli.option("--baseline", flags.baseline, "SETTING",
             "Compare with the setting you have now: 'nproc=1 threads=2 batch=32'")
      .default_text("a plain start")
      .under(title);
  cli.option("--from", flags.from, "RUN",
             "Try early what this run, or the last one of this store file, found fastest")
      .formerly("--run")
      .from_list("runs")
      .under(title);
  cli.option("--policy", search.policy, "POLICY",
             "Judge by measurements alone, or apply the rules of thumb as well")
      .one_of({"measured", "cautious"})
      .under(title);
  cli.option("--seed", search.seed, "N", "Seed of the search and the trials").under(title);
  cli.option("--memory-limit", flags.memory_limit, "SIZE",
             "Memory limit per setting: 8G and 8GiB are 2^33 bytes, 8GB is 8 x 10^9")
      .default_text("what is available")
      .under(title);
  cli.option("--memory-margin", search.memory_margin, "SHARE", "Leave this share of the limit free")
      .under(title);
}

}  // namespace

void declare_amounts(Flags& cli, TuneFlags& flags) {
  cli.option("--budget", flags.budget, "DURATION", "Total time for all trials: 90s, 5m")
      .default_text("5m; with --slo 15m")
      .tell(flags.budget_given);
  cli.option("--trial-time", flags.trial_time, "DURATION", "Measuring time of one trial")
      .default_text("1.5s; of your own command 1.5s to 4s");
  cli.option("--soak", flags.soak, "DURATION",
             "After the search, run the winner for this time to detect memory growth")
      .default_text("part of the budget for servers; 0s disables");
  cli.option("--prove-learning", flags.prove_learning, "DURATION",
             "After the search, train by the present recipe and by the fastest other one for this "
             "time, to compare the samples that they take to the same loss");
  cli.option(
         "--data", flags.data, "DATA",
         "Folder with labels.txt or data.mdb, or a label file; for --mode infer also a folder or "
         "list of images")
      .file();
}

void declare_workload(Flags& cli, TuneFlags& flags) {
  JobFlags& typed = flags.typed;
  const char* const engine = "Built-in OCR engine";
  cli.option("--model", typed.training.model, "MODEL",
             "Run this model of the table, or read with this ONNX file")
      .from_list("models")
      .tell(flags.model_given)
      .under(engine);
  cli.option("--engine", typed.engine, "ENGINE,...",
             "Read with these engines: ocrtune, onnxruntime, openvino, paddle; or train in paddle")
      .default_text("built-in; to read lines of yours with an ONNX file, all that are installed")
      .under(engine);
  cli.option("--height", typed.training.height, "PIXELS", "Scale lines to this height")
      .range(16, 256)
      .tell(flags.inference.height_given)
      .under(engine);
  cli.option("--width", typed.training.width, "PIXELS", "Squeeze lines that are wider than this")
      .range(32, 4096)
      .default_text("320; with an ONNX file as the widest line")
      .tell(flags.inference.width_given)
      .under(engine);
  declare_batch_flags(
      cli, {typed.training.heights, typed.training.width_buckets, typed.training.queue_depth}, 16,
      256, engine);
  cli.option("--device", flags.device.device, "DEVICE",
             "Compute on the cpu, the gpu, or auto: GPUs where usable ones are")
      .under(engine);
  declare_gpus(cli, flags.device.gpus).under(engine);
  declare_command_flags(cli, flags.command, flags.typed.program);
  declare_inference_flags(cli, typed, flags.inference);
  declare_knobs(cli, flags);
  flags.objective.declare(cli);
  declare_search_flags(cli, flags);
  cli.take_settings({[](const Flags&) {
                       Flags all;  // the file holds tune's flags, for doctor as well
                       const CommandRun unused = declare_tune(all);
                       return read_settings(all, kSettingsFile);
                     },
                     {"--resume", "--data", "--mode", "--model", "--url", "--preset"},
                     &flags.settings});
}

Status read_tune_flags(TuneFlags& flags) {
  // First the engines that become commands: all that follows then takes them for commands.
  OCRTUNE_TRY(take_engine_in_paddle(flags));
  OCRTUNE_TRY(take_engine_on_hosts(flags));
  OCRTUNE_TRY(read_lists(flags));
  OCRTUNE_TRY(read_amounts(flags));
  OCRTUNE_TRY(read_command_flags(flags.command, flags.typed.program));
  OCRTUNE_TRY(read_hosts(flags));
  OCRTUNE_TRY(check_allocators(flags));
  OCRTUNE_TRY(check_device_flags(flags.typed, flags.device));
  OCRTUNE_TRY(
      read_inference(flags.typed, flags.search, flags.inference, flags.data, flags.model_given));
  return check_names(flags);
}

Status settle_flags(TuneFlags& flags, const Machine& machine) {
  // The device before the baseline, which depends on it; the command last, for it pins the knobs.
  OCRTUNE_TRY(read_hints(flags));
  OCRTUNE_TRY(read_device(flags.job, flags.search, flags.device, machine));
  std::replace(flags.baseline.begin(), flags.baseline.end(), ',', ' ');  // no value holds one
  OCRTUNE_TRY(choose_engines(flags));
  OCRTUNE_TRY(read_baseline(flags, machine));
  const bool said = !flags.job.command().empty() || !flags.job.url().empty() ||
                    !flags.data.empty() || flags.model_given;
  if (!said) {
    flags.notes.push_back(
        fmt::format("no command, no --data and no {}: this measures the built-in "
                    "engine on random images; `ocrtune init` looks for your own",
                    kSettingsFile));
  }
  OCRTUNE_TRY(settle_command(flags.job, flags.search, machine, flags.baseline, flags.notes));
  share_budget(flags, machine);
  return Status();
}

void say_settings(const TuneFlags& flags, const char* command) {
  if (flags.settings.empty()) return;
  std::fprintf(stderr, "ocrtune %s: note: settings from %s\n", command, kSettingsFile);
}

}  // namespace ocrtune
