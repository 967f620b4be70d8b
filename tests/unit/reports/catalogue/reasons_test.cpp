// Whole sentences are compared here alone; everywhere else codes are.
#include "reports/catalogue/reasons.h"

#include <set>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

std::string chinese(const Reason& said) { return sentence(said, Language::chinese); }

TEST(Reasons, NumbersHaveTheirUnits) {
  EXPECT_EQ(sentence(reason<ReasonCode::ran_times>(counted(3), Number{907.21, Unit::sample_rate},
                                                   as_rate(694.1), as_rate(1186.2))),
            "Ran 3 times: 907.2 samples/s (694.1 to 1186).");
  const Reason requests = reason<ReasonCode::worth_rate>(Number{151.02, Unit::request_rate});
  EXPECT_EQ(sentence(requests), "151.0 requests/s");
  EXPECT_EQ(chinese(requests), "151.0 请求/秒");
  EXPECT_EQ(sentence(reason<ReasonCode::peak_of_limit>(in_bytes(104e6), in_bytes(2e10),
                                                       in_percent(0.995), in_percent(0.1))),
            "Peak memory 99.2 MiB of 18.6 GiB: 99.5 % stay free (at least 10.0 % asked).");
  EXPECT_EQ(sentence(reason<ReasonCode::times_the_baseline>(decimal(1.774, 2), decimal(1.17, 2),
                                                            decimal(2.68, 2))),
            "1.77 times the baseline (1.17 to 2.68).");
  EXPECT_EQ(sentence(reason<ReasonCode::target_in_milliseconds>(general(99, 6), general(20, 4))),
            "p99 under 20 ms");
}

TEST(Reasons, OneIsSingular) {
  const auto ran = [](int times) {
    return sentence(reason<ReasonCode::ran_times>(counted(times), Number{1, Unit::sample_rate},
                                                  as_rate(1), as_rate(1)));
  };
  EXPECT_EQ(ran(1), "Ran 1 time: 1 samples/s (1 to 1).");
  EXPECT_EQ(ran(0), "Ran 0 times: 1 samples/s (1 to 1).");
  EXPECT_EQ(sentence(reason<ReasonCode::term_cores>(general(0.998, 2))), "behaves like 1 core")
      << "the number as it is shown";
}

TEST(Reasons, ReasonsStandInReasons) {
  const Reason slower = reason<ReasonCode::slower>(decimal(12, 0));
  const Reason said =
      reason<ReasonCode::predicted_not_run>(reason<ReasonCode::within_noise>(slower));
  EXPECT_EQ(sentence(said), "predicted 12 % slower, within the noise, not run");
  EXPECT_EQ(chinese(said), "预测慢 12 %，在噪声范围内，未运行");
  const Reason alone = reason<ReasonCode::certified>(counted(3), Reason());
  EXPECT_EQ(sentence(alone),
            "with 95 % probability no setting of the space is more than 3 % better");
  EXPECT_EQ(chinese(alone), "以 95 % 的置信度，搜索空间内没有配置能再好 3 % 以上");
}

TEST(Reasons, AZeroHasNoMinus) {
  const auto told = [](double low) {
    return sentence(reason<ReasonCode::rule_costs>(decimal(1, 0), decimal(low, 0), decimal(2, 0)));
  };
  EXPECT_EQ(told(-0.4), "costs 1 % (0..2 %)");
  EXPECT_EQ(told(-1.4), "costs 1 % (-1..2 %)");
}

TEST(Reasons, ArgumentsMayChangePlacesInChinese) {
  EXPECT_EQ(chinese(reason<ReasonCode::memory_grows_in_trials>(counted(2), counted(3),
                                                               in_bytes(1 << 20), in_bytes(1 << 19),
                                                               in_bytes(1 << 21), in_seconds(60))),
            "3 次试验中有 2 次内存每秒增长 1.0 MiB（512.0 KiB 至 2.0 MiB）：照此速度将在 1 分 00 "
            "秒 后达到上限。");
}

TEST(Reasons, AQuotedSentenceEndsOnce) {
  EXPECT_EQ(sentence(reason<ReasonCode::none_works>(
                "nproc=1", reason<ReasonCode::outcome_crashed>(), verbatim("no such file."))),
            "No setting works: nproc=1 ended with crashed: no such file.");
}

TEST(Reasons, BracesInTextAreText) {
  EXPECT_EQ(sentence(verbatim("{0:a|b} {} {")), "{0:a|b} {} {");
}

// A stored reason of another version may have fewer arguments.
TEST(Reasons, MissingArgumentsLeaveHoles) {
  EXPECT_EQ(sentence(Reason{ReasonCode::slower, {}}), " % slower");
  EXPECT_EQ(sentence(Reason()), "");
}

TEST(Reasons, SentencesFollowOneAnother) {
  const std::vector<Reason> two = {reason<ReasonCode::compared_alike>(),
                                   reason<ReasonCode::machines_differ>()};
  EXPECT_EQ(sentence(two), "The recommended settings cannot be told apart. The machines differ.");
  EXPECT_EQ(sentence(two, Language::chinese), "两次的推荐配置无法区分快慢。机器不同。");
  EXPECT_EQ(say(two[1]),
            "<span lang=\"en\">The machines differ.</span><span lang=\"zh\">机器不同。</span>");
}

TEST(Reasons, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const ReasonCodeRow& row : kReasonCodes) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

// Both languages say it in every row, each in its own.
TEST(Reasons, EveryRowIsWritten) {
  for (const ReasonCodeRow& row : kReasonCodes) {
    if (row.code == ReasonCode::none || row.code == ReasonCode::verbatim) continue;
    const Reason said{row.code, std::vector<Argument>(row.arity, Argument("x"))};
    EXPECT_NE(sentence(said), "") << row.name;
    EXPECT_NE(chinese(said), "") << row.name;
    // A number with its unit alone.
    if (row.code != ReasonCode::ended_with && row.code != ReasonCode::worth_rate) {
      EXPECT_NE(chinese(said), sentence(said)) << row.name;
    }
  }
}

}  // namespace
}  // namespace ocrtune
