// What the clock says of the number that a log gives as its speed.
//
// A word such as "time" or "samples" may stand for the time of a step or for a total, "samples/s"
// for one rank or for all. The times at which lines come, and a step counter where they have one,
// settle it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trial/logs/log_dialects.h"

namespace ocrtune {

class RateCheck {
 public:
  explicit RateCheck(double samples_of_a_step) : samples_of_a_step_(samples_of_a_step) {}

  // One line whose only number is a rate. Puts the reading right where the number is a total: a
  // total of samples or steps becomes a counter, one of seconds the time since the line before. A
  // line after a pause (an evaluation, a checkpoint) that prints the usual rate speaks of the time
  // without it: it gets the rate of the whole time. One whose rate is a multiple of the usual one,
  // or a small part, while its steps come as usual, was timed by a clock that jumped: its steps
  // count.
  // `ranks`: that a rate of samples is multiplied by.
  void look(std::string_view line, double now_seconds, double ranks, LogReading& reading);

  // True once, when the numbers so far are found to be totals: what was measured before is void.
  bool take_found_total();
  // True once, when the rates are found to be the job's, though they were multiplied by its ranks.
  bool take_found_job();
  // One sentence, once, where the log and the clock differ by more than a half; or empty.
  std::string take_note();
  // As Trial::counted_share.
  double counted_share() const;

 private:
  struct Line {
    double seconds = 0, value = 0;
  };
  bool is_total(bool of_seconds) const;
  void judge_by_pace(double pace, double& rate);
  void compare(std::optional<double> step, double now_seconds, double rate, double ranks);

  double samples_of_a_step_;
  std::vector<Line> lines_;  // the first ones
  bool total_ = false, found_ = false, noted_ = false, job_ = false;
  Line last_;
  std::optional<double> last_step_;
  std::string note_;
  // Since the first line that had a step counter:
  double begin_seconds_ = -1, begin_step_ = 0, last_seconds_ = 0;
  double samples_ = 0;  // by the printed rates
  double counted_ = 0;  // by the step counter
  int compared_ = 0;
  std::vector<double> paces_, rates_;  // of usual lines: seconds a step, printed rates
  int impossible_ = 0;  // lines that came sooner than the step that they speak of can have taken
};

// "step 40", "iter: 40", "global_step=40", "[40/1000]": the steps done so far, where a line says
// so.
std::optional<double> step_counter_in(std::string_view line);
// 400 of "Epoch 1 [400/100000"; not of "Epoch [1/10]".
std::optional<double> bracket_counter_in(std::string_view line);

// Part of a step's time that a line says was spent waiting for data: "time: 0.35 data_time: 0.01",
// "Time 0.52 (0.40) Data 0.01 (0.02)".
std::optional<double> data_share_in(std::string_view line);

}  // namespace ocrtune
