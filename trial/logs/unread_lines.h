// Why a log reader finds no number in what a program prints, and which reader would.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "trial/logs/log_reader.h"

namespace ocrtune {

class UnreadLines {
 public:
  explicit UnreadLines(const LogContext& context) : context_(context) {}

  void add(const std::string& line, double now_seconds);
  std::int64_t lines() const { return lines_; }
  // One form of line that speaks of training (loss, step, epoch) came 20 times within 20 s or more:
  // what there is to read has been printed, and waiting brings nothing else.
  bool training_goes_on() const;
  // One sentence: what was printed, and an option that would read it, where one is found.
  std::string reason(const std::string& reader, const std::string& followed_file) const;

 private:
  struct Form {  // of a line, its numbers left out
    std::int64_t count = 0;
    double first_seconds = 0, last_seconds = 0;
    bool of_training = false;
    std::string example;
  };
  const Form* commonest() const;
  std::string option_that_reads() const;
  std::string counting_pattern() const;

  LogContext context_;
  std::int64_t lines_ = 0;
  std::map<std::string, Form> forms_;
  std::deque<std::pair<double, std::string>> latest_;
};

}  // namespace ocrtune
