// ocrtune p2p: does GPU peer-to-peer work here, and what to set where it does not.
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/plural.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "core/models/model.h"
#include "probes/gpu/gpu.h"
#include "probes/gpu/gpu_ids.h"
#include "probes/machine_gpus.h"
#include "probes/p2p/nccl_sweep.h"
#include "probes/p2p/p2p_json.h"
#include "probes/p2p/p2p_ladder.h"
#include "probes/p2p/p2p_static.h"
#include "probes/probe.h"
#include "reports/console/p2p_console.h"

namespace ocrtune {
namespace {

struct P2pFlags {
  bool json = false, only_facts = false, sweep = false;
  std::string gpus, soak, deadline, nccl;
  std::vector<std::string> notes;  // about the GPUs that are not looked at
  std::string model = "svtrv2", compute, out;
  LadderOptions ladder;
  SweepOptions sweep_options;
};

// Unsafe as things stand: training on these GPUs would hang or go wrong.
bool answer_is_no(P2pClass verdict) {
  switch (verdict) {
    case P2pClass::broken:
    case P2pClass::partial:
    case P2pClass::nvlink_fault:
    case P2pClass::shm_broken:
    case P2pClass::flaky:
    case P2pClass::gpu_wedged:
      return true;
    default:
      return false;
  }
}

LadderWorld real_world(const Environment& environment) {
  LadderWorld world;
  world.run = [environment](const GpuStep& step) {
    GpuStepPlace place;
    place.environment = environment;
    return run_gpu_step(step, place);
  };
  // 20 s, here and below: without persistence mode the driver takes seconds for each GPU.
  world.look = [environment] { return probe_gpus(GpuProbeOptions{"", 20}, environment); };
  world.pause = [](double seconds) { steady_clock().sleep_seconds(seconds); };
  if (is_terminal(stderr)) {
    world.announce = [](const std::string& words) {
      std::fputs(fmt::format("{} ...\n", words).c_str(), stderr);
    };
  }
  return world;
}

// The GPUs to be checked: those named by --gpus, else all that this environment shows.
Result<std::vector<LadderGpu>> ladder_gpus(const Machine& machine, const std::string& wanted,
                                           Environment environment) {
  if (environment.count("CUDA_VISIBLE_DEVICES") == 0) {
    environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";  // as every step will have it
  }
  const GpuView view = visible_gpus(physical_gpus(machine.gpus), environment, GpuVendor::nvidia);
  const GpuChoice choice =
      OCRTUNE_TRY(choose_gpus(view, wanted.empty() ? "all" : wanted, environment));
  std::vector<LadderGpu> gpus;
  for (const VisibleGpu& gpu : choice.gpus) {
    if (gpu.physical < 0) return Error{ErrorKind::usage, view.problems.front()};
    gpus.push_back({gpu.physical, gpu.uuid});
  }
  return gpus;
}

Result<int> tell_p2p(const P2pFlags& flags, const Machine& machine, P2pVerdict verdict,
                     const SweepAnswer* sweep = nullptr) {
  verdict.hints.insert(verdict.hints.end(), flags.notes.begin(), flags.notes.end());
  std::string text =
      flags.json ? p2p_json(verdict, machine.gpu_state, sweep) + "\n" : p2p_card(verdict, machine);
  if (!flags.json && sweep != nullptr) text += sweep_card(*sweep);
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0) return Error{ErrorKind::failed, "stdout cannot be written"};
  return answer_is_no(verdict.verdict) ? kExitNegative : kExitOk;
}

// A sweep has a point only where collectives are known to work with verdict.env.
bool may_sweep(const LadderAnswer& answer) {
  if (answer.interrupted || answer.facts.wedged) return false;
  const bool works = answer.facts.control.result == StepResult::passed;
  return works ? answer.verdict.verdict != P2pClass::inconclusive : !answer.verdict.env.empty();
}

// The gradients' buckets of the model named.
Status read_buckets(P2pFlags& flags) {
  const ModelRow* model = find_model(flags.model);
  if (model == nullptr) {
    return Error{ErrorKind::usage, "--model " + flags.model + ": ocrtune list models names them"};
  }
  constexpr int kClasses = 6625;  // of the usual Chinese and English alphabet
  flags.sweep_options.bucket_bytes =
      gradient_buckets(model->build(kClasses).parameter_count() * sizeof(float));
  return Status();
}

Status write_sweep(const P2pFlags& flags, const SweepAnswer& sweep) {
  if (flags.out.empty()) return Status();
  OCRTUNE_TRY(make_output_folder(flags.out));
  std::string text = "# " + sweep.sentence + "\n";
  for (const std::string& warning : sweep.warnings) text += "# " + warning + "\n";
  for (const auto& [name, value] : sweep.rows[static_cast<std::size_t>(sweep.best)].setting.env) {
    text += "export " + name + "=" + value + "\n";
  }
  return write_file(join_path(flags.out, "nccl.env"), text);
}

Status read_durations(P2pFlags& flags) {
  for (const auto& [text, seconds] :
       {std::pair<std::string*, double*>{&flags.soak, &flags.ladder.soak_seconds},
        {&flags.deadline, &flags.ladder.deadline_seconds},
        {&flags.deadline, &flags.sweep_options.deadline_seconds},
        {&flags.compute, &flags.sweep_options.compute_seconds}}) {
    if (text->empty()) continue;
    *seconds = OCRTUNE_TRY(parse_duration(*text));
  }
  return Status();
}

// Why an answer stayed open; "" where the GPUs were asked in vain.
std::string why_open(const LadderAnswer& answer) {
  const P2pFacts& facts = answer.facts;
  if (!facts.not_run_because.empty()) return facts.not_run_because;
  if (!facts.nccl_missing.empty()) return facts.nccl_missing;
  const std::vector<std::string>& open = answer.verdict.not_checked;
  return open.empty() ? answer.verdict.sentence : open.front();
}

Result<int> climb(const P2pFlags& flags, const Machine& machine, const P2pFacts& facts,
                  const std::vector<LadderGpu>& gpus, const LadderWorld& world) {
  const auto answer = OCRTUNE_TRY([&] {
    const WorkLine line("checking " + how_many(gpus.size(), "GPU"), flags.json);
    return climb_p2p_ladder(facts, gpus, machine.gpus, flags.ladder, world);
  }());
  bool interrupted = answer.interrupted;
  Result<int> code = kExitOk;
  if (flags.sweep && may_sweep(answer)) {
    const SweepAnswer sweep = [&] {
      const WorkLine line("timing a step under several NCCL settings", flags.json);
      return run_nccl_sweep(gpus, sweep_settings(answer.facts, answer.verdict), flags.sweep_options,
                            world);
    }();
    interrupted = interrupted || sweep.interrupted;
    // The answer before the file: it is what the user waits for, and a full disk takes none of it.
    code = tell_p2p(flags, machine, answer.verdict, &sweep);
    const Status kept = write_sweep(flags, sweep);
    if (code && !kept) code = kept.error();
  } else {
    code = tell_p2p(flags, machine, answer.verdict);
  }
  if (code && interrupted) {
    return Error{ErrorKind::interrupted, "interrupted",
                 "what was not checked is named above: run it again"};
  }
  const bool open = answer.verdict.verdict == P2pClass::inconclusive;
  if (!code || *code != kExitOk || !open) return code;
  if (answer.facts.control.result != StepResult::not_run &&
      answer.facts.control.result != StepResult::passed) {
    return kExitNegative;  // no way was found for NCCL to work here
  }
  if (flags.json) return kExitEnvironment;  // the document says it
  return Error{ErrorKind::unsupported, "P2P could not be checked: " + why_open(answer)};
}

std::string left_out(const Machine& machine, const P2pFlags& flags, std::size_t count) {
  const std::string by = flags.gpus.empty() ? machine.gpu_visibility : "--gpus " + flags.gpus;
  std::string text =
      fmt::format("{} leaves {} of {}", by, count, how_many(machine.gpus.size(), "GPU"));
  for (const std::string& warning : machine.warnings) {
    // Those of gpu_ids.cpp on entries that name no GPU.
    if (flags.gpus.empty() && starts_with(warning, "CUDA_VISIBLE_DEVICES=")) text += "; " + warning;
  }
  return text;
}

Result<int> run_p2p(P2pFlags flags) {
  OCRTUNE_TRY(read_durations(flags));
  // Mistakes in the flags are told before the driver is asked.
  OCRTUNE_TRY(read_buckets(flags));
  ProbeOptions options;
  options.quick = true;
  options.gpu_deadline_seconds = 20;
  options.environment = process_environment();
  if (!flags.nccl.empty()) (*options.environment)["OCRTUNE_NCCL_PATH"] = flags.nccl;
  const auto machine = OCRTUNE_TRY(probe_machine(options));
  if (starts_with(machine.gpu_state, "unknown")) {
    return Error{ErrorKind::failed, "GPUs " + machine.gpu_state};
  }
  for (const std::string& unknown : machine.unknowns) {  // "GPU 1: code 15: GPU is lost"
    if (starts_with(unknown, "GPU ")) flags.notes.push_back(unknown);
  }
  P2pFacts facts = static_p2p_facts(machine, FileRoot(), *options.environment);
  if (flags.only_facts || machine.gpus.size() < 2) {
    return tell_p2p(flags, machine, judge_p2p(facts));
  }
  const auto gpus = OCRTUNE_TRY(ladder_gpus(machine, flags.gpus, *options.environment));
  keep_pairs_of(gpus, facts);
  if (gpus.size() < machine.gpus.size()) {
    flags.notes.push_back(left_out(machine, flags, gpus.size()));
  }
  return climb(flags, machine, facts, gpus, real_world(*options.environment));
}

}  // namespace

CommandRun declare_p2p(Flags& cli) {
  auto flags = std::make_shared<P2pFlags>();
  cli.toggle("--static", flags->only_facts,
             "Run nothing on the GPUs: print what the driver and the system say");
  cli.option("--gpus", flags->gpus, "IDS", "Check these GPUs, as CUDA numbers them: 0,1")
      .default_text("all");
  cli.toggle("--force", flags->ladder.force, "Check GPUs that others use, too");
  cli.option("--soak", flags->soak, "DURATION", "Run collectives under load for this time: 1m");
  cli.option("--timeout", flags->deadline, "DURATION", "Give up a step after this time")
      .formerly("--deadline")
      .default_text("its own");
  cli.toggle("--sweep", flags->sweep, "Time a training step under several NCCL settings");
  cli.option("--model", flags->model, "MODEL", "Reduce the gradients of this model in the sweep")
      .from_list("models");
  cli.option("--compute", flags->compute, "DURATION", "Compute time of the model's step: 80ms");
  cli.out(flags->out, "DIR", "Write nccl.env to this folder").folder();
  cli.option("--nccl", flags->nccl, "FILE", "Use this libnccl.so.2, such as your framework's")
      .file();
  cli.json(flags->json);
  return [flags] { return run_p2p(*flags); };
}

}  // namespace ocrtune
