// The texts of a command's trials beside those of the present setting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "trial/answers/answer_places.h"
#include "trial/answers/answer_reference.h"
#include "trial/answers/line_set.h"
#include "trial/answers/same_gate.h"
#include "trial/trial.h"

namespace ocrtune {

class CommandSame {
 public:
  // `truth`: a label file with the true texts, or empty.
  CommandSame(AnswerPlaces places, std::string truth, double max_change)
      : places_(std::move(places)), truth_(std::move(truth)), gate_(max_change) {}

  const AnswerPlaces& places() const { return places_; }
  // The present setting has not yet answered the same input twice: what it varies by itself is not
  // known, and no other setting can be judged.
  bool needs_present() const;
  // Fills trial.same, and judges it. invalid: the label file lacks an input, or cannot be read.
  Status judge(Trial& trial, const CommandAnswers& answers, bool present);

 private:
  Status learn(const CommandAnswers& answers);
  SameResult compare(const CommandAnswers& answers) const;
  void note_changes(const Knobs& knobs, const CommandAnswers& answers);
  double chance_of_lines(const Knobs& knobs) const;

  AnswerPlaces places_;
  std::string truth_;
  SameGate gate_;
  LineSet lines_;
  bool saw_all_ = false;             // the present setting has ended a run over its inputs
  std::vector<std::string> inputs_;  // that the present setting has answered
  std::map<std::string, std::size_t> index_;
  std::vector<std::vector<std::string>> askings_;  // by input
  std::vector<std::vector<std::string>> truths_;
  std::vector<std::string> same_;
  AnswerReference reference_;
  // How another setting answers an input.
  struct Change {
    std::size_t text_hash = 0;
    std::int64_t lines = 0;  // that differ; 0: none
    std::int64_t answers = 0;
    bool steady = true;  // each time alike
  };
  std::map<Knobs, std::map<std::size_t, Change>> changes_;
};

}  // namespace ocrtune
