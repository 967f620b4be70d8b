// Is the line of unanswered requests growing without end?
//
// A run beyond what its target can do measures only its own length, so it is cut off. Saturated
// means: at least 2 seconds of sending; in each quarter of the last half the unanswered requests
// grew by more than 2 % of those sent; and over that half by more than five standard deviations of
// a Poisson count, which a long but bounded queue does not reach. A single stall fills at most two
// quarters.
#pragma once

#include <cstdint>
#include <deque>

namespace ocrtune {

class SaturationWatch {
 public:
  // Counts so far at this time (ascending); cheap enough for every few hundred requests.
  void observe(double seconds, std::int64_t issued, std::int64_t completed);
  bool saturated() const;

 private:
  struct Point {
    double seconds;
    std::int64_t issued, completed;
  };
  Point at(double seconds) const;  // the last point not after this time

  std::deque<Point> points_;  // thinned: at most 512
  double min_gap_seconds_ = 0;
};

}  // namespace ocrtune
