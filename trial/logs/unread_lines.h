// What a program prints while a log reader finds no number in it, and what would read it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

namespace ocrtune {

class UnreadLines {
 public:
  using TimedLine = std::pair<double, std::string>;  // seconds, text

  explicit UnreadLines(int batch) : batch_(batch) {}  // samples of a step; 1: not known

  void add(const std::string& line, double now_seconds);
  std::int64_t lines() const { return lines_; }                    // of text
  const std::deque<TimedLine>& latest() const { return latest_; }  // the last 60
  // One form of line that speaks of training (loss, step, epoch) came 20 times within 20 s or more:
  // what there is to read has been printed, and waiting brings nothing else.
  bool training_goes_on() const;
  bool tell_of_training() const;  // a line had one of these words and a number
  // A pattern that reads a counter in brackets, "[400/100000"; empty: there is none. A counter that
  // grows by whole batches counts samples.
  std::string counting_pattern() const;
  // One sentence: what was printed, and an option that would read it. `reader`: empty: none was
  // named. `option`: one that is known;
  // empty: a word before a number or the pattern, where there is one.
  std::string reason(const std::string& reader, const std::string& followed_file,
                     std::string option) const;

 private:
  struct Form {  // of a line, its numbers left out
    std::int64_t count = 0;
    double first_seconds = 0, last_seconds = 0;
    bool of_training = false;
    std::string example;
  };
  const Form* commonest() const;

  int batch_;
  std::int64_t lines_ = 0;  // of text
  bool binary_ = false;     // there were others
  std::map<std::string, Form> forms_;
  std::deque<TimedLine> latest_;
};

}  // namespace ocrtune
