#include "cli/tune/tune_flags.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/environment.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands/stored_run.h"
#include "cli/label_images.h"
#include "core/data/loader.h"
#include "core/data/samples.h"
#include "core/infer/recognizer.h"
#include "core/onnx/onnx_recognizer.h"
#include "core/train/trainer.h"
#include "probes/placement/partition.h"
#include "trial/workloads/engine_infer/framework_table.h"
#include "trial/workloads/engine_paddle/paddle_training.h"
#include "trial/workloads/engine_train/mpi_training.h"
#include "trial/workloads/service/slo.h"
#include "trial/workloads/usual_axes.h"
#include "tuner/project/project.h"
#include "tuner/search/hints.h"
#include "tuner/session/run_workload.h"
#include "tuner/session/tune_setup.h"
#include "tuner/slo/load_trial.h"
#include "tuner/space/space.h"

namespace ocrtune {
namespace {

constexpr std::int64_t kMaxRange = 64;  // more are hardly meant, and more than a search can try

Error list_error(const std::string& flag, const std::string& text, const std::string& what) {
  return {ErrorKind::usage, fmt::format("{} '{}': {}", flag, text, what)};
}

}  // namespace

Status read_lists(TuneFlags& flags) {
  for (const auto& [name, text] : flags.lists) {
    if (text.empty()) continue;
    flags.options.axes[name] =
        OCRTUNE_TRY(read_value_list("--" + name, text, find_knob(name)->number != nullptr));
  }
  for (const std::string& dim : flags.dims) {
    const std::size_t equals = dim.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == dim.size()) {
      return Error{ErrorKind::usage, "--dim " + dim + ": needs NAME=a,b,c"};
    }
    const std::string name = dim.substr(0, equals);
    const KnobRow* knob = find_knob(name);
    const bool theirs = knob != nullptr && knob->open && !flags.options.command.empty();
    if (knob != nullptr && !theirs) {
      return Error{ErrorKind::usage, "--dim " + name + ": that is a knob; use --" + name};
    }
    flags.options.axes[name] =
        OCRTUNE_TRY(read_value_list("--dim " + name, dim.substr(equals + 1), false));
  }
  for (const auto& [name, values] : flags.options.axes) flags.options.given.insert(name);
  Knobs scratch;
  for (const auto& [name, values] : flags.options.axes) {
    for (const std::string& value : values) {
      const Status status = set_knob(scratch, name, value);
      if (!status) return Error{status.error().kind, "--" + status.error().what};
    }
  }
  return Status();
}

Status take_engine_on_hosts(TuneFlags& flags) {
  RunOptions& options = flags.options;
  const bool own = !options.command.empty() || !options.url.empty() || !options.preset.empty();
  const bool over_mpi = flags.hosts.given && !own && !options.infers() && options.slo.empty();
  if (!own && !over_mpi && !flags.lists["accumulate"].empty()) {
    return Error{ErrorKind::usage,
                 "--accumulate is for a training over --hosts, or for a command of yours that is "
                 "told {accumulate}"};
  }
  if (!over_mpi) return Status();
  if (!flags.data.empty()) {
    options.label_file = samples_path(flags.data);
    make_paths_absolute(options);
  }
  options.command = OCRTUNE_TRY(training_over_mpi(training_workload(options)));
  options.log_reader = "ocrtune";
  options.metric_of = "job";
  options.axes["binding"] = {"none"};              // mpirun's own business
  options.axes.try_emplace("accumulate", 1, "1");  // more changes the recipe: only if asked for
  return Status();
}

// `--engine paddle` is a command of Paddle's launcher, tuned as one of the user's.
Status take_engine_in_paddle(TuneFlags& flags) {
  RunOptions& options = flags.options;
  if (options.infers()) return Status();  // cli/tune/reading_engines.h
  if (options.engine == "ocrtune") options.engine = RunOptions().engine;
  if (options.engine == RunOptions().engine) return Status();
  if (options.engine != kPaddleEngine) {
    return Error{ErrorKind::usage, fmt::format("--engine {}: a model of ours is trained by ocrtune "
                                               "or in paddle; others read, with --mode infer",
                                               options.engine)};
  }
  const auto varies = [&](const char* knob) { return !flags.lists[knob].empty(); };
  const std::pair<const char*, bool> others[] = {{"a command of yours", !options.command.empty()},
                                                 {"--preset", !options.preset.empty()},
                                                 {"--log-reader", !options.log_reader.empty()},
                                                 {"--metric", !options.metric.empty()},
                                                 {"--url", !options.url.empty()},
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
    options.label_file = samples_path(flags.data);
    make_paths_absolute(options);
  }
  const Python python = python_with("paddle", ".", process_environment(), ask_python);
  if (const Status imports = check_imports(python, "paddle"); !imports) {
    return Error{imports.error().kind, "--engine paddle: " + imports.error().what};
  }
  options.command = OCRTUNE_TRY(training_in_paddle(training_workload(options), python.program));
  options.environment.emplace_back("OMP_NUM_THREADS", "{threads}");
  options.log_reader = "paddleocr";
  return Status();
}

Status read_hosts(TuneFlags& flags) {
  RunOptions& options = flags.options;
  if (!flags.hosts.given) {
    if (flags.nodes.empty()) return Status();
    return Error{ErrorKind::usage, "--nodes is for several hosts: name them with --hosts"};
  }
  if (!options.prints() || options.objective.goal == Goal::latency) {
    return Error{ErrorKind::usage,
                 "--hosts is for the throughput of a training: the built-in engine's, or that of a "
                 "command of yours, at the end, after --"};
  }
  flags.chosen = OCRTUNE_TRY(choose_hosts(flags.hosts));
  const int most = static_cast<int>(flags.chosen.hosts.size());
  std::vector<std::string> values = number_texts(half_doublings(most));
  if (!flags.nodes.empty()) values = OCRTUNE_TRY(read_value_list("--nodes", flags.nodes, true));
  for (const std::string& value : values) {
    const auto nodes = parse_integer(value).value_or(0);
    if (nodes >= 1 && nodes <= most) continue;
    return Error{ErrorKind::usage, fmt::format("--nodes {}: --hosts names {}", value, most)};
  }
  for (const HostName& host : flags.chosen.hosts) options.hosts.push_back(host.name);
  options.launcher = launcher_name(flags.chosen.options.launcher);
  options.axes["nodes"] = std::move(values);
  options.given.insert("nodes");
  return Status();
}

constexpr double kPromiseTrials = 4;  // that fit a budget, where a target asks for long ones

// Durations and sizes, each error naming its flag.
Status read_amounts(TuneFlags& flags) {
  RunOptions& options = flags.options;
  if (flags.budget.empty()) flags.budget = options.slo.empty() ? "5m" : "15m";
  options.trial_seconds = default_trial_seconds(options);
  const auto budget = parse_duration(flags.budget);
  if (!budget) return Error{ErrorKind::usage, "--budget: " + budget.error().what};
  options.budget_seconds = *budget;
  if (options.prints()) options.trial_seconds = command_trial_seconds(options.budget_seconds);
  if (!options.slo.empty()) {  // a service that takes seconds must not ask for hours
    options.trial_seconds =
        std::min(options.trial_seconds, std::max(load_trial_seconds(0), *budget / kPromiseTrials));
  }
  if (!flags.trial_time.empty()) {
    const auto seconds = parse_duration(flags.trial_time);
    if (!seconds) return Error{ErrorKind::usage, "--trial-time: " + seconds.error().what};
    options.trial_seconds = *seconds;
  }
  if (flags.soak == "0" || flags.soak == "0s") {
    options.soak_seconds = 0;
  } else if (!flags.soak.empty()) {
    const auto seconds = parse_duration(flags.soak);
    if (!seconds) return Error{ErrorKind::usage, "--soak: " + seconds.error().what};
    options.soak_seconds = *seconds;
  }
  if (options.budget_seconds < 2 * options.trial_seconds) {
    return Error{
        ErrorKind::usage,
        fmt::format("--budget {} is too small: one trial measures for {}, and every start "
                    "costs about a second more; give at least {}",
                    format_duration(options.budget_seconds), format_duration(options.trial_seconds),
                    format_duration(4 * options.trial_seconds))};
  }
  if (!flags.memory_limit.empty()) {
    options.memory_limit_bytes = OCRTUNE_TRY(read_size("--memory-limit", flags.memory_limit));
  }
  options.objective = OCRTUNE_TRY(flags.objective.read());
  const bool steps =
      options.objective.goal == Goal::latency || options.objective.max_step_seconds > 0;
  if (steps && options.infers() && options.command.empty() && options.url.empty()) {
    return Error{ErrorKind::usage,
                 "--objective latency and --max-latency are of training steps; the built-in engine "
                 "reads many lines at once: give --slo p99=50ms"};
  }
  if (options.memory_margin < 0 || options.memory_margin >= 1) {
    return Error{ErrorKind::usage, "--memory-margin must be at least 0 and below 1"};
  }
  return Status();
}

// The label file's alphabet and size decide classes and the largest batch.
Status read_data(TuneFlags& flags) {
  RunOptions& options = flags.options;
  const bool trains_on_lines = !flags.data.empty() && !options.infers() && options.command.empty();
  if (options.width_buckets > 0 && !trains_on_lines) {
    return Error{ErrorKind::usage,
                 "--width-buckets is for training the built-in core on the lines of --data"};
  }
  if (flags.data.empty() || options.infers()) return Status();
  options.label_file = samples_path(flags.data);
  if (path_exists(options.label_file)) {
    OCRTUNE_TRY(check_label_images(options.label_file));
  }
  LoaderOptions loader;
  loader.label_file = options.label_file;
  loader.batch = 1;
  loader.height = options.height;
  loader.width = options.width;
  loader.width_buckets = options.width_buckets;
  const auto opened = OCRTUNE_TRY(Loader::create(loader));
  options.lines = opened->size();
  options.classes = static_cast<int>(opened->alphabet().size()) + 1;
  const auto& buckets = opened->width_buckets();
  if (buckets.empty()) return Status();
  options.widest_bucket = buckets.back().width;
  flags.buckets = describe_width_buckets(buckets, options.width);
  return Status();
}

// Model and strategy by name, before anything is measured.
Status check_names(const RunOptions& options, bool built_in) {
  if (!options.heights.empty() && (options.infers() || !options.command.empty())) {
    return Error{ErrorKind::usage,
                 "--heights is for training the built-in core; a command has its own"};
  }
  if (names_onnx_file(options.model) && !options.infers()) {
    return Error{ErrorKind::usage, "--model " + options.model +
                                       ": ONNX files are read with --mode infer, not trained"};
  }
  const auto check = [&](const std::string& backend) -> Status {
    if (!built_in) return Status();
    if (options.infers()) {
      RecognizerOptions reader;
      reader.model = options.model;
      reader.backend = backend;
      reader.batch = 1;
      reader.height = options.height;
      reader.width = options.width;
      OCRTUNE_TRY(Recognizer::footprint_bytes(reader, options.classes));
      return Status();
    }
    TrainerOptions trainer;
    trainer.model = options.model;
    trainer.backend = backend;
    trainer.batch = 1;
    trainer.height = options.height;
    trainer.width = options.width;
    OCRTUNE_TRY(Trainer::footprint_bytes(trainer));
    return Status();
  };
  OCRTUNE_TRY(check(TrainerOptions().backend));
  const auto backends = options.axes.find("backend");
  if (options.command.empty() && backends != options.axes.end()) {
    for (const std::string& backend : backends->second) {
      if (backend == "cuda" && backends->second.size() == 1) continue;  // --device gpu
      if (options.infers() && find_framework(backend) != nullptr) continue;
      OCRTUNE_TRY(check(backend));
    }
  }
  if (find_strategy(options.strategy) != nullptr) return Status();
  std::vector<std::string> names;
  for (const StrategyRow& row : strategy_table()) names.emplace_back(row.name);
  return Error{ErrorKind::usage,
               "--strategy " + options.strategy + ": not one of " + join(names, ", ")};
}

Status read_hints(TuneFlags& flags) {
  if (flags.from.empty()) return Status();
  const bool file = path_exists(flags.from);
  const auto earlier =
      OCRTUNE_TRY(judged_run(file ? flags.from : flags.db, file ? "last" : flags.from));
  RunOptions& options = flags.options;
  options.hints = hints_of(earlier.result);
  const char* why = earlier.options.mode != options.mode ? "measured the other --mode"
                    : options.hints.empty()              ? "has no setting that works"
                    : options.strategy != "ours"         ? "helps --strategy ours alone"
                                                         : nullptr;
  if (why == nullptr) return Status();
  return Error{ErrorKind::usage, fmt::format("--from {}: that run {}", flags.from, why)};
}

Status read_baseline(TuneFlags& flags, const Machine& machine) {
  RunOptions& options = flags.options;
  auto given = parse_knobs(words(flags.baseline));
  if (!given) return Error{ErrorKind::usage, "--baseline: " + given.error().what};
  std::vector<std::string> dimensions;
  for (const auto& [name, values] : options.axes) dimensions.push_back(name);
  if (Status known = check_knob_names(*given, dimensions, options.command); !known) {
    return Error{ErrorKind::usage, "--baseline: " + known.error().what};
  }
  options.baseline = *given;
  if (flags.baseline.empty() && !options.command.empty()) {
    options.baseline_source = kBaselineFirst;
    for (const auto& [name, values] : options.axes) {
      const Status status = set_knob(options.baseline, name, values.front());
      if (!status) return status;
    }
  } else if (flags.baseline.empty() && options.on_gpus()) {
    options.baseline_source = kBaselineGpu;
  } else if (flags.baseline.empty()) {
    options.baseline.threads = usable_cpu_count(machine.cpu);
    options.baseline_source = kBaselinePlain;
  } else {
    options.baseline_source = kBaselineGiven;
  }
  if (options.on_gpus()) {
    options.baseline.backend = "cuda";
    if (!options.infers() && options.baseline.nproc > static_cast<int>(options.gpus.size())) {
      return Error{ErrorKind::usage,
                   fmt::format("--baseline: {} processes on {} GPUs; each takes one for itself",
                               options.baseline.nproc, options.gpus.size())};
    }
  }
  for (const auto& [name, values] : options.axes) {
    // A knob that the user pins to one value is part of the baseline too, and a guess stays within
    // the user's lists.
    const std::string own = knob_text(options.baseline, name);
    const bool outside =
        options.baseline_guessed() && std::find(values.begin(), values.end(), own) == values.end();
    if (values.size() == 1 || own.empty() || outside) {
      const Status status = set_knob(options.baseline, name, values.front());
      if (!status) return status;
    }
    if (outside && options.baseline_source == kBaselinePlain) {
      options.baseline_source = kBaselineWithin;
    }
  }
  return Status();
}

void share_budget(TuneFlags& flags, const Machine& machine) {
  RunOptions& options = flags.options;
  const auto slo = parse_slo(options.slo);
  if (options.slo.empty() || !slo || !flags.trial_time.empty()) return;
  const auto setup = tune_setup(options, machine);
  if (!setup) return;  // told by who makes it for good
  // One more trial proves what the search claims.
  const double trials = std::min(kPromiseTrials, setup->space.size() + 1.0);
  options.trial_seconds =
      std::min(load_trial_seconds(slo->seconds),
               std::max(options.trial_seconds, options.budget_seconds / trials));
}

void make_paths_absolute(RunOptions& options) {
  std::vector<std::string*> paths = {&options.label_file, &options.place, &options.checkpoint,
                                     &options.trace, &options.truth};
  for (std::string& input : options.inputs) paths.push_back(&input);
  if (names_onnx_file(options.model)) paths.push_back(&options.model);
  const std::string here = real_path(".").value_or("");
  for (std::string* path : paths) {
    if (!path->empty() && path->front() != '/') *path = join_path(here, *path);
  }
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
