// How long a first answer is waited for: a minute of idleness, ten of work. A server that loads a
// model works; one that waits for something else is not worth the budget.
#pragma once

#include "base/process_tree.h"

namespace ocrtune {

class StartPatience {
 public:
  // `busy_seconds` of waiting in all, `idle_seconds` of them without work.
  StartPatience(double idle_seconds, double busy_seconds, double now_seconds)
      : idle_seconds_(idle_seconds),
        busy_seconds_(busy_seconds),
        begin_(now_seconds),
        last_work_(now_seconds),
        last_look_(now_seconds) {}

  // `cpu_seconds` that the tree has used so far.
  void look(double now_seconds, double cpu_seconds);
  bool over(double now_seconds) const {
    return now_seconds - begin_ > busy_seconds_ || now_seconds - last_work_ > idle_seconds_;
  }
  double left(double now_seconds) const { return begin_ + busy_seconds_ - now_seconds; }
  double waited(double now_seconds) const { return now_seconds - begin_; }

 private:
  double idle_seconds_, busy_seconds_;
  double begin_, last_work_, last_look_;
  double cpu_seconds_ = 0;
};

// Of all members, those that have ended included.
double cpu_seconds_of(ProcessTree& tree);

}  // namespace ocrtune
