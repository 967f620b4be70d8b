// Processes that a program starts by itself, each of which prints a line of its own.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "trial/logs/log_reader.h"
#include "trial/logs/log_text.h"
#include "trial/logs/reader_finder.h"

namespace ocrtune {
namespace {

using SpokenLines = std::vector<std::pair<double, std::string>>;

double rate_of_spoken(const std::string& reader, const LogContext& context,
                      const SpokenLines& lines) {
  const auto made = make_log_reader(reader, context);
  EXPECT_TRUE(made.ok()) << made.error().what;
  double samples = 0, seconds = 0;
  for (const auto& [now, line] : lines) {
    std::vector<Event> events;
    (*made)->read_line(line, now, events);
    for (const Event& event : events) {
      const auto* ready = std::get_if<ReadyEvent>(&event);
      if (ready != nullptr && ready->anew) samples = seconds = 0;
      const auto* step = std::get_if<StepEvent>(&event);
      if (step == nullptr) continue;
      samples += static_cast<double>(step->samples);
      seconds += step->seconds;
    }
  }
  return seconds > 0 ? samples / seconds : 0;
}

// Worker 0 makes 10 images a second, worker 1 half as many.
SpokenLines two_workers(bool counts) {
  SpokenLines lines;
  for (int i = 1; i <= 60; ++i) {
    for (int worker = 0; worker < 2; ++worker) {
      const std::string whose = "[worker " + std::to_string(worker) + "] ";
      const int pages = worker == 0 ? 10 * i : 5 * i;
      lines.emplace_back(i + 0.3 * worker, counts
                                               ? whose + "page " + std::to_string(pages)
                                               : whose + (worker == 0 ? "10.0" : "5.0") + " img/s");
    }
  }
  return lines;
}

LogContext own_processes(int nproc) {
  LogContext context;
  context.nproc = nproc;
  context.per_rank = true;
  return context;
}

TEST(OwnProcesses, RatesAreAddedUp) {
  const SpokenLines both = two_workers(false);
  EXPECT_NEAR(rate_of_spoken("torch", own_processes(2), both), 15, 0.1);
  EXPECT_NEAR(rate_of_spoken("torch", own_processes(1), both), 15, 0.1) << "of any knob's";
  SpokenLines first;
  for (const auto& line : both) {
    if (line.second.find("worker 0") != std::string::npos) first.push_back(line);
  }
  EXPECT_NEAR(rate_of_spoken("torch", own_processes(1), first), 10, 0.1);
  LogContext of_the_job;
  of_the_job.per_rank = false;
  EXPECT_NEAR(rate_of_spoken("torch", of_the_job, first), 10, 0.1);
}

TEST(OwnProcesses, CountersAreAddedUp) {
  EXPECT_NEAR(rate_of_spoken("regex:page (?<sample>[0-9]+)", own_processes(1), two_workers(true)),
              15, 0.5);
}

TEST(OwnProcesses, AreHeardWhereTheirLinesNameThem) {
  ReaderFinder finder(LogContext{});
  for (const auto& [now, line] : two_workers(false)) finder.add(line, now);
  ASSERT_TRUE(finder.choice().has_value());
  EXPECT_EQ(finder.processes_heard(*finder.choice()), 2);
  ReaderFinder plain(LogContext{});
  for (int i = 1; i < 9; ++i) {
    plain.add("[worker 1] is loading", i);
    plain.add("[worker 0] is loading", i);
    plain.add("loss 2." + std::to_string(i) + " 12.5 img/s", i);
  }
  ASSERT_TRUE(plain.choice().has_value());
  EXPECT_EQ(plain.processes_heard(*plain.choice()), 0) << "the speed is of all of them";
}

TEST(OwnProcesses, TheirCountersAreFound) {
  ReaderFinder finder(LogContext{});
  for (int page = 1; page < 60; ++page) {
    for (const char* whose : {"[worker 0]", "[worker 1]"}) {
      finder.add(whose + (" page " + std::to_string(page)) + "/5000", 0.1 * page);
    }
  }
  ASSERT_TRUE(finder.choice().has_value());
  EXPECT_NE(finder.choice()->log_reader.find("page"), std::string::npos);
  EXPECT_EQ(finder.processes_heard(*finder.choice()), 2);
}

TEST(OwnProcesses, AreToldFromNumbersOfThings) {
  EXPECT_EQ(process_named("[worker 3] 12.5 img/s", 1), 3);
  EXPECT_EQ(process_named("INFO ForkPoolWorker-2 12.5 img/s", 1), 2);
  EXPECT_EQ(process_named("gpu 1: 12.5 img/s", 1), 1);
  EXPECT_EQ(process_named("(rank=0) 12.5 img/s", 1), 0);
  EXPECT_EQ(process_named("[default1]: 12.5 img/s", 2), 1);
  for (const char* line :
       {"processed 16 images, 12.5 img/s", "process 16 images, 12.5 img/s", "gpu 45% 12.5 img/s",
        "gpu: 5120 MiB, 12.5 img/s", "12.5 img/s/gpu", "workers: 2, 12.5 img/s", "gpu 0.5: 1"}) {
    EXPECT_FALSE(process_named(line, 1)) << line;
  }
}

}  // namespace
}  // namespace ocrtune
