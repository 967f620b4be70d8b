#include "trial/logs/rate_check.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/logs/log_reader.h"

namespace ocrtune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Read {
  std::vector<StepEvent> steps;  // after the last "anew"
  std::vector<std::string> notes;
  int anew = 0;

  double rate() const {
    double samples = 0, seconds = 0;
    for (const StepEvent& step : steps) {
      samples += static_cast<double>(step.samples);
      seconds += step.seconds;
    }
    return samples / seconds;
  }
};

struct TimedLine {
  double seconds;
  std::string text;
};

Read read(const std::string& name, const LogContext& context, const std::vector<TimedLine>& lines) {
  const auto reader = make_log_reader(name, context);
  EXPECT_TRUE(reader.ok()) << reader.error().what;
  Read found;
  for (const TimedLine& line : lines) {
    std::vector<Event> events;
    (*reader)->read_line(line.text, line.seconds, events);
    for (const Event& event : events) {
      if (const auto* step = std::get_if<StepEvent>(&event)) found.steps.push_back(*step);
      if (const auto* note = std::get_if<NoteEvent>(&event)) found.notes.push_back(note->text);
      const auto* ready = std::get_if<ReadyEvent>(&event);
      if (ready == nullptr || !ready->anew) continue;
      ++found.anew;
      found.steps.clear();
    }
  }
  return found;
}

LogContext batches_of(int batch) {
  LogContext context;
  context.batch = batch;
  return context;
}

// Batch 16 takes 0.2 s, of which the program times 0.05 s.
TEST(RateCheck, TellsWhatIsCountedOfWhatIsPrinted) {
  const auto share_of = [](const std::string& step) {
    const auto reader = make_log_reader("torch", batches_of(16));
    EXPECT_TRUE(reader.ok());
    std::vector<Event> events;
    for (int line = 0; line < 5; ++line) {
      (*reader)->read_line(step + std::to_string(3 * line) + " loss 2.3 320.0 samples/s",
                           0.6 * line, events);
    }
    return (*reader)->counted_share();
  };
  EXPECT_NEAR(share_of("step "), 0.25, 1e-6);
  EXPECT_EQ(share_of("sample number"), 0) << "no line counts steps";
}

TEST(RateCheck, SecondsThatOnlyRiseAreATotal) {
  std::vector<TimedLine> lines;
  for (int i = 1; i <= 20; ++i) {
    lines.push_back({10 + 0.5 * i, "[" + std::to_string(10 * i) + "/300000] loss 2.31, " +
                                       "Elapsed_time: " + std::to_string(3 + 0.5 * i)});
  }
  const Read found = read("metric:Elapsed_time:s/step", batches_of(8), lines);
  EXPECT_EQ(found.anew, 1);
  EXPECT_NEAR(found.rate(), 8 * 10 / 0.5, 1) << "ten steps a line";
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_THAT(found.notes[0], HasSubstr("only rises"));
}

TEST(RateCheck, SamplesThatOnlyRiseAreATotal) {
  std::vector<TimedLine> lines;
  for (int i = 1; i <= 20; ++i) {
    lines.push_back({1.0 * i, "samples seen: " + std::to_string(320 * i)});
  }
  const Read found = read("metric:samples seen", batches_of(8), lines);
  EXPECT_EQ(found.anew, 1);
  EXPECT_NEAR(found.rate(), 320, 1e-6);
}

TEST(RateCheck, ARateThatRisesIsNoTotal) {
  std::vector<TimedLine> warming, steady;
  for (int i = 1; i <= 20; ++i) {
    warming.push_back({1.0 * i, "speed " + std::to_string(100 + i) + " samples/s"});
    steady.push_back({1.0 * i, "speed 100.0 samples/s"});
  }
  EXPECT_EQ(read("torch", LogContext(), warming).anew, 0);
  EXPECT_EQ(read("torch", LogContext(), steady).anew, 0);
  EXPECT_THAT(read("torch", LogContext(), steady).notes, IsEmpty());
}

TEST(RateCheck, ANumberThatTheClockRefutesIsSaid) {
  std::vector<TimedLine> lines, right;
  for (int i = 1; i <= 10; ++i) {
    const std::string step = "step " + std::to_string(10 * i) + " loss 2.31 ";
    lines.push_back({1.0 * i, step + "640.0 samples/s"});
    right.push_back({1.0 * i, step + "160.0 samples/s"});
  }
  const Read found = read("torch", batches_of(16), lines);
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_THAT(found.notes[0], HasSubstr("the log says 640.0 samples/s, the clock 160.0"));
  EXPECT_THAT(read("torch", batches_of(16), right).notes, IsEmpty());
}

// Two ranks of 16, and the rate of both in a line.
TEST(RateCheck, ARateOfTheJobCountsOnce) {
  std::vector<TimedLine> lines;
  for (int i = 1; i <= 20; ++i) {
    lines.push_back({1.0 * i, "step " + std::to_string(10 * i) + " loss 2.31 320.0 samples/s"});
  }
  LogContext context = batches_of(16);
  context.nproc = 2;
  const Read found = read("torch", context, lines);
  EXPECT_NEAR(found.rate(), 320, 1);
  EXPECT_EQ(found.anew, 1);
  context.per_rank = true;
  EXPECT_NEAR(read("torch", context, lines).rate(), 640, 1) << "as the user says";
}

TEST(RateCheck, AStepThatTakesLongerThanItsLineIsSaid) {
  std::vector<TimedLine> lines;
  for (int i = 1; i <= 10; ++i) lines.push_back({0.5 * i, "step_time=12.5s loss 2"});
  const Read found = read("metric:step_time:s/step", batches_of(16), lines);
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_THAT(found.notes[0], HasSubstr("a step takes 12.5 s"));
}

// 100 steps of 0.04 s, then 4 s for a checkpoint; the rate is that of the steps alone.
TEST(RateCheck, APauseThatThePrintedRateLeavesOutCounts) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int step = 10; step <= 400; step += 10) {
    lines.push_back({now += 0.4, "step " + std::to_string(step) + " loss 2.3 200.0 samples/s"});
    if (step % 100 == 0) now += 4;
  }
  EXPECT_NEAR(read("torch", LogContext(), lines).rate(), 390 * 8 / (39 * 0.4 + 3 * 4), 5);
}

// A pipe that is full each 12 s lets go of 30 lines at once.
TEST(RateCheck, LinesThatABufferLetsGoAtOnceHaveNoPace) {
  std::vector<TimedLine> lines;
  for (int step = 1; step <= 300; ++step) {
    const int burst = (step - 1) / 30 + 1;
    lines.push_back(
        {12.0 * burst + 1e-6 * step, "step " + std::to_string(step) + " 20.0 samples/s"});
  }
  EXPECT_NEAR(read("torch", LogContext(), lines).rate(), 20, 0.5);
}

// Each seventh line was timed by a clock that jumped back, or far ahead.
TEST(RateCheck, ARateThatItsStepsRefuteCountsByThem) {
  for (const double factor : {300.0, 0.01}) {
    std::vector<TimedLine> lines;
    for (int i = 1; i <= 40; ++i) {
      const double rate = i % 7 == 0 ? 100 * factor : 100;
      lines.push_back({0.4 * i, "iter " + std::to_string(5 * i) + " loss 2.3 " +
                                    std::to_string(rate) + " samples/s"});
    }
    EXPECT_NEAR(read("torch", LogContext(), lines).rate(), 100, 3) << factor;
  }
}

// A first step of 12 s, and then as many samples in a tenth of the time.
TEST(RateCheck, AStartThatIsSlowIsNoMeasure) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int i = 1; i <= 40; ++i) {
    lines.push_back({now += i < 6 ? 4 : 0.4, "iter " + std::to_string(i) + " loss 2.3 " +
                                                 (i < 6 ? "10.0" : "100.0") + " samples/s"});
  }
  EXPECT_EQ(read("torch", LogContext(), lines).steps.back().samples, 40);
}

// Two ranks print each step, one a little later.
TEST(RateCheck, TheSecondLineOfAStepIsNoPace) {
  std::vector<TimedLine> lines;
  for (int step = 1; step <= 40; ++step) {
    for (const double lag : {0.0, 0.01}) {
      lines.push_back({0.4 * step + lag, "step " + std::to_string(step) + " 20.0 samples/s"});
    }
  }
  EXPECT_NEAR(read("torch", LogContext(), lines).rate(), 20, 0.5);
}

// A mean over all the time so far holds its pauses already.
TEST(RateCheck, APauseThatThePrintedRateHoldsCountsOnce) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int step = 10; step <= 400; step += 10) {
    if (step % 100 == 10 && step > 10) now += 4;
    now += 0.4;
    lines.push_back({now, "step " + std::to_string(step) + " loss 2.3 " +
                              std::to_string(8 * step / now) + " samples/s"});
  }
  const double rate = 390 * 8 / (39 * 0.4 + 3 * 4);
  EXPECT_NEAR(read("torch", LogContext(), lines).rate() / rate, 1, 0.25);
}

TEST(DataShare, IsReadInEveryDialect) {
  const auto share = [](const char* line) { return data_share_in(line).value_or(-1); };
  EXPECT_NEAR(share("Epoch(train) [1][100/5000] lr: 1e-3 time: 0.40 data_time: 0.10 loss: 2"), 0.25,
              1e-9);
  EXPECT_NEAR(share("Epoch: [0][10/5005] Time 0.50 ( 0.40) Data 0.10 ( 0.20) Loss 6.9"), 0.2, 1e-9);
  EXPECT_NEAR(share("img/s: 120.5 loss: 6.9 time: 0.2000  data: 50ms max mem: 900"), 0.25, 1e-9);
  EXPECT_NEAR(share("avg_reader_cost: 0.02 s, avg_batch_cost: 0.10 s"), 0.2, 1e-9);
  EXPECT_EQ(share("time: 0.2 loss 3"), -1);
  EXPECT_EQ(share("data: 3 of 5"), -1);
  EXPECT_EQ(share("data 9.0 time 0.2"), -1) << "more than the step";
  const Read found =
      read("torch", batches_of(8),
           {{1, "img/s: 40 time: 0.20 data: 0.05"}, {2, "img/s: 40 time: 0.20 data: 0.05"}});
  ASSERT_EQ(found.steps.size(), 1U);
  const StepTimes& times = found.steps[0].times;
  EXPECT_NEAR(times.data_seconds / (times.data_seconds + times.compute_seconds), 0.25, 1e-9);
}

TEST(StepCounter, IsNoEpochAndNoUnit) {
  EXPECT_EQ(step_counter_in("第 30 步 损失 2.1").value_or(-1), 30);
  EXPECT_EQ(step_counter_in("global_step: 40, lr 3").value_or(-1), 40);
  EXPECT_EQ(step_counter_in("Epoch [1/10] [40/1000] loss 3").value_or(-1), 40);
  EXPECT_FALSE(step_counter_in("Epoch [1/10] loss 3"));
  EXPECT_FALSE(step_counter_in("step_time: 3"));
}

std::string bar(int done, int total) {
  return " 50%|#####     | " + std::to_string(done) + "/" + std::to_string(total) +
         " [00:05<00:05,  9.87it/s]";
}

// Epochs of 30 steps of 0.05 s, each followed by 150 validation steps of 5 ms.
TEST(CounterSeries, BarsThatLookAlikeAreTwoSeries) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int epoch = 0; epoch < 12; ++epoch) {
    for (int done = 1; done <= 30; ++done) lines.push_back({now += 0.05, bar(done, 30)});
    for (int done = 10; done <= 150; done += 10) lines.push_back({now += 0.05, bar(done, 150)});
  }
  const Read found = read("progress", batches_of(8), lines);
  EXPECT_NEAR(found.rate(), 8 * 30 / 2.25, 4) << "the validation takes its time and counts nothing";
}

TEST(CounterSeries, WhatEndedBeforeTheTrainingBeganIsLeft) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int done = 1; done <= 10; ++done) lines.push_back({now += 0.1, bar(done, 10)});
  for (int done = 1; done <= 100; ++done) lines.push_back({now += 0.5, bar(done, 100000)});
  const Read found = read("progress", batches_of(8), lines);
  EXPECT_EQ(found.anew, 1);
  EXPECT_NEAR(found.rate(), 16, 0.1);
}

std::string titled(const std::string& title, int done, int total) {
  return title + ":  50%|##  | " + std::to_string(done) + "/" + std::to_string(total) +
         " [00:05<00:05,  9.87it/s]";
}

// A bar of epochs around a bar of 40 steps of 0.1 s.
TEST(CounterSeries, ABarAroundAnotherCountsNoSteps) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int epoch = 0; epoch < 6; ++epoch) {
    lines.push_back({now += 0.01, titled("Epoch", epoch, 10)});
    for (int done = 0; done <= 40; ++done) lines.push_back({now += 0.1, titled("Step", done, 40)});
  }
  EXPECT_NEAR(read("progress", batches_of(8), lines).rate(), 80, 3);
}

// Of each document four boxes are found within 0.2 s, then 25 lines are read in 2.5 s.
TEST(CounterSeries, TheWorkIsWhatTakesTheTime) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int document = 0; document < 8; ++document) {
    for (int done = 1; done <= 4; ++done) lines.push_back({now += 0.05, titled("Boxes", done, 4)});
    for (int done = 1; done <= 25; ++done) lines.push_back({now += 0.1, titled("Text", done, 25)});
  }
  EXPECT_NEAR(read("progress", batches_of(8), lines).rate(), 8 * 25 / 2.7, 3);
}

// A page takes 0.2 s and then its lines, in batches: by 8 in five of 0.05 s, by 32 in two of 0.1 s.
double pages_with_a_bar_of_batches(int batch, int inner, double seconds) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int page = 0; page < 60; ++page) {
    lines.push_back({now, titled("Pages", page, 400)});
    now += 0.2;
    for (int done = 1; done <= inner; ++done) {
      lines.push_back({now += seconds, titled("Recognize", done, inner)});
    }
  }
  return read("progress", batches_of(batch), lines).rate();
}

TEST(CounterSeries, ABarOfPagesAroundOneOfBatchesCountsPages) {
  EXPECT_NEAR(pages_with_a_bar_of_batches(8, 5, 0.05), 1 / 0.45, 0.02);
  EXPECT_NEAR(pages_with_a_bar_of_batches(32, 2, 0.1), 1 / 0.4, 0.02);
}

// One bar over all epochs, and one of an evaluation after each 20 steps.
TEST(CounterSeries, AnEvaluationWithinABarOfStepsIsNoPage) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int done = 1; done <= 100; ++done) {
    lines.push_back({now += 0.1, bar(done, 2000)});
    for (int eval = 0; done % 20 == 0 && eval <= 10; ++eval) {
      lines.push_back({now += 0.1, bar(eval, 10)});
    }
  }
  EXPECT_NEAR(read("progress", batches_of(8), lines).rate(), 8 * 20 / 3.1, 4);
}

TEST(CounterSeries, ShortEpochsAreNoStepsEither) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int epoch = 0; epoch < 12; ++epoch) {
    lines.push_back({now += 0.01, titled("Epochs", epoch, 100)});
    for (int done = 0; done <= 20; ++done) lines.push_back({now += 0.1, titled("Step", done, 20)});
  }
  EXPECT_NEAR(read("progress", batches_of(64), lines).rate(), 64 * 20 / 2.11, 40);
}

// Each line comes twice, and the last one of 10 again after a pause of a second.
TEST(CounterSeries, ALineThatIsDrawnAgainTakesNoTimeAway) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int done = 1; done <= 60; ++done) {
    lines.push_back({now += 0.1, bar(done, 900)});
    lines.push_back({now += 0.001, bar(done, 900)});
    if (done % 10 == 0) lines.push_back({now += 1, bar(done, 900)});
  }
  EXPECT_NEAR(read("progress", batches_of(8), lines).rate(), 8 * 10 / 2.0, 2);
}

TEST(CounterSeries, ABarOfPredictionsCountsWhereThereIsNoOther) {
  std::vector<TimedLine> lines, both;
  double now = 0;
  for (int done = 1; done <= 60; ++done) {
    lines.push_back({now += 0.1, titled("Predicting", done, 900)});
    both.push_back({now - 0.05, titled("Training", done, 900)});
    if (done % 10 == 0) both.push_back({now, titled("Predicting", done, 60)});
  }
  EXPECT_NEAR(read("progress", batches_of(8), lines).rate(), 80, 2);
  EXPECT_NEAR(read("progress", batches_of(8), both).rate(), 80, 2);
}

TEST(CounterSeries, ATitleIsItsWords) {
  std::vector<TimedLine> lines;
  double now = 0;
  for (int done = 0; done < 60; ++done) {
    const char* loss = done % 3 == 0 ? "0.1" : done % 3 == 1 ? "9e-05" : "nan";
    lines.push_back({now += 0.1, titled(std::string("1/9 2.1G loss ") + loss, done, 900)});
  }
  EXPECT_NEAR(read("progress", batches_of(8), lines).rate(), 80, 2);
}

}  // namespace
}  // namespace ocrtune
