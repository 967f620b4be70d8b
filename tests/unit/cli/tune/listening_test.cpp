#include "cli/tune/listening.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::Not;

Trial silent_trial(Outcome outcome, const std::string& cause) {
  Trial trial;
  trial.outcome = outcome;
  trial.cause = cause;
  trial.reason = "open a pipe: Too many open files";
  trial.seconds = 37.6;
  return trial;
}

ReaderFinder heard_pages() {
  ReaderFinder finder{LogContext()};
  for (int i = 0; i < 14; ++i) finder.add("wrote a page", 2.0 * i);
  return finder;
}

TEST(Listening, OfACommandThatWasStoppedTheWayToTimeWholeRunsIsNamed) {
  const Error error = nothing_heard(heard_pages(), silent_trial(Outcome::timed_out, ""), "");
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_THAT(error.what, HasSubstr("after 37.6 s: not one of 14 lines printed holds a speed"));
  EXPECT_THAT(error.what, HasSubstr("it was stopped then: if"));
  const Error ended = nothing_heard(heard_pages(), silent_trial(Outcome::crashed, "no_metric"), "");
  EXPECT_THAT(ended.what, Not(HasSubstr("stopped")));
}

TEST(Listening, ASilentCommandMayBeTimedAsAWhole) {
  const Error error =
      nothing_heard(ReaderFinder{LogContext()}, silent_trial(Outcome::hung, "silent"), "");
  EXPECT_EQ(error.kind, ErrorKind::failed);
  EXPECT_THAT(error.what, HasSubstr("--log-reader runs"));
}

TEST(Listening, WhatTheSystemRefusesIsNotTheCommandsDoing) {
  const Error error = nothing_heard(heard_pages(), silent_trial(Outcome::crashed, "resources"), "");
  EXPECT_EQ(error.kind, ErrorKind::exhausted);
  EXPECT_THAT(error.what, HasSubstr("started: open a pipe"));
}

TEST(Listening, AServerIsToldHowItIsMeasured) {
  Trial trial = silent_trial(Outcome::crashed, "server");
  trial.reason = "it listens on 29778: a server is measured with --mode infer";
  const Error error = nothing_heard(heard_pages(), trial, "");
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_EQ(error.what, "after 37.6 s: " + trial.reason);
}

}  // namespace
}  // namespace ocrtune
