// The check of answers, driven line by line: bench/answers/services.py draws services and asks.
//
//   start N          a setting's trial with N inputs; the first one's reference is that of the rest
//   ask KIND BODY    an answer for the reference
//   learn            ends the asking
//   answer KIND IN_FLIGHT BODY
//   state            answers "WRONG_IN_FLIGHT DOUBT SWAPPED"
//   end              keeps the trial's result
//   judge            the last trial beside the first: answers "COMPARED DIFFERS INPUTS
//   CHANGED_SHARE" cost BYTES       microseconds an answer: the same bytes, another id, another
//   text
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "trial/answers/answer_watch.h"

namespace {

using namespace ocrtune;

// A page of lines of 24 characters with their boxes and scores, in about so many bytes.
std::string page(std::size_t bytes, int id, const std::string& last) {
  std::string body = fmt::format(R"({{"logId": "{:032x}", "took": {}, "lines": [)", id, id % 97);
  while (body.size() + 90 < bytes) {
    body += fmt::format(
        R"({{"text": "line {:>8} of this page", "score": 0.{}, "box": [1, 2, 3, 4]}}, )",
        body.size(), 900 + id % 97);
  }
  return body + fmt::format(R"({{"text": "{}"}}]}})", last);
}

double microseconds(AnswerWatch& watch, const std::vector<std::string>& bodies) {
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string& body : bodies) (void)watch.check(0, body, 1);
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / static_cast<double>(bodies.size());
}

std::string costs(std::size_t bytes) {
  AnswerWatchOptions options;
  options.inputs = {"page"};
  AnswerWatch watch(options);
  watch.begin_asking();
  for (int i = 0; i < 3; ++i) watch.check(0, page(bytes, i, "end"), 1);
  watch.learn();
  std::vector<std::string> same(2000, page(bytes, 0, "end"));
  std::vector<std::string> other_id, other_text;
  for (int i = 0; i < 2000; ++i) {
    other_id.push_back(page(bytes, i + 10, "end"));
    other_text.push_back(page(bytes, i + 10, fmt::format("end {}", i)));
  }
  const double alike = microseconds(watch, same);
  const double ids = microseconds(watch, other_id);
  const double texts = microseconds(watch, other_text);
  return fmt::format("{:.2f} {:.2f} {:.2f}", alike, ids, texts);
}

class Trials {
 public:
  std::string run(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string verb = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (verb == "start") return start(static_cast<std::size_t>(*parse_integer(rest)));
    if (verb == "cost") return costs(static_cast<std::size_t>(*parse_integer(rest)));
    if (verb == "judge") return judge();
    if (verb == "end") {
      results_.push_back(watch_->result());
      return "";
    }
    if (verb == "learn") {
      watch_->learn();
      reference_ = watch_->reference();
      return "";
    }
    if (verb == "state") {
      return fmt::format("{} {} {}", watch_->wrong_in_flight(), watch_->in_doubt() ? 1 : 0,
                         watch_->result().swapped_answers);
    }
    const std::size_t second = rest.find(' ');
    const int kind = static_cast<int>(*parse_integer(rest.substr(0, second)));
    if (verb == "ask") {
      watch_->check(kind, rest.substr(second + 1), 1);
      return "";
    }
    const std::size_t third = rest.find(' ', second + 1);
    const auto in_flight = *parse_integer(rest.substr(second + 1, third - second - 1));
    watch_->check(kind, rest.substr(third + 1), static_cast<int>(in_flight));
    return "";
  }

 private:
  std::string start(std::size_t inputs) {
    AnswerWatchOptions options;
    for (std::size_t i = 0; i < inputs; ++i) options.inputs.push_back(fmt::format("input {}", i));
    watch_ = std::make_unique<AnswerWatch>(options);
    if (reference_) {
      watch_->use(*reference_);
    } else {
      watch_->begin_asking();
    }
    return "";
  }

  std::string judge() {
    const SameJudgement judged = judge_same({&results_.back()}, {&results_.front()}, 0, 1);
    return fmt::format("{} {} {} {:.6f}", judged.compared ? 1 : 0, judged.differs ? 1 : 0,
                       judged.differing_inputs, judged.changed_share);
  }

  std::unique_ptr<AnswerWatch> watch_;
  std::optional<AnswerReference> reference_;
  std::vector<SameResult> results_;
};

}  // namespace

int main() {
  Trials trials;
  for (std::string line; std::getline(std::cin, line);) {
    const std::string answer = trials.run(line);
    if (!answer.empty()) std::cout << answer << std::endl;
  }
}
