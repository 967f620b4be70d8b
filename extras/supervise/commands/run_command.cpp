// ocrtune run: launches a command, watches it, and brings it back after a failure.
#include "extras/supervise/commands/run_command.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/plural.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/commands/stored_run.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/terminal.h"
#include "extras/supervise/background_writer.h"
#include "extras/supervise/reports/run_metrics.h"
#include "extras/supervise/reports/supervised_page.h"
#include "probes/probe.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/console/diagnosis_text.h"
#include "reports/export/run_json.h"
#include "trial/workloads/command/command_prepare.h"
#include "tuner/session/run_launch.h"
#include "tuner/space/space.h"
#include "tuner/store/store.h"
#include "tuner/verdict/held_back.h"

namespace ocrtune {
namespace {

struct RunFlags {
  std::vector<std::string> words;  // as typed
  std::vector<std::string> command, sets, logs;
  std::string from, database, checkpoint, resume_argument, directory;
  std::string silence, stall, planned, memory_limit, binding, metrics;
  std::string pause = "1s", grace = "10s";
  std::string host_patience = "30m";
  double patience_seconds = 0;
  int tries = 5;
  bool json = false;
  HostFlags hosts;
  int host_count = 0;
  std::shared_ptr<OpenHosts> open;  // null: the command runs here
};

HostAttempts g_host_attempts = nullptr;

// The launch of a stored run's recommendation, or of the command as it was typed.
Status read_setting(const RunFlags& flags, const RunRecord& run, SuperviseOptions& options) {
  LaunchSetting& setting = options.setting;
  setting.workload.command = flags.command;
  if (flags.from.empty()) return Status();
  setting = OCRTUNE_TRY(launch_setting(run, flags.command, options.machine));
  const std::string& directory = setting.workload.directory;
  if (!directory.empty() && directory != real_path(".").value_or("")) {
    say_line("ocrtune run: note: starts in " + directory + ", as the trials did");
  }
  return Status();
}

// --set and --binding on top; a knob that the command would not see is refused.
Status read_knobs(const RunFlags& flags, const RunRecord& run, LaunchSetting& setting) {
  std::vector<std::string> sets = flags.sets;
  if (!flags.binding.empty()) sets.push_back("binding=" + flags.binding);
  CommandWorkload& workload = setting.workload;
  Knobs typed;
  for (const std::string& set : sets) {
    const std::size_t equal = set.find('=');
    if (equal == std::string::npos) {
      return Error{ErrorKind::usage, "--set needs NAME=VALUE: " + set};
    }
    const std::string name = set.substr(0, equal);
    OCRTUNE_TRY(set_knob(setting.knobs, name, set.substr(equal + 1)));
    OCRTUNE_TRY(set_knob(typed, name, set.substr(equal + 1)));
    if (!turns(workload, name)) workload.knobs.push_back(name);
  }
  const auto used = names_used(workload);
  if (const Status known = check_knob_names(typed, {used.begin(), used.end()}, {}); !known) {
    return Error{ErrorKind::usage, "--set: " + known.error().what};
  }
  // Binding needs the number of ranks although the command may know it by itself.
  if (setting.knobs.binding != "none") workload.fixed.emplace_back("nproc");
  // A knob's usual value in place of one that was measured would look like a recommendation.
  const bool stored = !flags.from.empty();
  for (const std::string& name : used) {
    const bool given = std::any_of(sets.begin(), sets.end(), [&](const std::string& set) {
      return starts_with(set, name + "=");
    });
    if (find_knob(name) == nullptr || given || (stored && had_in_force(run, name))) continue;
    return Error{ErrorKind::usage,
                 stored ? fmt::format("{{{0}}} in the command has no value: run {1} did not try "
                                      "it; give it by --set {0}=N",
                                      name, run.id)
                        : fmt::format("{{{0}}} in the command has no value: give it by "
                                      "--set {0}=N, or name a run with --from",
                                      name)};
  }
  return Status();
}

// Of --from: with the hosts that it recommends, unless others are named.
Result<RunRecord> stored_run(RunFlags& flags) {
  if (flags.from.empty()) return RunRecord();
  auto run = OCRTUNE_TRY(judged_run(flags.database, flags.from));
  if (!run.result.found) {
    return Error{ErrorKind::missing,
                 "run " + run.id + " has no recommendation: " + sentence(run.result.answer)};
  }
  if (run.result.verdict.answer == Answer::inconclusive) {
    std::fputs("ocrtune run: note: the run is not conclusive (ocrtune show)\n", stderr);
  }
  take_hosts(recommended_hosts(run), run.job.command_job().launcher, flags.hosts);
  return run;
}

// What each of the hosts has at least.
Status look_at_hosts(RunFlags& flags, SuperviseOptions& options) {
  flags.host_count = static_cast<int>(OCRTUNE_TRY(host_names(flags.hosts)).names.size());
  flags.open = OCRTUNE_TRY(open_hosts(flags.hosts));
  for (const std::string& note : flags.open->notes()) {
    say_line("ocrtune run: note: " + note);
  }
  options.machine = flags.open->machine();
  return Status();
}

// All hosts, where neither --set nor a stored run says how many.
Status count_hosts(const RunFlags& flags, SuperviseOptions& options) {
  LaunchSetting& setting = options.setting;
  const int hosts = flags.host_count;
  if (flags.from.empty() && hosts > 1 && !turns(setting.workload, "nodes")) {
    OCRTUNE_TRY(set_knob(setting.knobs, "nodes", fmt::format("{}", hosts)));
    setting.workload.knobs.emplace_back("nodes");
  }
  const int nodes = nodes_of(setting.knobs);
  if (nodes > hosts) {
    return Error{ErrorKind::usage, fmt::format("nodes={}: --hosts names {}", nodes, hosts)};
  }
  if (nodes > 1) options.place = any_host();
  return Status();
}

// The machine is looked at only where the launch depends on it.
Status look_at_machine(RunFlags& flags, SuperviseOptions& options) {
  if (flags.hosts.given) return look_at_hosts(flags, options);
  CommandWorkload typed;
  typed.command = flags.command;
  const bool needed =
      !flags.from.empty() || !flags.binding.empty() || names_used(typed).count("gpus") != 0 ||
      std::any_of(flags.sets.begin(), flags.sets.end(),
                  [](const std::string& set) { return starts_with(set, "binding="); });
  if (!needed) return Status();
  ProbeOptions quick;
  quick.quick = true;
  options.machine = OCRTUNE_TRY(probe_machine(quick));
  return Status();
}

// `run last`, `run rec-v2`: a word before "--" that is no program and names a stored run is --from.
// last is a program too, and nothing that one would keep alive.
void take_run_name(RunFlags& flags) {
  if (!flags.from.empty() || flags.command.empty()) return;
  const std::string word = flags.command.front();
  const auto dashes = std::find(flags.words.begin(), flags.words.end(), "--");
  if (std::find(flags.words.begin(), dashes, word) == dashes) return;
  if (word != "last" && find_executable(word)) return;
  const auto store = Store::open(flags.database, Store::Mode::read);
  if (!store || !(*store)->load_run(word)) return;
  flags.from = word;
  flags.command.erase(flags.command.begin());
}

Status read_launch(RunFlags& flags, SuperviseOptions& options) {
  take_run_name(flags);
  if (flags.command.empty() && flags.from.empty()) {
    return Error{ErrorKind::usage,
                 "name a stored run, such as last, or the command to run after --"};
  }
  const RunRecord run = OCRTUNE_TRY(stored_run(flags));
  OCRTUNE_TRY(look_at_machine(flags, options));
  OCRTUNE_TRY(read_setting(flags, run, options));
  OCRTUNE_TRY(read_knobs(flags, run, options.setting));
  if (flags.open) OCRTUNE_TRY(count_hosts(flags, options));
  auto ready = OCRTUNE_TRY(prepare_launch(options.setting.workload, options.machine));
  options.setting.workload = launch_workload(ready);
  TrialPlace place = options.place;
  place.trial_dir = "/";
  const auto filled =
      fill_for(options.setting.workload, options.machine, options.setting.knobs, place);
  return filled ? Status() : Status(filled.error());  // such as a binding that this machine lacks
}

Result<SuperviseOptions> options_of(RunFlags& flags) {
  SuperviseOptions options;
  OCRTUNE_TRY(read_launch(flags, options));
  for (const auto& [flag, text, into] :
       {std::tuple("--silence", &flags.silence, &options.silence_seconds),
        std::tuple("--stall", &flags.stall, &options.stall_seconds),
        std::tuple("--planned", &flags.planned, &options.planned_seconds),
        std::tuple("--pause", &flags.pause, &options.pause_seconds),
        std::tuple("--host-patience", &flags.host_patience, &flags.patience_seconds),
        std::tuple("--grace", &flags.grace, &options.stop_grace_seconds)}) {
    if (text->empty()) continue;
    const auto seconds = parse_duration(*text);
    if (!seconds) return Error{ErrorKind::usage, fmt::format("{}: {}", flag, seconds.error().what)};
    *into = *seconds;
  }
  if (!flags.memory_limit.empty()) {
    options.memory_limit_bytes = OCRTUNE_TRY(read_size("--memory-limit", flags.memory_limit));
  }
  // The command names its files from the folder in which it runs.
  const std::string& directory = options.setting.workload.directory;
  const auto in_directory = [&](const std::string& path) {
    return path.empty() || path[0] == '/' ? path : join_path(directory, path);
  };
  options.checkpoint = in_directory(flags.checkpoint);
  options.resume_argument = flags.resume_argument;
  if (!flags.resume_argument.empty() && flags.checkpoint.empty()) {
    return Error{ErrorKind::usage, "--resume-arg needs --checkpoint"};
  }
  if (!flags.checkpoint.empty() && flags.resume_argument.empty()) {
    for (const std::string& word : options.setting.workload.command) {
      if (ends_with(word, "tools/train.py")) {
        options.resume_argument = "Global.checkpoints={checkpoint}";
      }
    }
  }
  for (const std::string& log : flags.logs) options.logs.push_back(in_directory(log));
  options.max_failures = flags.tries;
  const Status folder =
      flags.directory.empty() ? make_data_directory() : make_output_folder(flags.directory);
  if (!folder) return folder.error();
  options.run_directory =
      flags.directory.empty()
          ? join_path(join_path(default_data_directory(), "supervised"), new_run_id())
          : flags.directory;
  return options;
}

std::string utc_now() {
  const auto now = static_cast<std::time_t>(wall_seconds());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return text.data();
}

nlohmann::ordered_json summary_json(const SuperviseOptions& options, const SuperviseEnd& end) {
  nlohmann::ordered_json attempts = nlohmann::ordered_json::array();
  for (const AttemptSummary& attempt : end.attempts) {
    attempts.push_back({{"command", valid_utf8(shell_join(attempt.command))},
                        {"ending", attempt.ending},
                        {"seconds", attempt.seconds},
                        {"peak_bytes", attempt.peak_bytes},
                        {"progress_lines", attempt.progress_lines},
                        {"cause", attempt.cause},
                        {"confidence", attempt.confidence},
                        {"evidence", valid_utf8(attempt.evidence)},
                        {"placement", attempt.places},
                        {"warnings", attempt.warnings},
                        {"held_back", held_back_json(attempt.held)},
                        {"change", attempt.change}});
  }
  const char* const states[] = {"done", "gave_up", "interrupted"};
  return {{"state", states[static_cast<int>(end.state)]},
          {"reason", valid_utf8(end.reason)},
          {"attempts", attempts},
          {"warnings", end.warnings},
          {"run_directory", valid_utf8(options.run_directory)}};
}

void print_end(const SuperviseOptions& options, const SuperviseEnd& end) {
  int number = 0;
  for (const AttemptSummary& attempt : end.attempts) {
    std::printf("%s\n",
                fmt::format("{}. {} after {}, {}{}{}", ++number, attempt.ending,
                            format_duration(attempt.seconds),
                            attempt.peak_bytes == 0 ? "memory not sampled"
                                                    : format_bytes(attempt.peak_bytes) + " at most",
                            attempt.cause.empty() ? "" : "; " + attempt.cause,
                            attempt.change.empty() ? "" : "; next: " + attempt.change)
                    .c_str());
  }
  if (end.state == SuperviseState::gave_up) {
    std::printf("\nGave up: %s\n\n%s", plain_line(end.reason).c_str(),
                diagnosis_text(end.diagnosis).c_str());
  }
  std::printf("Logs, journal and report.html: %s\n", plain_line(options.run_directory).c_str());
}

// The program's own "eta: 11:15:11, ...", else by what the plan leaves; empty when neither is
// known.
std::string eta_of(const AttemptStatus& status, double planned_seconds) {
  const std::string& line = status.last_progress;
  const std::size_t at = line.find("eta: ");
  if (at != std::string::npos) return "eta " + line.substr(at + 5, line.find(',', at) - at - 5);
  if (planned_seconds <= status.seconds) return "";
  return "eta " + format_duration(planned_seconds - status.seconds);
}

// Keeps a file for node_exporter's textfile collector; `path` empty: none.
class MetricsFile {
 public:
  MetricsFile(std::string path, std::string run) : path_(std::move(path)) {
    metrics_.run = std::move(run);
  }

  void begin_attempt() {
    metrics_.restarts = attempts_++;
    earlier_lines_ = metrics_.progress_lines;
    write(true);
  }

  void update(const AttemptStatus& status, bool last = false) {
    const double now = wall_seconds();
    if (now - written_ < kWriteSeconds && !last) return;
    const std::int64_t lines = earlier_lines_ + status.progress_lines;
    if (lines > metrics_.progress_lines) metrics_.last_progress_seconds = now;
    metrics_.progress_lines = lines;
    metrics_.memory_bytes = status.bytes;
    recent_.emplace_back(now, lines);
    while (recent_.size() > 2 && now - recent_.front().first > kRateSeconds) recent_.pop_front();
    const auto& [then, lines_then] = recent_.front();
    metrics_.progress_lines_per_second =
        now > then ? static_cast<double>(lines - lines_then) / (now - then) : 0;
    write(true);
  }

  ~MetricsFile() {
    metrics_.memory_bytes = 0;
    metrics_.progress_lines_per_second = 0;
    write(false);
  }
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

 private:
  static constexpr double kWriteSeconds = 5, kRateSeconds = 60;

  // A run goes on without its metrics; that they cannot be written is said once. A disk that is
  // slow gets the next ones.
  void write(bool running) {
    if (path_.empty() || !*writable_ || (running && !writer_.idle())) return;
    written_ = wall_seconds();
    metrics_.running = running;
    const auto save = [path = path_, text = metrics_text(metrics_), writable = writable_] {
      const Status status = write_file(path, text);
      *writable = status.ok();
      if (!status) say_line("ocrtune run: note: " + status.error().what);
    };
    (void)writer_.put(0, save);
  }

  std::string path_;
  RunMetrics metrics_;
  std::int64_t attempts_ = 0, earlier_lines_ = 0;
  std::deque<std::pair<double, std::int64_t>> recent_;  // when, lines until then
  double written_ = 0;
  std::shared_ptr<std::atomic<bool>> writable_ = std::make_shared<std::atomic<bool>>(true);
  BackgroundWriter writer_;
};

// Words on a stream, written in the background: a terminal that is stopped, or a reader that reads
// no further, does not stop the watch. The log has what is left out here.
class Echo {
 public:
  explicit Echo(std::FILE* stream) : stream_(stream) {}
  ~Echo() {
    if (left_out_ > 0) {
      std::fprintf(stderr, "ocrtune run: note: %s of the output were not taken; the log has them\n",
                   format_bytes(left_out_).c_str());
    }
  }
  Echo(const Echo&) = delete;
  Echo& operator=(const Echo&) = delete;

  void put(std::string_view bytes) {
    const bool taken = writer_.put(bytes.size(), [stream = stream_, text = std::string(bytes)] {
      std::fwrite(text.data(), 1, text.size(), stream);
      std::fflush(stream);
    });
    if (!taken) left_out_ += bytes.size();
  }
  // A line of our own, which comes before what is written to another stream from now on.
  void put_line(const std::string& line) {
    put(line + "\n");
    writer_.finish(kLineSeconds);
  }
  bool idle() const { return writer_.idle(); }  // all of it was taken
  void finish() const { writer_.finish(kFinishSeconds); }

 private:
  static constexpr double kFinishSeconds = 60;  // for a terminal over a slow line
  static constexpr double kLineSeconds = 0.2;

  std::FILE* stream_;
  std::uint64_t left_out_ = 0;
  BackgroundWriter writer_;
};

Result<int> run_run(RunFlags flags) {
  auto options = OCRTUNE_TRY(options_of(flags));
  MetricsFile metrics(flags.metrics, options.run_directory);
  const bool terminal = may_redraw(stderr);
  Echo notes(stderr), words(stdout);
  SuperviseListeners listeners;
  listeners.on_note = [terminal, &notes](const std::string& line) {
    notes.put_line((terminal ? "\r\x1b[K" : "") + plain_line(line));
  };
  listeners.on_held = [note = listeners.on_note](const HeldBack& held) {
    note("why: " + sentence(held_back_reason(held), terminal_language()));
  };
  const double planned = options.planned_seconds;
  listeners.on_status = [terminal, planned, &metrics, &notes](const AttemptStatus& status,
                                                              const std::string& forecast) {
    metrics.update(status);
    if (!terminal || !notes.idle()) return;
    const std::string line =
        fmt::format("{} | {} in {} | silent {} | {} {}", format_duration(status.seconds),
                    format_bytes(status.bytes), how_many(status.processes, "process"),
                    format_duration(status.silent_seconds), eta_of(status, planned), forecast);
    const int width = terminal_width(stderr) - 1;
    notes.put("\r\x1b[K" + cut_to_width(plain_line(line), width));
  };
  Echo& echo = flags.json ? notes : words;  // stdout is for the document then
  const AttemptRunner start = flags.open
                                  ? g_host_attempts(std::exchange(flags.open, nullptr),
                                                    flags.patience_seconds, listeners.on_note)
                                  : AttemptRunner(run_attempt);
  const auto attempt = [&](const AttemptPlan& plan, const AttemptListeners& given) {
    metrics.begin_attempt();
    AttemptListeners with_echo = given;
    with_echo.on_output = [&](std::string_view bytes) { echo.put(bytes); };
    auto end = start(plan, with_echo);
    // The command's last words come before ours.
    echo.finish();
    if (end) metrics.update(end->last, true);
    return end;
  };
  const auto end = OCRTUNE_TRY(supervise(options, attempt, listeners, steady_clock()));
  const Status page = write_file(join_path(options.run_directory, "report.html"),
                                 supervised_html(options, end, utc_now()));
  if (!page) say_line("ocrtune run: note: " + page.error().what);
  if (flags.json) {
    constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
    std::printf("%s\n", summary_json(options, end).dump(2, ' ', false, kReplace).c_str());
  } else {
    print_end(options, end);
  }
  if (end.state == SuperviseState::interrupted) {
    return Error{ErrorKind::interrupted, "interrupted",
                 options.checkpoint.empty() ? "the same line starts it anew"
                                            : "the same line goes on from " + options.checkpoint};
  }
  return end.state == SuperviseState::done ? kExitOk : kExitNegative;
}

}  // namespace

void set_host_attempts(HostAttempts attempts) { g_host_attempts = attempts; }

CommandRun declare_run(Flags& cli) {
  auto shared = std::make_shared<RunFlags>();
  RunFlags& flags = *shared;
  flags.words = cli.words();
  cli.argument("command", flags.command,
               "Stored run, such as last, or command to launch; may hold {nproc}, {batch}, ...")
      .file();
  cli.option("--from", flags.from, "RUN",
             "Launch with the recommendation of this run, such as last")
      .formerly("--run")
      .from_list("runs");
  cli.store(flags.database);
  cli.option("--set", flags.sets, "NAME=VALUE", "Fill a placeholder: --set nproc=4")
      .from_list("knobs");
  cli.option("--checkpoint", flags.checkpoint, "PATH",
             "File, prefix or folder that the command saves its state to")
      .file();
  cli.option("--resume-arg", flags.resume_argument, "TEXT",
             "Append this once there is a checkpoint, such as '--resume {checkpoint}'")
      .default_text("'Global.checkpoints={checkpoint}' for PaddleOCR's tools/train.py");
  cli.option("--tries", flags.tries, "N", "Give up after N attempts in a row that get no further")
      .range(1, 1000);
  cli.option("--silence", flags.silence, "DURATION", "Restart after this time without output: 30m")
      .default_text("never");
  cli.option("--stall", flags.stall, "DURATION",
             "Restart after this time without a step, if that is 20 times longer than usual: 10m")
      .default_text("warn after 1m, never restart");
  cli.option("--binding", flags.binding, "BINDING",
             "Bind the ranks: compact, spread or numa, with --set nproc=N --set threads=T");
  cli.option("--planned", flags.planned, "DURATION",
             "Forecast memory for a run of this length, such as 48h");
  cli.option("--memory-limit", flags.memory_limit, "SIZE", "Stop it before it takes more: 48G");
  cli.option("--pause", flags.pause, "DURATION", "Wait before a restart; doubles each time");
  cli.option("--grace", flags.grace, "DURATION", "Time to save its state before it is killed");
  cli.option("--logs", flags.logs, "PATH",
             "Read these logs too, or folders of them: the launcher's log/")
      .file();
  cli.option(
         "--prometheus", flags.metrics, "FILE",
         "Keep step rate, memory and restarts in this .prom file, for Prometheus's node_exporter")
      .file();
  cli.option("--run-dir", flags.directory, "DIR",
             "Write logs, traces and the journal to this folder")
      .default_text("a new one beside the store")
      .folder();
  declare_hosts(cli, flags.hosts);
  if (hosts_door() != nullptr) {
    cli.option("--host-patience", flags.host_patience, "DURATION",
               "Wait this time for a host that is away, such as in a reboot")
        .under("Several hosts");
  }
  cli.json(flags.json);
  cli.show_first({"--from", "--checkpoint", "--resume-arg", "--planned", "--stall", "--tries",
                  "--logs", "--set", "--json"});
  return [shared] { return run_run(*shared); };
}

}  // namespace ocrtune
