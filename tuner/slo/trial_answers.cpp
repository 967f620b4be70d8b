// Asks for the reference once a run, and keeps it for the trials that follow.
#include "tuner/slo/trial_answers.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/stats.h"
#include "base/text.h"
#include "trial/answers/truth_file.h"
#include "trial/workloads/service/request_file.h"

namespace ocrtune {
namespace {

constexpr int kLeastAskings = 2;       // of an input: what differs between them is left out
constexpr int kUsefulAskings = 32;     // of all inputs together, at least
constexpr double kAskingTimeout = 60;  // seconds; the target itself gives a request up earlier
constexpr int kDoubtAskings = 16;      // between two looks
// A cache of results: repeats are faster by this factor so often, and slower by it so seldom, that
// chance makes it so once in a hundred runs. A delay of the machine's makes a pair or two alike.
constexpr double kCacheSpeedup = 1.5;
constexpr double kCacheChance = 0.01;
constexpr std::uint64_t kFirstAsking = std::uint64_t{1} << 51;

}  // namespace

Result<std::unique_ptr<TrialAnswers>> TrialAnswers::make(const InferTrialSpec& spec) {
  AnswerWatchOptions options;
  options.inputs = spec.inputs;
  options.max_change = spec.max_change;
  bool varied = !spec.inputs.empty() && !spec.url.empty();
  std::vector<std::string> files = spec.inputs;
  for (std::size_t i = 0; i < spec.inputs.size() && !spec.url.empty(); ++i) {
    const HttpBody body = OCRTUNE_TRY(read_request(spec.inputs[i]));
    options.same.insert(options.same.end(), body.same.begin(), body.same.end());
    if (!body.file.empty()) files[i] = body.file;
    varied = varied && !body.variants.empty();
  }
  if (!spec.truth.empty()) options.truths = OCRTUNE_TRY(read_truth(spec.truth, files));
  if (options.inputs.empty()) options.inputs.push_back(spec.url);
  std::unique_ptr<TrialAnswers> answers(new TrialAnswers(spec, std::move(options)));
  answers->varied_ = varied;
  return answers;
}

TrialAnswers::TrialAnswers(const InferTrialSpec& spec, AnswerWatchOptions options)
    : spec_(spec), options_(options), watch_(std::move(options)), next_request_(kFirstAsking) {}

AnswerCheck TrialAnswers::check() {
  return [this](int kind, const std::string& body, int in_flight) {
    return watch_.check(kind, body, in_flight);
  };
}

// Sends one request and waits for its answer; false: there was none, or no good one.
bool TrialAnswers::ask(LoadTarget& target, Clock& clock, int kind, std::uint64_t number) {
  target.start(number, kind);
  const double end = clock.now_seconds() + kAskingTimeout;
  std::vector<Completion> finished;
  while (clock.now_seconds() < end && !interrupted() && target.ended().empty()) {
    finished.clear();
    target.collect(end, finished);
    for (const Completion& one : finished) {
      if (one.request == number) return one.ok;
    }
  }
  return false;
}

// Whether what was asked before is answered faster. The very first answers pay for what is loaded.
void TrialAnswers::compare_pairs(const std::vector<double>& first,
                                 const std::vector<double>& again) {
  const std::size_t pairs = std::min(first.size(), again.size());
  const std::size_t begin = pairs / 4;
  std::vector<double> ratios;
  int faster = 0, slower = 0;
  for (std::size_t i = begin; i < pairs; ++i) {
    if (!(first[i] > 0) || !(again[i] > 0)) continue;
    ratios.push_back(first[i] / again[i]);
    faster += ratios.back() > kCacheSpeedup ? 1 : 0;
    slower += ratios.back() < 1 / kCacheSpeedup ? 1 : 0;
  }
  const double typical = ratios.empty() ? 0 : median(ratios);
  const bool by_chance = binomial_at_most(slower, faster + slower, 0.5) > kCacheChance;
  if (typical > kCacheSpeedup && !by_chance) repeat_speedup_ = typical;
}

SameResult TrialAnswers::result(int in_flight) const {
  SameResult result = watch_.result(in_flight);
  result.repeat_speedup = repeat_speedup_;
  result.varied = varied_;
  return result;
}

Status TrialAnswers::take_reference(LoadTarget& target, Clock& clock) {
  if (!spec_.reference.empty() && path_exists(spec_.reference)) return read_reference();
  const auto inputs = static_cast<int>(options_.inputs.size());
  const double start = clock.now_seconds();
  watch_.begin_asking();
  // A request's variant goes by its number: each is asked twice.
  std::vector<double> seconds;
  const auto asked_in = [&](int kind) {
    const std::uint64_t number = next_request_ + static_cast<std::uint64_t>(kind);
    const double began = clock.now_seconds();
    const bool answered = ask(target, clock, kind, number);
    seconds.push_back(answered ? clock.now_seconds() - began : 0);
    return answered;
  };
  if (!asked_in(0)) {
    return Error{ErrorKind::failed, "it answers no request: " + target.failure()};
  }
  // The first answer is the only clock there is; it is slow, so that rather too few are asked for.
  const double each = std::max(1e-4, clock.now_seconds() - start);
  const double affordable = spec_.seconds / (kLeastAskings * each);
  const int asked = std::clamp(static_cast<int>(std::min(affordable, 1e6)), 1, inputs);
  const int rounds = std::max(kLeastAskings, (kUsefulAskings + asked - 1) / asked);
  std::vector<double> first, again;  // seconds
  for (int round = 0; round < rounds; ++round) {
    // Beyond two, no more than the time of a trial.
    if (round >= kLeastAskings && clock.now_seconds() - start > spec_.seconds) break;
    for (int kind = round == 0 ? 1 : 0; kind < asked; ++kind) {
      if (!target.ended().empty() || interrupted()) break;
      (void)asked_in(kind);
    }
    // Without variants a cache knows every input after its first round.
    const bool fresh = varied_ || round < 2;
    if (fresh && seconds.size() == static_cast<std::size_t>(asked)) {
      std::vector<double>& into = round % 2 == 0 ? first : again;
      into.insert(into.end(), seconds.begin(), seconds.end());
    }
    seconds.clear();
    if (round % 2 == 1) next_request_ += static_cast<std::uint64_t>(asked);
  }
  next_request_ += static_cast<std::uint64_t>(asked);
  compare_pairs(first, again);
  // What a cache answers says nothing of what the program varies by itself.
  for (int kind = 0; repeat_speedup_ > 0 && rounds == kLeastAskings && kind < asked; ++kind) {
    (void)asked_in(kind);
  }
  next_request_ += static_cast<std::uint64_t>(asked);
  watch_.learn();
  const AnswerReference& reference = watch_.reference();
  if (!options_.same.empty() && reference.usable() == NotCompared::no_text) {
    const std::string begin = valid_utf8(reference.inputs()[0].body.substr(0, 200));
    return Error{ErrorKind::invalid, fmt::format("same = [\"{}\"] is in no answer, such as: {}",
                                                 join(options_.same, "\", \""), begin)};
  }
  return write_reference();
}

Status TrialAnswers::read_reference() {
  const std::string text = OCRTUNE_TRY(read_file(spec_.reference));
  const std::size_t end = text.find('\n');
  watch_.use(OCRTUNE_TRY(AnswerReference::parse(text.substr(0, end))));
  // The line behind the reference; other trials have no first askings to compare.
  if (end != std::string::npos) repeat_speedup_ = parse_number(text.substr(end + 1)).value_or(0);
  return Status();
}

Status TrialAnswers::write_reference() const {
  if (spec_.reference.empty()) return Status();
  return write_file(spec_.reference,
                    fmt::format("{}\n{}", watch_.reference().text(), repeat_speedup_));
}

void TrialAnswers::settle_doubt(LoadTarget& target, Clock& clock, double seconds) {
  const double end = clock.now_seconds() + seconds;
  const auto inputs = static_cast<int>(options_.inputs.size());
  for (int turn = 0; clock.now_seconds() < end && watch_.in_doubt(); ++turn) {
    for (int i = 0; i < kDoubtAskings && clock.now_seconds() < end; ++i) {
      if (!ask(target, clock, (turn * kDoubtAskings + i) % inputs, next_request_++)) return;
    }
    (void)watch_.wrong_in_flight();  // judges by what is known now
  }
}

int TrialAnswers::right_in_flight(int wanted) {
  const int wrong = watch_.wrong_in_flight();
  if (wrong == 0 || wanted < wrong) return wanted;
  return std::max(1, static_cast<int>(std::bit_floor(static_cast<unsigned>(wrong - 1))));
}

}  // namespace ocrtune
