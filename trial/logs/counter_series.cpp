// Which counter is the training's is decided by the clock alone: how long the lines of a counter
// follow each other without another one between them. Titles only tell whether a counter counts
// things.
#include "trial/logs/counter_series.h"

#include <algorithm>

namespace ocrtune {
namespace {

constexpr double kPatienceSeconds = 5, kPatienceFactor = 3;  // with one that ended, of its own time
constexpr int kMinLines = 5;                                 // of another one, that follow it
// Times the training's, that a validation is not busy. Guess.
constexpr double kFarMore = 4, kMinBusySeconds = 0.5;
// Once may be a bar that is drawn again.
constexpr int kMinRounds = 2;

}  // namespace

bool CounterSeries::is_over(const Heard& heard, double now_seconds) const {
  const double lasted = heard.last_seconds - heard.first_seconds;
  return heard.ended &&
         now_seconds - heard.last_seconds > kPatienceSeconds + kPatienceFactor * lasted;
}

CounterSeries::Place CounterSeries::hear(const std::string& name, bool of_things, bool ended,
                                         double now_seconds) {
  const auto [at, fresh] = heard_.try_emplace(name);
  Heard& heard = at->second;
  if (fresh) heard.first_seconds = now_seconds;
  // The counter of the log's first line.
  if (first_.empty() && fresh && heard_.size() == 1) first_ = main_ = name;
  // Time between two of its lines counts only where nothing else spoke in between.
  if (latest_ == name) heard.busy_seconds += now_seconds - heard.last_seconds;
  latest_ = name;
  heard.last_seconds = now_seconds;
  // It had come to its total and is below it again: one more round.
  heard.rounds += heard.ended && !ended ? 1 : 0;
  heard.ended = ended;
  heard.of_things = of_things;
  ++heard.lines;
  if (name == main_) return Place::own;
  // The first one takes its place back as soon as it speaks again, as after a validation.
  const bool returns = name == first_;
  const Heard& main = heard_[main_];
  // A bar of pages that is not done yet stays, however busy the bars within it are.
  const bool is_the_work = (!main.of_things || main.ended) &&
                           heard.busy_seconds > kMinBusySeconds + kFarMore * main.busy_seconds;
  const bool follows = heard.lines >= kMinLines && is_over(main, now_seconds);
  if (!returns && !is_the_work && !follows) return Place::other;
  // From now on this is the one that takes its place back.
  if (is_the_work) first_ = name;
  main_ = name;
  return Place::anew;
}

bool CounterSeries::holds_others() const {
  const auto main = heard_.find(main_);
  // A bar that has begun anew itself is an inner one.
  if (main == heard_.end() || !main->second.of_things || main->second.rounds > 0) return false;
  return std::any_of(heard_.begin(), heard_.end(), [&](const auto& one) {
    return one.first != main_ && one.second.rounds >= kMinRounds;
  });
}

}  // namespace ocrtune
