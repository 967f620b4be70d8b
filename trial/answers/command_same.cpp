// The present setting's answers are kept and the reference is learnt anew from each of its trials.
// Another setting goes through an AnswerWatch as if it were a service with one request in flight.
// Where no line names an input, LineSet compares instead.
#include "trial/answers/command_same.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "base/text.h"
#include "trial/answers/answer_fields.h"
#include "trial/answers/answer_watch.h"
#include "trial/answers/text_doubt.h"
#include "trial/answers/truth_file.h"

namespace ocrtune {
namespace {

std::set<std::string> lines_of(const std::vector<std::string>& texts) {
  std::set<std::string> lines(texts.begin(), texts.end());
  lines.erase("");
  return lines;
}

// Lines of `expected` that are not in `read`; 1 at least: the order is another, or lines are new.
std::int64_t lines_lacking(const std::vector<std::string>& expected,
                           const std::vector<std::string>& read) {
  const std::set<std::string> kept = lines_of(read);
  const std::set<std::string> wanted = lines_of(expected);
  return std::max<std::int64_t>(
      1, std::count_if(wanted.begin(), wanted.end(),
                       [&](const std::string& line) { return !kept.contains(line); }));
}

}  // namespace

bool CommandSame::needs_present() const {
  // Two passes tell which lines differ by themselves.
  if (inputs_.empty()) return lines_.passes() < 2;
  // One input that was answered twice is enough.
  return std::none_of(askings_.begin(), askings_.end(),
                      [](const auto& bodies) { return bodies.size() > 1; });
}

Status CommandSame::learn(const CommandAnswers& answers) {
  lines_.learn(answers);
  saw_all_ = saw_all_ || answers.runs_ended > 0;
  // New inputs alone need the label file again.
  const std::size_t known = inputs_.size();
  for (std::size_t i = 0; i < answers.inputs.size(); ++i) {
    const auto [at, fresh] = index_.try_emplace(answers.inputs[i], inputs_.size());
    if (fresh) {
      inputs_.push_back(answers.inputs[i]);
      askings_.emplace_back();
    }
    std::vector<std::string>& bodies = askings_[at->second];
    for (const std::string& body : answers.bodies[i]) {
      if (bodies.size() < kKeptAnswers) bodies.push_back(body);
    }
  }
  same_ = places_.same;
  // The collector makes {"text": [...]} of lines, so there is one path.
  if (same_.empty() && !answers.json) same_ = {kTextPath};
  reference_ = AnswerReference::learn(askings_, same_);
  if (!truth_.empty() && inputs_.empty()) {
    return Error{ErrorKind::usage,
                 "--truth needs answers that name their inputs: a group (?<input>...), or files"};
  }
  if (!truth_.empty() && inputs_.size() > known) truths_ = OCRTUNE_TRY(read_truth(truth_, inputs_));
  return Status();
}

SameResult CommandSame::compare(const CommandAnswers& answers) const {
  if (inputs_.empty()) return lines_.compare(answers);
  AnswerWatchOptions options;
  options.inputs = inputs_;
  options.same = same_;
  options.truths = truths_;
  AnswerWatch watch(std::move(options));
  watch.use(reference_);
  std::vector<bool> answered(inputs_.size());
  SameResult strange;  // answers to inputs that the present setting does not have
  for (std::size_t i = 0; i < answers.inputs.size(); ++i) {
    const auto at = index_.find(answers.inputs[i]);
    const auto count = static_cast<std::int64_t>(answers.bodies[i].size());
    if (at == index_.end() && !saw_all_) continue;  // a faster setting reaches more of them
    if (at == index_.end()) {
      // An input beyond those of the present setting gets an index behind theirs.
      InputDifference other;
      other.input = static_cast<std::int64_t>(inputs_.size()) + strange.differing_inputs();
      other.answers = other.differing = count;
      strange.differing.push_back(other);
      strange.examples.push_back({answers.inputs[i], "", answers.bodies[i].front()});
      continue;
    }
    answered[at->second] = true;
    for (const std::string& body : answers.bodies[i]) {
      (void)watch.check(static_cast<int>(at->second), body, 1);
    }
  }
  // A whole run that passed an input over has read no text in it.
  // An ended trial may have been stopped before that input, so it says nothing.
  for (std::size_t i = 0; i < inputs_.size() && answers.runs_ended > 0; ++i) {
    if (!answered[i]) (void)watch.check(static_cast<int>(i), text_answer({}), 1);
  }
  SameResult result = watch.result();
  for (const InputDifference& other : strange.differing) result.differing.push_back(other);
  for (const AnswerExample& example : strange.examples) {
    if (result.examples.size() < 3) result.examples.push_back(example);
  }
  result.inputs += strange.differing_inputs();
  return result;
}

void CommandSame::note_changes(const Knobs& knobs, const CommandAnswers& answers) {
  for (std::size_t i = 0; i < answers.inputs.size(); ++i) {
    const auto at = index_.find(answers.inputs[i]);
    if (at == index_.end()) continue;
    const std::vector<std::string>& expected = reference_.inputs()[at->second].texts;
    Change& change = changes_[knobs][at->second];
    // The last of several texts stays: they count for nothing unless all are alike.
    for (const std::string& body : answers.bodies[i]) {
      const std::vector<std::string> texts = reference_.texts_of(body);
      const std::size_t hash = std::hash<std::string>()(join(texts, "\n"));
      change.steady = change.steady && (change.answers == 0 || change.text_hash == hash);
      change.text_hash = hash;
      change.lines = texts == expected ? 0 : lines_lacking(expected, texts);
      ++change.answers;
    }
  }
}

// That a program which leaves lines to chance changes those that this setting changes each time
// alike: where the present setting repeats each of its lines such a program is rare beforehand, and
// lines that change together and stay so are as many witnesses.
double CommandSame::chance_of_lines(const Knobs& knobs) const {
  std::size_t all_lines = 0;
  for (const InputReference& input : reference_.inputs()) {
    if (input.differing > 0) return 1;
    all_lines += lines_of(input.texts).size();
  }
  const auto other = changes_.find(knobs);
  // No answer of this setting was to a known input.
  if (other == changes_.end()) return 1;
  double chance = 1;
  for (const auto& [at, change] : other->second) {
    const std::int64_t askings = reference_.inputs()[at].askings;
    if (!change.steady || change.lines == 0 || change.answers < 2 || askings < 1) continue;
    // One input alone: both sides as often as they were asked, and each answer of this side
    // differs.
    const double one = chance_of_differing({{askings + 1, 0, change.answers, change.answers}});
    // Each changed line of the answer counts as a witness of its own.
    chance *= std::pow(one, static_cast<double>(change.lines));
  }
  // Of a program that leaves lines to chance, one line of all is that line.
  return chance < 1 ? chance * kHiddenVariation / (1 + static_cast<double>(all_lines)) : 1;
}

Status CommandSame::judge(Trial& trial, const CommandAnswers& answers, bool present) {
  // A failed trial's texts are cut off or those of an error.
  if (!has_read(trial)) return Status();
  if (present) OCRTUNE_TRY(learn(answers));
  trial.same = compare(answers);
  if (!present) note_changes(trial.knobs, answers);
  gate_.judge(trial, present, present ? 1 : chance_of_lines(trial.knobs));
  return Status();
}

}  // namespace ocrtune
