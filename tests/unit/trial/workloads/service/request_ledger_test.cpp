#include "trial/workloads/service/request_ledger.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

const LatencySlo kSlo{0.99, 1.0};

TEST(RequestLedger, CountsFatesInOrderOfIntendedStart) {
  RequestLedger ledger(kSlo, 0);
  ledger.start(0.0, 0);
  ledger.start(0.1, 0);
  ledger.finish(1, 0.2, true);  // the quick one first
  ledger.settle(0.2);
  EXPECT_EQ(ledger.judged(), 0);  // the slow one is still open
  ledger.finish(0, 0.9, true);
  ledger.settle(0.9);
  EXPECT_EQ(ledger.judged(), 2);
  EXPECT_EQ(ledger.over(), 0);
}

TEST(RequestLedger, SilenceBeyondTheLimitIsLate) {
  RequestLedger ledger(kSlo, 0);
  ledger.start(0.0, 0);
  ledger.settle(1.01);
  EXPECT_EQ(ledger.judged(), 1);
  EXPECT_EQ(ledger.over(), 1);
  EXPECT_EQ(ledger.unanswered(), 1);
  EXPECT_TRUE(ledger.finish(0, 5, true).has_value());  // the late answer is still a latency
  EXPECT_EQ(ledger.unanswered(), 0);
  ledger.settle(5);
  EXPECT_EQ(ledger.over(), 1);  // and not counted twice
}

TEST(RequestLedger, AnswersNobodyAskedForAreIgnored) {
  RequestLedger ledger(kSlo, 0);
  ledger.start(0, 3);
  EXPECT_FALSE(ledger.finish(7, 0.1, true).has_value());
  const auto request = ledger.finish(0, 0.1, true);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->kind, 3);
  EXPECT_FALSE(ledger.finish(0, 0.2, true).has_value());  // twice
  ledger.settle(0.2);
  EXPECT_FALSE(ledger.finish(0, 0.3, true).has_value());  // long gone
}

TEST(RequestLedger, AFailureIsOverWithoutAnSloToo) {
  RequestLedger ledger(std::nullopt, 0);
  ledger.start(0, 0);
  ledger.start(0, 0);
  ledger.finish(0, 0.1, false);
  ledger.finish(1, 1000, true);
  ledger.settle(2000);
  EXPECT_EQ(ledger.judged(), 2);
  EXPECT_EQ(ledger.over(), 1);
}

TEST(RequestLedger, GrowsPastItsFirstSizeWithOneRequestOutstanding) {
  RequestLedger ledger(kSlo, 0);
  ledger.start(0, 0);
  for (std::uint64_t i = 1; i < 20000; ++i) {
    ASSERT_EQ(ledger.start(0.0, static_cast<int>(i % 7)), i);
    ASSERT_EQ(ledger.finish(i, 0.1, true)->kind, static_cast<int>(i % 7));
  }
  EXPECT_EQ(ledger.unanswered(), 1);
  EXPECT_TRUE(ledger.finish(0, 0.5, true).has_value());
  ledger.settle(0.5);
  EXPECT_EQ(ledger.judged(), 20000);
}

}  // namespace
}  // namespace ocrtune
