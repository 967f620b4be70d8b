// One thread serves all workers by poll(): feed, hear, replace, look, deliver, and again. A worker
// always has a second chunk in its pipe, so that it never waits for this process. Answers are kept
// by line number, so a line that was read twice counts once.
#include "trial/workloads/engine_infer/infer_pool.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "trial/workloads/engine_infer/infer_process.h"

namespace ocrtune {
namespace {

constexpr int kChunksUnderWay = 2;
constexpr double kLookSeconds = 0.2;    // between two looks at /proc
constexpr double kShortSeconds = 0.5;   // a chunk that takes less may grow
constexpr std::size_t kFrameBytes = 9;  // of a request, without its path

struct LiveWorker : InferProcess {
  explicit LiveWorker(InferProcess started, double now)
      : InferProcess(std::move(started)), last_heard(now), chunk_began(now) {}
  int chunk = 0;      // lines of the chunks that it gets
  int max_chunk = 0;  // that wait in its pipe while it reads another
  bool ready = false;
  double last_heard = 0;
  double chunk_began = 0;          // when the chunk that it reads now was begun, at the earliest
  std::int64_t chunk_answers = 0;  // of that chunk
};

// A process that writes more than a pipe holds waits for the reader, and with it all others.
int lines_in_pipe(int descriptor, const std::vector<std::string>& paths) {
  std::size_t longest = 0;
  for (const std::string& path : paths) longest = std::max(longest, path.size());
  const int bytes = ::fcntl(descriptor, F_GETPIPE_SZ);
  const auto room = static_cast<std::size_t>(bytes > 0 ? bytes : 4096);
  return std::max(1, static_cast<int>((room - kFrameBytes) / (longest + kFrameBytes)));
}

std::string worker_name(const InferJob& job, std::size_t worker) {
  return fmt::format("worker {}{}", worker, job.gpus.empty() ? "" : " on " + job.gpus[worker]);
}

std::int64_t line_count(const InferJob& job) {
  return std::max(job.lines, static_cast<std::int64_t>(job.paths.size()));
}

class InferPool {
 public:
  InferPool(const InferJob& job, const InferWatcher& watcher)
      : job_(job),
        watcher_(watcher),
        queue_(line_count(job), static_cast<int>(job.masks.size()), job.policy, job.chunk),
        live_(job.masks.size()),
        deaths_in_a_row_(job.masks.size()) {
    outcome_.answers.resize(static_cast<std::size_t>(line_count(job)));
    outcome_.workers.resize(job.masks.size());
  }

  Result<InferOutcome> run();

 private:
  Status start(std::size_t worker);
  Status feed(std::size_t worker);
  void wait_for_answers();
  void hear(std::size_t worker);
  void take_answer(std::size_t worker, const Frame& frame);
  void end_chunk(std::size_t worker);
  void settle(std::int64_t line, LineAnswer answer);
  Status replace_exited();
  Status died(std::size_t worker, const ProcessExit& exit);
  void look_at_placement();
  void deliver();
  void explain_open_lines();
  bool anybody_alive() const;
  bool is_silent(std::size_t worker);

  const InferJob& job_;
  const InferWatcher& watcher_;
  LineQueue queue_;
  ProcessTree tree_;
  std::vector<std::optional<LiveWorker>> live_;
  std::vector<int> deaths_in_a_row_;
  InferOutcome outcome_;
  std::string last_end_;  // of the worker that died last
  std::optional<Error> fatal_;
  bool checked_ = false;
  double started_ = 0, first_ready_ = 0, last_look_ = 0;
  std::int64_t delivered_ = 0;
};

Status InferPool::start(std::size_t worker) {
  InferSpec spec = job_.spec;
  // The reference is asked once: it is the slow, plain implementation.
  spec.check = spec.check && !checked_;  // one answer for all
  checked_ = true;
  if (!job_.gpus.empty()) spec.gpu = job_.gpus[worker];
  auto started = OCRTUNE_TRY(start_infer_process(tree_, job_.program, spec, job_.masks[worker]));
  InferWorkerReport& report = outcome_.workers[worker];
  report.placement.pid = started.process->pid();
  report.placement.meant = job_.masks[worker];
  live_[worker].emplace(std::move(started), steady_clock().now_seconds());
  LiveWorker& live = *live_[worker];
  live.max_chunk = lines_in_pipe(live.requests.number, job_.paths);
  live.chunk = std::min(job_.chunk, live.max_chunk);
  live.max_chunk = std::min(job_.max_chunk, live.max_chunk);
  queue_.set_chunk(static_cast<int>(worker), live.chunk);
  if (watcher_.started) watcher_.started(static_cast<int>(worker), report.placement.pid);
  return Status();
}

Status InferPool::feed(std::size_t worker) {
  LiveWorker& live = *live_[worker];
  const int index = static_cast<int>(worker);
  while (live.ready && queue_.chunks_in_flight(index) < kChunksUnderWay) {
    std::string frames;
    // Line numbers go along, since a worker's answers come batch by batch.
    for (std::int64_t line : queue_.take(index)) {
      std::string body;
      append_number(body, static_cast<std::uint32_t>(line));
      append_frame(frames, 'I',
                   body + job_.paths[static_cast<std::size_t>(line) % job_.paths.size()]);
    }
    if (frames.empty()) return Status();
    if (queue_.chunks_in_flight(index) == 1) {
      // It had nothing to do until now, so its silence begins here.
      live.chunk_began = live.last_heard = steady_clock().now_seconds();
    }
    append_frame(frames, 'G', "");
    // A worker that has just died is noticed by its exit, not here.
    if (!write_frames(live.requests.number, frames)) return Status();
  }
  return Status();
}

void InferPool::settle(std::int64_t line, LineAnswer answer) {
  (answer.state == LineAnswer::State::read ? outcome_.read : outcome_.bad) += 1;
  outcome_.answers[static_cast<std::size_t>(line)] = std::move(answer);
}

void InferPool::take_answer(std::size_t worker, const Frame& frame) {
  std::string_view body = frame.body;
  InferWorkerReport& report = outcome_.workers[worker];
  if (frame.kind == 'H') {
    live_[worker]->ready = true;
    report.placement.allowed = allowed_cpus(report.placement.pid);
    if (first_ready_ == 0) first_ready_ = steady_clock().now_seconds();
    last_look_ = 0;  // look at once
  } else if (frame.kind == 'D') {
    const CpuSet seen = CpuSet::parse(body).value_or(CpuSet());
    report.placement.seen_inside = report.placement.seen_inside.unite(seen);
    end_chunk(worker);
  } else if (frame.kind == 'P') {
    const GpuPlace place = parse_gpu_place(body);
    // The most memory that it had, since caches of a GPU grow.
    if (place.bytes >= report.gpu.bytes || place.uuid != report.gpu.uuid) report.gpu = place;
    if (watcher_.placed) watcher_.placed(static_cast<int>(worker), place);
    last_look_ = 0;
  } else if (frame.kind == 'E') {
    if (!fatal_) fatal_ = parse_error_body(body);
  } else if (frame.kind == 'W') {
    outcome_.wrong_result = body;
  } else {
    const std::uint32_t line = take_number(body);
    // A worker that was given up for dead may still have answered.
    if (line >= outcome_.answers.size() || !queue_.answer(static_cast<int>(worker), line)) return;
    deaths_in_a_row_[worker] = 0;
    ++live_[worker]->chunk_answers;
    ++report.lines;
    LineAnswer answer;
    answer.state = frame.kind == 'R' ? LineAnswer::State::read : LineAnswer::State::bad;
    if (frame.kind == 'R') answer.confidence = take_number(body) * 1e-6;
    answer.text = body;
    settle(line, std::move(answer));
  }
}

void InferPool::end_chunk(std::size_t worker) {
  LiveWorker& live = *live_[worker];
  const double now = steady_clock().now_seconds();
  const double seconds = now - live.chunk_began;
  // A short chunk at the end of the queue says nothing of its speed.
  bool growing = live.chunk_answers < live.chunk;
  if (!growing && seconds < kShortSeconds && live.chunk < live.max_chunk) {
    growing = true;
    live.chunk = std::min(2 * live.chunk, live.max_chunk);
    queue_.set_chunk(static_cast<int>(worker), live.chunk);
  }
  if (watcher_.chunk && live.chunk_answers > 0) {
    watcher_.chunk(static_cast<int>(worker), live.chunk_answers, seconds, growing);
  }
  live.chunk_answers = 0;
  live.chunk_began = now;
}

void InferPool::hear(std::size_t worker) {
  LiveWorker& live = *live_[worker];
  const auto frames = live.reader.read(live.answers.number);
  if (!frames) {
    live.process->signal(SIGKILL);  // it talks nonsense: treated as any death
    return;
  }
  live.last_heard = steady_clock().now_seconds();
  for (const Frame& frame : *frames) take_answer(worker, frame);
}

void InferPool::wait_for_answers() {
  std::vector<pollfd> polls;
  std::vector<std::size_t> workers;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (!live_[i]) continue;
    // A worker whose output nobody reads would block on a full pipe.
    (void)live_[i]->process->read_output(nullptr);
    if (live_[i]->reader.ended()) continue;
    polls.push_back({live_[i]->answers.number, POLLIN, 0});
    workers.push_back(i);
  }
  if (::poll(polls.data(), polls.size(), 50) <= 0) return;
  for (std::size_t i = 0; i < polls.size(); ++i) {
    if (polls[i].revents != 0) hear(workers[i]);
  }
}

Status InferPool::died(std::size_t worker, const ProcessExit& exit) {
  while (!live_[worker]->reader.ended()) hear(worker);  // what it still said counts
  InferWorkerReport& report = outcome_.workers[worker];
  report.last_end = last_end_ = exit.text();
  live_[worker].reset();
  const std::vector<std::int64_t> unreadable = queue_.lose(static_cast<int>(worker));
  for (std::int64_t line : unreadable) {
    settle(line, {LineAnswer::State::bad, "its worker died four times: " + report.last_end, 0});
  }
  // A line that was found to kill its worker is no fault of the worker.
  deaths_in_a_row_[worker] = unreadable.empty() ? deaths_in_a_row_[worker] + 1 : 0;
  if (fatal_ || queue_.open() == 0) return Status();
  if (deaths_in_a_row_[worker] >= job_.max_deaths_without_work) {
    report.given_up = true;
    queue_.give_up(static_cast<int>(worker));
    return Status();
  }
  ++report.restarts;
  return start(worker);
}

bool InferPool::is_silent(std::size_t worker) {
  const LiveWorker& live = *live_[worker];
  const double silent = steady_clock().now_seconds() - live.last_heard;
  const bool starts = !live.ready && job_.start_seconds > 0;
  const double most = starts ? job_.start_seconds : job_.silence_seconds;
  // Silence counts only where it has something to do.
  const bool waiting = !live.ready || queue_.chunks_in_flight(static_cast<int>(worker)) > 0;
  if (!waiting || silent <= most) return false;
  if (job_.silence_ends && outcome_.hung.empty()) {
    outcome_.hung = fmt::format("{} was silent for {:.3g} s{}", worker_name(job_, worker), most,
                                live.ready ? "" : " before it was ready");
  }
  return true;
}

Status InferPool::replace_exited() {
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (!live_[i]) continue;
    if (is_silent(i)) live_[i]->process->signal(SIGKILL);
    if (!outcome_.hung.empty()) return Status();
    const std::optional<ProcessExit> exit = live_[i]->process->poll_exit();
    if (!exit) continue;
    OCRTUNE_TRY(died(i, *exit));
  }
  return Status();
}

void InferPool::look_at_placement() {
  const double now = steady_clock().now_seconds();
  if (now - last_look_ < kLookSeconds || !outcome_.conflicts.empty()) return;
  last_look_ = now;
  std::vector<Placement> placements;
  std::vector<GpuPlace> gpus;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    Placement& placement = outcome_.workers[i].placement;
    if (live_[i] && live_[i]->ready) {
      placement.seen_outside = placement.seen_outside.unite(last_used_cpus(placement.pid));
    }
    placements.push_back(placement);
    gpus.push_back(outcome_.workers[i].gpu);
  }
  outcome_.conflicts = placement_conflicts(placements, job_.exclusive);
  if (job_.gpus.empty()) return;
  const auto on_gpus = gpu_conflicts(job_.gpus, gpus, job_.share_gpus);
  outcome_.conflicts.insert(outcome_.conflicts.end(), on_gpus.begin(), on_gpus.end());
}

void InferPool::deliver() {
  std::int64_t end = delivered_;
  while (end < static_cast<std::int64_t>(outcome_.answers.size()) &&
         outcome_.answers[static_cast<std::size_t>(end)].state != LineAnswer::State::open) {
    ++end;
  }
  if (end > delivered_ && watcher_.deliver) {
    watcher_.deliver(outcome_.answers, delivered_, end - delivered_);
  }
  delivered_ = end;
  if (watcher_.progress) watcher_.progress(outcome_.read + outcome_.bad);
}

bool InferPool::anybody_alive() const {
  return std::any_of(live_.begin(), live_.end(), [](const auto& live) { return live.has_value(); });
}

void InferPool::explain_open_lines() {
  outcome_.interrupted = interrupted();
  if (queue_.open() == 0) return;
  if (!outcome_.conflicts.empty()) {
    outcome_.stopped_by = outcome_.conflicts[0];
  } else if (!outcome_.wrong_result.empty()) {
    outcome_.stopped_by = outcome_.wrong_result;
  } else if (!outcome_.hung.empty()) {
    outcome_.stopped_by = outcome_.hung;
  } else if (outcome_.interrupted) {
    outcome_.stopped_by = "interrupted";
  } else {
    outcome_.stopped_by = "every worker died again and again, the last: " + last_end_;
  }
}

Result<InferOutcome> InferPool::run() {
  started_ = steady_clock().now_seconds();
  for (std::size_t i = 0; i < live_.size(); ++i) {
    OCRTUNE_TRY(start(i));
  }
  while (queue_.open() > 0 && anybody_alive() && !interrupted() && outcome_.conflicts.empty() &&
         outcome_.wrong_result.empty() && outcome_.hung.empty()) {
    for (std::size_t i = 0; i < live_.size(); ++i) {
      if (!live_[i]) continue;
      OCRTUNE_TRY(feed(i));
    }
    wait_for_answers();
    OCRTUNE_TRY(replace_exited());
    if (fatal_) return *fatal_;
    look_at_placement();
    deliver();
  }
  const double ended = steady_clock().now_seconds();
  // Once more at the end: a short run may have had no look.
  last_look_ = 0;
  look_at_placement();
  outcome_.start_seconds = (first_ready_ > 0 ? first_ready_ : ended) - started_;
  outcome_.seconds = ended - started_ - outcome_.start_seconds;
  explain_open_lines();
  live_.clear();  // ends them
  return std::move(outcome_);
}

}  // namespace

Result<InferOutcome> run_inference(const InferJob& job, const InferWatcher& watcher) {
  OCRTUNE_CHECK(!job.masks.empty() && job.chunk > 0);
  return InferPool(job, watcher).run();
}

}  // namespace ocrtune
