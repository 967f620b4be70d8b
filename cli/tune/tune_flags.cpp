// Each reader leaves flags.typed or flags.search more complete; read_tune_flags() and
// settle_flags() in tune_declare.cpp have their order. An error names its flag and comes before
// anything is measured.
#include "cli/tune/tune_flags.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands/stored_run.h"
#include "cli/engine_commands.h"
#include "core/data/samples.h"
#include "core/infer/initial_model.h"
#include "core/onnx/onnx_recognizer.h"
#include "probes/placement/partition.h"
#include "trial/workloads/engine_infer/framework_table.h"
#include "trial/workloads/engine_paddle/paddle_training.h"
#include "trial/workloads/engine_parts.h"
#include "trial/workloads/engine_train/mpi_training.h"
#include "trial/workloads/service/slo.h"
#include "trial/workloads/usual_axes.h"
#include "tuner/job/job_workload.h"
#include "tuner/project/project.h"
#include "tuner/search/hints.h"
#include "tuner/session/tune_setup.h"
#include "tuner/slo/load_trial.h"
#include "tuner/space/space.h"

namespace ocrtune {
namespace {

constexpr std::int64_t kMaxRange = 64;  // more are hardly meant, and more than a search can try

Error list_error(const std::string& flag, const std::string& text, const std::string& what) {
  return {ErrorKind::usage, fmt::format("{} '{}': {}", flag, text, what)};
}

void make_paths_absolute(JobFlags& typed) {
  std::vector<std::string*> paths = {&typed.training.label_file, &typed.requests.place,
                                     &typed.requests.checkpoint, &typed.requests.trace,
                                     &typed.program.truth};
  for (std::string& input : typed.requests.inputs) paths.push_back(&input);
  if (names_onnx_file(typed.training.model)) paths.push_back(&typed.training.model);
  const std::string here = real_path(".").value_or("");
  for (std::string* path : paths) {
    if (!path->empty() && path->front() != '/') *path = join_path(here, *path);
  }
}

// Whether the user named something that tune_setup() may refuse. `search.axes` does not say: it
// holds what we vary and pin by ourselves as well.
bool names_settings(const TuneFlags& flags) {
  const SearchRequest& search = flags.search;
  const bool lists = std::any_of(flags.lists.begin(), flags.lists.end(),
                                 [](const auto& list) { return !list.second.empty(); });
  return lists || !flags.dims.empty() || !flags.baseline.empty() || !search.constraints.empty() ||
         search.learning_seconds > 0 || search.policy == "cautious";
}

}  // namespace

bool needs_engine(const TuneFlags& flags) {
  if (engine_parts() != nullptr || flags.resuming) return false;
  const JobFlags& typed = flags.typed;
  const bool lines = !flags.data.empty() && !typed.infers();  // are read where they can be
  return (typed.built_in() && typed.program.preset.empty()) || (lines && engine_is_elsewhere());
}

Status read_lists(TuneFlags& flags) {
  for (const auto& [name, text] : flags.lists) {
    if (text.empty()) continue;
    flags.search.axes[name] =
        OCRTUNE_TRY(read_value_list("--" + name, text, find_knob(name)->number != nullptr));
  }
  for (const std::string& dim : flags.dims) {
    const std::size_t equals = dim.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == dim.size()) {
      return Error{ErrorKind::usage, "--dim " + dim + ": needs NAME=a,b,c"};
    }
    const std::string name = dim.substr(0, equals);
    const KnobRow* knob = find_knob(name);
    const bool theirs = knob != nullptr && knob->open && !flags.typed.program.command.empty();
    if (knob != nullptr && !theirs) {
      return Error{ErrorKind::usage, "--dim " + name + ": that is a knob; use --" + name};
    }
    flags.search.axes[name] =
        OCRTUNE_TRY(read_value_list("--dim " + name, dim.substr(equals + 1), false));
  }
  // The values are tried on a setting that nobody uses, for errors of spelling.
  Knobs scratch;
  for (const auto& [name, values] : flags.search.axes) {
    for (const std::string& value : values) {
      const Status status = set_knob(scratch, name, value);
      if (!status) return Error{status.error().kind, "--" + status.error().what};
    }
  }
  return Status();
}

Status take_engine_on_hosts(TuneFlags& flags) {
  JobFlags& typed = flags.typed;
  SearchRequest& search = flags.search;
  const bool own = !typed.program.command.empty() || !typed.requests.url.empty() ||
                   !typed.program.preset.empty();
  const bool over_mpi = flags.hosts.given && !own && !typed.infers() && typed.requests.slo.empty();
  if (!own && !over_mpi && !flags.lists["accumulate"].empty()) {
    return Error{ErrorKind::usage,
                 "--accumulate is for a training over --hosts, or for a command of yours that is "
                 "told {accumulate}"};
  }
  if (!over_mpi) return Status();
  if (!flags.data.empty()) {
    typed.training.label_file = samples_path(flags.data);
    make_paths_absolute(typed);
  }
  typed.program.command = OCRTUNE_TRY(training_over_mpi(typed.training));
  // From here on it is a command like the user's, whose speed is read from its lines.
  typed.program.log_reader = "ocrtune";
  typed.external = true;
  flags.command.metric_of = "job";
  search.axes["binding"] = {"none"};              // mpirun's own business
  search.axes.try_emplace("accumulate", 1, "1");  // more changes the recipe: only if asked for
  return Status();
}

// `--engine paddle` is a command of Paddle's launcher, tuned as one of the user's.
Status take_engine_in_paddle(TuneFlags& flags) {
  JobFlags& typed = flags.typed;
  if (typed.infers()) return Status();  // cli/tune/reading_engines.h
  if (typed.engine == "ocrtune") typed.engine = kBuiltInEngine;
  if (typed.engine == kBuiltInEngine) return Status();
  if (typed.engine != kPaddleEngine) {
    return Error{ErrorKind::usage, fmt::format("--engine {}: a model of ours is trained by ocrtune "
                                               "or in paddle; others read, with --mode infer",
                                               typed.engine)};
  }
  const auto varies = [&](const char* knob) { return !flags.lists[knob].empty(); };
  const std::pair<const char*, bool> others[] = {
      {"a command of yours", !typed.program.command.empty()},
      {"--preset", !typed.program.preset.empty()},
      {"--log-reader", !typed.program.log_reader.empty()},
      {"--metric", !typed.program.metric.empty()},
      {"--url", !typed.requests.url.empty()},
      {"--hosts", flags.hosts.given},
      {"--device gpu", flags.device.device == "gpu"},
      {"--precision", varies("precision")},
      {"--backend", varies("backend")},
      {"--accumulate", varies("accumulate")}};
  for (const auto& [name, given] : others) {
    if (!given) continue;
    return Error{
        ErrorKind::usage,
        fmt::format("--engine paddle trains a model of ours in fp32 on this machine's CPUs; "
                    "leave {} out",
                    name)};
  }
  if (!flags.data.empty()) {
    typed.training.label_file = samples_path(flags.data);
    make_paths_absolute(typed);
  }
  const Python python = python_with("paddle", ".", process_environment(), ask_python);
  if (const Status imports = check_imports(python, "paddle"); !imports) {
    return Error{imports.error().kind, "--engine paddle: " + imports.error().what};
  }
  typed.program.command = OCRTUNE_TRY(training_in_paddle(typed.training, python.program));
  typed.program.environment.emplace_back("OMP_NUM_THREADS", "{threads}");
  typed.program.log_reader = "paddleocr";
  typed.external = true;
  return Status();
}

Status read_hosts(TuneFlags& flags) {
  JobFlags& typed = flags.typed;
  SearchRequest& search = flags.search;
  if (!flags.hosts.given) {
    if (flags.nodes.empty()) return Status();
    return Error{ErrorKind::usage, "--nodes is for several hosts: name them with --hosts"};
  }
  if (!typed.prints() || search.objective.goal == Goal::latency) {
    return Error{ErrorKind::usage,
                 "--hosts is for the throughput of a training: the built-in engine's, or that of a "
                 "command of yours, at the end, after --"};
  }
  if (typed.program.log_reader == "steps") {
    return Error{ErrorKind::usage,
                 "--log-reader steps counts the processes of one host: over --hosts the speed is "
                 "read from what rank 0 prints"};
  }
  const HostNames hosts = OCRTUNE_TRY(host_names(flags.hosts));
  const int most = static_cast<int>(hosts.names.size());
  // 1, 2, 3, 4, 6, ... and all: fewer hosts may be faster than all of them.
  std::vector<std::string> values = number_texts(half_doublings(most));
  if (!flags.nodes.empty()) values = OCRTUNE_TRY(read_value_list("--nodes", flags.nodes, true));
  for (const std::string& value : values) {
    const auto nodes = parse_integer(value).value_or(0);
    if (nodes >= 1 && nodes <= most) continue;
    return Error{ErrorKind::usage, fmt::format("--nodes {}: --hosts names {}", value, most)};
  }
  typed.hosts = hosts.names;
  typed.launcher = hosts.launcher;
  search.axes["nodes"] = std::move(values);
  return Status();
}

constexpr double kPromiseTrials = 4;  // that fit a budget, where a target asks for long ones
constexpr double kProbeSeconds = 8;   // in which the machine is measured first; guess

// Durations and sizes, each error naming its flag.
Status read_amounts(TuneFlags& flags) {
  JobFlags& typed = flags.typed;
  SearchRequest& search = flags.search;
  if (flags.budget.empty()) flags.budget = typed.requests.slo.empty() ? "5m" : "15m";
  // By the kind of job first, then by what the budget allows; --trial-time below wins over both.
  search.trial_seconds = default_trial_seconds(typed);
  const auto budget = parse_duration(flags.budget);
  if (!budget) return Error{ErrorKind::usage, "--budget: " + budget.error().what};
  search.budget_seconds = *budget;
  if (typed.prints()) search.trial_seconds = command_trial_seconds(search.budget_seconds);
  if (!typed.requests.slo.empty()) {  // a service that takes seconds must not ask for hours
    search.trial_seconds =
        std::min(search.trial_seconds, std::max(load_trial_seconds(0), *budget / kPromiseTrials));
  }
  if (!flags.trial_time.empty()) {
    const auto seconds = parse_duration(flags.trial_time);
    if (!seconds) return Error{ErrorKind::usage, "--trial-time: " + seconds.error().what};
    search.trial_seconds = *seconds;
  }
  if (flags.soak == "0" || flags.soak == "0s") {
    search.soak_seconds = 0;
  } else if (!flags.soak.empty()) {
    const auto seconds = parse_duration(flags.soak);
    if (!seconds) return Error{ErrorKind::usage, "--soak: " + seconds.error().what};
    search.soak_seconds = *seconds;
  }
  if (!flags.prove_learning.empty()) {
    const auto seconds = parse_duration(flags.prove_learning);
    if (!seconds) return Error{ErrorKind::usage, "--prove-learning: " + seconds.error().what};
    search.learning_seconds = *seconds;
  }
  // A search needs at least the start and one other setting.
  if (search.budget_seconds < 2 * search.trial_seconds) {
    return Error{
        ErrorKind::usage,
        fmt::format("--budget {} is too small: one trial measures for {}, and every start "
                    "costs about a second more; give at least {}",
                    format_duration(search.budget_seconds), format_duration(search.trial_seconds),
                    format_duration(4 * search.trial_seconds))};
  }
  if (!flags.memory_limit.empty()) {
    search.memory_limit_bytes = OCRTUNE_TRY(read_size("--memory-limit", flags.memory_limit));
  }
  search.objective = OCRTUNE_TRY(flags.objective.read());
  const bool steps =
      search.objective.goal == Goal::latency || search.objective.max_step_seconds > 0;
  if (steps && typed.infers() && typed.program.command.empty() && typed.requests.url.empty()) {
    return Error{ErrorKind::usage,
                 "--objective latency and --max-latency are of training steps; the built-in engine "
                 "reads many lines at once: give --slo p99=50ms"};
  }
  if (search.memory_margin < 0 || search.memory_margin >= 1) {
    return Error{ErrorKind::usage, "--memory-margin must be at least 0 and below 1"};
  }
  return Status();
}

// The label file's alphabet and size decide classes and the largest batch.
Status read_data(TuneFlags& flags) {
  JobFlags& typed = flags.typed;
  const bool trains_on_lines =
      !flags.data.empty() && !typed.infers() && typed.program.command.empty();
  if (typed.training.width_buckets > 0 && !trains_on_lines) {
    return Error{ErrorKind::usage,
                 "--width-buckets is for training the built-in core on the lines of --data"};
  }
  if (flags.data.empty() || typed.infers()) return Status();
  typed.training.label_file = samples_path(flags.data);
  if (engine_parts() == nullptr) return Status();  // a command of the user's: it counts its lines
  LoaderOptions loader;
  loader.label_file = typed.training.label_file;
  // Nothing is trained yet: the lines are counted and their classes and widths read.
  loader.batch = 1;
  loader.height = typed.training.height;
  loader.width = typed.training.width;
  loader.width_buckets = typed.training.width_buckets;
  const auto read = OCRTUNE_TRY(engine_parts()->training_lines(loader));
  typed.lines = read.lines;
  typed.training.classes = read.classes;
  typed.widest_bucket = read.widest_bucket;
  flags.buckets = read.buckets;
  return Status();
}

// Models by name, before anything is measured.
Status check_names(const TuneFlags& flags) {
  const JobFlags& typed = flags.typed;
  const SearchRequest& search = flags.search;
  if (!typed.training.heights.empty() && (typed.infers() || !typed.program.command.empty())) {
    return Error{ErrorKind::usage,
                 "--heights is for training the built-in core; a command has its own"};
  }
  const auto check = [&](const std::string& backend) -> Status {
    if (!flags.inference.refusal.empty()) return Status();
    if (engine_parts() == nullptr) {
      // Without the engine's part a model can be described, and its memory not planned.
      const TrainingWorkload& trained = typed.training;
      OCRTUNE_TRY(recognition_graph(trained.model, trained.height, trained.classes));
      return Status();
    }
    if (typed.infers()) {
      RecognizerOptions reader;
      reader.model = typed.training.model;
      reader.backend = backend;
      reader.batch = 1;
      reader.height = typed.training.height;
      reader.width = typed.training.width;
      OCRTUNE_TRY(reading_bytes(reader, typed.training.classes));
      return Status();
    }
    TrainerOptions trainer;
    trainer.model = typed.training.model;
    trainer.backend = backend;
    trainer.batch = 1;
    trainer.height = typed.training.height;
    trainer.width = typed.training.width;
    OCRTUNE_TRY(training_bytes(trainer));
    return Status();
  };
  OCRTUNE_TRY(check(TrainerOptions().backend));
  const auto backends = search.axes.find("backend");
  if (typed.program.command.empty() && backends != search.axes.end()) {
    for (const std::string& backend : backends->second) {
      if (backend == "cuda" && backends->second.size() == 1) continue;  // --device gpu
      if (typed.infers() && find_framework(backend) != nullptr) continue;
      OCRTUNE_TRY(check(backend));
    }
  }
  return Status();
}

Status read_hints(TuneFlags& flags) {
  if (flags.from.empty()) return Status();
  const bool file = path_exists(flags.from);
  const auto earlier =
      OCRTUNE_TRY(judged_run(file ? flags.from : flags.db, file ? "last" : flags.from));
  const Job& job = flags.job;
  SearchRequest& search = flags.search;
  search.hints = hints_of(earlier.result);
  const char* why = earlier.job.infers() != job.infers() ? "measured the other --mode"
                    : search.hints.empty()               ? "has no setting that works"
                                                         : nullptr;
  if (why == nullptr) return Status();
  return Error{ErrorKind::usage, fmt::format("--from {}: that run {}", flags.from, why)};
}

Status read_baseline(TuneFlags& flags, const Machine& machine) {
  const Job& job = flags.job;
  SearchRequest& search = flags.search;
  auto given = parse_knobs(words(flags.baseline));
  if (!given) return Error{ErrorKind::usage, "--baseline: " + given.error().what};
  std::vector<std::string> dimensions;
  for (const auto& [name, values] : search.axes) dimensions.push_back(name);
  if (Status known = check_knob_names(*given, dimensions, job.command()); !known) {
    return Error{ErrorKind::usage, "--baseline: " + known.error().what};
  }
  search.baseline = *given;
  // A command's start is the first value of each list, until settle_command() has looked at it.
  if (flags.baseline.empty() && !job.command().empty()) {
    search.baseline_source = search.first_source();
    for (const auto& [name, values] : search.axes) {
      const Status status = set_knob(search.baseline, name, values.front());
      if (!status) return status;
    }
  } else if (flags.baseline.empty() && job.on_gpus()) {
    search.baseline_source = kBaselineGpu;
  } else if (flags.baseline.empty()) {
    search.baseline.threads = usable_cpu_count(machine.cpu);
    search.baseline_source = kBaselinePlain;
  } else {
    search.baseline_source = kBaselineGiven;
  }
  if (job.on_gpus()) {
    search.baseline.backend = "cuda";
    if (!job.infers() && search.baseline.nproc > static_cast<int>(job.gpus().size())) {
      return Error{ErrorKind::usage,
                   fmt::format("--baseline: {} processes on {} GPUs; each takes one for itself",
                               search.baseline.nproc, job.gpus().size())};
    }
  }
  for (const auto& [name, values] : search.axes) {
    // What --baseline names runs today, whatever is tried instead. A knob that the user pins to one
    // value is part of the baseline too, and a guess stays within the user's lists.
    if ((" " + flags.baseline).find(" " + name + "=") != std::string::npos) continue;
    const std::string own = knob_text(search.baseline, name);
    const bool outside = std::find(values.begin(), values.end(), own) == values.end();
    if (values.size() == 1 || own.empty() || outside) {
      const Status status = set_knob(search.baseline, name, values.front());
      if (!status) return status;
    }
    if (outside && search.baseline_source == kBaselinePlain) {
      search.baseline_source = kBaselineWithin;
    }
  }
  return Status();
}

void share_budget(TuneFlags& flags, const Machine& machine) {
  const Job& job = flags.job;
  SearchRequest& search = flags.search;
  const auto slo = parse_slo(job.slo());
  if (job.slo().empty() || !slo || !flags.trial_time.empty()) return;
  const auto setup = tune_setup(job, search, machine);
  if (!setup) return;  // told by who makes it for good
  // One more trial proves what the search claims.
  const double trials = std::min(kPromiseTrials, setup->space.size() + 1.0);
  // What a trial costs beside its measuring.
  const double starts = setup->search.first_trial_seconds - search.trial_seconds;
  const double each = (search.budget_seconds - kProbeSeconds) / trials - starts;
  search.trial_seconds =
      std::min(load_trial_seconds(slo->seconds), std::max(search.trial_seconds, each));
}

Status check_setup(const TuneFlags& flags, const Machine& machine) {
  if (names_settings(flags)) OCRTUNE_TRY(tune_setup(flags.job, flags.search, machine));
  return Status();
}

void make_job(TuneFlags& flags) {
  make_paths_absolute(flags.typed);
  flags.job = job_of(flags.typed);
}

Result<std::vector<std::string>> read_value_list(const std::string& flag, const std::string& text,
                                                 bool counts) {
  std::vector<std::string> values;
  for (const std::string& part : split(text, ',')) {
    if (part.empty()) {
      return list_error(flag, text, "an empty value; write values as 1,2,4 without blanks");
    }
    const std::size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_integer(part.substr(dash + 1));
    if (!counts || dash == std::string::npos || !first || !last) {
      values.push_back(part);
      continue;
    }
    if (*last < *first) return list_error(flag, text, "the range falls; write it as 1-4");
    if (*last - *first >= kMaxRange) {
      return list_error(flag, text,
                        fmt::format("a range of more than {} numbers; name those to try, such as "
                                    "1,2,4,8",
                                    kMaxRange));
    }
    for (std::int64_t value = *first; value <= *last; ++value) {
      values.push_back(fmt::format("{}", value));
    }
  }
  return values;
}

}  // namespace ocrtune
