// Lines are visited in steps of the golden section, so that a trial which reads a part of them has
// read a fair part. The texts go through the same AnswerWatch as those of a service.
#include "trial/workloads/engine_infer/line_answers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/files.h"
#include "trial/answers/answer_fields.h"

namespace ocrtune {
namespace {

constexpr double kGolden = 0.6180339887498949;

// Steps of the golden section leave gaps of two or three sizes, wherever one stops.
std::size_t golden_step(std::size_t count) {
  auto step = static_cast<std::size_t>(kGolden * static_cast<double>(count));
  // A step that shares no divisor with the count visits every line once.
  while (step > 1 && std::gcd(step, count) != 1) --step;
  return std::max<std::size_t>(1, step);
}

}  // namespace

LineList spread_lines(LineList list) {
  const std::size_t count = list.paths.size();
  const std::size_t step = golden_step(count);
  LineList spread = list;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = i * step % count;
    spread.paths[i] = std::move(list.paths[from]);
    spread.names[i] = std::move(list.names[from]);
    if (!list.truths.empty()) spread.truths[i] = std::move(list.truths[from]);
  }
  return spread;
}

Result<LineAnswers> LineAnswers::open(const LineList& list, const std::string& reference,
                                      bool learns) {
  const std::size_t compared = std::min(kComparedLines, list.paths.size());
  AnswerWatchOptions options;
  options.same = {kTextPath};
  options.inputs.assign(list.names.begin(),
                        list.names.begin() + static_cast<std::ptrdiff_t>(compared));
  for (std::size_t i = 0; i < compared && !list.truths.empty(); ++i) {
    options.truths.push_back({list.truths[i]});
  }
  LineAnswers answers(std::move(options), reference, static_cast<std::int64_t>(list.paths.size()));
  answers.learns_ = learns;
  if (learns) {
    answers.watch_.begin_asking();
    return answers;
  }
  const std::string text = OCRTUNE_TRY(read_file(reference));
  answers.watch_.use(OCRTUNE_TRY(AnswerReference::parse(text)));
  return answers;
}

void LineAnswers::take(const std::vector<LineAnswer>& answers, std::int64_t first,
                       std::int64_t count) {
  for (std::int64_t i = first; i < first + count; ++i) {
    const LineAnswer& answer = answers[static_cast<std::size_t>(i)];
    const std::int64_t line = i % lines_;
    ++taken_;
    if (answer.state != LineAnswer::State::read ||
        line >= static_cast<std::int64_t>(kComparedLines)) {
      continue;
    }
    // In flight is always 1: a reader answers each line by itself.
    (void)watch_.check(static_cast<int>(line), text_answer({answer.text}), 1);
  }
}

SameResult LineAnswers::result() const {
  SameResult result = watch_.result();
  // A network computes a line in one way, so one difference is enough.
  result.repeatable = true;
  return result;
}

Status LineAnswers::learn() {
  if (!learns_ || watch_.has_reference()) return Status();
  watch_.learn();
  return write_file(reference_, watch_.reference().text());
}

}  // namespace ocrtune
