// Two kinds of knowledge: a regression of peaks (MemoryModel), and failures, each of which refuses
// the settings that need at least as much of what ran out. Every question looks at all failures
// anew, since a later success may have cancelled one.
#include "tuner/models/launch_gate.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "trial/answers/same_gate.h"
#include "trial/workloads/engine_infer/framework_table.h"

namespace ocrtune {
namespace {

// The shape of a launch: how many read, and how much at once.
constexpr std::array<std::string_view, 7> kShape = {"nproc",  "threads", "workers", "binding",
                                                    "malloc", "queue",   "batch"};

std::vector<std::size_t> text_axes_of(const Space& space) {
  std::vector<std::size_t> axes;
  for (std::size_t a = 0; a < space.axes().size(); ++a) {
    if (std::ranges::find(kShape, space.axes()[a].name) == kShape.end()) axes.push_back(a);
  }
  return axes;
}

bool same_shape(const Knobs& x, const Knobs& y) {
  return x.nproc == y.nproc && x.threads == y.threads && x.batch == y.batch;
}

constexpr double kAsLarge = 1.03;  // peaks of settings alike differ by as much

Reason ran_short(Shortage shortage) {
  switch (shortage) {
    case Shortage::gpu_memory:
      return reason<ReasonCode::ran_out_of_gpu_memory>();
    case Shortage::rank_memory:
      return reason<ReasonCode::ran_out_of_rank_memory>();
    case Shortage::shm:
      return reason<ReasonCode::ran_out_of_shm>();
    case Shortage::processes:
      return reason<ReasonCode::ran_out_of_processes>();
    case Shortage::samples:
      return reason<ReasonCode::ran_out_of_samples>();
    default:
      return reason<ReasonCode::ran_out_of_memory>();
  }
}

int lightest_of(const Space& space) {
  const auto weight = [&](int point) {
    const Knobs& knobs = space.knobs(point);
    // Samples in flight first; of equals the fewer processes, loaders and threads.
    return std::make_tuple(static_cast<double>(knobs.nproc) * knobs.batch, knobs.nproc,
                           knobs.workers, knobs.threads, point);
  };
  int lightest = space.size() > 0 ? 0 : -1;
  for (int point = 1; point < space.size(); ++point) {
    if (weight(point) < weight(lightest)) lightest = point;
  }
  return lightest;
}

}  // namespace

bool dominates_memory(const Space& space, int x, int y) {
  const Knobs& high = space.knobs(x);
  const Knobs& low = space.knobs(y);
  if (high.nproc < low.nproc || high.workers < low.workers || high.threads < low.threads) {
    return false;
  }
  for (std::size_t a = 0; a < space.axes().size(); ++a) {
    const std::string& name = space.axes()[a].name;
    if (name == "nproc" || name == "batch" || name == "workers" || name == "threads") continue;
    // Where threads run and how many batches wait move the peak little.
    if (name == "binding" || name == "queue") continue;
    if (space.place(x)[a] != space.place(y)[a]) return false;
  }
  return high.batch >= low.batch;
}

bool dominates_gpu_memory(const Space& space, int x, int y, int shared_gpus) {
  const auto together = [&](int point) {
    return shared_gpus > 0 ? processes_together(space.knobs(point).nproc, shared_gpus) : 1;
  };
  if (together(x) < together(y)) return false;
  static const std::set<std::string> kOfTheHost = {
      "nproc", "threads", "workers", "binding", "malloc", "queue", "p2p", "algo", "ctas", "batch"};
  for (std::size_t a = 0; a < space.axes().size(); ++a) {
    if (kOfTheHost.count(space.axes()[a].name) > 0) continue;
    if (space.place(x)[a] != space.place(y)[a]) return false;
  }
  return space.knobs(x).batch >= space.knobs(y).batch;
}

Shortage shortage_of(const Trial& trial) {
  struct Row {
    std::string_view cause;
    Shortage shortage;
  };
  static constexpr Row kRows[] = {
      {"gpu", Shortage::gpu_memory},
      {"gpu_out_of_memory", Shortage::gpu_memory},
      {"shm", Shortage::shm},
      {"shm_full", Shortage::shm},
      {"host_allocation_failed", Shortage::rank_memory},
      {"process_limit", Shortage::processes},
      {"too_many_open_files", Shortage::processes},
      {"dataset_too_small", Shortage::samples},
  };
  if (trial.ok()) return Shortage::none;
  for (const Row& row : kRows) {
    if (trial.cause == row.cause) return row.shortage;
  }
  return trial.outcome == Outcome::out_of_memory ? Shortage::memory : Shortage::none;
}

LaunchGate::LaunchGate(const Space& space, LaunchGateOptions options)
    : space_(&space),
      options_(std::move(options)),
      memory_(space, options_.memory.prior, options_.memory.memories),
      text_axes_(text_axes_of(space)),
      lightest_(lightest_of(space)) {}

// An option of a framework's session is a matter of its speed: the engine and its arithmetic stay.
bool LaunchGate::same_text_axes(int x, int y) const {
  return std::ranges::all_of(text_axes_, [&](std::size_t a) {
    if (space_->place(x)[a] == space_->place(y)[a]) return true;
    if (space_->axes()[a].name != "backend") return false;
    const FrameworkRow* engine = find_framework(space_->knobs(x).backend);
    return engine != nullptr && engine == find_framework(space_->knobs(y).backend);
  });
}

// What is to blame where settings read another text, by all that ran: the choice of text_axes_,
// unless no other choice ran in the same shape, or the choice has read right in another one.
void LaunchGate::blame_texts() {
  blamed_.clear();
  blamed_shapes_.clear();
  for (const int point : other_text_) {
    const Knobs& knobs = space_->knobs(point);
    const auto alike = [&](int other) { return same_text_axes(point, other); };
    const auto right = [&](int ok) { return !other_text_.contains(ok); };
    const bool proved = std::ranges::any_of(works_, [&](int ok) {
      return right(ok) && !alike(ok) && same_shape(knobs, space_->knobs(ok));
    });
    if (!proved) continue;
    blamed_shapes_.push_back(point);
    const bool elsewhere =
        std::ranges::any_of(works_, [&](int ok) { return right(ok) && alike(ok); });
    const bool again = std::ranges::any_of(other_text_, [&](int other) {
      return alike(other) && !same_shape(knobs, space_->knobs(other));
    });
    if (again && !elsewhere) blamed_.push_back(point);
  }
}

// Would `point` run short of the same, if more is needed where the numbers are larger?
bool LaunchGate::speaks_against(const Failure& failure, int point) const {
  if (point == failure.point) return true;
  const Knobs& more = space_->knobs(point);
  const Knobs& seen = space_->knobs(failure.point);
  const auto loaders = [](const Knobs& knobs) { return 1.0 * knobs.nproc * knobs.workers; };
  switch (failure.shortage) {
    case Shortage::memory:
      // A guard stops what may need no more than the limit and a little: that says nothing of a
      // setting that needs about as much.
      if (failure.stopped && dominates_memory(*space_, failure.point, point)) return false;
      return dominates_memory(*space_, point, failure.point);
    case Shortage::gpu_memory:
      return dominates_gpu_memory(*space_, point, failure.point, options_.memory.shared_gpus);
    case Shortage::rank_memory:
      return more.batch >= seen.batch && more.threads >= seen.threads &&
             more.workers >= seen.workers;
    case Shortage::shm:  // what loaders have in flight; without loaders, what ranks exchange
      if (seen.workers > 0) return loaders(more) * more.batch >= loaders(seen) * seen.batch;
      return more.nproc >= seen.nproc && more.batch >= seen.batch;
    case Shortage::processes:
      return more.nproc + loaders(more) >= seen.nproc + loaders(seen);
    case Shortage::samples:
      return more.batch >= seen.batch && more.nproc >= seen.nproc;
    default:
      return false;
  }
}

void LaunchGate::tell(int point, const Trial& trial) {
  if (trial.outcome == Outcome::skipped) return;
  ++told_;
  if (point == point_to_confirm_) point_to_confirm_ = -1;
  if (trial.ok()) {
    tell_success(point, trial);
  } else {
    tell_failure(point, trial);
  }
  if (trial.outcome == Outcome::wrong_result && trial.cause == kTextCause) {
    other_text_.insert(point);
  }
  // A success blames nothing, and yet may be what proves an earlier doubt.
  if (!other_text_.empty()) blame_texts();
}

void LaunchGate::tell_success(int point, const Trial& trial) {
  // A crash that did not come back is forgiven.
  failures_.erase(point);
  max_processes_ok_ = std::max(max_processes_ok_, space_->knobs(point).nproc);
  // It had as much or more of what these lack: they failed for another reason, by themselves.
  for (Failure& failure : shortages_) {
    if (failure.point != point && speaks_against(failure, point)) failures_[failure.point] = 2;
  }
  std::erase_if(shortages_, [&](const Failure& one) { return speaks_against(one, point); });
  if (works_.insert(point).second) {
    for (const int near : space_->neighbours(point)) near_works_.insert(near);
  }
  if (trial.peak_bytes == 0) return;
  const auto peak = static_cast<double>(trial.peak_bytes);
  largest_ok_peak_ = std::max(largest_ok_peak_, peak);
  // More than the failure was taken to need has just run: its bound was wrong.
  if (peak > min_failed_bytes_) min_failed_bytes_ = 0;
  memory_.observe(point, peak);
}

void LaunchGate::tell_failure(int point, const Trial& trial) {
  if (trial.cause == "malloc") {  // the program does without this allocator, whatever else is set
    for (int other = 0; other < space_->size(); ++other) {
      if (space_->knobs(other).malloc == trial.knobs.malloc) failures_[other] = 2;
    }
    return;
  }
  const Shortage shortage = shortage_of(trial);
  // Without data for one step, larger steps fail too only if a smaller one is known to work.
  const bool known = shortage != Shortage::samples || !works_.empty();
  if (shortage != Shortage::none && known) {
    shortages_.push_back({point, shortage, trial.outcome, trial.cause == "limit"});
    // A success that already contradicts it: this setting alone is affected.
    const auto contradicts = [&](int ok) { return speaks_against(shortages_.back(), ok); };
    if (std::any_of(works_.begin(), works_.end(), contradicts)) {
      shortages_.pop_back();
      failures_[point] = 2;
    }
  }
  if (shortage == Shortage::samples) failures_[point] = 2;
  if (shortage == Shortage::memory) {
    const bool stopped = trial.cause == "limit" || trial.cause == "process";
    const auto reached = static_cast<double>(trial.peak_bytes);
    if (stopped && reached > 0) memory_.observe_at_least(point, reached);
    const double predicted = std::max(memory_.forecast(point).bytes, reached);
    // It needs more than anything that ran.
    const double needed = std::max(predicted, largest_ok_peak_);
    if (!stopped && needed > 0) {
      min_failed_bytes_ = min_failed_bytes_ > 0 ? std::min(min_failed_bytes_, needed) : needed;
    }
  }
  if (shortage != Shortage::none) return;
  int& count = ++failures_[point];
  // The same again would fail the same, or cost as much again.
  const bool final = trial.outcome != Outcome::crashed;
  // One crash may be chance: the point is run once more before it counts.
  if (count == 1 && !final) {
    point_to_confirm_ = point;
    return;
  }
  count = 2;
  // Only these may come of the number of processes: process_cap().
  const bool of_its_size = trial.outcome == Outcome::crashed || trial.outcome == Outcome::timed_out;
  if (of_its_size) crashes_.push_back({point, shortage, trial.outcome});
}

// Crashes speak of the number of processes only where fewer worked and none failed alike.
int LaunchGate::process_cap() const {
  int cap = 0;
  for (const Failure& crash : crashes_) {
    const int processes = space_->knobs(crash.point).nproc;
    const bool with_fewer = std::any_of(crashes_.begin(), crashes_.end(), [&](const auto& other) {
      return other.outcome == crash.outcome && space_->knobs(other.point).nproc < processes;
    });
    if (with_fewer || processes <= max_processes_ok_ || max_processes_ok_ == 0) continue;
    cap = cap > 0 ? std::min(cap, processes - 1) : processes - 1;
  }
  return cap;
}

double LaunchGate::usable_bytes() const {
  double usable = static_cast<double>(options_.limit_bytes) * (1 - options_.margin);
  if (options_.max_bytes > 0) {
    const auto most = static_cast<double>(options_.max_bytes);
    usable = usable > 0 ? std::min(usable, most) : most;
  }
  if (min_failed_bytes_ > 0) {
    const double below = min_failed_bytes_ * (1 - options_.margin);
    // The failed need was an estimate: the margin applies to it too.
    usable = usable > 0 ? std::min(usable, below) : below;
  }
  return usable;
}

// By the forecasts: nobody knows how little more than is usable the stopped one needed.
bool LaunchGate::about_as_large(int point, int stopped) const {
  if (point == stopped || memory_.observations() == 0) return false;
  return memory_.forecast(point).bytes <= kAsLarge * memory_.forecast(stopped).bytes;
}

LaunchGate::Refusal LaunchGate::ruled_out(int point) const {
  const auto failed = failures_.find(point);
  if (failed != failures_.end() && failed->second > 1) return {Refusal::failed_twice, point};
  for (const int blamed : blamed_) {
    if (same_text_axes(blamed, point)) return {Refusal::other_text, blamed};
  }
  for (const int blamed : blamed_shapes_) {
    const bool same = same_shape(space_->knobs(blamed), space_->knobs(point));
    if (same && same_text_axes(blamed, point)) return {Refusal::other_text, blamed};
  }
  const int cap = process_cap();
  if (cap > 0 && space_->knobs(point).nproc > cap) return {Refusal::capped, point};
  for (const Failure& failure : shortages_) {
    if (!speaks_against(failure, point)) continue;
    if (failure.stopped && about_as_large(point, failure.point)) continue;
    return {point == failure.point ? Refusal::ran_short : Refusal::dominated, failure.point,
            failure.shortage};
  }
  return {Refusal::none, point};
}

Reason LaunchGate::reason_of(const Refusal& refusal) const {
  switch (refusal.kind) {
    case Refusal::failed_twice:
      return reason<ReasonCode::failed_when_run>();
    case Refusal::capped:
      return reason<ReasonCode::fails_above_processes>(counted(process_cap()));
    case Refusal::ran_short:
      return ran_short(refusal.shortage);
    case Refusal::dominated:
      return reason<ReasonCode::needs_as_much_as>(knobs_text(space_->knobs(refusal.by)),
                                                  ran_short(refusal.shortage));
    case Refusal::other_text:
      return reason<ReasonCode::ended_with>(knobs_text(space_->knobs(refusal.by)),
                                            reason<ReasonCode::outcome_wrong_result>());
    default:
      return {};
  }
}

bool LaunchGate::admitted(int point) const {
  // Without a fit the plan decides, which only admit() asks.
  if (memory_.observations() == 0) return admit(point).admitted;
  const double usable = usable_bytes();
  const double most = usable > 0 ? usable : options_.growth * largest_ok_peak_;
  if (most > 0 && !memory_.fits(point, most)) return false;
  return ruled_out(point).kind == Refusal::none;
}

double LaunchGate::chance_to_fit(int point) const {
  const double usable = usable_bytes();
  if (usable <= 0 || memory_.observations() == 0 || memory_.fits(point, usable)) return 1;
  return memory_.chance_within(point, usable);
}

bool LaunchGate::guardable(int point, double min_chance) const {
  if (!options_.memory.guards || options_.limit_bytes == 0 || near_works_.count(point) == 0)
    return false;
  return !admitted(point) && chance_to_fit(point) >= min_chance &&
         ruled_out(point).kind == Refusal::none;
}

Admission LaunchGate::admit(int point) const {
  Admission admission{true, {}, memory_.forecast(point)};
  const auto refuse = [&](Reason why) {
    admission.admitted = false;
    admission.reason = std::move(why);
    return admission;
  };
  const Refusal failed = ruled_out(point);
  const MemoryForecast& memory = admission.memory;
  const double usable = usable_bytes();
  // A plan alone rules out by its low end: it may be wrong by half.
  const bool too_large = memory.known && usable > 0 &&
                         (memory_.observations() == 0 ? memory.low_bytes > usable
                                                      : chance_to_fit(point) < kFaintChance);
  admission.may_work = failed.kind == Refusal::none && !too_large;
  if (failed.kind != Refusal::none) return refuse(reason_of(failed));
  if (!memory.known) {
    // The first trial of all shows what memory means here, at the least risk.
    if (told_ == 0 && point != lightest_ && usable > 0) {
      return refuse(reason<ReasonCode::memory_not_known_yet>());
    }
    return admission;
  }
  if (usable > 0 && memory.high_bytes > usable) {
    return refuse(reason<ReasonCode::predicted_peak>(
        in_bytes(memory.bytes), in_bytes(memory.high_bytes), in_bytes(usable)));
  }
  const double grown = options_.growth * largest_ok_peak_;
  if (usable <= 0 && grown > 0 && memory.high_bytes > grown) {
    return refuse(reason<ReasonCode::predicted_growth>(in_bytes(memory.high_bytes),
                                                       decimal(options_.growth, 0)));
  }
  return admission;
}

}  // namespace ocrtune
