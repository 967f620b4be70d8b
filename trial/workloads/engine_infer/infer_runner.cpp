// Two kinds of trial in one runner, because both are one `ocrtune infer-trial` process that is told
// by a JSON specification. Where texts can be compared, the present setting writes its answers to a
// file and every later trial reads that. The files live as long as the runner.
#include "trial/workloads/engine_infer/infer_runner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "core/onnx/onnx_recognizer.h"
#include "probes/placement/partition.h"
#include "trial/answers/same_gate.h"
#include "trial/free_port.h"
#include "trial/malloc_environment.h"
#include "trial/watch/trial_watch.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/copy_number.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"
#include "trial/workloads/engine_infer/line_kinds.h"
#include "trial/workloads/launch.h"
#include "trial/workloads/service/request_file.h"
#include "trial/workloads/service/served_target.h"
#include "trial/workloads/service/server_address.h"

namespace ocrtune {
namespace {

constexpr int kOomScoreAdjust = 500;
constexpr const char* kUrlVariable = "OCRTUNE_URL";  // tells a service of a trial its address
constexpr const char* kMetricsVariable = "OCRTUNE_METRICS_URL";  // is filled, and not passed on
constexpr double kLaterSeconds = 15;

// A service that ocrtune starts is told its address, in a trial.
CommandWorkload with_addresses(CommandWorkload command, const InferenceWorkload& inference) {
  if (!inference.url.empty()) set_variable(command.environment, kUrlVariable, inference.url);
  if (!inference.metrics.empty()) {
    set_variable(command.environment, kMetricsVariable, inference.metrics);
  }
  return command;
}

// Texts mean something where the weights are the user's and the lines are.
bool compares(const InferenceWorkload& workload) {
  // Seeded weights read nonsense, and noise has no text.
  const bool own_weights = !workload.checkpoint.empty() || names_onnx_file(workload.model);
  return workload.user_service() ||
         (own_weights && !workload.place.empty() && workload.slo.empty());
}

class InferRunner : public Runner {
 public:
  // `folder`: of the pictures of noise, or of the reference answers; it is removed.
  InferRunner(InferenceWorkload workload, const Machine& machine, std::string folder)
      : workload_(std::move(workload)),
        machine_(machine),
        folder_(std::move(folder)),
        same_(workload_.max_change) {
    if (compares(workload_)) reference_ = join_path(folder_, "reference.json");
  }
  ~InferRunner() override {
    if (!folder_.empty()) (void)remove_tree(folder_);
  }
  InferRunner(const InferRunner&) = delete;
  InferRunner& operator=(const InferRunner&) = delete;

  Trial run(const Knobs& knobs, const TrialLimits& limits) override {
    Trial trial = compares(workload_) ? compared(knobs, limits) : run_core(knobs, limits, false);
    trial.knobs = knobs;
    trial.reproduce = launch_text(infer_launch(workload_, machine_, knobs));
    return trial;
  }

 private:
  static Trial unsupported(const char* cause, std::string reason) {
    Trial trial;
    trial.outcome = Outcome::unsupported;
    trial.cause = cause;
    trial.reason = std::move(reason);
    return trial;
  }

  InferTrialSpec spec_of(const Knobs& knobs, const TrialLimits& limits) const {
    InferTrialSpec spec;
    spec.queue = knobs.queue;
    spec.slo = workload_.slo;
    spec.trace = workload_.trace;
    spec.inputs = workload_.inputs;
    spec.metrics = workload_.metrics;
    const RequestLimits asked = request_limits(workload_.inputs);
    const bool said = workload_.request_timeout_seconds > 0;
    spec.request_seconds = said ? workload_.request_timeout_seconds : asked.timeout_seconds;
    spec.first_answer_seconds = workload_.start_timeout_seconds;
    const int most = workload_.max_in_flight > 0 ? workload_.max_in_flight : asked.max_in_flight;
    if (most > 0) spec.max_in_flight = most;
    spec.seconds = limits.measure_seconds;
    spec.max_seconds = limits.max_seconds;
    spec.proves = limits.proves;
    spec.in_flight = limits.in_flight;
    spec.seed = workload_.seed;
    return spec;
  }

  TrialPlan plan_of(const InferTrialSpec& spec, const Knobs& knobs) const {
    TrialPlan plan;
    ProcessOptions process;
    process.arguments = {workload_.program.empty() ? own_program() : workload_.program,
                         "infer-trial", "--spec", infer_trial_spec_text(spec)};
    process.oom_score_adjust = kOomScoreAdjust;
    plan.processes.push_back(std::move(process));
    plan.event_ranks = knobs.nproc;
    plan.preload = preload_of(knobs.malloc);
    // And one thread that hands out the lines or sends the requests.
    plan.demand.threads = static_cast<double>(knobs.nproc) * knobs.threads + 1;
    plan.demand.cpus = machine_.cpu.usable_cpus.value_or(std::max(1, machine_.cpu.allowed.count()));
    plan.gpus = spec.gpus;
    if (spec.user_service() || !spec.slo.empty()) {
      // The longest silence that is normal: a server's start, or two requests in a row that time
      // out.
      plan.silence.min_seconds =
          std::max({kBusyStartSeconds, spec.first_answer_seconds, 2 * spec.request_seconds}) +
          kLaterSeconds;
      // The load generator computes all the time, so CPU time is no sign of life of the server.
      plan.silence.busy_factor = 1;
    } else if (!spec.gpus.empty()) {
      // The process that started the workers knows first which one is silent.
      plan.silence.min_seconds = kLaterSeconds + workload_.start_seconds;
      plan.silence.busy_factor = 1;
    }
    return plan;
  }

  // `present`: it reads the texts that others are compared with, unless they are known already.
  Trial run_core(const Knobs& knobs, const TrialLimits& limits, bool present) const {
    const auto masks = partition_cpus(machine_.cpu, knobs.nproc, knobs.threads, knobs.binding);
    if (!masks) return unsupported("binding", masks.error().what);
    InferTrialSpec spec = spec_of(knobs, limits);
    RecognizerOptions& recognizer = spec.infer.recognizer;
    recognizer.model = workload_.model;
    recognizer.backend = knobs.backend;
    recognizer.precision = knobs.precision;
    recognizer.threads = knobs.threads;
    recognizer.batch = knobs.batch;
    recognizer.height = workload_.height;
    recognizer.width = workload_.width;
    recognizer.seed = workload_.seed;
    recognizer.checkpoint = workload_.checkpoint;
    spec.infer.alphabet = workload_.alphabet;
    spec.place = workload_.place.empty() ? folder_ : workload_.place;
    spec.learns = present && !path_exists(reference_);
    if (spec.learns || path_exists(reference_)) spec.reference = reference_;
    spec.chunk = chunk_for(knobs.batch);
    spec.max_chunk = max_chunk_for(knobs.batch);
    spec.exclusive = knobs.binding != "none";
    for (const CpuSet& mask : *masks) {
      spec.masks.push_back(spec.exclusive ? mask.text() : std::string());
      if (!workload_.gpus.empty()) {
        spec.gpus.push_back(workload_.gpus[spec.gpus.size() % workload_.gpus.size()]);
      }
    }
    if (!workload_.gpus.empty()) {
      spec.start_seconds = workload_.start_seconds;
      spec.silence_seconds = workload_.silence_seconds;
    }
    TrialPlan plan = plan_of(spec, knobs);
    // Each process has its own share of the lines, so the slowest one sets the pace.
    plan.own_shares = knobs.queue == "static" && spec.slo.empty();
    for (const auto& [name, value] : knob_environment(knobs)) {
      plan.processes[0].environment.emplace_back(name, value);
    }
    return watch_trial(plan, limits);
  }

  // Where the first trial is not of the present setting (a run that goes on, or is verified), that
  // one is started to be asked.
  Trial compared(const Knobs& knobs, const TrialLimits& limits) {
    const bool present = knobs == workload_.present;
    const bool service = workload_.user_service();
    const bool starts = !service || !workload_.command.workload.command.empty();
    if (starts && !present && !asked_ && !path_exists(reference_)) {
      asked_ = true;
      Trial asked = service ? run_service(workload_.present, limits, true)
                            : run_core(workload_.present, limits, true);
      // The texts count for the gate; the trial's rate is nobody's.
      same_.judge(asked, true);
    }
    Trial trial = service ? run_service(knobs, limits, false) : run_core(knobs, limits, present);
    trial.knobs = knobs;
    if (!service && !path_exists(reference_)) trial.same.not_compared = NotCompared::no_reference;
    same_.judge(trial, present);
    return trial;
  }

  Trial run_service(const Knobs& knobs, const TrialLimits& limits, bool ask_only) const {
    InferTrialSpec spec = spec_of(knobs, limits);
    spec.reference = reference_;
    spec.truth = workload_.truth;
    spec.max_change = workload_.max_change;
    spec.ask_only = ask_only;
    const CommandWorkload command = with_addresses(workload_.command.workload, workload_);
    if (workload_.command.refuse) {
      if (const auto refusal = workload_.command.refuse(knobs)) {
        Trial trial = unsupported(refusal->cause.c_str(), refusal->reason);
        trial.outcome = refusal->outcome;
        return trial;
      }
    }
    if (starts_copies(command)) {
      if (workload_.url.find("{copy}") == std::string::npos) {
        return unsupported("setting",
                           "copies of a server are told apart by --url with {copy}, such as "
                           "http://127.0.0.1:808{copy}/");
      }
      spec.copies = knobs.nproc;
      if (!starts_copies(workload_.command.workload)) {
        return unsupported("setting",
                           "--url has {copy} and the command has not: put it where the server is "
                           "told its port, such as --port 808{copy}");
      }
    }
    const auto folder = make_temporary_directory("trial");
    if (!folder) return unsupported("trial_dir", folder.error().what);
    const auto filled = fill_for(command, machine_, knobs, {*folder, free_port()});
    if (!filled) return unsupported("setting", filled.error().what);
    spec.command = filled->launch.arguments;
    TrialPlan plan = plan_of(spec, knobs);
    plan.event_ranks = 1;
    plan.serves = true;
    if (spec.command.empty()) plan.server_port = port_here(workload_.url);
    plan.processes[0].directory = filled->launch.directory;
    for (const auto& [name, value] : filled->launch.environment) {
      if (name == kUrlVariable) spec.url = value;
      if (name == kMetricsVariable) {
        // Of several copies the metrics of the first are read.
        spec.metrics = fill_copy(value, 0);
      } else {
        plan.processes[0].environment.emplace_back(name, value);
      }
    }
    plan.processes[0].arguments.back() = infer_trial_spec_text(spec);
    Trial trial = watch_trial(plan, limits);
    hide_secrets(filled->launch, trial);
    (void)remove_tree(*folder);
    if (spec.command.empty()) {  // the server runs elsewhere; what was read is the load generator
      trial.peak_bytes = trial.host_peak_bytes = trial.possible_peak_bytes = 0;
      trial.memory_trace.clear();
      trial.growth = {};
      trial.tasks = {};
      trial.files = {};
    }
    return trial;
  }

  InferenceWorkload workload_;
  Machine machine_;
  std::string folder_;
  std::string reference_;  // file
  bool asked_ = false;     // the present setting was started for it
  SameGate same_;
};

}  // namespace

// Two batches a chunk, and sixteen at most, so that lines of one width fill a batch.
int chunk_for(int batch) { return std::max(32, 2 * batch); }
int max_chunk_for(int batch) { return std::max(32, 16 * batch); }

Result<std::unique_ptr<Runner>> make_infer_runner(const InferenceWorkload& workload,
                                                  const Machine& machine) {
  std::string folder;
  if (compares(workload)) {
    folder = OCRTUNE_TRY(make_temporary_directory("answers"));
  } else if (workload.place.empty()) {
    folder = OCRTUNE_TRY(make_temporary_directory("noise"));
    const auto written = write_noise_lines(folder, workload.height, workload.width);
    if (!written) {
      (void)remove_tree(folder);
      return written.error();
    }
  }
  return std::unique_ptr<Runner>(
      std::make_unique<InferRunner>(workload, machine, std::move(folder)));
}

Result<Launch> infer_launch(const InferenceWorkload& workload, const Machine& machine,
                            const Knobs& knobs) {
  if (!workload.command.workload.command.empty()) {
    return launch_of(workload.command, machine, knobs);
  }
  Launch launch;
  if (!workload.url.empty()) {
    launch.server = workload.url;
    return launch;
  }
  launch.environment = malloc_environment(knobs.malloc);
  std::vector<std::string>& line = launch.arguments;
  line = {"ocrtune", "infer", workload.place.empty() ? "LINES" : workload.place};
  const auto add = [&](const char* flag, const std::string& value) {
    line.insert(line.end(), {flag, value});
  };
  if (!workload.checkpoint.empty()) add("--checkpoint", workload.checkpoint);
  if (workload.model != "crnn") add("--model", workload.model);
  if (!workload.gpus.empty()) {
    const auto used = std::min(workload.gpus.size(), static_cast<std::size_t>(knobs.nproc));
    add("--device", "gpu");
    add("--gpus",
        join({workload.gpus.begin(), workload.gpus.begin() + static_cast<std::ptrdiff_t>(used)},
             ","));
    if (static_cast<std::size_t>(knobs.nproc) > used) line.emplace_back("--share-gpus");
  }
  for (const char* knob :
       {"nproc", "threads", "batch", "precision", "backend", "binding", "queue"}) {
    if (!workload.gpus.empty() && std::string_view(knob) == "backend") continue;  // it is the GPU's
    add((std::string("--") + knob).c_str(), knob_text(knobs, knob));
  }
  if (workload.height != 32) add("--height", fmt::format("{}", workload.height));
  if (workload.width != 320 || names_onnx_file(workload.model))
    add("--width", fmt::format("{}", workload.width));
  return launch;
}

}  // namespace ocrtune
