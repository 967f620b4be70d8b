// A command of the user's is looked at before the search is made. What its words name is turned,
// what it says itself is known, and all other knobs are pinned as fixed or absent. So the order in
// settle_command() matters: axes may be added only until pin_the_rest() runs.
#include "cli/tune/command_flags.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/secrets.h"
#include "base/text.h"
#include "probes/host/allocators.h"
#include "probes/host/command_mask.h"
#include "probes/machine_gpus.h"
#include "probes/placement/partition.h"
#include "trial/answers/answer_places.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_template.h"
#include "trial/workloads/usual_axes.h"
#include "tuner/job/job_workload.h"
#include "tuner/session/recipe_batch.h"
#include "tuner/session/run_launch.h"

namespace ocrtune {
namespace {

// `flag` is run without a shell.
Status check_line(const char* flag, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const char sign = shell_sign(line);
    if (sign == '\0') continue;
    return Error{ErrorKind::usage,
                 fmt::format("{} is run without a shell, which the {} in it asks for: write sh "
                             "-c '...' around it, or quote the {}: {}",
                             flag, sign, sign, masked_text(line))};
  }
  return Status();
}

Status read_environment(const CommandFlags& flags, CommandWorkload& program) {
  for (const std::string& assignment : flags.environment) {
    const std::size_t equals = assignment.find('=');
    if (assignment.empty() || equals == 0) {
      return Error{ErrorKind::usage, "--env " + assignment + ": needs NAME or NAME=VALUE"};
    }
    if (equals == std::string::npos) {
      // NAME alone: the run keeps the name, not the value.
      program.inherited.push_back(assignment);
      continue;
    }
    program.environment.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return Status();
}

Status read_directory(CommandWorkload& program) {
  auto directory = real_path(program.directory.empty() ? "." : program.directory);
  if (!directory || !is_directory(*directory)) {
    return Error{ErrorKind::missing, "--cwd: no folder " + program.directory};
  }
  program.directory = *std::move(directory);
  return Status();
}

// A knob that the user lists and nothing of the command tells has the first of its values: then the
// start is a setting of the lists and nobody's own.
Status start_within_lists(const std::set<std::string>& known, SearchRequest& search) {
  for (const auto& [name, values] : search.axes) {
    if (known.contains(name)) continue;
    OCRTUNE_TRY(set_knob(search.baseline, name, values.front()));
    if (values.size() > 1) search.baseline_source = kBaselineFirst;
  }
  return Status();
}

// What the command says of the user's setting now, and the axes that its preset offers.
Status take_start(const PreparedCommand& looked, bool baseline_given, SearchRequest& search) {
  if (!baseline_given && looked.current) {
    search.baseline = *looked.current;
    search.baseline_source = kBaselineRead;
    OCRTUNE_TRY(start_within_lists(looked.current_names, search));
    if (search.axes.contains("nodes")) search.baseline.dims["nodes"] = "1";
  }
  for (const Axis& axis : looked.offered) {
    search.axes[axis.name] = axis.values;
    search.baseline.dims[axis.name] = axis.values.front();
  }
  return Status();
}

// Of the processes that are listed.
int max_ranks(const SearchRequest& search) {
  int ranks = 1;
  const auto nproc = search.axes.find("nproc");
  if (nproc == search.axes.end()) return ranks;
  for (const std::string& value : nproc->second) {
    ranks = std::max(ranks, static_cast<int>(parse_integer(value).value_or(1)));
  }
  return ranks;
}

// A command that is told nothing varies what acts from outside: threads and allocators. Its plain
// start takes all CPUs. `turned`: what its words and flags turn already.
void vary_from_outside(const Job& job, SearchRequest& search, const Machine& machine,
                       const std::set<std::string>& turned, std::vector<std::string>& notes) {
  // A guess: below it the trials of several threads leave none to repeat.
  constexpr double kLeastBudgetSeconds = 60;
  const auto own_threads = [](const auto& one) { return one.first == "OMP_NUM_THREADS"; };
  // Plain: nothing in words, flags or environment says anything of threads or knobs.
  const bool plain =
      turned.empty() && search.axes.empty() && job.program().preset.empty() &&
      job.command_job().hosts.empty() && job.prints() && search.baseline_source != kBaselineGiven &&
      std::none_of(job.program().environment.begin(), job.program().environment.end(), own_threads);
  const int cpus = usable_cpu_count(cpus_of(machine.cpu, job.command()));
  if (!plain || cpus < 2) return;
  if (search.budget_seconds < kLeastBudgetSeconds) {
    notes.push_back(
        fmt::format("the command is measured as typed: other threads are tried from a budget of {} "
                    "on, or by --threads 1,{}",
                    format_duration(kLeastBudgetSeconds), cpus));
    return;
  }
  std::vector<int> threads = {cpus};
  if (cpus >= 4) threads.push_back(cpus / 2);
  // All CPUs, half of them and one; the plain start has all.
  threads.push_back(1);
  search.axes["threads"] = number_texts(threads);
  search.baseline.threads = cpus;
  search.baseline_source = kBaselinePlain;
  const auto allocators = installed_allocators();
  // A library that the user preloads already would stand in front of ours.
  if (allocators.empty() ||
      preloaded_allocator(environment_value(process_environment(), "LD_PRELOAD")) != nullptr) {
    return;
  }
  auto& values = search.axes["malloc"];
  values = {"default"};
  values.insert(values.end(), allocators.begin(), allocators.end());
}

// Pins the knobs that are not `turned`: those that are `known` stand in the command as they are,
// the others are absent. Of the three that every setting has, the user's `baseline` may name one.
void pin_the_rest(const std::set<std::string>& turned, std::set<std::string> known,
                  const std::string& baseline, SearchRequest& search) {
  // {global_batch} carries nproc and batch; {gpu} and {copy} make nproc copies.
  if (known.contains("global_batch")) known.insert({"nproc", "batch"});
  if (known.contains("gpus") || known.contains("gpu") || known.contains("copy")) {
    known.insert("nproc");
  }
  for (const char* name : {"nproc", "threads", "batch"}) {
    const bool named = (" " + baseline).find(std::string(" ") + name + "=") != std::string::npos;
    if (named) known.insert(name);
    if (!known.contains(name) && !search.axes.contains(name)) search.baseline.absent.insert(name);
  }
  for (const KnobRow& row : knob_table()) {
    if (turned.contains(row.name) || search.axes.contains(row.name)) continue;
    search.axes[row.name] = {knob_text(search.baseline, row.name)};
    (known.contains(row.name) ? search.fixed : search.absent).insert(row.name);
  }
}

}  // namespace

void declare_command_flags(Flags& cli, CommandFlags& flags, CommandWorkload& program) {
  const char* const title = "Your own command";
  cli.option("--preset", program.preset, "PRESET",
             "Know this program's flags: paddleocr sets the right -o keys by itself, "
             "paddleocr-infer those of predict_system.py")
      .from_list("presets")
      .under(title);
  cli.option(
         "--log-reader", program.log_reader, "READER",
         "Read the speed from the command's lines in this way, or by regex:... or json-lines:KEY")
      .default_text("found in its first lines")
      .from_list("log-readers")
      .under(title);
  cli.option("--metric", program.metric, "NAME[:UNIT]",
             "Read this number as the speed, such as step_time:ms/step")
      .under(title);
  cli.option("--metric-of", flags.metric_of, "WHO",
             "Whether the speed is of one rank or of the job")
      .one_of({"rank", "job"})
      .under(title);
  cli.option("--log-file", program.log_file, "FILE",
             "Read this file, such as {trial_dir}/log/0, instead of the output")
      .file()
      .under(title);
  cli.option("--answers", program.answers, "PLACE",
             "Compare the texts here with those of your setting: files such as "
             "'{trial_dir}/*.txt', lines, or regex:... with (?<input>...) and (?<text>...)")
      .under(title);
  cli.option("--truth", program.truth, "FILE",
             "Compare by the true texts: a label file of PaddleOCR with the inputs' names")
      .file()
      .under(title);
  cli.option("--max-change", flags.max_change, "SHARE",
             "Allow a setting to read this share of the characters otherwise: 0.5%")
      .default_text("0")
      .under(title);
  cli.option("--env", flags.environment, "NAME[=VALUE]",
             "Set this variable for the command; VALUE may hold placeholders, NAME alone takes it "
             "from the environment")
      .under(title);
  cli.option("--cwd", program.directory, "DIR", "Run the command in this folder")
      .default_text("this one")
      .folder()
      .under(title);
  cli.option("--setup", flags.setup, "COMMAND", "Run this before each trial").under(title);
  cli.option("--cleanup", flags.cleanup, "COMMAND", "Run this after each trial").under(title);
  cli.argument("command", program.command,
               "Your launch command; {nproc} {threads} {batch} {workers} {trial_dir} stand for the "
               "values of a trial")
      .file();
}

namespace {

// "0.5%" or "0.005".
Status read_text_flags(const CommandFlags& flags, CommandWorkload& program) {
  OCRTUNE_TRY(AnswerPlaces::parse(program.answers));
  if (const Status there = check_there(program.truth); !program.truth.empty() && !there) {
    return Error{there.error().kind, "--truth " + there.error().what};
  }
  if (flags.max_change.empty()) return Status();
  const bool percent = flags.max_change.back() == '%';
  const auto number =
      parse_number(flags.max_change.substr(0, flags.max_change.size() - (percent ? 1 : 0)));
  const double share = number ? *number / (percent ? 100 : 1) : -1;
  if (!(share >= 0 && share <= 1)) {
    return Error{ErrorKind::usage, "--max-change " + flags.max_change +
                                       ": give a share of the characters, such as 0.5% or 0.005"};
  }
  program.max_change = share;
  return Status();
}

}  // namespace

Status read_command_flags(const CommandFlags& flags, CommandWorkload& program) {
  const std::pair<const char*, bool> given[] = {
      {"--preset", !program.preset.empty()},     {"--log-reader", !program.log_reader.empty()},
      {"--metric", !program.metric.empty()},     {"--metric-of", !flags.metric_of.empty()},
      {"--log-file", !program.log_file.empty()}, {"--env", !flags.environment.empty()},
      {"--cwd", !program.directory.empty()},     {"--setup", !flags.setup.empty()},
      {"--cleanup", !flags.cleanup.empty()},     {"--answers", !program.answers.empty()}};
  OCRTUNE_TRY(read_text_flags(flags, program));
  if (program.command.empty()) {
    for (const auto& [name, is_given] : given) {
      if (!is_given) continue;
      return Error{
          ErrorKind::usage,
          fmt::format("{} is for a command of your own; write it at the end, after --", name)};
    }
    return Status();
  }
  OCRTUNE_TRY(check_line("--setup", flags.setup));
  OCRTUNE_TRY(check_line("--cleanup", flags.cleanup));
  if (!flags.setup.empty()) program.setup = split(join(flags.setup, "\n"), '\n');
  if (!flags.cleanup.empty()) program.cleanup = split(join(flags.cleanup, "\n"), '\n');
  if (!flags.metric_of.empty()) program.per_rank = flags.metric_of == "rank";
  const Status environment = read_environment(flags, program);
  return environment ? read_directory(program) : environment;
}

double command_trial_seconds(double budget_seconds) {
  // Guesses; the lower bound is the engine's own trial time.
  constexpr double kTrialsWanted = 60;
  return std::clamp(budget_seconds / kTrialsWanted, 1.5, 4.0);
}

Status settle_command(Job& job, SearchRequest& search, const Machine& machine,
                      const std::string& baseline, std::vector<std::string>& notes) {
  if (job.command().empty() && job.url().empty()) return Status();
  std::set<std::string> turned;
  for (const auto& [name, values] : search.axes) turned.insert(name);
  const bool lists_gpu = turned.contains("gpu");
  const auto add_names = [&](const std::string& text) {
    for (const std::string& name : placeholder_names(text)) turned.insert(name);
  };
  for (const std::string& word : job.command()) add_names(word);
  for (const auto& [name, value] : job.program().environment) add_names(value);
  if (turned.contains("gpu") && !lists_gpu) turned.insert("nproc");  // copies
  vary_from_outside(job, search, machine, turned, notes);
  std::set<std::string> known;  // what reaches the command, or what it says itself
  for (const std::string& name : placeholder_names(job.url())) known.insert(name);
  if (job.command().empty()) {  // a server that runs already: no knob of ours reaches it
    known.insert(turned.begin(), turned.end());
    pin_the_rest(turned, std::move(known), baseline, search);
    return Status();
  }
  CommandWorkload asked = command_workload(job, search);
  // Only knobs with values of the user's: the others would look as if they were asked for.
  std::erase_if(asked.knobs, [&](const auto& name) { return !search.axes.contains(name); });
  const auto choose = [&](PreparedCommand& looked) -> Status {
    OCRTUNE_TRY(take_start(looked, !baseline.empty(), search));
    turned.insert(looked.turnable.begin(), looked.turnable.end());
    for (const std::string& name : looked.current_names) {
      if (name != "batch") known.insert(name);
    }
    known.insert(turned.begin(), turned.end());
    pin_the_rest(turned, std::move(known), baseline, search);
    const CommandWorkload chosen = command_workload(job, search);
    looked.workload.knobs = chosen.knobs;
    looked.workload.fixed = chosen.fixed;
    looked.workload.present = chosen.present;
    looked.workload.as_typed = chosen.as_typed;
    return Status();
  };
  auto prepared = OCRTUNE_TRY(prepare_command(asked, machine, choose));
  notes.insert(notes.end(), prepared.warnings.begin(), prepared.warnings.end());
  const bool turns_batch = turns_global_batch(prepared, asked);
  job.user()->gpus = prepared.gpus;
  if (prepared.gpus == 0) {  // else the devices are named
    for (std::string& note : device_notes(machine, process_environment(), max_ranks(search))) {
      notes.push_back(std::move(note));
    }
  }
  keep_prepared(job, search, std::move(prepared));
  if (turns_batch && recipe_batch(job, search) == 0) {
    notes.emplace_back(
        "the global batch is nproc x batch and changes with both; the learning rate is left as it "
        "is: scale it with the global batch (linearly for SGD, by the square root for Adam)");
  }
  return Status();
}

}  // namespace ocrtune
