#include "trial/logs/reader_finder.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/script_logs.h"

namespace ocrtune {
namespace {

struct HeardScript {
  std::optional<ReaderChoice> choice;
  double settled_seconds = -1;
  double samples_per_second = 0;  // of the job, as the reader that was found reads all lines
};

LogContext context_of(const ScriptJob& job, bool batch_known) {
  LogContext context;
  context.nproc = job.nproc;
  context.batch = batch_known ? job.batch : 1;
  return context;
}

HeardScript hear(const std::vector<ScriptLine>& lines, const LogContext& context) {
  HeardScript heard;
  ReaderFinder finder(context);
  for (const auto& [seconds, line] : lines) {
    finder.add(line, seconds);
    if (!finder.is_settled()) continue;
    heard.settled_seconds = seconds;
    break;
  }
  heard.choice = finder.choice();
  if (!heard.choice) return heard;
  LogContext found = context;
  found.per_rank = heard.choice->per_rank;
  auto reader = make_log_reader(heard.choice->log_reader, found);
  if (!reader) {
    ADD_FAILURE() << heard.choice->log_reader << ": " << reader.error().what;
    return heard;
  }
  std::vector<Event> events;
  for (const auto& [seconds, line] : lines) (*reader)->read_line(line, seconds, events);
  double samples = 0, seconds = 0;
  for (const Event& event : events) {
    const auto* step = std::get_if<StepEvent>(&event);
    if (step == nullptr) continue;
    samples += static_cast<double>(step->samples);
    seconds += step->seconds;
  }
  heard.samples_per_second = seconds > 0 ? samples / seconds : 0;
  return heard;
}

bool reads_samples(const ReaderChoice& choice) {
  return choice.reads == ReaderChoice::Reads::samples_per_second ||
         choice.reads == ReaderChoice::Reads::seconds_per_sample ||
         choice.reads == ReaderChoice::Reads::samples || choice.reads == ReaderChoice::Reads::own;
}

// The batch that a command is given, or none: then a step counts as one sample.
double truth(const Script& script, const ScriptJob& job, const ReaderChoice& choice,
             bool batch_known) {
  const bool samples = reads_samples(choice);
  const double of_a_step = script.trains && (samples || batch_known) ? job.batch : 1;
  return of_a_step * job.nproc / job.step_seconds;
}

// Found, and read right: per script, batches and processes.
struct Case {
  ScriptJob job;
  bool batch_known;
};

int count_found(const Case& one, int& wrong) {
  int found = 0;
  for (const Script& script : public_scripts()) {
    if (!script.trains && (one.batch_known || one.job.nproc > 1)) continue;
    const HeardScript heard = hear(script.print(one.job), context_of(one.job, one.batch_known));
    if (!heard.choice) continue;
    ++found;
    const double right = truth(script, one.job, *heard.choice, one.batch_known);
    bool good = std::abs(heard.samples_per_second / right - 1) < 0.08;
    if (heard.choice->reads == ReaderChoice::Reads::counts) {  // of either, and said so
      good = good || std::abs(heard.samples_per_second / right / one.job.batch - 1) < 0.08;
    }
    if (!good) ++wrong;
    EXPECT_EQ(reads_steps(heard.choice->log_reader), !reads_samples(*heard.choice))
        << script.name << ": " << heard.choice->log_reader;
    EXPECT_TRUE(good) << script.name << " batch " << one.job.batch << " nproc " << one.job.nproc
                      << ": " << heard.samples_per_second << " instead of " << right << " by "
                      << heard.choice->log_reader << " in '" << heard.choice->line << "'";
  }
  return found;
}

TEST(ReaderFinder, FindsTheSpeedOfPublicScripts) {
  int wrong = 0;
  EXPECT_EQ(count_found({{.batch = 64}, true}, wrong), 15);  // of the fifteen that train
  EXPECT_EQ(count_found({{.batch = 64}, false}, wrong), 16);
  EXPECT_EQ(wrong, 0);
}

TEST(ReaderFinder, IsRightForOtherBatchesAndSpeeds) {
  int wrong = 0;
  for (const int batch : {1, 2, 5, 8, 10, 20, 50, 100, 128, 256}) {
    for (const double step : {0.02, 0.5, 1.0}) {
      count_found({{.batch = batch, .step_seconds = step}, true}, wrong);
      count_found({{.batch = batch, .step_seconds = step}, false}, wrong);
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(ReaderFinder, FindsWhoseRateItIsWhereRanksShareTheWork) {
  int wrong = 0;
  EXPECT_GE(count_found({{.batch = 64, .nproc = 2}, true}, wrong), 15);
  EXPECT_GE(count_found({{.batch = 32, .nproc = 4}, true}, wrong), 15);
  EXPECT_EQ(wrong, 0);
}

std::vector<ScriptLine> every(double seconds, int count,
                              const std::function<std::string(int)>& line) {
  std::vector<ScriptLine> lines;
  for (int i = 0; i < count; ++i) lines.emplace_back(2 + i * seconds, line(i));
  return lines;
}

ReaderFinder listened(const std::vector<ScriptLine>& lines) {
  ReaderFinder finder{LogContext()};
  for (const auto& [seconds, line] : lines) finder.add(line, seconds);
  return finder;
}

// Two ranks of eight samples, 55 steps/s each: what timm prints is the rate of both. Its lines come
// faster than a clock can be read by three of them.
TEST(ReaderFinder, WaitsForTheClockToSayWhoseRateItIs) {
  const auto heard_of = [](double rate) {
    std::vector<ScriptLine> lines;
    for (int step = 0; step <= 300; step += 25) {
      lines.push_back({step / 55.0, fmt::format("Train: 0 [{:>4}/300 ({:>3}%)]  Loss: 6.95 (6.95)  "
                                                "Time: 0.018s,  {:.2f}/s  (0.018s,  {:.2f}/s)",
                                                step, step / 3, rate, rate)});
    }
    LogContext context;
    context.nproc = 2;
    context.batch = 8;
    return hear(lines, context);
  };
  ASSERT_TRUE(heard_of(882).choice);
  EXPECT_EQ(heard_of(882).choice->per_rank, std::optional(false));
  EXPECT_EQ(heard_of(441).choice->per_rank, std::optional(true));
}

TEST(ReaderFinder, AValidationIsNotTheSpeedOfTheTraining) {
  for (const std::string line :
       {"{'eval_loss': '2.9', 'eval_runtime': '0.1', 'eval_samples_per_second': '380.4'}",
        "[2026/11/28 10:00:00] ppocr INFO: cur metric, acc: 0.1, norm_edit_dis: 0.2, fps: "
        "1234.5"}) {
    std::vector<ScriptLine> lines;
    for (int i = 0; i < 8; ++i) lines.push_back({1.0 * i, line});
    EXPECT_FALSE(hear(lines, LogContext()).choice) << line;
    ReaderFinder finder((LogContext()));
    for (const auto& [seconds, text] : lines) finder.add(text, seconds);
    const auto choice = finder.choice_at_end();
    ASSERT_TRUE(choice) << "a command that does nothing else: " << line;
    EXPECT_EQ(choice->reads, ReaderChoice::Reads::samples_per_second) << line;
  }
}

std::string bar_of(const std::string& title, int done, int total, double rate) {
  return fmt::format("{}{:>3}%|##  | {}/{} [00:05<00:05, {:5.2f}it/s]", title, 100 * done / total,
                     done, total, rate);
}

// 20 steps of 0.1 s, then 15 of a validation of 0.02 s, in a bar without a title.
TEST(ReaderFinder, ABarOfAValidationIsAnotherBar) {
  std::vector<ScriptLine> lines;
  double now = 0;
  for (int step = 1; step <= 400; ++step) {
    lines.push_back({now += 0.1, bar_of("", step, 2000, 9.9)});
    for (int i = 1; step % 20 == 0 && i <= 15; ++i) {
      lines.push_back({now += 0.02, bar_of("", i, 15, 49.0)});
    }
  }
  const HeardScript heard = hear(lines, LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 20 / 2.3, 0.3);
}

// Epochs of 18 steps of 0.1 s that take a second to begin: each bar's mean begins anew.
TEST(ReaderFinder, ABarsOwnMeanIsNotItsSpeed) {
  std::vector<ScriptLine> lines;
  double now = 0;
  for (int epoch = 1; epoch <= 12; ++epoch) {
    const double begin = now;
    now += 1;
    for (int step = 1; step <= 18; ++step) {
      now += 0.1;
      lines.push_back({now, bar_of(fmt::format("{}/100  0G  {:.3g}", epoch, 8.0 / step), step, 18,
                                   step / (now - begin))});
    }
  }
  const HeardScript heard = hear(lines, LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 18 / 2.8, 0.3);
}

TEST(ReaderFinder, OfRatesInSeveralLinesThatOfSamples) {
  std::vector<ScriptLine> lines;
  for (int i = 1; i < 20; ++i) {
    lines.push_back({2.0 * i, fmt::format("throughput/batches_per_sec: {}.9", 9 + i % 2)});
    lines.push_back({2.0 * i, fmt::format("throughput/samples_per_sec: {}.1", 158 + i % 3)});
  }
  const HeardScript heard = hear(lines, LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_EQ(heard.choice->reads, ReaderChoice::Reads::samples_per_second);
}

TEST(ReaderFinder, LinesThatComeFastAreHeard) {
  const auto line = [](int i) { return fmt::format("{}.5 img/s", 400 + i % 7); };
  EXPECT_TRUE(hear(every(0.004, 2000, line), LogContext()).choice);
}

TEST(ReaderFinder, ATextThatIsReadSaysNothingOfTheSpeed) {
  const std::vector<std::string> page = {"we read 30 images/s on one card", "12 images per second.",
                                         "Table 4: 45.2 samples/s with it", "| ours | 81 img/s |"};
  std::vector<ScriptLine> lines;
  for (int i = 1; i < 60; ++i) {
    lines.push_back({0.5 * i, bar_of("", i, 500, 2)});
    lines.push_back({0.5 * i, page[static_cast<std::size_t>(i) % page.size()]});
  }
  const HeardScript heard = hear(lines, LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_EQ(heard.choice->log_reader, "progress");
  EXPECT_NEAR(heard.samples_per_second, 2, 0.1);
}

TEST(ReaderFinder, ABarWithAClockIsTimed) {
  const auto line = [](int i) {
    return fmt::format("stage 0/9 \u2501\u2501\u2501 {}/200 0:01:{:02} 0:00:{:02}", 5 * i, 40 - i,
                       i);
  };
  const HeardScript heard = hear(every(1, 20, line), LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 5, 0.1);
}

TEST(ReaderFinder, OfCountsSideBySideTheOneThatMissesNothing) {
  const auto lines = every(1, 20, [](int i) {
    return fmt::format("At iteration {}/{}/{}, mean rms=3.{}%", 70 * i - i * i, 100 * i,
                       100 * i + i / 9, i);
  });
  const HeardScript heard = hear(lines, LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 100, 3);
}

// A line each 20 steps, with the mean time of one.
TEST(ReaderFinder, TakesATimeThatTheClockConfirmsByACount) {
  const auto line = [](int i) { return fmt::format("#{:08}: loss=2.1 dt=0.10{}s", 20 * i, i); };
  const HeardScript heard = hear(every(2, 10, line), LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_EQ(heard.choice->log_reader, "metric:dt:s/step");
  EXPECT_NEAR(heard.samples_per_second, 10, 1);
}

TEST(ReaderFinder, ANameThatOtherLinesHaveTooIsReadWithItsNeighbours) {
  std::vector<ScriptLine> lines;
  for (int i = 1; i < 40; ++i) {
    lines.push_back({0.5 * i, "Loaded: 0.000031 seconds"});
    lines.push_back(
        {0.5 * i + 0.499, fmt::format("{}: 2.3 avg loss, 0.001 rate, 0.50{} seconds, {} "
                                      "images",
                                      i, i % 10, 8 * i)});
  }
  const HeardScript heard = hear(lines, LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 2, 0.1) << heard.choice->log_reader;
}

TEST(ReaderFinder, OfSeveralTimesTheOneThatIsNearestToTheClock) {
  const auto line = [](int i) {
    return fmt::format(
        "2024-05-01 10:00:{:02} 1epoch:train:#{}: iter_time=1.3e-04, "
        "forward_time=0.07, loss=2.1, train_time=0.100",
        i, 20 * i + 20);
  };
  const HeardScript heard = hear(every(2, 12, line), LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_EQ(heard.choice->log_reader, "metric:train_time:s/step");
  EXPECT_NEAR(heard.samples_per_second, 10, 0.5);
}

// As ESPnet prints it: the time of four batches that make one step.
TEST(ReaderFinder, AStepThatIsNamedBehindItsNumberIsCounted) {
  const auto line = [](int i) {
    return fmt::format("1epoch:train:{}-{}batch: loss=2.1, train_time=0.18{}", 20 * i + 1,
                       20 * i + 20, i % 9);
  };
  const HeardScript heard = hear(every(0.93, 12, line), context_of({4, 1}, true));
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 4 * 20 / 0.93, 3) << heard.choice->log_reader;
}

// DeepSpeed's lines, with eight batches to a step.
TEST(ReaderFinder, ANameWithinAnotherOneIsNotRead) {
  std::vector<ScriptLine> lines = {{0, "Gradient Accumulation steps = 8"}};
  for (int i = 1; i < 20; ++i) {
    lines.push_back({1.0 * i, fmt::format("[Rank 0] step={}, skipped=0, lr=[0.001]", 10 * i)});
    lines.push_back({1.0 * i + 0.001,
                     fmt::format("epoch=0/micro_step={}/global_step={}, note", 80 * i, 10 * i)});
  }
  const HeardScript heard = hear(lines, context_of({4, 1}, true));
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 40, 1) << heard.choice->log_reader;
  EXPECT_EQ(listened(lines).accumulated(), 8);
  for (ScriptLine& line : lines) line.second += ", CurrSamplesPerSec=319.5, MemAllocated=4.32GB";
  const HeardScript printed = hear(lines, context_of({4, 1}, true));
  ASSERT_TRUE(printed.choice);
  EXPECT_NEAR(printed.samples_per_second, 319.5, 1) << printed.choice->log_reader;
}

// Two counts behind the same word: the pattern holds as much as tells them apart.
TEST(ReaderFinder, ACountIsToldFromAnEarlierOneOfTheSameWord) {
  const HeardScript heard = hear(every(0.4, 30,
                                       [](int i) {
                                         return fmt::format(
                                             "Epoch is [{}/900], mini-batch is [{}/41], time "
                                             "consumption is 0.35018420, batch_loss is 2.05",
                                             1 + i / 41, 1 + i % 41);
                                       }),
                                 context_of({4, 1}, true));
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 4 / 0.4, 0.2) << heard.choice->log_reader;
}

// A clock since the start, whatever it is called.
TEST(ReaderFinder, ATimeThatGrowsWithTheClockIsNotOfAStep) {
  const auto line = [](int i) {
    return fmt::format("training_step: {}|25000, loss: 2.1, avg_batch_time: {:.5f}", 5 * i,
                       0.5 + 0.7 * i);
  };
  const HeardScript heard = hear(every(0.7, 12, line), context_of({4, 1}, true));
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 4 * 5 / 0.7, 1) << heard.choice->log_reader;
  const auto unnamed = listened(every(
      1.2, 30, [](int i) { return fmt::format("loss 2.1 elapsed_time: {:.5f}", 1 + 1.19 * i); }));
  EXPECT_FALSE(unnamed.choice());
  EXPECT_FALSE(unnamed.offer());
}

// "[20/10000] Time:1.23s" is the time of twenty, of steps or of samples; another batch shows which.
TEST(ReaderFinder, WhatACounterCountsIsSeenByAnotherBatch) {
  const auto lines = [](int grown, double took) {
    return every(took, 12, [=](int i) {
      return fmt::format("[0/30][{}/10000] Loss:4.9 Time:{:.2f}s", grown * (i + 1), took);
    });
  };
  const auto of = [&](int batch, int grown, double took) {
    ReaderFinder finder(context_of({batch, 1}, true));
    for (const auto& [seconds, line] : lines(grown, took)) finder.add(line, seconds);
    return finder;
  };
  const ReaderFinder first = of(4, 20, 1.24);
  EXPECT_FALSE(first.choice());
  ASSERT_TRUE(first.open_counter());
  const auto steps = of(16, 20, 1.96).settled(*first.open_counter(), 4);
  ASSERT_TRUE(steps);
  EXPECT_EQ(steps->reads, ReaderChoice::Reads::steps);
  const auto samples = of(16, 80, 1.96).settled(*first.open_counter(), 4);
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->reads, ReaderChoice::Reads::samples);
  EXPECT_THAT(samples->log_reader, testing::HasSubstr("(?<sample>"));
  EXPECT_FALSE(of(16, 30, 1.96).settled(*first.open_counter(), 4));
  // One step a line, whose samples are counted: its time is of that step.
  const HeardScript each = hear(lines(4, 0.5), context_of({4, 1}, true));
  ASSERT_TRUE(each.choice);
  EXPECT_NEAR(each.samples_per_second, 8, 0.4) << each.choice->log_reader;
}

// Each line comes when its document has been read.
TEST(ReaderFinder, NamesOfDocumentsMakeNoOtherLine) {
  std::vector<ScriptLine> lines;
  double now = 0;
  for (int i = 1; i < 40; ++i) {
    const double took = 0.5 + 0.4 * (i % 5);
    const char* name = i % 3 == 0 ? "letter" : i % 3 == 1 ? "old bill" : "report";
    lines.push_back({now, fmt::format("Processing document {}.pdf", name)});
    lines.push_back(
        {now += took, fmt::format("Converted document {}.pdf in {:.2f} sec.", name, took)});
  }
  const HeardScript heard = hear(lines, LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_EQ(heard.choice->log_reader, "metric:sec:s/image");
}

TEST(ReaderFinder, PagesThatAreNumberedAreCounted) {
  const auto line = [](int i) { return fmt::format("10:00:{:02}.1 INFO - INPUT FILE {}", i, i); };
  const HeardScript heard = hear(every(0.8, 30, line), LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_EQ(heard.choice->reads, ReaderChoice::Reads::samples);
  EXPECT_NEAR(heard.samples_per_second, 1.25, 0.05);
}

// A mean since the start, of which the first step took 30 s.
TEST(ReaderFinder, WhereTheClockDisagreesTheCountIsRight) {
  const auto line = [](int i) {
    const int step = 10 * (i + 1);
    return fmt::format("step {} loss 2.{} {:.2f} it/s", step, i, step / (30 + 0.1 * step));
  };
  const HeardScript heard = hear(every(1, 20, line), LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 10, 0.5);
}

TEST(ReaderFinder, OffersATimeThatTheClockDoesNotConfirm) {
  const auto finder =
      listened(every(1, 30, [](int i) { return fmt::format("scan_{} done 3.{:03} s", i, i); }));
  EXPECT_FALSE(finder.choice());
  ASSERT_TRUE(finder.is_settled());
  ASSERT_TRUE(finder.offer());
  EXPECT_EQ(finder.offer()->log_reader, "metric:s:s/image");
}

// Each picture is written after its time was taken.
TEST(ReaderFinder, WhereATimeLeavesSomethingOutItsLinesAreCounted) {
  const auto line = [](int i) { return fmt::format("Text recognized in 0.16{} s: {}", i % 9, i); };
  const HeardScript heard = hear(every(0.2, 60, line), LogContext());
  ASSERT_TRUE(heard.choice);
  EXPECT_NEAR(heard.samples_per_second, 5, 0.05) << heard.choice->log_reader;
}

TEST(ReaderFinder, TakesATimeThatTheClockConfirms) {
  const auto finder =
      listened(every(3.5, 8, [](int i) { return fmt::format("page_{}.png 3.4{} s", i, i); }));
  ASSERT_TRUE(finder.choice());
  EXPECT_EQ(finder.choice()->log_reader, "metric:s:s/image");
}

TEST(ReaderFinder, TakesNothingElseThatGrows) {
  for (const auto& line : std::vector<std::function<std::string(int)>>{
           [](int i) { return fmt::format("10:00:{:02} heartbeat", i); },
           [](int i) { return fmt::format("memory {} MB of 24000 MB", 100 + 7 * i); },
           [](int i) { return fmt::format("Epoch [{}/100] loss: {:.3f}", i, 8.0 / (i + 1)); },
           [](int i) { return fmt::format("Validation: [{}/100] acc {:.3f}", i, 0.1); },
           [](int i) { return fmt::format("val step {} acc {:.3f}", i, 0.1); },
           [](int i) { return fmt::format("downloading weights {}%, 12.5 MB/s", i); },
           [](int i) { return fmt::format("Loading cache: {}/500 [00:01<00:09, 40.00it/s]", i); },
           [](int i) { return fmt::format("saved page_{:04}.txt", i); },
           [](int) { return std::string("done"); }}) {
    const auto finder = listened(every(0.7, 60, line));
    EXPECT_FALSE(finder.choice()) << line(3) << ": " << finder.choice()->log_reader;
  }
}

TEST(ReaderFinder, TakesNoBytesForASpeed) {
  const auto bytes = [](int i) { return fmt::format("\xEF{}/S\x01 {} img/s \x93", i, 400 + i); };
  const auto finder = listened(every(0.7, 60, bytes));
  EXPECT_FALSE(finder.choice());
  EXPECT_FALSE(finder.choice_at_end());
  EXPECT_NE(finder.unread().reason("", "", "").find("binary"), std::string::npos);
}

// Paddle's launcher prints its settings, and its first import then takes long.
TEST(ReaderFinder, WaitsBehindTheManyLinesOfALauncher) {
  ReaderFinder finder{LogContext()};
  for (int i = 0; i < 60; ++i) finder.add(fmt::format("LAUNCH INFO option_{}: value", i), 0.1);
  finder.add("warnings.warn(message)", 14);
  EXPECT_FALSE(finder.is_settled());
  for (int i = 1; i < 8; ++i) finder.add(fmt::format("speed: {}.5 img/s", 20 + i % 2), 15 + i);
  EXPECT_TRUE(finder.choice());
}

TEST(ReaderFinder, SettlesWithinSecondsWhereNoNumberIsASpeed) {
  const auto lines =
      every(0.5, 200, [](int i) { return fmt::format("loss {:.4f}", 8.0 / (i + 1)); });
  ReaderFinder finder{LogContext()};
  double settled = -1;
  for (const auto& [seconds, line] : lines) {
    finder.add(line, seconds);
    if (finder.is_settled() && settled < 0) settled = seconds - lines[0].first;
  }
  EXPECT_FALSE(finder.choice());
  EXPECT_GT(settled, 0);
  EXPECT_LE(settled, 10);
}

// What each page is called, and nothing else.
TEST(ReaderFinder, ALineForEachFileCountsThem) {
  const auto pages = [](const char* form) {
    return [form](int i) { return fmt::format(fmt::runtime(form), i, i % 7); };
  };
  for (const char* form : {"read pages/p{}.png", "12:00:0{1} INFO [{0}] OCR of 'in/scan{0}.TIFF'",
                           "{0}_{1}.jpg: text of 3 lines"}) {
    const auto heard = hear(every(0.2, 60, pages(form)), LogContext{2, 1, {}, {}});
    ASSERT_TRUE(heard.choice) << form;
    EXPECT_EQ(heard.choice->per_rank, false);
    EXPECT_NEAR(heard.samples_per_second, 5, 0.1) << heard.choice->log_reader;
  }
  const auto listed = hear(every(0.001, 60, pages("found {}.png")), LogContext());
  EXPECT_FALSE(listed.choice) << "a list that comes at once";
  auto training = every(0.2, 60, pages("augmented {}.png"));
  training.insert(training.begin(), {training[0].first, "epoch 1"});
  EXPECT_FALSE(hear(training, LogContext()).choice);
}

TEST(LineNumbers, CountersTellWhatTheyCountTo) {
  using testing::ElementsAre;
  EXPECT_THAT(totals_in("Epoch [1/10] 12/375 [===>] - 3s"), ElementsAre(375));
  EXPECT_THAT(totals_in("Train: [0/300][10/78] loss 6.9"), ElementsAre(300, 78));
  EXPECT_THAT(totals_in("step 12 loss 3"), ElementsAre());
}

}  // namespace
}  // namespace ocrtune
