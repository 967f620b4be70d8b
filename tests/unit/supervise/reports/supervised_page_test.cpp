#include "extras/supervise/reports/supervised_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

SuperviseEnd two_attempts() {
  SuperviseEnd end;
  AttemptSummary first;
  first.command = {"python", "train.py", "--name=<b>"};
  first.ending = "killed by SIGKILL";
  first.seconds = 90;
  first.peak_bytes = 3ULL << 30;
  first.warnings = {"12 s: memory grows"};
  first.memory = {{0, 1e9}, {40, 2e9}, {90, 3e9}};
  end.attempts = {first, first};
  end.attempts[1].ending = "exit code 0";
  end.attempts[1].memory = {{0, 1e9}, {1, 2e9}};
  end.warnings = 1;
  return end;
}

TEST(SupervisedPage, HasTheFrameOfEveryPage) {
  const std::string page = supervised_html({}, two_attempts(), "2026-11-22");
  EXPECT_THAT(page, HasSubstr("id=\"language\""));
  EXPECT_THAT(page, HasSubstr("id=\"theme\""));
  EXPECT_THAT(page, HasSubstr("<a href=\"#attempts\">"));
  EXPECT_THAT(page, HasSubstr("运行在第 2 次尝试时正常结束。"));
  EXPECT_THAT(page, HasSubstr("The run ended well, at attempt 2."));
  EXPECT_THAT(page, Not(HasSubstr("--name=<b>")));
  EXPECT_THAT(page, Not(HasSubstr("0.0 ms")));
}

TEST(SupervisedPage, ATraceOfTwoPointsIsNotDrawn) {
  SuperviseEnd end = two_attempts();
  EXPECT_THAT(supervised_html({}, end, ""), HasSubstr("Memory of attempt 1: up to 2.8 GiB"));
  EXPECT_THAT(supervised_html({}, end, ""), Not(HasSubstr("Memory of attempt 2")));
}

TEST(SupervisedPage, AFailureIsTheFirstThingSaid) {
  SuperviseEnd end = two_attempts();
  end.state = SuperviseState::gave_up;
  end.reason = "5 failures in a row without getting further";
  const std::string page = supervised_html({}, end, "");
  EXPECT_LT(page.find("Gave up: "), page.find("<table"));
}

}  // namespace
}  // namespace ocrtune
