#include "trial/answers/answer_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "trial/answers/same_judgement.h"

namespace ocrtune {
namespace {

// A service of so many inputs, whose answers hold an id and a time beside the text.
class AnswerService {
 public:
  std::string answer(int input, const std::string& change = "") {
    ++asked_;
    return fmt::format(
        R"({{"logId": "{:08x}{:08x}", "took": "{} ms", "result": {{"rec_texts": ["Invoice {}", "total {}"{}], "rec_scores": [0.{}]}}}})",
        mix_bits(asked_) & 0xffffffffU, asked_, asked_ % 17, input, 1200 + input, change,
        asked_ % 89 + 10);
  }

 private:
  std::uint64_t asked_ = 0;
};

AnswerWatch watch_of(AnswerService& service, int inputs, int askings = 3) {
  AnswerWatchOptions options;
  for (int i = 0; i < inputs; ++i) options.inputs.push_back(fmt::format("{}.png", i));
  AnswerWatch watch(options);
  watch.begin_asking();
  for (int asking = 0; asking < askings; ++asking) {
    for (int i = 0; i < inputs; ++i) watch.check(i, service.answer(i), 1);
  }
  watch.learn();
  return watch;
}

// So many answers at this number in flight; gives how many of them were called wrong.
template <typename Answer>
int load(AnswerWatch& watch, int in_flight, int answers, int inputs, const Answer& answer) {
  int wrong = 0;
  for (int i = 0; i < answers; ++i) {
    wrong += watch.check(i % inputs, answer(i), in_flight).empty() ? 0 : 1;
  }
  return wrong;
}

TEST(AnswerWatch, LeavesOutIdsAndTimesByItself) {
  AnswerService service;
  AnswerWatch watch = watch_of(service, 5);
  EXPECT_EQ(load(watch, 8, 500, 5, [&](int i) { return service.answer(i % 5); }), 0);
  const SameResult result = watch.result();
  EXPECT_TRUE(result.compared());
  EXPECT_EQ(result.inputs, 5);
  EXPECT_EQ(result.answers, 510);
  EXPECT_TRUE(result.differing.empty());
  EXPECT_EQ(result.left_out, (std::vector<std::string>{"logId", "took"}));
}

TEST(AnswerWatch, AFaultUnderLoadIsFoundAtItsNumberInFlight) {
  AnswerService service;
  AnswerWatch watch = watch_of(service, 5);
  EXPECT_EQ(load(watch, 1, 100, 5, [&](int i) { return service.answer(i % 5); }), 0);
  EXPECT_EQ(load(watch, 2, 100, 5, [&](int i) { return service.answer(i % 5); }), 0);
  const int wrong = load(
      watch, 4, 400, 5, [&](int i) { return service.answer(i % 5, i % 10 == 0 ? ", \"?\"" : ""); });
  EXPECT_GT(wrong, 20);  // the first few are not enough to tell
  EXPECT_LE(wrong, 40);
  EXPECT_EQ(watch.wrong_in_flight(), 4);
  const SameResult result = watch.result();
  EXPECT_EQ(result.wrong_in_flight, 4);
  EXPECT_EQ(result.wrong_answers, 40);
  EXPECT_TRUE(result.differing.empty());  // the setting with fewer in flight is right
}

TEST(AnswerWatch, AnswersThatLeaveWithACrowdBelongToIt) {
  AnswerService service;
  AnswerWatch watch = watch_of(service, 1);
  load(watch, 1, 400, 1, [&](int) { return service.answer(0); });
  load(watch, 8, 100, 1, [&](int) { return service.answer(0); });
  for (int left = 7; left > 0; --left) watch.check(0, service.answer(0, ", \"?\""), left);
  load(watch, 1, 100, 1, [&](int) { return service.answer(0); });
  EXPECT_EQ(watch.wrong_in_flight(), 8);
}

// Three that are handed over at once count down; a larger crowd was there before them.
TEST(AnswerWatch, AnswersThatComeTogetherBelongToTheMostOfThem) {
  AnswerService service;
  AnswerWatch watch = watch_of(service, 5);
  const auto right = [&](int i) { return service.answer(i % 5); };
  load(watch, 2, 400, 5, right);
  load(watch, 4, 20, 5, right);
  for (int round = 0; round < 40; ++round) {
    for (int left = 3; left > 0; --left) watch.check(4, service.answer(1), left);
  }
  EXPECT_GT(watch.wrong_in_flight(), 2);
}

TEST(AnswerWatch, AnAnswerOfAnotherInputIsSwapped) {
  AnswerService service;
  AnswerWatch watch = watch_of(service, 5);
  load(watch, 4, 399, 5, [&](int i) { return service.answer(i % 5); });
  EXPECT_FALSE(watch.check(4, service.answer(1), 4).empty());
  EXPECT_EQ(watch.wrong_in_flight(), 4);
  EXPECT_EQ(watch.result().swapped_answers, 1);
}

TEST(AnswerWatch, ASettingThatReadsOtherwiseIsNoFaultOfTheLoad) {
  AnswerService service;
  AnswerWatchOptions options;
  options.inputs = {"0.png", "1.png", "2.png", "3.png", "4.png"};
  AnswerWatch watch(options);
  watch.use(watch_of(service, 5).reference());
  for (const int in_flight : {1, 8}) {
    EXPECT_EQ(
        load(watch, in_flight, 50, 5, [&](int i) { return service.answer(i % 5, ", \"l,2OO\""); }),
        0);
  }
  const SameResult result = watch.result();
  EXPECT_EQ(result.differing_inputs(), 5);
  EXPECT_EQ(result.differing[0].answers, 20);
  EXPECT_EQ(result.differing[0].differing, 20);
  EXPECT_EQ(result.examples.size(), 3U);
  EXPECT_EQ(result.examples[0].input, "0.png");
  // And a fault of the load is one of this setting too.
  load(watch, 16, 50, 5, [&](int i) { return service.answer(i % 5, ", \"garbage\""); });
  EXPECT_EQ(watch.wrong_in_flight(), 16);
}

TEST(AnswerWatch, TextThatVariesByItselfIsNoFault) {
  for (const int seed : {1, 2, 3, 4, 5}) {
    Random random(static_cast<std::uint64_t>(seed));
    AnswerService service;
    AnswerWatchOptions options;
    options.inputs = {"0.png"};
    AnswerWatch watch(options);
    const auto varied = [&](int) {
      return service.answer(0, random.uniform() < 0.3 ? ", \"x\"" : "");
    };
    watch.begin_asking();
    load(watch, 1, 8, 1, varied);
    watch.learn();
    for (const int in_flight : {1, 2, 4, 8}) load(watch, in_flight, 200, 1, varied);
    EXPECT_EQ(watch.wrong_in_flight(), 0) << seed;
    EXPECT_TRUE(watch.result().compared()) << seed;
  }
}

TEST(AnswerWatch, FewAnswersAloneLeaveADoubtThatMoreDecide) {
  AnswerService service;
  AnswerWatch watch = watch_of(service, 5);
  const auto right = [&](int i) { return service.answer(i % 5); };
  load(watch, 1, 30, 5, right);
  load(watch, 4, 500, 5,
       [&](int i) { return service.answer(i % 5, i % 50 == 0 ? ", \"?\"" : ""); });
  EXPECT_EQ(watch.wrong_in_flight(), 0);
  EXPECT_TRUE(watch.in_doubt());
  load(watch, 1, 1000, 5, right);
  EXPECT_EQ(watch.wrong_in_flight(), 4);
  EXPECT_FALSE(watch.in_doubt());
}

TEST(AnswerWatch, AChangeThatIsAllowedIsNoFault) {
  AnswerService service;
  const AnswerReference reference = watch_of(service, 1).reference();
  for (const double allowed : {0.0, 0.2}) {
    AnswerWatchOptions options;
    options.inputs = {"0.png"};
    options.max_change = allowed;
    AnswerWatch watch(options);
    watch.use(reference);
    load(watch, 1, 100, 1, [&](int) { return service.answer(0); });
    load(watch, 4, 100, 1, [&](int i) { return service.answer(0, i % 2 == 0 ? ", \"?\"" : ""); });
    EXPECT_EQ(watch.wrong_in_flight(), allowed > 0 ? 0 : 4);
  }
}

TEST(AnswerWatch, OrderAndFormCountUnlessTheProgramItselfVariesThem) {
  const std::string ab = R"({"texts": ["caf)"
                         "\xc3\xa9"
                         R"(", "menu"]})";
  const std::string ba = R"({"texts": ["menu", "caf)"
                         "\xc3\xa9"
                         R"("]})";
  const std::string marks = R"({"texts": ["cafe)"
                            "\xcc\x81"
                            R"(", "menu"]})";
  const auto differs = [](const std::vector<std::string>& asked, const std::string& answer) {
    AnswerWatchOptions options;
    options.inputs = {"a.png"};
    AnswerWatch watch(options);
    watch.begin_asking();
    for (const std::string& one : asked) watch.check(0, one, 1);
    watch.learn();
    watch.check(0, answer, 1);
    return !watch.result().differing.empty();
  };
  EXPECT_TRUE(differs({ab, ab}, ba));
  EXPECT_FALSE(differs({ab, ba}, ba));
  EXPECT_TRUE(differs({ab, ab}, marks));
  EXPECT_FALSE(differs({ab, marks}, marks));
  EXPECT_FALSE(differs({ab, marks, ba}, ab));
}

TEST(AnswerWatch, EscapesReadTheSame) {
  AnswerWatchOptions options;
  options.inputs = {"a.png"};
  AnswerWatch watch(options);
  watch.begin_asking();
  watch.check(0, "{\"text\": \"caf\xc3\xa9\"}", 1);
  watch.check(0, "{\"text\": \"caf\\u00e9\"}", 1);
  watch.learn();
  watch.check(0, "{\"text\":\"caf\\u00e9\"}", 1);
  EXPECT_TRUE(watch.result().differing.empty());
  watch.check(0, "{\"text\": \"cafe\"}", 1);
  EXPECT_EQ(watch.result().differing_inputs(), 1);
}

TEST(AnswerWatch, SaysWhyNothingWasCompared) {
  const auto why = [](const std::vector<std::string>& asked, std::vector<std::string> same) {
    AnswerWatchOptions options;
    options.inputs = {"a.png"};
    options.same = std::move(same);
    AnswerWatch watch(options);
    watch.begin_asking();
    for (const std::string& one : asked) watch.check(0, one, 1);
    watch.learn();
    return watch.result().not_compared;
  };
  EXPECT_EQ(why({}, {}), NotCompared::no_reference);
  EXPECT_EQ(why({"{\"n\": 1}", "{\"n\": 2}"}, {}), NotCompared::no_text);
  EXPECT_EQ(why({"{\"n\": \"a b c\"}", "{\"n\": \"d e f\"}"}, {}), NotCompared::all_varies);
  EXPECT_EQ(why({"{\"n\": \"a\"}", "{\"n\": \"a\"}"}, {"result.texts"}), NotCompared::no_text);
}

// With 200 OK, to every picture.
TEST(AnswerReference, AnErrorThatAnswersEveryInputIsNoText) {
  const auto usable = [](const std::vector<std::string>& answers) {
    std::vector<std::vector<std::string>> askings;
    for (const std::string& answer : answers) askings.push_back({answer, answer});
    return AnswerReference::learn(askings, {}).usable();
  };
  const std::string error = R"({"code": 500, "message": "model not loaded"})";
  EXPECT_EQ(usable({error, error}), NotCompared::all_alike);
  EXPECT_EQ(usable({error, R"({"message": "line 1"})"}), NotCompared::no);
  EXPECT_EQ(usable({error}), NotCompared::no) << "one input alone";
}

// Where one text answers every input of the present setting, another in its place is told.
TEST(AnswerWatch, ATextForEveryInputIsComparedWithAnother) {
  const auto answers = [](const std::string& text) {
    AnswerWatchOptions options;
    options.inputs = {"a.png", "b.png"};
    AnswerWatch watch(options);
    const std::string page = R"({"text": "page of the book"})";
    watch.use(AnswerReference::learn({{page, page}, {page, page}}, {}));
    for (int i = 0; i < 40; ++i) watch.check(i % 2, R"({"text": ")" + text + "\"}", 1);
    return watch.result();
  };
  const SameResult present = answers("page of the book");
  EXPECT_EQ(present.not_compared, NotCompared::all_alike);
  const SameResult other = answers("paqe of the book");
  EXPECT_TRUE(other.compared());
  const SameJudgement found = judge_same({&other}, {&present}, 0, 1);
  EXPECT_TRUE(found.differs);
  EXPECT_FALSE(found.allowed);
}

TEST(AnswerReference, RoundTrip) {
  AnswerService service;
  const AnswerReference reference = watch_of(service, 3).reference();
  const auto again = AnswerReference::parse(reference.text());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->inputs()[1].texts, reference.inputs()[1].texts);
  EXPECT_EQ(again->rules().size(), reference.rules().size());
  EXPECT_FALSE(AnswerReference::parse("{}"));
  EXPECT_FALSE(AnswerReference::parse("no JSON"));
}

TEST(AnswerWatch, WithTrueTextsErrorsAreCounted) {
  AnswerWatchOptions options;
  options.inputs = {"a.png"};
  options.truths = {{"1,200"}};
  AnswerWatch watch(options);
  watch.begin_asking();
  watch.check(0, R"({"text": "l,200"})", 1);
  watch.check(0, R"({"text": "l,200"})", 1);
  watch.learn();
  watch.check(0, R"({"text": "1,200"})", 1);
  const SameResult result = watch.result();
  EXPECT_EQ(result.truth_characters, 5);
  EXPECT_EQ(result.truth_errors, 1);
  ASSERT_EQ(result.differing.size(), 1U);
  EXPECT_EQ(result.differing[0].errors, 0);
  EXPECT_EQ(result.differing[0].reference_errors, 1);
}

}  // namespace
}  // namespace ocrtune
