// The texts of a trial's lines beside those that the present setting read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trial/answers/answer_watch.h"
#include "trial/workloads/engine_infer/infer_pool.h"
#include "trial/workloads/engine_infer/line_list.h"

namespace ocrtune {

// The list in an order whose every beginning is spread evenly over the whole: a trial that reads a
// part of the lines reads a fair sample of them. The same for the same number of lines.
LineList spread_lines(LineList list);

class LineAnswers {
 public:
  // `list` is spread; its first kComparedLines are compared. `reference` is the file of the present
  // setting's texts; with `learns` this trial is of that setting, and writes it. Errors: reading
  // it.
  static Result<LineAnswers> open(const LineList& list, const std::string& reference, bool learns);
  static constexpr std::size_t kComparedLines = 1000;

  // Answers of the lines from `first` on, in order; a line's number counts on beyond the list.
  void take(const std::vector<LineAnswer>& answers, std::int64_t first, std::int64_t count);
  // Every line that is compared was read, or the reference is known.
  bool read_all() const {
    return watch_.has_reference() || taken_ >= std::min<std::int64_t>(lines_, kComparedLines);
  }
  // Writes the reference, where this trial learns it and has not yet.
  Status learn();
  SameResult result() const;

 private:
  LineAnswers(AnswerWatchOptions options, std::string reference, std::int64_t lines)
      : watch_(std::move(options)), reference_(std::move(reference)), lines_(lines) {}

  AnswerWatch watch_;
  std::string reference_;
  std::int64_t lines_;
  std::int64_t taken_ = 0;
  bool learns_ = false;
};

}  // namespace ocrtune
