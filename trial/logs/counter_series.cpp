#include "trial/logs/counter_series.h"

namespace ocrtune {
namespace {

constexpr double kPatienceSeconds = 5, kPatienceFactor = 3;  // with one that ended, of its own time
constexpr int kMinLines = 5;                                 // of another one, that follow it
// Times the training's, that a validation is not busy. Guess.
constexpr double kFarMore = 4, kMinBusySeconds = 0.5;

}  // namespace

bool CounterSeries::is_over(const Heard& heard, double now_seconds) const {
  const double lasted = heard.last_seconds - heard.first_seconds;
  return heard.ended &&
         now_seconds - heard.last_seconds > kPatienceSeconds + kPatienceFactor * lasted;
}

CounterSeries::Place CounterSeries::hear(const std::string& name, bool ended, double now_seconds) {
  const auto [at, fresh] = heard_.try_emplace(name);
  Heard& heard = at->second;
  if (fresh) heard.first_seconds = now_seconds;
  if (first_.empty() && fresh && heard_.size() == 1) first_ = main_ = name;
  if (latest_ == name) heard.busy_seconds += now_seconds - heard.last_seconds;
  latest_ = name;
  heard.last_seconds = now_seconds;
  heard.ended = ended;
  ++heard.lines;
  if (name == main_) return Place::own;
  const bool returns = name == first_;
  const bool is_the_work =
      heard.busy_seconds > kMinBusySeconds + kFarMore * heard_[main_].busy_seconds;
  const bool follows = heard.lines >= kMinLines && is_over(heard_[main_], now_seconds);
  if (!returns && !is_the_work && !follows) return Place::other;
  if (is_the_work) first_ = name;
  main_ = name;
  return Place::anew;
}

}  // namespace ocrtune
