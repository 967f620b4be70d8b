// ocrtune tune: probe, search, commit every trial, and say what to launch.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/secrets.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/commands/engine_flags.h"
#include "cli/commands/stored_run.h"
#include "cli/hosts_door.h"
#include "cli/settings_file.h"
#include "cli/shell/machine_turn.h"
#include "cli/shell/notify.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "cli/shell/trial_table.h"
#include "cli/tune/command_flags.h"
#include "cli/tune/dry_run.h"
#include "cli/tune/listening.h"
#include "cli/tune/live_page.h"
#include "cli/tune/objective_flags.h"
#include "cli/tune/reading_engines.h"
#include "cli/tune/tune_device.h"
#include "cli/tune/tune_flags.h"
#include "cli/tune/tune_inference.h"
#include "diagnosis/diagnosis.h"
#include "probes/placement/partition.h"
#include "probes/probe.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/console/answer.h"
#include "reports/console/label_lines.h"
#include "reports/export/run_json.h"
#include "reports/report_files.h"
#include "trial/workloads/engine_parts.h"
#include "tuner/job/job_workload.h"
#include "tuner/session/quiet_wait.h"
#include "tuner/session/session.h"
#include "tuner/session/tune_setup.h"
#include "tuner/store/store.h"
#include "tuner/verdict/held_back.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

// As typed, without secrets: the store keeps it so that the run can be started again.
std::string command_line(const TuneFlags& flags) {
  return valid_utf8(
      shell_line(shell_join(masked_arguments(words_with_settings(flags.words, flags.settings)))));
}

constexpr double kSayAgainSeconds = 30;  // while waiting

// A run goes on with the settings that it has.
Status check_resume(const std::vector<std::string>& words) {
  const std::vector<std::string> free = {"--resume",     "--budget",   "--db",
                                         "--out",        "--json",     "--no-wait",
                                         "--wait-quiet", "--progress", "--notify"};
  for (const std::string& word : words) {
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

// A line that says how the search goes, and what is worth a line of its own.
class TuneLine : public SessionObserver {
 public:
  TuneLine(bool json, const std::string& folder, std::optional<StateFiles>& states)
      : json_(json), states_(states), page_(folder) {}

  void waits_for(const std::string& holder) override { say_waiting(holder); }

  void probes() override {
    if (!json_) probing_.emplace(said("measuring CPUs and memory", terminal_language()));
  }

  void begins(const RunRecord& run, const Machine& /*here*/, double seconds) override {
    probing_.reset();
    unit_ = rate_unit(run);
    page_.begins(run);
    search_ = run.search;
    budget_seconds_ = run.search.budget_seconds;
    prints_ = run.job.prints();
    number_ = static_cast<int>(run.trials.size());
    seconds_ = seconds;
    if (!json_) line_.emplace();
    table_.emplace(search_.baseline, unit_);
    for (const Trial& trial : run.trials) table_->add(trial);
  }

  void progress(const TuneProgress& progress) override {
    best_ = progress.best_samples_per_second;
    seconds_left_ = std::max(0.0, progress.budget_seconds - progress.seconds);
    if (json_) return;
    SearchState state;
    state.trial = progress.trials + 1;
    state.best.median = best_;
    state.best.low = state.best.high = state.best.median;
    state.best_setting = best_setting_;
    state.seconds_left = seconds_left_;
    state.budget_seconds = budget_seconds_;
    state.unit = unit_;
    if (progress.under_way != nullptr) {
      state.phase = in(phase_text(progress.under_way->phase, search_), terminal_language());
      state.setting = knobs_text(progress.under_way->knobs);
    }
    line_->show(state);
  }

  // For logs and CI: what a trial gave, one line each.
  void measured(const Trial& trial) override {
    const std::string page = page_.add(trial);
    if (json_) {
      // best_ is of the last progress, which does not hold this trial yet.
      const double best = trial.ok() ? std::max(best_, trial.samples_per_second) : best_;
      std::fprintf(stderr, "%s\n",
                   progress_json({++number_, trial, unit_, best, seconds_left_}).c_str());
      return;
    }
    // Only now is it known what the program's own start takes.
    if (number_++ == 0 && prints_ && trial.ok()) {
      const Bilingual takes = duration_text(trial.seconds);
      const Bilingual starts = duration_text(trial.start_seconds);
      const std::string paid = fmt::format("{:.0f}", std::max(1.0, seconds_ / trial.seconds));
      // A run that is timed whole is all start-up, or none.
      if (starts.english == takes.english) {
        note("A trial takes about {} here: the budget pays for about {}", {takes, paid});
      } else {
        note("A trial takes about {} here, {} of it start-up: the budget pays for about {}",
             {takes, starts, paid});
      }
    }
    if (trial.ok() && trial.samples_per_second > fastest_) {
      fastest_ = trial.samples_per_second;
      best_setting_ = knobs_text(trial.knobs);
    }
    if (trial.ok() && start_ == 0 && trial.knobs == search_.baseline) {
      start_ = trial.samples_per_second;
    }
    table_->add(trial);
    line_->set_rows(table_->rows(line_->rows_that_fit(), line_->width()));
    line_->note(trial_text(trial));
    const std::string over = number_ == 1 ? overwritten_note(states_) : "";
    if (!over.empty()) line_->note(over);
    if (!page.empty()) note("Report, written anew after each trial: {}", {page});
  }

  void rehearses() override {
    if (!json_ && is_terminal(stderr)) note("trying an evaluation and a checkpoint with it");
  }

  void soaks(double seconds) override {
    if (!json_) note("a longer trial of it: {}", {duration_text(seconds)});
  }

  void reads_cold() override {
    if (!json_ && is_terminal(stderr)) note("its files out of memory, as in a first epoch");
  }

  void learns(double seconds) override {
    if (!json_) note("training both recipes: {}", {duration_text(seconds)});
  }

  void proves() override {
    if (!json_ && is_terminal(stderr)) note("proving the winner's rate at full length");
  }

 private:
  void note(std::string_view english, const std::vector<Bilingual>& arguments = {}) {
    line_->note(in(phrase(english, arguments), terminal_language()));
  }

  // "trial 3: nproc=2 threads=1: 226 samples/s, 1.91x of the start, 918 MiB in 8.4 s"
  std::string trial_text(const Trial& trial) const {
    Bilingual gave(std::string(outcome_name(trial.outcome)),
                   sentence(outcome_reason(trial.outcome), Language::chinese));
    if (trial.ok()) {
      gave = phrase("{} {}", {format_count(trial.samples_per_second), phrase(unit_)});
      if (start_ > 0 && trial.knobs != search_.baseline) {
        gave = phrase("{}, {}x of the start",
                      {gave, fmt::format("{:.2f}", trial.samples_per_second / start_)});
      }
      if (trial.peak_bytes > 0) gave = phrase("{}, {}", {gave, format_bytes(trial.peak_bytes)});
    }
    return in(phrase("trial {}: {}: {} in {}", {std::to_string(number_), knobs_text(trial.knobs),
                                                gave, duration_text(trial.seconds)}),
              terminal_language());
  }

  bool json_, prints_ = false;
  std::optional<StateFiles>& states_;  // of the user
  SearchRequest search_;
  const char* unit_ = "";
  int number_ = 0;
  double budget_seconds_ = 0, seconds_ = 0, best_ = 0, seconds_left_ = 0;
  double start_ = 0, fastest_ = 0;  // rates as measured: of the user's setting, of the best
  std::string best_setting_;
  std::optional<WorkLine> probing_;
  std::optional<SearchProgress> line_;
  std::optional<TrialTable> table_;
  LivePage page_;
};

void say_note(const std::string& note) {
  if (note.empty()) return;
  const Language language = terminal_language();
  say_line(fmt::format("ocrtune tune: {}: {}", said("note", language), said(note, language)));
}

// What the user's command printed before it failed, where nothing worked.
void show_last_words(const RunRecord& run) {
  if (!run.job.prints() || run.trials.empty()) return;
  const Trial& trial = run.trials.front();
  // stderr is unbuffered: without this its words would stand before the answer.
  std::fflush(stdout);
  std::fprintf(stderr, "\nStopped: %s.\n", plain_line(run.stop_reason).c_str());
  if (trial.ok() || trial.log_tail.empty()) return;
  std::fprintf(stderr, "The end of what %s printed:\n%s",
               plain_line(knobs_text(trial.knobs)).c_str(), plain_text(trial.log_tail).c_str());
}

void send_notice(const TuneFlags& flags, const Notice& notice) {
  std::fflush(stdout);
  const Status sent = notify(flags.notify, notice);
  if (!sent) say_line("ocrtune tune: --notify: " + sent.error().what);
}

Result<int> finish(const RunRecord& run, const TuneFlags& flags) {
  if (flags.json) {
    std::printf("%s\n", run_json(run).c_str());
  } else {
    std::fputs(console_answer(run, console_width(stdout), may_colour(stdout), terminal_language(),
                              flags.db)
                   .c_str(),
               stdout);
  }
  if (!flags.out.empty()) {
    OCRTUNE_TRY(write_reports(run, flags.out));
    if (!flags.json) std::printf("\nReport: %s/report.html\n", flags.out.c_str());
  }
  if (!run.result.found) show_last_words(run);
  if (!flags.notify.empty()) {
    const Bilingual sentence = headline(run);
    const bool chinese = terminal_language() == Language::chinese;
    send_notice(flags, {run.id, verdict_name(run.result.verdict),
                        chinese ? sentence.chinese : sentence.english,
                        flags.out.empty() ? "" : join_path(flags.out, "report.html")});
  }
  if (run.state == "interrupted") return kExitInterrupted;
  return exit_code_of(run);
}

// The widest bucket decides the memory; a batch of another bucket takes less.
void print_buckets(const TuneFlags& flags) {
  if (flags.buckets.empty() || flags.json) return;
  const JobFlags& typed = flags.typed;
  std::printf("Width buckets: %s\n", flags.buckets.c_str());
  TrainerOptions trainer;
  trainer.model = typed.training.model;
  trainer.classes = typed.training.classes;
  trainer.height = typed.training.height;
  trainer.width = typed.widest_bucket;
  trainer.batch = flags.search.baseline.batch;
  trainer.threads = flags.search.baseline.threads;
  const auto planned = training_bytes(trainer);
  if (!planned) return;
  std::printf("Memory of the worst bucket, %d px: %s a process with batch %d\n",
              typed.widest_bucket, format_bytes(*planned).c_str(), flags.search.baseline.batch);
}

Result<int> print_plan(const TuneFlags& flags, const Machine& machine) {
  const auto setup = OCRTUNE_TRY(tune_setup(flags.job, flags.search, machine));
  const auto text = OCRTUNE_TRY(flags.json ? dry_run_json(flags.job, flags.search, machine, setup)
                                           : dry_run_text(flags.job, flags.search, machine, setup));
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

// 0: do not wait.
Result<double> quiet_seconds(const TuneFlags& flags) {
  if (flags.wait_quiet.empty()) return 0.0;
  const auto seconds = parse_duration(flags.wait_quiet);
  if (!seconds) return Error{ErrorKind::usage, "--wait-quiet: " + seconds.error().what};
  return *seconds;
}

// Whether to measure: the machine has become quiet in that time.
Result<bool> wait_for_quiet(double max_seconds) {
  if (max_seconds <= 0) return true;
  ProbeOptions quick;
  quick.quick = true;
  const auto machine = OCRTUNE_TRY(probe_machine(quick));
  double told = -kSayAgainSeconds;
  const auto say = [&](const QuietWait& wait) {
    if (wait.seconds - told < kSayAgainSeconds || wait.seconds >= max_seconds) return;
    told = wait.seconds;
    say_line(fmt::format("waiting for a quiet machine, {} more at most: {}",
                         format_duration(max_seconds - wait.seconds), wait.disturbed_by));
  };
  const auto wait = OCRTUNE_TRY(wait_until_quiet(max_seconds, usable_cpu_count(machine.cpu),
                                                 steady_clock(), live_look(steady_clock()), say));
  if (!wait.quiet) {
    say_line(fmt::format(
        "ocrtune tune: the machine did not become quiet in {}: {}; nothing was measured",
        format_duration(wait.seconds), wait.disturbed_by));
  }
  return wait.quiet;
}

Result<RunRecord> resume_run(const TuneFlags& flags, Store& store) {
  ResumeRequest request;
  if (!flags.resume.empty()) request.run = flags.resume;
  if (flags.budget_given) request.budget_seconds = flags.search.budget_seconds;
  request.wait = !flags.no_wait;
  const RunRecord stored = OCRTUNE_TRY(store.load_run(request.run));
  if (lacks_engine(stored.job)) return engine_elsewhere();  // before the run is taken
  const auto doors = OCRTUNE_TRY(doors_of(flags.hosts, stored.job, flags.no_wait));
  auto states = user_states(stored.job, stored.search);
  TuneLine line(flags.progress == "json", flags.out, states);
  return resume(request, store, line, doors);
}

// Where the trials run. `start` of the budget moves by what the hosts were waited for.
Result<Machine> look_at_machine(TuneFlags& flags, SessionDoors& doors, double& start) {
  if (!flags.hosts.given) {
    ProbeOptions quick;
    quick.quick = true;
    quick.command = flags.job.command();
    return probe_machine(quick);
  }
  const auto hosts = OCRTUNE_TRY(open_hosts(flags.hosts));
  if (!flags.dry_run) {
    const double waits = steady_clock().now_seconds();
    OCRTUNE_TRY(hosts->take_turns(flags.no_wait));
    start += steady_clock().now_seconds() - waits;
    OCRTUNE_TRY(hosts->measure_links());
  }
  flags.notes = hosts->notes();
  doors = hosts->doors();
  return hosts->machine();
}

// Of a command in which no speed was found: what held it back and, where it failed, what may help.
void say_unread(const Trial& trial, ErrorKind kind, const TuneFlags& flags,
                const Machine& machine) {
  const int cpus = usable_cpu_count(machine.cpu);
  for (const HeldBack& one : held_back(trial, cpus, flags.search.out_of_reach())) {
    say_note("why: " + sentence(held_back_reason(one), terminal_language()));
  }
  if (kind != ErrorKind::failed) return;
  const auto fixes = fixes_of(trial.cause, trial.log_tail);
  if (!fixes.empty()) say_note(terminal_text("What may help: {}", {fixes[0]}));
}

// Where the run will be kept, nothing with --dry-run; what would be refused at its end is refused
// now: a name that is taken, a folder that cannot be made.
Result<std::unique_ptr<Store>> open_store(const TuneFlags& flags) {
  if (!flags.dry_run) OCRTUNE_TRY(make_output_folder(parent_path(flags.db)));
  auto store = Store::open(flags.db, flags.dry_run ? Store::Mode::read : Store::Mode::write);
  if (!store && flags.dry_run) return std::unique_ptr<Store>();
  if (!store) return store.error();
  if (!flags.name.empty()) OCRTUNE_TRY((*store)->check_name_free(flags.name));
  if (!flags.dry_run) OCRTUNE_TRY(make_output_folder(flags.out));
  return flags.dry_run ? nullptr : std::move(*store);
}

Result<int> tune_as_asked(TuneFlags& flags) {
  if (needs_engine(flags)) return engine_elsewhere();
  if (const Status fits = check_resume(flags.words); flags.resuming && !fits) return fits.error();
  say_settings(flags, "tune");
  OCRTUNE_TRY(read_tune_flags(flags));
  const double quiet = OCRTUNE_TRY(quiet_seconds(flags));
  if (!flags.name.empty()) OCRTUNE_TRY(check_run_name(flags.name));
  // The budget begins here; what is waited for is added to `start` below and so taken out of it.
  double start = steady_clock().now_seconds();
  const auto store = OCRTUNE_TRY(open_store(flags));
  if (flags.resuming) {
    if (!OCRTUNE_TRY(wait_for_quiet(quiet))) return kExitNegative;
    const auto run = resume_run(flags, *store);
    return run ? finish(*run, flags) : run.error();
  }
  OCRTUNE_TRY(read_data(flags));
  make_job(flags);
  SessionDoors doors;
  const auto machine = OCRTUNE_TRY(look_at_machine(flags, doors, start));
  OCRTUNE_TRY(settle_flags(flags, machine));
  OCRTUNE_TRY(make_int8_file(flags));
  OCRTUNE_TRY(check_setup(flags, machine));  // a mistake is told without the notes
  auto states = flags.dry_run ? std::nullopt : user_states(flags.job, flags.search);
  const double listens = steady_clock().now_seconds();
  if (!flags.dry_run) {
    std::optional<Trial> unread;
    auto heard =
        find_log_reader(flags.job, flags.search, machine, flags.no_wait, flags.json, unread);
    if (unread) say_unread(*unread, heard.error().kind, flags, machine);
    if (!heard) return heard.error();
    flags.notes.push_back(*std::move(heard));
    flags.notes.push_back(overwritten_note(states));
  }
  start += steady_clock().now_seconds() - listens;  // no part of the budget
  for (const std::string& note : flags.notes) say_note(note);
  print_buckets(flags);
  if (flags.dry_run) return print_plan(flags, machine);
  TuneRequest request;
  request.job = flags.job;
  request.search = flags.search;
  request.machine = machine;
  request.command_line = command_line(flags);
  request.name = flags.name;
  request.wait = !flags.no_wait;
  request.spent_seconds = steady_clock().now_seconds() - start;
  if (!OCRTUNE_TRY(wait_for_quiet(quiet))) return kExitNegative;
  const auto run = [&] {  // the line is gone before the answer is printed
    TuneLine line(flags.progress == "json", flags.out, states);
    return tune(request, *store, line, doors);
  }();
  say_note(overwritten_note(states));
  return run ? finish(*run, flags) : run.error();
}

// A person who waits elsewhere is told of errors too; a command that fails changes no answer.
Result<int> run_tune(TuneFlags flags) {
  auto code = tune_as_asked(flags);
  if (!code && !flags.notify.empty()) send_notice(flags, {"", "error", code.error().what, ""});
  return code;
}

}  // namespace

CommandRun declare_tune(Flags& cli) {
  auto flags = std::make_shared<TuneFlags>();
  flags->words = cli.words();
  declare_amounts(cli, *flags);
  cli.out(flags->out, "DIR", "Write report.html, the CSV files and ocrtune.env here").folder();
  cli.option("--name", flags->name, "NAME", "Name of the run, wherever a run is asked for");
  cli.option("--resume", flags->resume, "RUN", "Go on with a run (the last one without RUN)")
      .value_optional()
      .from_list("runs")
      .tell(flags->resuming);
  cli.toggle("--no-wait", flags->no_wait, kNoWaitHelp);
  cli.option(
      "--wait-quiet", flags->wait_quiet, "DURATION",
      "Wait at most this time until other programs leave the CPUs idle, else measure nothing");
  cli.option("--progress", flags->progress, "FORMAT",
             "Report each trial on stderr as text, or as json, one object a line")
      .one_of({"text", "json"});
  cli.option(
      "--notify", flags->notify, "CMD",
      "Run this in a shell at the end, with the answer in OCRTUNE_SENTENCE, and OCRTUNE_RUN, "
      "OCRTUNE_VERDICT, OCRTUNE_PAGE");
  cli.toggle("--dry-run", flags->dry_run, "Show the space and the cost; start nothing");
  cli.store(flags->db);
  cli.json(flags->json);

  declare_workload(cli, *flags);
  declare_hosts(cli, flags->hosts);
  if (hosts_door() != nullptr) {
    cli.option("--nodes", flags->nodes, "N,...", "Numbers of hosts to try")
        .default_text("1, 2, 3, 4, 6, ... and all")
        .under("Several hosts");
  }
  cli.show_first({"--budget", "--preset", "--log-reader", "--metric", "--nproc", "--threads",
                  "--batch", "--workers", "--slo", "--url", "--input", "--out", "--name",
                  "--resume"});
  return [flags]() { return run_tune(*flags); };
}

}  // namespace ocrtune
