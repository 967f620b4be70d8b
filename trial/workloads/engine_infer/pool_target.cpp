// Requests wait here and not in the workers, so that a free worker finds the oldest ones. A batch
// is what waits at that moment: waiting to fill one would cost latency. Errors of workers are
// answers that failed, never requests that vanish.
#include "trial/workloads/engine_infer/pool_target.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr double kReadySeconds = 120;
constexpr int kMaxDeaths = 3;

}  // namespace

PoolTarget::PoolTarget(InferJob job, LineKinds kinds)
    : job_(std::move(job)),
      kinds_(std::move(kinds)),
      next_path_(kinds_.paths.size()),
      workers_(job_.masks.size()),
      placements_(job_.masks.size()),
      gpu_places_(job_.masks.size()) {}

Result<std::unique_ptr<PoolTarget>> PoolTarget::start(const InferJob& job, LineKinds kinds,
                                                      std::string* hung) {
  std::unique_ptr<PoolTarget> target(new PoolTarget(job, std::move(kinds)));
  for (std::size_t i = 0; i < target->workers_.size(); ++i) {
    OCRTUNE_TRY(target->start_worker(i));
  }
  const Status ready = target->wait_until_ready();
  if (hung != nullptr) *hung = target->hung_;
  if (!ready) return ready.error();
  return target;
}

Status PoolTarget::start_worker(std::size_t index) {
  InferSpec spec = job_.spec;
  spec.check = spec.check && index == 0 && workers_[0].deaths == 0;
  if (!job_.gpus.empty()) spec.gpu = job_.gpus[index];
  workers_[index].live =
      OCRTUNE_TRY(start_infer_process(tree_, job_.program, spec, job_.masks[index]));
  workers_[index].ready = false;
  workers_[index].heard = steady_seconds();
  placements_[index] = Placement();
  gpu_places_[index] = GpuPlace();
  placements_[index].pid = workers_[index].live->process->pid();
  placements_[index].meant = job_.masks[index];
  return Status();
}

Status PoolTarget::wait_until_ready() {
  const double most = std::max(kReadySeconds, job_.start_seconds);
  const double end = steady_seconds() + most;
  const auto all_ready = [&] {
    return std::all_of(workers_.begin(), workers_.end(), [](const auto& one) { return one.ready; });
  };
  while (!all_ready()) {
    if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
    poll_once(0.1);
    if (!hung_.empty()) return Error{ErrorKind::failed, hung_};
    if (fatal_) return *fatal_;
    if (!failure_.empty()) return Error{ErrorKind::failed, failure_};
    if (steady_seconds() > end) {
      return Error{ErrorKind::failed, "a worker was not ready within " + format_duration(most)};
    }
  }
  return Status();
}

void PoolTarget::start(std::uint64_t request, int kind) {
  if (job_.policy == QueuePolicy::shared) {
    shared_.push_back({request, kind});
  } else {
    workers_[next_worker_++ % workers_.size()].waiting.push_back({request, kind});
  }
}

void PoolTarget::feed(std::size_t index) {
  Worker& worker = workers_[index];
  auto& from = job_.policy == QueuePolicy::shared ? shared_ : worker.waiting;
  if (from.empty()) return;
  // With shards nobody else may take its requests; with the shared queue only when no worker is
  // left.
  if (!worker.live) {
    const bool own = job_.policy == QueuePolicy::static_shards;
    const bool none =
        !hung_.empty() || std::none_of(workers_.begin(), workers_.end(),
                                       [](const Worker& one) { return one.live.has_value(); });
    while ((own || none) && !from.empty()) {
      answers_.push_back({from.front().number, steady_seconds(), false});
      from.pop_front();
    }
    return;
  }
  if (!worker.ready || !worker.reading.empty()) return;
  std::string frames;
  while (!from.empty() && static_cast<int>(worker.reading.size()) < job_.spec.recognizer.batch) {
    const Request request = from.front();
    from.pop_front();
    const std::size_t kind =
        std::min(static_cast<std::size_t>(std::max(request.kind, 0)), kinds_.paths.size() - 1);
    const auto& paths = kinds_.paths[kind];
    std::string body;
    // Its place in the batch is the number by which the worker answers.
    append_number(body, static_cast<std::uint32_t>(worker.reading.size()));
    append_frame(frames, 'I', body + paths[next_path_[kind]++ % paths.size()]);
    worker.reading.push_back(request.number);
  }
  worker.heard = steady_seconds();
  append_frame(frames, 'G', "");
  // A worker that has just died is noticed by its closed pipe.
  (void)write_frames(worker.live->requests.number, frames);
}

void PoolTarget::take(std::size_t index, const Frame& frame) {
  Worker& worker = workers_[index];
  std::string_view body = frame.body;
  if (frame.kind == 'H') {
    worker.ready = true;
    placements_[index].allowed = allowed_cpus(placements_[index].pid);
  } else if (frame.kind == 'D') {
    placements_[index].seen_inside =
        placements_[index].seen_inside.unite(CpuSet::parse(body).value_or(CpuSet()));
    worker.reading.clear();
  } else if (frame.kind == 'P') {
    const GpuPlace place = parse_gpu_place(body);
    if (place.bytes >= gpu_places_[index].bytes) gpu_places_[index] = place;
  } else if (frame.kind == 'E') {
    if (!fatal_) fatal_ = parse_error_body(body);
    failure_ = fatal_->what;
  } else if (frame.kind == 'W') {
    fatal_ = Error{ErrorKind::invalid, std::string(body)};
  } else {
    const std::uint32_t place = take_number(body);
    if (place >= worker.reading.size()) return;
    const bool ok = frame.kind == 'R';
    if (!ok) failure_ = body;
    answers_.push_back({worker.reading[place], steady_seconds(), ok});
  }
}

void PoolTarget::hear(std::size_t index) {
  InferProcess& live = *workers_[index].live;
  const auto frames = live.reader.read(live.answers.number);
  if (!frames) {
    live.process->signal(SIGKILL);  // it talks nonsense: treated as any death
    return reap(index);
  }
  workers_[index].heard = steady_seconds();
  for (const Frame& frame : *frames) take(index, frame);
  if (live.reader.ended()) reap(index);
}

// What it had is answered as failed, never silently lost; it is started anew a few times.
void PoolTarget::reap(std::size_t index) {
  Worker& worker = workers_[index];
  const auto& exit = worker.live->process->wait(2);
  failure_ = "worker " + std::to_string(index) + ": " + (exit ? exit->text() : "closed its pipe");
  for (const std::uint64_t request : worker.reading)
    answers_.push_back({request, steady_seconds(), false});
  worker.reading.clear();
  worker.live.reset();
  worker.ready = false;
  if (++worker.deaths <= kMaxDeaths && !fatal_) (void)start_worker(index);
}

// A process that computes on a GPU may hang in its driver; waiting for it answers nobody.
void PoolTarget::look_for_silence() {
  if (!job_.silence_ends || !hung_.empty()) return;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Worker& worker = workers_[i];
    if (!worker.live || (worker.ready && worker.reading.empty())) continue;
    const double most =
        !worker.ready && job_.start_seconds > 0 ? job_.start_seconds : job_.silence_seconds;
    if (steady_seconds() - worker.heard <= most) continue;
    failure_ = hung_ = fmt::format("worker {}{} was silent for {:.3g} s{}", i,
                                   job_.gpus.empty() ? "" : " on " + job_.gpus[i], most,
                                   worker.ready ? "" : " before it was ready");
  }
  for (std::size_t i = 0; i < workers_.size() && !hung_.empty(); ++i) {
    for (const std::uint64_t request : workers_[i].reading) {
      answers_.push_back({request, steady_seconds(), false});
    }
    workers_[i].reading.clear();
    workers_[i].live.reset();
    workers_[i].ready = false;
  }
}

void PoolTarget::poll_once(double seconds) {
  look_for_silence();
  std::vector<pollfd> polls;
  std::vector<std::size_t> who;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!workers_[i].live) continue;
    (void)workers_[i].live->process->read_output(nullptr);
    polls.push_back({workers_[i].live->answers.number, POLLIN, 0});
    who.push_back(i);
  }
  const double held = std::clamp(seconds, 0.0, 3600.0);
  timespec time{};
  time.tv_sec = static_cast<time_t>(held);
  time.tv_nsec = static_cast<long>((held - std::floor(held)) * 1e9);
  if (::ppoll(polls.data(), polls.size(), &time, nullptr) <= 0) return;
  for (std::size_t i = 0; i < polls.size(); ++i) {
    if (polls[i].revents != 0) hear(who[i]);
  }
}

void PoolTarget::collect(double until_seconds, std::vector<Completion>& finished) {
  // At least one look, also where the time is over already.
  bool first = true;
  while (answers_.empty() && (first || steady_seconds() < until_seconds) && !interrupted()) {
    first = false;
    for (std::size_t i = 0; i < workers_.size(); ++i) feed(i);
    if (!answers_.empty()) break;
    poll_once(std::min(until_seconds - steady_seconds(), 0.1));
  }
  // Answers freed workers: they get the next requests before the caller computes.
  for (std::size_t i = 0; i < workers_.size(); ++i) feed(i);
  finished.insert(finished.end(), answers_.begin(), answers_.end());
  answers_.clear();
}

void PoolTarget::wait_until_idle() {
  const auto reads = [](const Worker& one) { return one.live && !one.reading.empty(); };
  while (job_.silence_ends && hung_.empty() && !interrupted() &&
         std::any_of(workers_.begin(), workers_.end(), reads)) {
    poll_once(0.05);
  }
}

std::vector<std::string> PoolTarget::conflicts() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!workers_[i].ready) continue;
    placements_[i].seen_outside =
        placements_[i].seen_outside.unite(last_used_cpus(placements_[i].pid));
  }
  auto found = placement_conflicts(placements_, job_.exclusive);
  if (job_.gpus.empty()) return found;
  const auto on_gpus = gpu_conflicts(job_.gpus, gpu_places_, job_.share_gpus);
  found.insert(found.end(), on_gpus.begin(), on_gpus.end());
  return found;
}

}  // namespace ocrtune
