// The answers of one trial's service beside those of the present setting: which are asked for,
// where the reference comes from, and what became of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "trial/answers/answer_watch.h"
#include "trial/workloads/engine_infer/infer_trial_spec.h"
#include "trial/workloads/service/http_target.h"
#include "trial/workloads/service/load_target.h"

namespace ocrtune {

class TrialAnswers {
 public:
  // Errors: of request files and of the file of true texts.
  static Result<std::unique_ptr<TrialAnswers>> make(const InferTrialSpec& spec);

  // For the target: each good answer passes through it.
  AnswerCheck check();

  // Before any load: takes the reference that an earlier trial wrote to `spec.reference`, or asks
  // each input alone, twice, and 16 times in all where there are few, and writes it there. Stops
  // asking further inputs after the time of a trial. invalid: `same` names a path that no answer
  // has, with the begin of one; errors of writing.
  Status take_reference(LoadTarget& target, Clock& clock);

  // Asks alone, for no longer than this, where answers under load differ and too few alone are
  // known to tell why. Then the most requests in flight, up to `wanted`, at which answers are
  // right.
  void settle_doubt(LoadTarget& target, Clock& clock, double seconds);
  int right_in_flight(int wanted);

  // When the loads have ended: of the answers with up to so many in flight.
  SameResult result(int in_flight) const;

 private:
  TrialAnswers(const InferTrialSpec& spec, AnswerWatchOptions options);
  bool ask(LoadTarget& target, Clock& clock, int kind, std::uint64_t number);
  void compare_pairs(const std::vector<double>& first, const std::vector<double>& again);
  Status read_reference();
  Status write_reference() const;

  const InferTrialSpec& spec_;
  AnswerWatchOptions options_;
  AnswerWatch watch_;
  std::uint64_t next_request_;
  double repeat_speedup_ = 0;  // as in SameResult
  bool varied_ = false;        // likewise
};

}  // namespace ocrtune
