// The pool runs round after round until the trial is ended, and what it says becomes events.
// Warm-up ends by the slowest worker, and not before the texts that are to be compared were read
// once.
#include "trial/workloads/engine_infer/infer_trial.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/interrupt.h"
#include "base/process.h"
#include "probes/gpu/gpu_worker_program.h"
#include "trial/workloads/engine_infer/line_answers.h"
#include "trial/workloads/engine_infer/line_list.h"

namespace ocrtune {
namespace {

constexpr std::int64_t kLinesOfARound = 1 << 17;  // then the workers begin anew
constexpr int kWarmUpChunks = 2;       // of each worker, of full size: its shapes get their plans
constexpr double kMostLearning = 20;   // seconds of warm-up in which the reference is read
constexpr double kBetweenTexts = 0.5;  // seconds between two events that tell of the texts

// What the pool tells, as the events of a trial.
class Teller {
 public:
  // `texts` may be null.
  Teller(const InferTrialSpec& spec, EventWriter& events, LineAnswers* texts)
      : spec_(spec),
        events_(events),
        texts_(texts),
        chunks_(spec.masks.size()),
        pids_(spec.masks.size()),
        placed_(spec.masks.size()) {}

  InferWatcher watcher() {
    InferWatcher watcher;
    watcher.started = [this](int worker, int pid) {
      pids_[static_cast<std::size_t>(worker)] = pid;
      // On GPUs a worker's hello waits until it says where it computes.
      if (spec_.gpus.empty()) say_hello(worker, "");
    };
    watcher.placed = [this](int worker, const GpuPlace& place) { say_place(worker, place); };
    watcher.chunk = [this](int worker, std::int64_t lines, double seconds, bool growing) {
      say_chunk(worker, lines, seconds, growing);
    };
    if (texts_ == nullptr) return watcher;
    watcher.deliver = [this](const std::vector<LineAnswer>& answers, std::int64_t first,
                             std::int64_t count) {
      texts_->take(answers, first, count);
      if (ready_ && steady_seconds() - told_ > kBetweenTexts) say_texts();
    };
    return watcher;
  }

 private:
  // Where a worker computes is known once it says so.
  void say_place(int worker, const GpuPlace& place) {
    const auto index = static_cast<std::size_t>(worker);
    // Once for each process: one that was started anew says hello again.
    if (placed_[index] != pids_[index]) say_hello(worker, place.uuid);
    placed_[index] = pids_[index];
    events_.say(MemoryEvent{worker, place.bytes, 0, place.source});
  }

  void say_hello(int worker, const std::string& gpu) {
    HelloEvent hello;
    hello.rank = worker;
    hello.world_size = static_cast<int>(spec_.masks.size());
    hello.pid = pids_[static_cast<std::size_t>(worker)];
    hello.gpu = gpu;
    hello.cpus = spec_.masks[static_cast<std::size_t>(worker)];
    if (hello.cpus.empty()) hello.cpus = current_affinity().text();
    events_.say(hello);
  }

  void say_chunk(int worker, std::int64_t lines, double seconds, bool growing) {
    // Chunks that still grow are no measure, but they are steps all the same.
    if (!growing) ++chunks_[static_cast<std::size_t>(worker)];
    if (!ready_ && *std::min_element(chunks_.begin(), chunks_.end()) >= kWarmUpChunks) {
      say_ready();
    }
    StepEvent step;
    step.rank = worker;
    step.samples = lines;
    step.seconds = std::max(seconds, 1e-9);
    step.times.compute_seconds = step.seconds;
    events_.say(step);
  }

  void say_ready() {
    const bool reads = texts_ != nullptr && !texts_->read_all();
    // A slow setting cannot read all lines before its trial would end: it learns what it has.
    if (reads && steady_seconds() - began_ < kMostLearning) return;
    if (texts_ != nullptr) {
      const Status learnt = texts_->learn();
      if (!learnt) events_.say(error_event(learnt.error()));
    }
    ready_ = events_.say(ReadyEvent{0, 0});
    if (texts_ != nullptr) say_texts();
  }

  void say_texts() {
    told_ = steady_seconds();
    events_.say(AnswersEvent{0, texts_->result()});
  }

  const InferTrialSpec& spec_;
  EventWriter& events_;
  LineAnswers* texts_;
  double began_ = steady_seconds(), told_ = 0;
  std::vector<int> chunks_;         // of each worker, of full size
  std::vector<int> pids_, placed_;  // of each worker; placed_: the one that has said its GPU
  bool ready_ = false;
};

}  // namespace

Result<LineList> lines_of(const InferTrialSpec& spec) {
  return spread_lines(OCRTUNE_TRY(read_line_list(spec.place)));
}

Result<InferJob> infer_job_of(const InferTrialSpec& spec, const LineList& lines) {
  InferJob job;
  job.program = spec.gpus.empty() ? own_program() : gpu_worker_program("", process_environment());
  job.gpus = spec.gpus;
  job.share_gpus =
      // A UUID that stands twice is shared on purpose.
      std::set<std::string>(spec.gpus.begin(), spec.gpus.end()).size() < spec.gpus.size();
  job.start_seconds = spec.start_seconds;
  job.silence_seconds = spec.silence_seconds;
  job.silence_ends = !spec.gpus.empty();
  job.paths = lines.paths;
  job.spec = spec.infer;
  job.masks = OCRTUNE_TRY(masks_of(spec));
  job.exclusive = spec.exclusive;
  job.policy = spec.queue == "static" ? QueuePolicy::static_shards : QueuePolicy::shared;
  job.chunk = spec.chunk;
  job.max_chunk = spec.max_chunk;
  return job;
}

ErrorEvent error_event(const Error& error) {
  ErrorEvent event;
  event.reason = error.what;
  event.cause = "error";
  if (error.kind == ErrorKind::exhausted) {
    event.outcome = Outcome::out_of_memory;
    event.cause = scarce_name(error.scarce);
  } else if (error.kind == ErrorKind::usage || error.kind == ErrorKind::unsupported) {
    event.outcome = Outcome::unsupported;
    event.cause = "setting";
  }
  return event;
}

bool run_infer_trial(const InferTrialSpec& spec, EventWriter& events) {
  const auto failed = [&](const Error& error) {
    events.say(error_event(error));
    return false;
  };
  const auto lines = lines_of(spec);
  if (!lines) return failed(lines.error());
  auto job = infer_job_of(spec, *lines);
  if (!job) return failed(job.error());
  job->spec.check = true;
  job->lines = std::max(kLinesOfARound, static_cast<std::int64_t>(job->paths.size()));
  std::unique_ptr<LineAnswers> texts;
  if (!spec.reference.empty()) {
    auto opened = LineAnswers::open(*lines, spec.reference, spec.learns);
    if (!opened) return failed(opened.error());
    texts = std::make_unique<LineAnswers>(*std::move(opened));
  }
  Teller teller(spec, events, texts.get());
  while (!interrupted() && !events.closed()) {
    const auto outcome = run_inference(*job, teller.watcher());
    if (!outcome) return failed(outcome.error());
    if (outcome->interrupted || events.closed()) break;
    // Nothing could be read, so the first line's problem is everybody's.
    if (outcome->read == 0 && outcome->bad > 0) {
      events.say(error_event({ErrorKind::failed, outcome->answers[0].text}));
      return false;
    }
    if (outcome->stopped_by.empty()) continue;
    ErrorEvent event = error_event({ErrorKind::failed, outcome->stopped_by});
    if (!outcome->wrong_result.empty()) {
      event.outcome = Outcome::wrong_result;
      event.cause = "reference";
    } else if (!outcome->hung.empty()) {
      event.outcome = Outcome::hung;
      event.cause = "silence";
    } else if (!outcome->conflicts.empty()) {
      event.outcome = Outcome::unsupported;
      event.cause = "placement";
    }
    events.say(event);
    return false;
  }
  return true;
}

}  // namespace ocrtune
