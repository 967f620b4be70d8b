// Whether a training still learns, as far as its lines say: a loss that has become "nan" or "inf"
// is the mark of a precision, batch or learning rate that it does not bear.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trial/trial.h"

namespace ocrtune {

// Of a line that gives a loss ("loss: 2.31", "'train_loss': nan", "CTCLoss=inf"): whether it is a
// number. Unset: the line gives none. Of several losses in a line one that is none counts.
std::optional<bool> loss_is_number(std::string_view line);

class LostLoss {
 public:
  void read_line(const std::string& line);
  // The last lines that gave a loss gave no number: more than a step that a scaler leaves out.
  bool lost() const { return lost_in_a_row_ >= kLinesInARow; }
  const std::string& line() const { return line_; }  // the first of them

 private:
  static constexpr int kLinesInARow = 3;  // guess
  int lost_in_a_row_ = 0;
  std::string line_;
};

// A training whose loss is no number learns nothing, however fast: unless the present setting
// prints the same, so that it says nothing of another one.
class LossGate {
 public:
  // By trial.lost_loss; the rate stays. `present`: it ran the setting that the user has now; unset:
  // nobody knows that setting, and the loss is evidence alone.
  void judge(Trial& trial, std::optional<bool> present);

 private:
  bool present_lost_ = false;
};

}  // namespace ocrtune
