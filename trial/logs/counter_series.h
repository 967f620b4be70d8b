// Which of several counters in one log is the training's: bars of training and of validation may
// look alike, and what they count must not be added up.
//
// The first one that was heard is the training's, as programs train before they validate. One that
// came to its end and does not come again was of a preparation. One beside which another takes by
// far the most of the time is of a lesser part: a bar of epochs, of documents, or of what is done
// before the main work of each.
#pragma once

#include <map>
#include <string>

namespace ocrtune {

class CounterSeries {
 public:
  enum class Place {
    other,  // not the training's
    own,    // the training's
    anew,   // the training's from now on: what was counted before was something else
  };

  // `name`: tells the counters apart; `ended`: it has come to its total.
  Place hear(const std::string& name, bool ended, double now_seconds);

  // Another one has begun anew between the lines of the training's again and again: these count
  // pages or epochs, whose work is the same by any batch.
  bool holds_others() const;

 private:
  struct Heard {
    double first_seconds = 0, last_seconds = 0;
    // Between its lines, where no other counter spoke in between; of all but the training's, since
    // the last line of that.
    double busy_seconds = 0;
    int lines = 0, rounds = 0;  // rounds: that it has begun anew after its end
    bool ended = false;
  };
  bool is_over(const Heard& heard, double now_seconds) const;

  std::map<std::string, Heard> heard_;
  std::string first_, main_, latest_;
};

}  // namespace ocrtune
