// One snapshot is the end of a window and the beginning of the next, so no time is left unobserved.
#include "trial/watch/load_watch.h"

#include <utility>

namespace ocrtune {

const std::vector<ProcessFacts>& LoadWatch::members() {
  if (beside_.empty()) return tree_.members();
  both_ = tree_.members();
  both_.insert(both_.end(), beside_.begin(), beside_.end());
  return both_;
}

LoadSnapshot LoadWatch::snapshot(double now) {
  beside_ = server_.members();
  return take_load_snapshot(FileRoot(), tree_, now, beside_);
}

void LoadWatch::open(double now) { load_ = snapshot(now); }

void LoadWatch::begin(double now, int left_out, Environment given) {
  open(now);
  short_lives_.begin(tree_);
  stages_.begin(now, members(), left_out, std::move(given));
}

double LoadWatch::close(double now, Interference& found) {
  LoadSnapshot load = snapshot(now);
  // Before the comparison, which needs the processes that came and went.
  load.brief = short_lives_.take(tree_);
  found = interference_between(load_, load, demand_);
  threads_.add_window(load_, load, found.cpu_seconds);
  stages_.add_window(load_, load);
  const double observed = load.seconds - load_.seconds;
  load_ = std::move(load);
  return observed;
}

}  // namespace ocrtune
