#include "tuner/models/safety.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace ocrtune {
namespace {

std::string bytes_text(double bytes) {
  return format_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes)));
}

int lightest_of(const Space& space) {
  const auto weight = [&](int point) {
    const Knobs& knobs = space.knobs(point);
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
  if (high.nproc < low.nproc || high.workers < low.workers) return false;
  if (high.nproc * high.batch < low.nproc * low.batch) return false;
  if (high.nproc * high.workers < low.nproc * low.workers) return false;
  for (std::size_t a = 0; a < space.axes().size(); ++a) {
    const std::string& name = space.axes()[a].name;
    if (name == "nproc" || name == "batch" || name == "workers" || name == "threads") continue;
    if (space.place(x)[a] != space.place(y)[a]) return false;
  }
  return high.batch >= low.batch;
}

bool dominates_gpu_memory(const Space& space, int x, int y) {
  static const std::set<std::string> kOfTheHost = {
      "nproc", "threads", "workers", "binding", "malloc", "queue", "p2p", "algo", "ctas", "batch"};
  for (std::size_t a = 0; a < space.axes().size(); ++a) {
    if (kOfTheHost.count(space.axes()[a].name) > 0) continue;
    if (space.place(x)[a] != space.place(y)[a]) return false;
  }
  return space.knobs(x).batch >= space.knobs(y).batch;
}

Safety::Safety(const Space& space, SafetyOptions options)
    : space_(&space),
      options_(std::move(options)),
      memory_(space, options_.footprint, options_.memories),
      lightest_(lightest_of(space)) {}

void Safety::tell(int point, const Trial& trial) {
  if (trial.outcome == Outcome::skipped) return;
  ++told_;
  if (point == point_to_confirm_) point_to_confirm_ = -1;
  if (!trial.ok()) {
    tell_failure(point, trial);
    return;
  }
  failures_.erase(point);
  max_processes_ok_ = std::max(max_processes_ok_, space_->knobs(point).nproc);
  if (process_cap_ > 0 && max_processes_ok_ > process_cap_) process_cap_ = 0;
  if (trial.peak_bytes == 0) return;
  const auto peak = static_cast<double>(trial.peak_bytes);
  largest_ok_peak_ = std::max(largest_ok_peak_, peak);
  memory_.observe(point, peak);
}

void Safety::tell_failure(int point, const Trial& trial) {
  if (trial.outcome == Outcome::out_of_memory && trial.cause == "gpu_out_of_memory") {
    gpu_out_of_memory_.push_back(point);  // says nothing of the machine's memory
    return;
  }
  if (trial.outcome == Outcome::out_of_memory) {
    out_of_memory_.push_back(point);
    const double predicted = memory_.forecast(point).bytes;
    const double needed = std::max(predicted, largest_ok_peak_);
    if (needed > 0) {
      min_failed_bytes_ = min_failed_bytes_ > 0 ? std::min(min_failed_bytes_, needed) : needed;
    }
    return;
  }
  const int count = ++failures_[point];
  if (trial.outcome == Outcome::unsupported || trial.outcome == Outcome::wrong_result) {
    failures_[point] = 2;  // the same again would fail the same
    return;
  }
  if (count == 1) {
    point_to_confirm_ = point;
    return;
  }
  const int processes = space_->knobs(point).nproc;
  const bool capped = trial.outcome == Outcome::crashed && processes > max_processes_ok_;
  if (capped) {
    process_cap_ = process_cap_ > 0 ? std::min(process_cap_, processes - 1) : processes - 1;
  }
}

double Safety::usable_bytes() const {
  double usable = static_cast<double>(options_.limit_bytes) * (1 - options_.margin);
  if (options_.max_bytes > 0) {
    const auto most = static_cast<double>(options_.max_bytes);
    usable = usable > 0 ? std::min(usable, most) : most;
  }
  if (min_failed_bytes_ > 0) {
    const double below = min_failed_bytes_ * (1 - options_.margin);
    usable = usable > 0 ? std::min(usable, below) : below;
  }
  return usable;
}

Safety::Refusal Safety::ruled_out(int point) const {
  const auto failed = failures_.find(point);
  if (failed != failures_.end() && failed->second > 1) return {Refusal::failed_twice, point};
  if (process_cap_ > 0 && space_->knobs(point).nproc > process_cap_) {
    return {Refusal::capped, point};
  }
  for (int heavy : out_of_memory_) {
    if (point == heavy) return {Refusal::out_of_memory, heavy};
    if (dominates_memory(*space_, point, heavy)) return {Refusal::dominated, heavy};
  }
  for (int heavy : gpu_out_of_memory_) {
    if (point == heavy) return {Refusal::out_of_memory, heavy};
    if (dominates_gpu_memory(*space_, point, heavy)) return {Refusal::dominated, heavy};
  }
  return {Refusal::none, point};
}

std::string Safety::words(const Refusal& refusal) const {
  switch (refusal.kind) {
    case Refusal::failed_twice:
      return "failed twice";
    case Refusal::capped:
      return fmt::format("crashes above {} processes here", process_cap_);
    case Refusal::out_of_memory:
      return "ran out of memory";
    case Refusal::dominated:
      return fmt::format("needs no less than {}, which ran out of memory",
                         knobs_text(space_->knobs(refusal.by)));
    default:
      return "";
  }
}

bool Safety::admitted(int point) const {
  if (memory_.observations() == 0) return admit(point).admitted;
  const double usable = usable_bytes();
  const double most = usable > 0 ? usable : options_.growth * largest_ok_peak_;
  if (most > 0 && !memory_.fits(point, most)) return false;
  return ruled_out(point).kind == Refusal::none;
}

Admission Safety::admit(int point) const {
  Admission admission{true, "", memory_.forecast(point)};
  const auto refuse = [&](std::string reason) {
    admission.admitted = false;
    admission.reason = std::move(reason);
    return admission;
  };
  const Refusal failed = ruled_out(point);
  const MemoryForecast& memory = admission.memory;
  const double usable = usable_bytes();
  const bool too_large = memory.known && usable > 0 && memory.low_bytes > usable;
  admission.may_work = failed.kind == Refusal::none && !too_large;
  if (failed.kind != Refusal::none) return refuse(words(failed));
  if (!memory.known) {
    if (told_ == 0 && point != lightest_ && usable > 0) {
      return refuse("its memory is not known before a lighter setting has run");
    }
    return admission;
  }
  if (usable > 0 && memory.high_bytes > usable) {
    return refuse(fmt::format("predicted peak {} (up to {}) of {} usable", bytes_text(memory.bytes),
                              bytes_text(memory.high_bytes), bytes_text(usable)));
  }
  const double grown = options_.growth * largest_ok_peak_;
  if (usable <= 0 && grown > 0 && memory.high_bytes > grown) {
    return refuse(
        fmt::format("predicted peak up to {}, more than {:.0f} times what has run; the "
                    "memory limit is not known",
                    bytes_text(memory.high_bytes), options_.growth));
  }
  return admission;
}

}  // namespace ocrtune
