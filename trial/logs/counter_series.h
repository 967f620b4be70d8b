// Which of several counters in one log is the training's: bars of training and of validation may
// look alike, and what they count must not be added up.
//
// The first one that was heard is the training's, as programs train before they validate. One that
// came to its end and does not come again was of a preparation. One beside which another takes by
// far the most of the time is of a lesser part: a bar of epochs, or of what is done before the main
// work of each; but one of pages or images stays what is read.
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

  // `name`: tells the counters apart; `of_things`: its title names what it counts, as pages;
  // `ended`: it has come to its total.
  Place hear(const std::string& name, bool of_things, bool ended, double now_seconds);

  // What is read counts things, and another one has begun anew within it again and again: a step
  // of it is a page, by any batch.
  bool holds_others() const;

 private:
  struct Heard {
    double first_seconds = 0, last_seconds = 0;
    double busy_seconds = 0;    // between its lines, where no other counter spoke in between
    int lines = 0, rounds = 0;  // rounds: that it has begun anew after its end
    bool of_things = false, ended = false;
  };
  bool is_over(const Heard& heard, double now_seconds) const;

  std::map<std::string, Heard> heard_;
  std::string first_, main_, latest_;
};

}  // namespace ocrtune
