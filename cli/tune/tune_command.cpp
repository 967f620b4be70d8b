// ocrtune tune: probe, search, commit every trial, and say what to launch.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/secrets.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/engine_flags.h"
#include "cli/label_images.h"
#include "cli/shell/machine_turn.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "cli/tune/command_flags.h"
#include "cli/tune/dry_run.h"
#include "cli/tune/objective_flags.h"
#include "cli/tune/tune_device.h"
#include "cli/tune/tune_flags.h"
#include "cli/tune/tune_inference.h"
#include "cli/tune/value_list.h"
#include "core/data/loader.h"
#include "core/data/samples.h"
#include "core/train/trainer.h"
#include "probes/probe.h"
#include "reports/console/console.h"
#include "reports/export/run_json.h"
#include "reports/report_files.h"
#include "tuner/session/promise_proof.h"
#include "tuner/session/run_runner.h"
#include "tuner/session/tune_loop.h"
#include "tuner/session/tune_setup.h"
#include "tuner/space/knob_names.h"
#include "tuner/store/program_versions.h"
#include "tuner/store/store.h"

namespace ocrtune {
namespace {

std::vector<std::string> own_words() {
  std::string bytes = read_file("/proc/self/cmdline").value_or("");
  if (!bytes.empty() && bytes.back() == '\0') bytes.pop_back();
  return split(bytes, '\0');
}

// As typed, without secrets: the store keeps it so that the run can be started again.
std::string own_command_line() { return valid_utf8(shell_join(masked_arguments(own_words()))); }

// A run goes on with the settings that it has.
Status check_resume() {
  const std::vector<std::string> free = {"--resume", "--budget", "--db",
                                         "--out",    "--json",   "--no-wait"};
  for (const std::string& word : own_words()) {
    const std::string name = word.substr(0, word.find('='));
    if (!starts_with(word, "--") || std::find(free.begin(), free.end(), name) != free.end()) {
      continue;
    }
    return Error{ErrorKind::usage,
                 fmt::format("--resume goes on with the run's own settings: leave {} out, or start "
                             "a new tune",
                             name == "--" ? "the command after --" : name)};
  }
  return Status();
}

std::uint64_t memory_limit(const Machine& machine) {
  double limit = machine.memory.limit_bytes.value_or(0);
  const auto available = static_cast<double>(machine.memory.available_bytes);
  if (available > 0 && (limit == 0 || available < limit)) limit = available;
  return static_cast<std::uint64_t>(limit);
}

Result<RunRecord> new_run(TuneFlags& flags, const std::string& command_line) {
  const Status data = read_data(flags);
  if (!data) return data.error();
  make_paths_absolute(flags.options);
  RunRecord run;
  ProbeOptions probe;
  probe.quick = true;  // a mistake is said before anything is measured
  auto machine = probe_machine(probe);
  if (!machine) return machine.error();
  const Status device = read_device(flags.options, flags.device, *machine);
  if (!device) return device.error();
  const Status baseline = read_baseline(flags, *machine);
  if (!baseline) return baseline.error();
  const Status command = settle_command(flags.options, *machine, !flags.baseline.empty());
  if (!command) return command.error();
  run.machine = std::move(*machine);
  if (flags.options.memory_limit_bytes == 0) {
    flags.options.memory_limit_bytes = memory_limit(run.machine);
  }
  run.id = new_run_id();
  run.started = utc_now();
  run.command_line = command_line;
  run.versions = {program_versions().begin(), program_versions().end()};
  run.options = flags.options;
  return run;
}

// Waits until nobody else measures on this machine, takes the run, and measures the machine for a
// new one. `start` is moved by the time that was waited.
Result<MachineLock> begin(RunRecord& run, const TuneFlags& flags, Store& store, double& start) {
  if (flags.resuming) {
    if (Status taken = store.take_run(run.id); !taken) return taken.error();
  }
  const double before = steady_clock().now_seconds();
  auto turn = take_turn(flags.no_wait);
  if (!turn && flags.resuming) {
    const Status kept = store.finish_run(run.id, "interrupted", run.stop_reason);
    (void)kept;
  }
  start += steady_clock().now_seconds() - before;
  if (!turn || flags.resuming) return turn;
  // Measuring the machine takes seconds: a budget of few is for the trials.
  constexpr double kMinForProbe = 15;
  if (run.options.budget_seconds >= kMinForProbe) {
    auto machine = probe_machine({});
    if (!machine) return machine.error();
    run.machine = std::move(*machine);
    if (flags.memory_limit.empty()) run.options.memory_limit_bytes = memory_limit(run.machine);
  }
  if (Status begun = store.begin_run(run); !begun) return begun.error();
  return turn;
}

// The run to go on with: the newest one that did not end, or the named one.
Result<RunRecord> resumed_run(const TuneFlags& flags, const Store& store) {
  auto run = store.load_run(flags.resume.empty() ? "last" : flags.resume);
  if (!run) return run.error();
  ProbeOptions quick;
  quick.quick = true;
  const auto here = probe_machine(quick);
  if (!here) return here.error();
  if (here->fingerprint != run->machine.fingerprint) {
    return Error{ErrorKind::usage,
                 fmt::format("run {} was measured on another machine ({}); its trials say nothing "
                             "about this one: start a new tune without --resume",
                             run->id, run->machine.host)};
  }
  return run;
}

SearchState search_state(const TuneProgress& progress, const RunOptions& options) {
  SearchState state;
  state.trial = progress.trials + 1;
  state.best.median = progress.best_samples_per_second;
  state.best.low = state.best.high = state.best.median;
  state.seconds_left = std::max(0.0, progress.budget_seconds - progress.seconds);
  state.budget_seconds = options.budget_seconds;
  if (options.serves()) state.unit = "requests/s";
  if (progress.under_way != nullptr) {
    state.phase = progress.under_way->phase;
    state.setting = knobs_text(progress.under_way->knobs);
  }
  return state;
}

// For logs and CI: what a trial gave, one line each.
std::string trial_line(const Trial& trial, int number, const RunOptions& options) {
  const std::string gave = trial.ok() ? fmt::format("{} {}", format_count(trial.samples_per_second),
                                                    options.serves() ? "requests/s" : "images/s")
                                      : std::string(outcome_name(trial.outcome));
  return fmt::format("trial {}: {}: {} in {}", number, knobs_text(trial.knobs), gave,
                     format_duration(trial.seconds));
}

Result<TuneLoopEnd> search_and_store(RunRecord& run, const TuneSetup& setup, Store& store,
                                     double spent_seconds) {
  const std::unique_ptr<Search> search =
      find_strategy(run.options.strategy)->make(setup.space, setup.search);
  const auto runner = make_runner(run.options, run.machine);
  if (!runner) return runner.error();
  TuneLoopOptions loop;
  loop.budget_seconds =
      std::max(0.0, run.options.budget_seconds - spent_seconds - proof_seconds(run.options));
  loop.limits = trial_limits(run.options);
  loop.earlier = run.trials;
  SearchProgress line;
  TuneCallbacks callbacks;
  int number = static_cast<int>(run.trials.size());
  callbacks.on_trial = [&](Trial& trial) {
    if (number++ == 0 && run.options.prints() && trial.seconds > 0) {
      line.note(fmt::format(
          "A trial takes about {} here, {} of it start-up: the budget pays for about {:.0f}",
          format_duration(trial.seconds), format_duration(trial.start_seconds),
          std::max(1.0, loop.budget_seconds / trial.seconds)));
    }
    line.plain(trial_line(trial, number, run.options));
    return store.add_trial(run.id, trial);
  };
  callbacks.on_progress = [&](const TuneProgress& progress) {
    line.show(search_state(progress, run.options));
  };
  return tune_loop(*search, **runner, steady_clock(), loop, callbacks);
}

// The promise of the winner, proved at full length; a winner that fails makes room for the next.
Status prove_promise(RunRecord& run, Store& store, double end_seconds) {
  constexpr int kMaxWinners = 2;
  for (int i = 0; i < kMaxWinners && !run.options.promise.empty() && !interrupted(); ++i) {
    if (Status judged = judge(run); !judged) return judged;
    const double left = end_seconds - steady_clock().now_seconds();
    const auto runner = [&](double rate) { return make_proof_runner(run, rate); };
    if (is_terminal(stderr)) std::fprintf(stderr, "proving the winner's promise at full length\n");
    auto trial = prove_winner(run, runner, std::min(left, proof_seconds(run.options)));
    if (!trial) break;
    if (Status kept = store.add_trial(run.id, *trial); !kept) return kept;
    run.trials.push_back(std::move(*trial));
    if (run.trials.back().ok()) break;
  }
  return Status();
}

// What the user's command printed before it failed, where nothing worked.
void show_last_words(const RunRecord& run) {
  if (!run.options.prints() || run.trials.empty()) return;
  const Trial& trial = run.trials.front();
  std::fflush(stdout);
  std::fprintf(stderr, "\nStopped: %s.\n", run.stop_reason.c_str());
  if (trial.log_tail.empty()) return;
  std::fprintf(stderr, "The end of what %s printed:\n%s", knobs_text(trial.knobs).c_str(),
               trial.log_tail.c_str());
}

Result<int> finish(RunRecord& run, const TuneFlags& flags) {
  const Status judged = judge(run);
  if (!judged) return judged.error();
  if (flags.json) {
    std::printf("%s\n", run_json(run).c_str());
  } else {
    std::fputs(console_summary(run, console_width(stdout), may_colour(stdout)).c_str(), stdout);
  }
  if (!flags.out.empty()) {
    const Status written = write_reports(run, flags.out);
    if (!written) return written.error();
    if (!flags.json) std::printf("\nReport: %s/report.html\n", flags.out.c_str());
  }
  if (!run.result.found) show_last_words(run);
  if (run.state == "interrupted") return kExitInterrupted;
  return run.result.found && run.result.inconclusive.empty() ? kExitOk : kExitNegative;
}

// The widest bucket decides the memory; a batch of another bucket takes less.
void print_buckets(const TuneFlags& flags, const RunRecord& run) {
  if (flags.buckets.empty() || flags.json) return;
  const RunOptions& options = run.options;
  std::printf("Width buckets: %s\n", flags.buckets.c_str());
  TrainerOptions trainer;
  trainer.model = options.model;
  trainer.classes = options.classes;
  trainer.height = options.height;
  trainer.width = options.widest_bucket;
  trainer.batch = options.baseline.batch;
  trainer.threads = options.baseline.threads;
  const auto planned = Trainer::footprint_bytes(trainer);
  if (!planned) return;
  std::printf("Memory of the worst bucket, %d px: %s a process with batch %d\n",
              options.widest_bucket, format_bytes(*planned).c_str(), options.baseline.batch);
}

Result<int> print_plan(const RunRecord& run, const TuneSetup& setup, bool json) {
  const auto text = json ? dry_run_json(run, setup) : dry_run_text(run, setup);
  if (!text) return text.error();
  std::fputs(text->c_str(), stdout);
  return kExitOk;
}

Result<int> tune(TuneFlags flags, const std::string& command_line) {
  if (const Status fits = check_resume(); flags.resuming && !fits) return fits.error();
  for (const auto& check : {read_lists, read_amounts}) {
    const Status status = check(flags);
    if (!status) return status.error();
  }
  const Status command = read_command_flags(flags.command, flags.options);
  if (!command) return command.error();
  const Status movable = check_device_flags(flags.options, flags.device);
  if (!movable) return movable.error();
  const Status asked =
      read_inference(flags.options, flags.inference, flags.data, flags.model_given);
  if (!asked) return asked.error();
  const Status names = check_names(flags.options);
  if (!names) return names.error();
  double start = steady_clock().now_seconds();
  const std::string path = flags.db.empty() ? Store::default_path() : flags.db;
  Result<RunRecord> run = Error{};
  std::unique_ptr<Store> store;
  if (!flags.dry_run) {
    if (Status made = make_output_folder(parent_path(flags.db)); !made) return made.error();
    auto opened = Store::open(path, Store::Mode::write);
    if (!opened) return opened.error();
    store = std::move(*opened);
  }
  // Better now than after the measuring.
  if (const Status made = make_output_folder(flags.out); !made) return made.error();
  run = flags.resuming ? resumed_run(flags, *store) : new_run(flags, command_line);
  if (!run) return run.error();
  print_buckets(flags, *run);
  auto setup = tune_setup(run->options, run->machine);
  if (!setup) return setup.error();
  if (flags.dry_run) return print_plan(*run, *setup, flags.json);
  const auto turn = begin(*run, flags, *store, start);
  if (!turn) return turn.error();
  setup = tune_setup(run->options, run->machine);  // of the machine as measured
  if (!setup) return setup.error();

  double spent_seconds = 0;
  for (const Trial& trial : run->trials) spent_seconds += trial.seconds;
  if (flags.resuming && flags.budget_given) {
    run->options.budget_seconds = spent_seconds + flags.options.budget_seconds;
  }
  spent_seconds += steady_clock().now_seconds() - start;  // probing is part of the budget
  auto end = search_and_store(*run, *setup, *store, spent_seconds);
  if (!end) return end.error();
  run->trials = std::move(end->trials);
  run->stop_reason = end->stop_reason;
  run->state = end->interrupted ? "interrupted" : "done";
  const Status proved = prove_promise(*run, *store, start + run->options.budget_seconds);
  if (!proved) return proved.error();
  const Status finished = store->finish_run(run->id, run->state, run->stop_reason);
  if (!finished) return finished.error();
  return finish(*run, flags);
}

// One option for each knob, with the values to try.
void declare_knobs(Flags& cli, TuneFlags& flags) {
  const char* const title = "Knobs (values to try, such as --nproc 1,2,4 or --nproc 1-4)";
  for (const KnobRow& row : knob_table()) {
    std::string help = row.help;
    if (help[0] >= 'a' && help[0] <= 'z') help[0] = static_cast<char>(help[0] - 'a' + 'A');
    const bool words = *row.choices != '\0';
    if (words) help += std::string(" (") + row.choices + ")";
    cli.option(("--" + std::string(row.name)).c_str(), flags.lists[row.name],
               words ? "WORD,..." : "N,...", help)
        .under(title);
  }
  cli.option("--dim", flags.dims, "NAME=A,B,...", "Try these values of a placeholder of your own")
      .under(title);
}

void declare_search_flags(Flags& cli, TuneFlags& flags) {
  RunOptions& options = flags.options;
  const char* const title = "Search";
  cli.option("--constraint", options.constraints, "CONDITION",
             "Keep only settings for which this holds: nproc*threads<=16")
      .under(title);
  cli.option("--baseline", flags.baseline, "SETTING",
             "Compare with the setting you have now: 'nproc=1 threads=2 batch=32'")
      .default_text("a plain start")
      .under(title);
  cli.option("--policy", options.policy, "POLICY",
             "Judge by measurements alone, or apply the rules of thumb as well")
      .one_of({"measured", "cautious"})
      .under(title);
  cli.option("--strategy", options.strategy, "NAME", "Search in this way")
      .from_list("strategies")
      .under(title);
  cli.option("--seed", options.seed, "N", "Seed of the search and the trials").under(title);
  cli.option("--memory-limit", flags.memory_limit, "SIZE",
             "Let a setting use this much: 8G and 8GiB are 2^33 bytes, 8GB is 8 x 10^9")
      .default_text("what is available")
      .under(title);
  cli.option("--memory-margin", options.memory_margin, "SHARE",
             "Leave this share of the limit free")
      .under(title);
}

}  // namespace

CommandRun declare_tune(Flags& cli) {
  auto flags = std::make_shared<TuneFlags>();
  RunOptions& options = flags->options;
  cli.option("--budget", flags->budget, "DURATION", "Spend so long on all trials: 90s, 5m")
      .default_text("5m; with --slo 15m")
      .tell(flags->budget_given);
  cli.option("--trial-time", flags->trial_time, "DURATION", "Measure for so long in a trial")
      .default_text("1.5s; of your own command 1.5s to 4s");
  cli.option("--data", flags->data, "DATA",
             "Folder with labels.txt or data.mdb, or a label file; to infer any folder or list of "
             "lines")
      .file();
  cli.option("--out", flags->out, "DIR", "Write report.html, the CSV files and ocrtune.env here")
      .folder();
  cli.option("--resume", flags->resume, "RUN", "Go on with a run (the last one without RUN)")
      .value_optional()
      .from_list("runs")
      .tell(flags->resuming);
  cli.toggle("--no-wait", flags->no_wait, kNoWaitHelp);
  cli.toggle("--dry-run", flags->dry_run, "Show the space and the cost; start nothing");
  cli.store(flags->db);
  cli.json(flags->json);
  const char* const engine = "Built-in OCR engine";
  cli.option("--model", options.model, "MODEL", "Run this model")
      .from_list("models")
      .tell(flags->model_given)
      .under(engine);
  cli.option("--height", options.height, "PIXELS", "Scale lines to this height")
      .range(16, 256)
      .under(engine);
  cli.option("--width", options.width, "PIXELS", "Squeeze lines that are wider than this")
      .range(32, 4096)
      .under(engine);
  declare_batch_flags(cli, {options.heights, options.width_buckets, options.queue_depth}, 16, 256,
                      engine);
  cli.option("--device", flags->device.device, "DEVICE",
             "Compute on the cpu, the gpu, or auto: GPUs where usable ones are")
      .under(engine);
  declare_gpus(cli, flags->device.gpus).under(engine);
  declare_command_flags(cli, flags->command, flags->options);
  declare_inference_flags(cli, options, flags->inference);
  declare_knobs(cli, *flags);
  flags->objective.declare(cli);
  declare_search_flags(cli, *flags);
  return [flags] { return tune(*flags, own_command_line()); };
}

}  // namespace ocrtune
