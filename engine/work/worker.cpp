// The order is fixed: the loader forks its workers, hello runs the first OpenMP region, and the
// ranks meet. Then the trainer takes its memory and is checked, and steps are reported to the end.
#include "trial/workloads/engine_train/worker.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "core/comm/shm_comm.h"
#include "core/data/loader.h"
#include "core/gpu/device_footprint.h"
#include "core/train/trainer.h"
#include "core/train/training_run.h"
#include "trial/ipc/events.h"

namespace ocrtune {
namespace {

// Above this the result is wrong: Trainer::check_against_reference says what is right.
// The limits are some way above what right kernels reach, so that no right one is refused.
double max_error(const std::string& precision) {
  return precision == "bf16" ? 0.25 : precision == "tf32" ? 0.05 : 0.02;
}

constexpr double kMemorySeconds = 0.5;  // between two looks at a device's memory

// Passes calls on and remembers whether it was the peers that failed.
class WatchedComm : public Comm {
 public:
  explicit WatchedComm(std::unique_ptr<Comm> inner) : inner_(std::move(inner)) {}
  RankPlace place() const override { return inner_->place(); }
  Result<std::span<float>> gradient_buffer(std::size_t count) override {
    return inner_->gradient_buffer(count);
  }
  Status all_reduce_mean(std::size_t first, std::size_t count, double* wait_seconds) override {
    return note(inner_->all_reduce_mean(first, count, wait_seconds));
  }
  Status start_mean(std::size_t first, std::size_t count) override {
    return note(inner_->start_mean(first, count));
  }
  Status advance() override { return note(inner_->advance()); }
  Status finish_means(double* wait_seconds) override {
    return note(inner_->finish_means(wait_seconds));
  }
  Status barrier() override { return note(inner_->barrier()); }
  bool lost_peer() const { return lost_peer_; }

 private:
  Status note(Status status) {
    lost_peer_ = lost_peer_ || !status.ok();
    return status;
  }
  std::unique_ptr<Comm> inner_;
  bool lost_peer_ = false;
};

class Worker {
 public:
  Worker(const WorkerSpec& spec, WorkerDevice* device, Meeting meet, int descriptor)
      : spec_(spec), device_(device), meet_(std::move(meet)), descriptor_(descriptor) {}

  bool run() {
    try {
      const Status status = set_up();
      if (!status) return fail(status.error());
      const Status checked = check();
      if (!checked) return fail(checked.error());
      return train();
    } catch (const std::bad_alloc&) {
      return fail(Error{ErrorKind::exhausted, "an allocation failed"});
    }
  }

 private:
  Status set_up();
  Status say_hello();
  Status meet();
  void say_memory();
  Status check();
  bool train();
  Result<StepEvent> step();
  void draw_batches();
  bool say(const Event& event);
  bool fail(const Error& error);
  double now() const { return steady_clock().now_seconds(); }

  const WorkerSpec& spec_;
  WorkerDevice* device_;  // null: the CPUs
  Meeting meet_;
  int descriptor_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<WatchedComm> comm_;
  std::unique_ptr<Trainer> trainer_;
  TrainerOptions options_;
  Batch loaded_;
  std::vector<Batch> drawn_;  // one for each shape, taken in turn
  std::size_t turn_ = 0;
  std::optional<ErrorEvent> wrong_;
  bool pipe_closed_ = false;
  double memory_said_ = -1;
};

bool Worker::say(const Event& event) {
  // Where nobody listens, the trial is over.
  if (!pipe_closed_) pipe_closed_ = !write_all(descriptor_, event_line(event), "an event");
  return !pipe_closed_;
}

bool Worker::fail(const Error& error) {
  if (interrupted() || error.kind == ErrorKind::interrupted) return true;  // asked to end
  ErrorEvent event = wrong_.value_or(ErrorEvent());
  event.rank = spec_.place.rank;
  if (!wrong_) {
    event.reason = error.what;
    switch (error.kind) {
      case ErrorKind::exhausted:
        event.outcome = Outcome::out_of_memory;
        event.cause = scarce_name(error.scarce);
        break;
      case ErrorKind::unsupported:
      case ErrorKind::usage:
        event.outcome = Outcome::unsupported;
        event.cause = "setting";
        break;
      default:
        // A rank that lost another one is a witness; the other rank says what went wrong.
        event.cause = comm_ != nullptr && comm_->lost_peer() ? "peer" : "error";
    }
  }
  say(event);
  return false;
}

Status Worker::set_up() {
  options_.model = spec_.model;
  options_.backend = spec_.backend;
  options_.precision = spec_.precision;
  options_.classes = spec_.classes;
  options_.batch = spec_.batch;
  options_.accumulate = spec_.accumulate;
  options_.height = spec_.height;
  options_.width = spec_.width;
  options_.heights = spec_.heights;
  options_.threads = spec_.threads;
  options_.bucket_bytes = static_cast<std::size_t>(spec_.bucket_kib) << 10;
  options_.learning_rate = spec_.learning_rate;
  options_.seed = spec_.seed;
  options_.watch_gradients = spec_.learning;
  if (!spec_.label_file.empty()) {
    LoaderOptions loader;
    loader.label_file = spec_.label_file;
    loader.alphabet = spec_.alphabet;
    loader.batch = spec_.batch;
    loader.height = spec_.height;
    loader.width = spec_.width;
    loader.heights = spec_.heights;
    loader.width_buckets = spec_.width_buckets;
    loader.workers = spec_.loader_workers;
    loader.queue_depth = spec_.queue_depth;
    loader.rank = spec_.place.rank;
    loader.world_size = spec_.place.world_size;
    loader.seed = spec_.seed;
    loader_ = OCRTUNE_TRY(Loader::create(loader));
    options_.classes = static_cast<int>(loader_->alphabet().size()) + 1;
    plan_width_buckets(options_, loader_->width_buckets());
  } else {
    draw_batches();
  }
  OCRTUNE_TRY(say_hello());
  OCRTUNE_TRY(meet());
  trainer_ = OCRTUNE_TRY(device_ != nullptr ? device_->make_trainer(options_, *comm_)
                                            : Trainer::create(options_, *comm_));
  return Status();
}

Status Worker::meet() {
  std::unique_ptr<Comm> comm;
  if (spec_.place.world_size > 1 && device_ != nullptr) {
    comm = OCRTUNE_TRY(device_->make_comm());
  } else if (spec_.place.world_size > 1 && meet_) {
    comm = OCRTUNE_TRY(meet_());
  } else if (spec_.place.world_size > 1) {
    ShmCommOptions shm;
    shm.segment = spec_.segment;
    shm.place = spec_.place;
    shm.threads = spec_.threads;
    comm = OCRTUNE_TRY(make_shm_comm(shm));
  } else {
    comm = make_single_comm();
  }
  comm_ = std::make_unique<WatchedComm>(std::move(comm));
  return Status();
}

Status Worker::say_hello() {
  HelloEvent hello;
  hello.rank = spec_.place.rank;
  hello.world_size = spec_.place.world_size;
  hello.pid = ::getpid();
  hello.host = host_name();
  hello.cpus = current_affinity().text();
  // The first OpenMP region of this process: the loader's workers are forked by now.
  omp_set_num_threads(spec_.threads);
#pragma omp parallel
  {
#pragma omp single
    hello.team_size = omp_get_num_threads();
  }
  const auto planned =
      device_ != nullptr ? device_training_bytes(options_) : Trainer::footprint_bytes(options_);
  if (planned) hello.planned_bytes = *planned;
  if (device_ != nullptr) OCRTUNE_TRY(device_->open(hello));
  hello.versions["openmp"] = fmt::format("{}", _OPENMP);
  hello.versions["compiler"] = __VERSION__;
  say(hello);
  return Status();
}

void Worker::say_memory() {
  if (device_ == nullptr || (memory_said_ >= 0 && now() - memory_said_ < kMemorySeconds)) return;
  memory_said_ = now();
  if (const auto memory = device_->memory()) say(*memory);
}

// Noise and random words: the arithmetic of a step does not depend on what is in the images.
void Worker::draw_batches() {
  // Each rank draws another batch; the factor is a prime.
  Random random(spec_.seed + 1000003ULL * static_cast<std::uint64_t>(spec_.place.rank));
  const int longest = std::max(1, spec_.width / 16);
  for (const BatchShape& shape :
       batch_shapes(spec_.batch, spec_.height, spec_.width, spec_.heights)) {
    Batch drawn = noise_batch(shape, random);
    for (int i = 0; i < shape.count; ++i) {
      std::vector<int> label(static_cast<std::size_t>(random.integer(1, longest)));
      for (int& letter : label) letter = static_cast<int>(random.integer(1, spec_.classes - 1));
      drawn.labels.push_back(std::move(label));
    }
    drawn_.push_back(std::move(drawn));
  }
}

Status Worker::check() {
  double error = 0;
  if (spec_.check) {
    error = OCRTUNE_TRY(trainer_->check_against_reference());
    if (!(error <= max_error(spec_.precision))) {
      wrong_ = ErrorEvent{
          spec_.place.rank, Outcome::wrong_result, "reference",
          fmt::format("{} {} differs from the reference by {:.2g} (limit {:.2g})", spec_.backend,
                      spec_.precision, error, max_error(spec_.precision))};
      return Error{ErrorKind::failed, wrong_->reason};
    }
  }
  const double begin = now();
  for (int steps = 0; steps < 2 || now() - begin < spec_.warm_up_seconds; ++steps) {
    if (interrupted() || pipe_closed_) return Status();
    const StepEvent event = OCRTUNE_TRY(step());
    // Where learning is compared every step counts, those of the warm-up too.
    if (spec_.learning) say(event);
  }
  say_memory();
  say(ReadyEvent{spec_.place.rank, error});
  return Status();
}

Result<StepEvent> Worker::step() {
  StepEvent event;
  event.rank = spec_.place.rank;
  const double begin = now();
  if (loader_ != nullptr) {
    OCRTUNE_TRY(loader_->next_into(loaded_));
  } else if (drawn_.size() > 1) {
    turn_ = (turn_ + 1) % drawn_.size();
  }
  const Batch& batch = loader_ != nullptr ? loaded_ : drawn_[turn_];
  event.times.data_seconds = now() - begin;
  const auto report = OCRTUNE_TRY(trainer_->step(batch));
  event.samples = batch.count;
  event.seconds = now() - begin;
  event.times.compute_seconds = report.compute_seconds;
  event.times.all_reduce_seconds = report.all_reduce_seconds;
  event.times.wait_seconds = report.wait_seconds;
  event.loss = report.loss;
  event.part_square = report.part_square;
  event.whole_square = report.whole_square;
  return event;
}

void add(StepEvent& sum, const StepEvent& one) {
  const double count = static_cast<double>(sum.steps);
  const auto mean = [&](double& mean_so_far, double value) {
    mean_so_far = (mean_so_far * count + value) / (count + 1);
  };
  mean(sum.times.data_seconds, one.times.data_seconds);
  mean(sum.times.compute_seconds, one.times.compute_seconds);
  mean(sum.times.all_reduce_seconds, one.times.all_reduce_seconds);
  mean(sum.times.wait_seconds, one.times.wait_seconds);
  mean(sum.loss, one.loss);
  mean(sum.part_square, one.part_square);
  mean(sum.whole_square, one.whole_square);
  sum.samples += one.samples;
  sum.seconds += one.seconds;
  ++sum.steps;
}

bool Worker::train() {
  DoneEvent done{spec_.place.rank, 0, 0};
  const double begin = now();
  std::optional<StepEvent> open;
  while (!interrupted() && !pipe_closed_) {
    const auto one = step();
    if (!one) return fail(one.error());
    ++done.steps;
    if (open) {
      add(*open, *one);
    } else {
      open = *one;
    }
    // Short steps are joined: an event for each of them would flood the pipe.
    if (open->seconds >= spec_.report_seconds) {
      say(*open);
      open.reset();
      say_memory();
    }
    if (spec_.run_seconds > 0 && now() - begin >= spec_.run_seconds) break;
  }
  if (loader_ != nullptr) done.bad_samples = loader_->counts().bad;
  say(done);
  return true;
}

}  // namespace

bool run_worker(const WorkerSpec& spec, int event_descriptor, const Meeting& meet) {
  Worker worker(spec, nullptr, meet, event_descriptor);
  return worker.run();
}

bool run_worker_on(const WorkerSpec& spec, WorkerDevice& device, int event_descriptor) {
  Worker worker(spec, &device, {}, event_descriptor);
  return worker.run();
}

}  // namespace ocrtune
