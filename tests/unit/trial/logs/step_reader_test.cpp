// Steps that processes report by ocrtune.step(), each on its own clock.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trial/logs/log_reader.h"
#include "trial/logs/reader_finder.h"

namespace ocrtune {
namespace {

struct Report {
  int process = 0;
  double at = 0;  // when it comes
  std::int64_t samples = 0;
  double seconds = 0;
};

struct HeardReports {
  int ready = 0;
  std::vector<StepEvent> steps;
  double rate() const {
    double samples = 0, seconds = 0;
    for (const StepEvent& step : steps) {
      samples += static_cast<double>(step.samples);
      seconds += step.seconds;
    }
    return seconds > 0 ? samples / seconds : 0;
  }
};

Event hello_of_process(int process) {
  HelloEvent hello;
  hello.rank = hello.pid = process;
  return hello;
}

Event report_event(const Report& report) {
  StepEvent step;
  step.rank = report.process;
  step.samples = report.samples;
  step.seconds = report.seconds;
  return step;
}

HeardReports heard_reports(const std::vector<Report>& reports) {
  LogContext context;
  context.nproc = 4;
  context.batch = 64;
  context.per_rank = true;  // as copies have it: here each reports for itself
  const auto reader = make_log_reader("steps", context).value();
  std::vector<Event> events;
  reader->read_event(hello_of_process(reports.at(0).process), reports[0].at - reports[0].seconds,
                     events);
  for (const Report& report : reports) {
    reader->read_event(report_event(report), report.at, events);
  }
  HeardReports heard;
  for (const Event& event : events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) heard.steps.push_back(*step);
    heard.ready += std::holds_alternative<ReadyEvent>(event) ? 1 : 0;
  }
  return heard;
}

// Each process at its own pace, reporting every `seconds`.
std::vector<Report> reports_of(const std::vector<std::pair<int, std::int64_t>>& processes,
                               double seconds, int times) {
  std::vector<Report> reports;
  for (int i = 1; i <= times; ++i) {
    for (const auto& [process, samples] : processes) {
      reports.push_back({process, i * seconds + 1e-3 * process, samples, seconds});
    }
  }
  return reports;
}

TEST(StepReader, TheRatesOfAllProcessesAreAddedUp) {
  EXPECT_NEAR(heard_reports(reports_of({{7, 30}}, 0.1, 40)).rate(), 300, 1);
  EXPECT_NEAR(heard_reports(reports_of({{7, 30}, {8, 10}, {9, 20}}, 0.1, 40)).rate(), 600, 2);
}

TEST(StepReader, AProcessThatReportsMoreRarelyCountsWithItsRate) {
  std::vector<Report> reports;
  for (int i = 1; i <= 400; ++i) {
    reports.push_back({7, 0.1 * i, 10, 0.1});
    if (i % 10 == 0) reports.push_back({8, 0.1 * i, 200, 1});
  }
  HeardReports heard = heard_reports(reports);
  heard.steps.erase(heard.steps.begin(), heard.steps.begin() + 20);  // before its first report
  EXPECT_NEAR(heard.rate(), 300, 1);
}

TEST(StepReader, ShortStepsWarmUpForHalfASecondAndALongOneIsWatchedFromItsBegin) {
  const HeardReports brief = heard_reports(reports_of({{7, 30}}, 0.1, 40));
  EXPECT_EQ(brief.ready, 2);  // the watch begins anew
  EXPECT_EQ(brief.steps.size(), 35U);
  const HeardReports lasting = heard_reports(reports_of({{7, 30}}, 3, 4));
  EXPECT_EQ(lasting.ready, 1);
  EXPECT_EQ(lasting.steps.size(), 4U);
  EXPECT_DOUBLE_EQ(lasting.rate(), 10);
}

TEST(StepReader, AnotherProcessIsTheClockWhereTheFirstOneEnds) {
  std::vector<Report> reports = reports_of({{7, 30}, {8, 10}}, 0.1, 20);
  for (int i = 1; i <= 100; ++i) reports.push_back({8, 2 + 0.1 * i, 10, 0.1});
  const HeardReports heard = heard_reports(reports);
  ASSERT_GT(heard.steps.size(), 15U + 40U);  // after 5 s of silence
  EXPECT_NEAR(static_cast<double>(heard.steps.front().samples) / heard.steps.front().seconds, 400,
              1);
  EXPECT_NEAR(static_cast<double>(heard.steps.back().samples) / heard.steps.back().seconds, 100, 1);
}

TEST(StepReader, OtherEventsAndOtherLinesMeanNothing) {
  const auto reader = make_log_reader("steps", LogContext()).value();
  std::vector<Event> events;
  reader->read_event(ErrorEvent{}, 1, events);
  reader->read_event(DoneEvent{}, 1, events);
  reader->read_line("412.7 samples/s", 1, events);
  reader->read_line("{\"samples_per_second\": 412.7}", 2, events);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(reader->known_lines(), 0);
  EXPECT_NE(reader->why_unread("").find("ocrtune.step(samples)"), std::string::npos);
}

TEST(StepReader, IsChosenBeforeWhatIsPrinted) {
  ReaderFinder finder{LogContext()};
  finder.add("412.7 samples/s", 1);
  EXPECT_FALSE(finder.is_settled());
  finder.add_event(ErrorEvent{});
  EXPECT_FALSE(finder.is_settled());
  finder.add_event(hello_of_process(7));
  ASSERT_TRUE(finder.choice());
  EXPECT_EQ(finder.choice()->log_reader, "steps");
  EXPECT_EQ(choice_options(*finder.choice()), "--log-reader steps");
  ASSERT_TRUE(make_log_reader(finder.choice()->log_reader, LogContext()));
}

}  // namespace
}  // namespace ocrtune
