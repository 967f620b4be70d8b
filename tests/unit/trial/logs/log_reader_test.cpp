#include "trial/logs/log_reader.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial/logs/log_dialects.h"

namespace ocrtune {
namespace {

TEST(LogReader, CountsTheImagesOfPaddleOcrInference) {
  const auto reader = make_log_reader("paddleocr-infer", LogContext{4, 8, {}, {}});
  ASSERT_TRUE(reader);
  std::vector<Event> events;
  double now = 0;
  (*reader)->read_line("ppocr INFO: In PP-OCRv3, rec_image_shape ...", now, events);
  for (int image = 0; image < 40; ++image) {
    now += 0.05;  // whichever of the four processes printed it
    (*reader)->read_line("[2024/09/13 15:19:38] ppocr DEBUG: 3  Predict time of a/12.jpg: 0.2s",
                         now, events);
  }
  ASSERT_GT(events.size(), 2u);
  const auto& step = std::get<StepEvent>(events.back());
  EXPECT_NEAR(static_cast<double>(step.samples) / step.seconds, 20, 0.1);
}

// The time that paddleocr prints leaves out what it saves, and two copies print side by side.
TEST(LogReader, CountsThePagesOfPaddleOcrsCommand) {
  const auto reader = make_log_reader("paddleocr-infer", LogContext{2, 8, {}, false});
  ASSERT_TRUE(reader);
  std::vector<Event> events;
  double now = 0;
  for (int page = 0; page < 20; ++page) {
    for (int copy = 0; copy < 2; ++copy) {
      now += 0.25;
      (*reader)->read_line("[2026/11/25 03:10:46] paddleocr INFO: Processed item " +
                               std::to_string(page) + " in 351.84 ms",
                           now, events);
      (*reader)->read_line("{'res': {'input_path': 'pages/page2.png'}}", now, events);
    }
  }
  ASSERT_GT(events.size(), 2U);
  const auto& step = std::get<StepEvent>(events.back());
  EXPECT_NEAR(static_cast<double>(step.samples) / step.seconds, 4, 1e-6);
}

// Feeds lines one second apart and gives the steps.
std::vector<StepEvent> steps_of(const std::string& reader, const LogContext& context,
                                const std::vector<std::string>& lines) {
  auto made = make_log_reader(reader, context);
  EXPECT_TRUE(made.ok()) << made.error().what;
  std::vector<Event> events;
  double now = 100;
  for (const std::string& line : lines) (*made)->read_line(line, now += 1, events);
  std::vector<StepEvent> steps;
  for (const Event& event : events) {
    if (const auto* step = std::get_if<StepEvent>(&event)) steps.push_back(*step);
  }
  if (!steps.empty()) {
    EXPECT_TRUE(std::holds_alternative<ReadyEvent>(events[0])) << "ready comes before the steps";
  }
  return steps;
}

// What learns is compared from its first sample on.
TEST(LogReader, FromTheStartNoStepIsLeftOut) {
  LogContext context;
  context.batch = 8;
  context.from_start = true;
  const auto lines = [](int first) {
    std::vector<std::string> all;
    for (int line = 0; line < 3; ++line) {
      const std::string step = std::to_string(first + 10 * line);
      all.push_back("step=" + step + " loss=" + std::to_string(9 - line));
    }
    return all;
  };
  const std::string reader = "regex:step=(?<step>\\d+) loss=(?<loss>[\\d.]+)";
  const auto steps = steps_of(reader, context, lines(10));
  ASSERT_EQ(steps.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(steps[i].steps, 10);
    EXPECT_EQ(steps[i].samples, 80);
    EXPECT_EQ(steps[i].loss, 9 - static_cast<double>(i));
  }
  EXPECT_EQ(steps_of(reader, context, lines(50'010)).size(), 2U) << "a checkpoint was resumed";
  context.from_start = false;
  EXPECT_EQ(steps_of(reader, context, lines(10)).size(), 2U);
}

TEST(LogReaders, WholeRunsCountAsWhatTheyRead) {
  const std::string run = "last words without an end" + std::string(kRunEnded);
  const auto steps = steps_of("runs:200", LogContext{2, 8, {}, {}}, {run, "3 of 200", run, run});
  ASSERT_EQ(steps.size(), 2u);  // the first run has warmed the caches
  EXPECT_EQ(steps[0].samples, 200);
  EXPECT_NEAR(steps[0].seconds, 2, 1e-9);
  EXPECT_EQ(steps_of("runs", LogContext(), {run, run}).at(0).samples, 1);
  EXPECT_FALSE(make_log_reader("runs:many", LogContext()));
  EXPECT_FALSE(make_log_reader("runs:0", LogContext()));
  EXPECT_FALSE(make_log_reader("runs:99999999999999999999", LogContext()));
}

TEST(LogReaders, ACounterThatJumpsStartsAnew) {
  const std::string reader = "regex:step (?<step>[0-9]+)";
  LogContext context;
  context.batch = 8;
  const auto steps = steps_of(reader, context,
                              {"step 39", "step 40", "step 1700000000", "step 1700000002",
                               "step 41", "step 43", "step 90000", "step 90001"});
  std::vector<std::int64_t> counts;
  for (const StepEvent& step : steps) counts.push_back(step.steps);
  EXPECT_THAT(counts, testing::ElementsAre(1, 2, 2, 1));
}

double rate(const StepEvent& step) { return static_cast<double>(step.samples) / step.seconds; }

std::string paddle3(int step, const std::string& samples, const std::string& ips) {
  return "[2024/09/13 15:19:38] ppocr INFO: epoch: [84/100], global_step: " + std::to_string(step) +
         ", lr: 0.000005, CTCLoss: 0.002181, loss: 1.214002, avg_reader_cost: 0.02000 s, "
         "avg_batch_cost: 0.10000 s, avg_samples: " +
         samples + ", ips: " + ips + " samples/s, eta: 11:15:11, max_mem_reserved: 22274 MB";
}

TEST(LogReaders, EveryRowReadsItsExample) {
  for (const LogReaderRow& row : log_reader_table()) {
    if (std::string(row.name) == "regex" || std::string(row.name) == "metric") continue;
    auto reader = make_log_reader(row.name, LogContext());
    ASSERT_TRUE(reader.ok());
    std::vector<Event> events;
    (*reader)->read_line(row.example, 1, events);
    ASSERT_EQ(events.size(), 1U) << row.name << ": the first line is warm-up";
    EXPECT_TRUE(std::holds_alternative<ReadyEvent>(events[0])) << row.name;
  }
}

TEST(PaddleOcrReader, IpsIsOfOneRank) {
  LogContext context;
  context.nproc = 4;
  const auto steps = steps_of(
      "paddleocr", context,
      {paddle3(10, "32.0", "300.0"), paddle3(20, "32.0", "320.0"), paddle3(30, "32.0", "340.0")});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_NEAR(rate(steps[0]), 1280, 1e-6);
  EXPECT_NEAR(rate(steps[1]), 1360, 1e-6);
  EXPECT_EQ(steps[0].steps, 10);
  EXPECT_EQ(steps[0].samples, 4 * 320);
  EXPECT_NEAR(steps[0].times.data_seconds / (steps[0].seconds / 10), 0.2, 1e-9);
  EXPECT_NEAR(steps[0].loss, 1.214002, 1e-9);
}

TEST(PaddleOcrReader, LeavesOutTheEndOfAnEpochAndTheLineAfterIt) {
  const auto steps = steps_of(
      "paddleocr", LogContext(),
      {paddle3(10, "32.0", "300.0"), paddle3(20, "32.0", "310.0"), paddle3(24, "7.1", "304.0"),
       paddle3(30, "19.2", "305.0"), paddle3(40, "32.0", "320.0")});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_NEAR(rate(steps[0]), 310, 1e-6);
  EXPECT_NEAR(rate(steps[1]), 320, 1e-6);
}

TEST(PaddleOcrReader, EpochsShorterThanTheIntervalAreTailsOnly) {
  LogContext context;
  context.print_interval = 10;  // of epochs of 3 steps: avg_samples is 96 / 10
  std::vector<std::string> lines;
  for (int step = 3; step <= 30; step += 3) lines.push_back(paddle3(step, "9.6", "300.0"));
  const auto steps = steps_of("paddleocr", context, lines);
  ASSERT_GE(steps.size(), 3u);
  for (const StepEvent& step : steps) {
    EXPECT_NEAR(rate(step), 300, 1e-6);
    EXPECT_EQ(step.steps, 3);
    EXPECT_EQ(step.samples, 96);
  }
}

TEST(PaddleOcrReader, KnowsOldLines) {
  const std::string old =
      "[2021/02/23 22:52:57] root INFO: epoch: [5/500], iter: 11550, lr: 0.001000, loss: 4.880471, "
      "acc: 0.598958, norm_edit_dis: 0.877949, reader_cost: 5.33854 s, batch_cost: 5.97875 s, "
      "samples: 960, ips: 16.05686";
  std::string next = old;
  next.replace(next.find("11550"), 5, "11560");
  const auto steps = steps_of("paddleocr", LogContext(), {old, next});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(rate(steps[0]), 16.05686, 1e-6);
  EXPECT_EQ(steps[0].samples, 960);
  EXPECT_NEAR(steps[0].times.data_seconds / 5.97875, 5.33854 / 5.97875, 0.01);
}

TEST(RateReader, FindsTheNumberBesideItsUnit) {
  LogContext context;
  context.nproc = 2;
  for (const char* line :
       {"epoch 1 step 40 loss 2.31 412.5 samples/s", "Images/sec: 412.5",
        "Epoch: [0] [ 10/99] img/s: 412.5 (400.1) loss: 2.3", "throughput = 412.5 img / sec",
        "412.5 imgs/sec/gpu", "pages 9, 412.5 pages/s", "read 9 documents (412.5 docs/sec)"}) {
    const auto steps = steps_of("torch", context, {line, line});
    ASSERT_EQ(steps.size(), 1u) << line;
    EXPECT_NEAR(rate(steps[0]), 825, 1) << line;
  }
  for (const char* line : {"samples/s", "no numbers at all", "412.5 MB/s", "images: 5", "",
                           "\xff\xfe\x80 samples/", "0 samples/s"}) {
    EXPECT_TRUE(steps_of("torch", context, {line, line, line}).empty()) << line;
  }
}

struct RateCase {
  const char* line;
  double rate;  // of the job: 2 ranks, batch 10; 0: no line of training
};

// Lines of real programs: torchvision, timm, MXNet, PaddleClas, PaddleDetection, MMEngine,
// Detectron2, the PyTorch examples, Hugging Face, Keras, tqdm, launchers' prefixes, colours.
TEST(RateReader, ReadsTheLinesOfManyPrograms) {
  const std::vector<RateCase> cases = {
      {"Epoch: [0]  [ 10/1251]  eta: 0:11:22  lr: 0.1  img/s: 312.5 (300.1)  loss: 6.9", 625},
      {"Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.95)  Time: 0.350s,  731.25/s  (0.400s, "
       "640.10/s)",
       1462.5},
      {"Epoch[0] Batch [20] Speed: 412.50 samples/sec accuracy=0.93", 825},
      {"第 30 步 损失 2.4 平均速度: 200.9 张/秒", 401.8},
      {"Schritt 30: Verlust 2,4, Durchsatz 1.185,0 Bilder/s", 2370},
      {"Epoch: 0 Iteration: 10  train.compute_ips : 160.25 img/s train.total_ips : 133.50 img/s",
       267},
      {"Epoch: 0 Iteration: 10  train.compute_ips : 160.25 img/s", 320.5},
      {"[Train][Epoch 1/120][Iter: 10/500]lr: 0.1, CELoss: 3.2, loss: 3.2, batch_cost: 0.12s, "
       "reader_cost: 0.01, ips: 128.30 samples/s, eta: 1:02:03",
       256.6},
      {"Epoch: [0] [ 20/123] learning_rate: 0.001 loss: 2.3 batch_cost: 0.35 data_cost: 0.01 "
       "ips: 22.9 images/s",
       45.8},
      {"2024/09/13 15:19:38 - mmengine - INFO - Epoch(train)   [1][  20/1000]  lr: 1.0e-03  eta: "
       "1:02:03  time: 0.5000  data_time: 0.0123  memory: 2345  loss: 3.2",
       40},
      {"[09/13 15:19:38 d2.utils.events]: eta: 0:10:00  iter: 19  total_loss: 1.2  time: 0.2500  "
       "last_time: 0.33  data_time: 0.01  lr: 0.001",
       80},
      {"| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.50 | loss  7.63", 1600},
      {"100/600 [====>.....] - ETA: 5s - loss: 2.3 - 98ms/step", 2 * 10 / 0.098},
      {"throughput: 1,234.5 samples/s", 2469},
      {"throughput=12.5k samples/s", 25000},
      {"412,5 samples/s", 825},
      {"5,412.7 samples/s", 10825.4},  // the last of two marks is the decimal one
      {"5.412,7 samples/s", 10825.4},
      {"samples/s: 1.005.412,7", 2010825.4},
      {"5,412 samples/s", 10824},  // alone before three digits: thousands
      {"5.412 samples/s", 10.824},
      {"1234,567 samples/s", 2469.134},  // no group of four digits
      {"0,412 samples/s", 0.824},        // no thousands of nothing
      {"loss 2.3 img/s 412.5", 825},
      {"loss 2.3 412.5 img/s", 825},
      {"0 29 sample_per_sec - 412.5", 825},  // epoch, step, name and value
      {"412.5 img/s - 0.35 s/step", 825},
      {"412.5 img/s - loss 2.3", 825},
      {"samples_per_second=412.5 loss=2.3", 825},
      {"train_samples_per_second: 412.5", 825},
      {"412.5 images per second", 825},
      {"\x1b[32m\x1b[1mINFO\x1b[0m speed \x1b[33m412.5\x1b[0m img/s\x1b[K", 825},
      {"[default0]:step 4 412.5 samples/s", 825},
      {"[1,0]<stdout>:step 4 412.5 samples/s", 825},
      {"0: step 4 412.5 samples/s", 825},
      {"INFO:root:[Rank 0] 4.125e+02 samples / second / gpu", 825},
      {"ips: 412.5", 825},
      {"FPS=412.5", 825},
      {"step 10: 4.0 it/s", 80},
      {"iteration 10 took 250 ms/it", 80},
      {"0.25 sec/batch", 80},
      {"iters/sec: 4.0, loss 3", 80},
      {"Test:  [  10/100]  img/s: 312.5", 0},
      {"[eval] 412.5 samples/s", 0},
      {"Validation: 412.5 img/s", 0},
      {"Map:  50%|#####     | 30000/60000 [00:05<00:05, 12000.0 examples/s]", 0},
      {"Downloading: 100%|###| 12.3M/45.0M [00:05<00:05, 2.3MB/s]", 0},
      {"memory throughput: 3.2 GB/s", 0},
      {"the latest /s/it/s path a/b/s", 0},
      {"/work/h/pages/page1.png ['invoice', 'total']", 0},
      {"h/pages/page2.png: 7 lines", 0},
      {"Epoch 1/5:   1%|1| 48/4580 [00:02<03:05, 24.47img/s, loss=1.2]", 0},
      {"12 images/s/001.png", 0},
      {"nan samples/s", 0},
      {"-412.5 samples/s", 0},
  };
  LogContext context;
  context.nproc = 2;
  context.batch = 10;
  for (const RateCase& one : cases) {
    const auto steps = steps_of("torch", context, {one.line, one.line});
    ASSERT_EQ(steps.size(), one.rate > 0 ? 1u : 0u) << one.line;
    if (one.rate > 0) {
      EXPECT_NEAR(rate(steps[0]), one.rate, 1e-3 * one.rate) << one.line;
    }
  }
}

TEST(RateReader, OneRankSpeaksForAll) {
  LogContext context;
  context.nproc = 2;
  const auto steps =
      steps_of("torch", context,
               {"[default0]:100 samples/s", "[default1]:300 samples/s", "[default0]:100 samples/s",
                "[default1]:300 samples/s", "[default0]:100 samples/s"});
  ASSERT_EQ(steps.size(), 2u);
  for (const StepEvent& step : steps) EXPECT_NEAR(rate(step), 200, 1e-6);
}

// Bars of Hugging Face, Lightning (tqdm and rich), Keras and plain loops; 10 steps in a second.
TEST(ProgressReader, ReadsManyKindsOfBars) {
  LogContext context;
  context.nproc = 2;
  context.batch = 8;
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"  2%|2         | 10/500 [00:05<04:05,  2.00it/s]",
       "  4%|4         | 20/500 [00:06<04:00,  2.00it/s]"},
      {"Epoch 0:   2%|2| 10/500 [00:05<04:05,  2.00s/it, v_num=0, loss=2.30]",
       "Epoch 0:   4%|4| 20/500 [00:06<04:00,  2.00s/it, v_num=0, loss=2.20]"},
      {"Epoch 0/9 âââ 10/500 0:00:05 â¢ 0:04:05 9.87it/s v_num: 0",
       "Epoch 0/9 âââ 20/500 0:00:06 â¢ 0:04:05 9.87it/s v_num: 0"},
      {" 10/500 [=>............................] - ETA: 5s - loss: 2.3",
       " 20/500 [==>...........................] - ETA: 5s - loss: 2.3"},
      {"10/500 ââââ 48s 98ms/step - loss: 2.3",
       "20/500 ââââ 47s 98ms/step - loss: 2.2"},
      {"Epoch [1/10], Step [10/600], Loss: 2.3", "Epoch [1/10], Step [20/600], Loss: 2.2"},
      {"10it [00:05,  9.87it/s]", "20it [00:06,  9.87it/s]"},
      {"Epoch 1/5 : |#---| 2.00% [10/500 00:05<04:05... 2.3]",
       "Epoch 1/5 : |#---| 4.00% [20/500 00:06<04:00... 2.2]"},
      {"\x1b[A\x1b[32m 2%|# | 10/500 [00:05<04:05, 2.00batch/s]\x1b[0m",
       "\x1b[A\x1b[32m 4%|# | 20/500 [00:06<04:05, 2.00batch/s]\x1b[0m"},
      {"[rank0]:  2%|2| 10/500 [00:05<04:05,  2.00it/s]",
       "[rank0]:  4%|4| 20/500 [00:06<04:00,  2.00it/s]"},
      {"  2%|2| 160/8.0k [00:05<04:05,  16.0img/s]", "  4%|4| 320/8.0k [00:05<04:05,  16.0img/s]"},
      {"stage 0/\u221e \u2501\u2501\u2501 10/500 0:01:01 8.3it/s early_stopping: 0/10 -inf",
       "stage 0/\u221e \u2501\u2501\u2501 20/500 0:01:00 8.3it/s early_stopping: 0/10 -inf"},
  };
  for (const auto& [first, second] : pairs) {
    const auto steps = steps_of("progress", context, {first, second});
    ASSERT_EQ(steps.size(), 1u) << second;
    EXPECT_NEAR(rate(steps[0]), second.find("img/s") == std::string::npos ? 160 : 320, 1e-6)
        << second;
  }
  // An evaluation's bar without a title, in between, is another counter, and takes its time.
  const auto mixed = steps_of(
      "progress", context,
      {pairs[0].first, " 50%|## | 5/10 [00:01<00:01, 5.00it/s]",
       "  3%|2 | 11/500 [00:05<04:05,  2.00it/s]", "  5%|2 | 21/500 [00:06<04:05,  2.00it/s]"});
  ASSERT_EQ(mixed.size(), 2u);
  EXPECT_NEAR(rate(mixed[0]), 8, 1e-6) << "one step in two seconds";
  EXPECT_NEAR(rate(mixed[1]), 160, 1e-6);
  for (const char* line : {"Epoch 3/10", "Epoch 3/10 loss 2.3 50%", "2024/09/13 100% done",
                           "model 3/4 loaded", "Map:  50%|#####| 3/6 [00:05<00:05, 1.0 examples/s]",
                           "Loading shards: 50%|## | 1/2 [0:01<0:01, 1it/s]",
                           " 50%|## | 12.3M/45.0M [00:05<00:05, 2.3MB/s]",
                           "Testing DataLoader 0:  50%|## | 5/10 [0:1<0:1, 1it/s]", "\xff\xfe% 5/",
                           "5/0 %", "/ % [", "%"}) {
    EXPECT_TRUE(steps_of("progress", context, {line, line, line}).empty()) << line;
  }
}

TEST(ProgressReader, AStepThatIsTheJobsHasItsBatch) {
  LogContext context;
  context.nproc = 2;
  context.batch = 8;
  context.per_rank = false;
  const auto steps = steps_of(
      "progress", context,
      {"10%|#  | 10/100 [00:01<00:09,  9.87it/s]", "20%|#  | 20/100 [00:02<00:08,  9.87it/s]"});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(rate(steps[0]), 80, 1e-6);
}

TEST(ProgressReader, CountsStepsByArrival) {
  LogContext context;
  context.nproc = 2;
  context.batch = 8;
  const auto steps = steps_of("progress", context,
                              {"Epoch 0:  10%|#  | 10/100 [00:01<00:09,  9.87it/s, loss=3.1]",
                               "Epoch 0:  20%|#  | 20/100 [00:02<00:08,  9.87it/s, loss=3.0]",
                               "Validation DataLoader 0:  50%|#  | 50/100 [00:02<00:08,  9.87it/s]",
                               "Epoch 0:  30%|#  | 30/100 [00:04<00:07,  9.87it/s, loss=2.9]",
                               "Epoch 1:   1%|   | 1/100 [00:00<00:08,  9.87it/s, loss=2.9]",
                               "Epoch 1:  21%|#  | 21/100 [00:01<00:08,  9.87it/s, loss=2.9]"});
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_NEAR(rate(steps[0]), 160, 1e-6);
  EXPECT_NEAR(rate(steps[1]), 80, 1e-6) << "two seconds for ten steps";
  EXPECT_NEAR(rate(steps[2]), 320, 1e-6);
}

TEST(BurnReader, CountsItems) {
  const auto line = [](int done) {
    return "TrainingProgress { progress: Progress { items_processed: " + std::to_string(done) +
           ", items_total: 60000 }, epoch: 1, epoch_total: 10, iteration: 5 }";
  };
  const auto steps = steps_of("burn", LogContext(), {line(64), line(128), line(256)});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_NEAR(rate(steps[0]), 64, 1e-6);
  EXPECT_NEAR(rate(steps[1]), 128, 1e-6);
}

TEST(BurnReader, LeavesOutTheValidation) {
  const auto line = [](int epoch, int done) {
    return "TrainingProgress { progress: Progress { items_processed: " + std::to_string(done) +
           ", items_total: 256 }, epoch: " + std::to_string(epoch) +
           ", epoch_total: 10, iteration: 5 }";
  };
  const auto steps = steps_of("burn", LogContext(),
                              {line(1, 64), line(1, 128), line(1, 256), line(1, 200), line(1, 256),
                               line(2, 16), line(2, 80)});
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_NEAR(rate(steps[1]), 128, 1e-6);
  EXPECT_NEAR(rate(steps[2]), 64, 1e-6) << "the second epoch goes on counting";
}

TEST(MetricReader, TakesTheNumberBehindTheName) {
  LogContext context;
  context.nproc = 2;
  context.batch = 10;
  const auto rate_of = [&](const std::string& metric, const std::string& line) {
    const auto steps = steps_of("metric:" + metric, context, {line, line});
    return steps.size() == 1 ? rate(steps[0]) : -1;
  };
  EXPECT_NEAR(rate_of("ips", "clips: 3, ips: 40.5, eta 1"), 81, 1e-6) << "not clips";
  EXPECT_NEAR(rate_of("throughput", "step 3 throughput = 40.5 imgs/sec"), 81, 1e-6);
  EXPECT_NEAR(rate_of("throughput", "throughput=2.5 it/s"), 50, 1e-6) << "a unit is believed";
  EXPECT_NEAR(rate_of("time", "time=250ms loss=3"), 80, 1e-6);
  EXPECT_NEAR(rate_of("time:s/step", "{'time': 0.25}"), 80, 1e-6);
  EXPECT_NEAR(rate_of("speed:samples/min", "speed (3000)"), 100, 1e-6);
  EXPECT_NEAR(rate_of("per line:ms/line", "per line 20.0"), 100, 1e-6);
  for (const char* line : {"throughput", "throughput: fast", "throughput: -3", "throughputs: 5",
                           "throughput: 0", "\xfe throughput"}) {
    EXPECT_EQ(rate_of("throughput", line), -1) << line;
  }
  const auto bad = make_log_reader("metric:ips:furlongs", context);
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().what, testing::HasSubstr("'furlongs' is not a unit"));
  EXPECT_FALSE(make_log_reader("metric:", context).ok());
  const auto pattern = make_log_reader("metric:([0-9.]+) pages/s", context);
  ASSERT_FALSE(pattern.ok());
  EXPECT_THAT(pattern.error().what, testing::HasSubstr("--log-reader 'regex:"));
  const std::string json = "{\"step_ms\": 250}";
  const auto steps = steps_of("json-lines:step_ms:ms/step", LogContext(), {json, json});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(rate(steps[0]), 4, 1e-6);
}

TEST(MetricReader, TakesUnitsBesideTheNameAndThousands) {
  LogContext context;
  context.batch = 10;
  const auto rate_of = [&](const std::string& metric, const std::string& line) {
    const auto steps = steps_of("metric:" + metric, context, {line, line});
    return steps.size() == 1 ? rate(steps[0]) : -1;
  };
  EXPECT_NEAR(rate_of("Throughput", "| throughput (img/s) | 1,234.5 |"), 1234.5, 0.1);
  EXPECT_NEAR(rate_of("step time", "Step Time [ms]: 250"), 40, 1e-6);
  EXPECT_NEAR(rate_of("speed", "speed: 12.5k samples/s"), 12500, 1);
  EXPECT_NEAR(rate_of("speed", "\x1b[1mspeed\x1b[0m => 80.5"), 80.5, 0.1);
  EXPECT_EQ(rate_of("speed", "speed2: 80.5"), -1);
  EXPECT_NEAR(rate_of("pages/s", "pages 92, 1.5 pages/s"), 1.5, 1e-9) << "the name is the unit";
  EXPECT_NEAR(rate_of("ms/step", "3 done, 250 ms/step"), 40, 1e-6);
  EXPECT_NEAR(rate_of("pages/s", "pages/s: 1.5"), 1.5, 1e-9);
  EXPECT_EQ(rate_of("speed", "epoch 3 speed: high"), -1);
}

TEST(JsonReader, KnowsTheUsualNames) {
  LogContext context;
  context.batch = 10;
  for (const char* line :
       {R"({"samples_per_second": 40})", R"({"throughput": "40.0 img/s"})",
        R"({"step": 3, "metrics": {"images_per_sec": 40}})", R"({"steps_per_second": 4.0})",
        R"({"step_time_ms": 250, "loss": 2})", "{'loss': 2.3, 'ips': 40.0}",
        R"([rank0]: 12:00 INFO {"samples_per_sec": 40} end)"}) {
    const auto steps = steps_of("json-lines", context, {line, line});
    ASSERT_EQ(steps.size(), 1u) << line;
    EXPECT_NEAR(rate(steps[0]), 40, 1e-6) << line;
  }
  for (const char* line : {R"({"eval": {"throughput": 40}})", R"({"loss": 40})", "{", "}{", "[4]",
                           R"({"throughput": "fast"})", "{'a': 'it's'}"}) {
    EXPECT_TRUE(steps_of("json-lines", context, {line, line}).empty()) << line;
  }
  const std::string deep = R"({"a": {"b": {"speed": 40}}})";
  EXPECT_EQ(steps_of("json-lines:a.b.speed", context, {deep, deep}).size(), 1u);
}

TEST(JsonReader, TakesAKeyOrOurNames) {
  const std::string line = "INFO {\"throughput\": 90.5, \"loss\": 2}";
  const auto steps = steps_of("json-lines:throughput", LogContext(), {line, line, "{broken", "7"});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(rate(steps[0]), 90.5, 0.01);
  const std::string both = "{\"samples\": 50, \"seconds\": 0.25}";
  const auto exact = steps_of("json-lines", LogContext(), {both, both});
  ASSERT_EQ(exact.size(), 1u);
  EXPECT_NEAR(rate(exact[0]), 200, 1e-6);
}

TEST(LogReader, ANumberHasTheUnitThatStandsBesideIt) {
  const auto told = [](const std::string& reader, const std::string& line) {
    const auto steps = steps_of(reader, LogContext(), {line, line});
    return steps.empty() ? 0.0 : rate(steps.back());
  };
  EXPECT_NEAR(told("metric:throughput", "throughput: 36000 pages/hour"), 10, 1e-6);
  EXPECT_NEAR(told("json-lines:throughput", R"({"throughput":"1200 img/min"})"), 20, 1e-6);
  EXPECT_NEAR(told("json-lines:throughput", R"({"throughput":20,"samples":9000,"seconds":9})"), 20,
              1e-6);
  // A name that is a unit by itself, and thousands of what it counts.
  EXPECT_NEAR(told("metric:sec/kimg", "tick 1 kimg 1.0 sec/tick 5.0 sec/kimg 5.00"), 200, 1e-6);
  EXPECT_NEAR(told("metric:speed:kimg/s", "speed 0.5"), 500, 1e-6);
  const double by_words = told("metric:latency", "latency: 12 milliseconds");
  EXPECT_GT(by_words, 1);
  EXPECT_NEAR(told("metric:latency", "latency: 12000 \xc2\xb5s"), by_words, 1e-6);
  EXPECT_NEAR(told("metric:latency", "latency: 12 ms"), by_words, 1e-6);
}

TEST(RegexReader, UnderstandsUnits) {
  LogContext context;
  context.batch = 10;
  context.nproc = 2;
  const auto rate_of = [&](const std::string& pattern, const std::string& line) {
    const auto steps = steps_of("regex:" + pattern, context, {line, line});
    return steps.size() == 1 ? rate(steps[0]) : -1;
  };
  EXPECT_NEAR(rate_of(R"(speed=(?<samples_per_second>[\d.]+))", "a speed=50.5 b"), 101, 0.5);
  EXPECT_NEAR(rate_of(R"((?P<steps_per_second>[\d.]+) it)", "4.0 it"), 80, 1e-6);
  EXPECT_NEAR(rate_of(R"((\w+) (?<milliseconds_per_step>[\d.]+) ms)", "step 250 ms"), 80, 1e-6);
  EXPECT_NEAR(rate_of(R"((?:x )?(?<samples>\d+) in (?<seconds>[\d.]+) s)", "x 30 in 0.5 s"), 120,
              1e-6);
  EXPECT_EQ(rate_of(R"(speed=(?<samples_per_second>\S+))", "speed=fast"), -1);
  const auto bad = make_log_reader("regex:(?<speed>[0-9]+)", context);
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().what, testing::HasSubstr("unknown group (?<speed>...)"));
}

// What backtracks over such a line would not come back.
TEST(RegexReader, ALineTakesTimeInProportionToItsLength) {
  const std::string pattern = "regex:(a+)+b|ips: (?<samples_per_second>[0-9.]+)";
  const std::string line = std::string(60000, 'a') + " ips: 40.0";
  const auto steps = steps_of(pattern, LogContext(), {line, line});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(rate(steps[0]), 40, 1e-6);
  EXPECT_FALSE(make_log_reader("regex:(?=x)(?<samples_per_second>[0-9.]+)", LogContext()));
  const std::string gbk = "\xb5\xda 3 speed \xb2\xbd 40.0";
  EXPECT_EQ(
      steps_of("regex:speed .. (?<samples_per_second>[0-9.]+)", LogContext(), {gbk, gbk}).size(),
      1u);
}

TEST(RegexReader, CountsSteps) {
  LogContext context;
  context.batch = 16;
  const auto steps =
      steps_of("regex:step (?<step>[0-9]+)", context, {"step 1", "step 6", "step 6", "step 11"});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_NEAR(rate(steps[0]), 80, 1e-6);
}

// A checkpoint or an evaluation at step 0 comes once, and a trial sees few lines.
TEST(LogReader, WhatFollowsTheFirstStepsLineIsWarmUp) {
  LogContext context;
  context.batch = 16;
  const auto rates_of = [&](const std::string& reader, const char* form, double pause) {
    auto made = make_log_reader(reader, context);
    EXPECT_TRUE(made);
    std::vector<Event> events;
    double now = 50;
    for (const int step : {0, 10, 20, 30}) {
      now += step == 0 ? 0 : step == 10 ? 1 + pause : 1;
      const double said = 160 / (step == 10 ? 1 + pause : 1);
      (*made)->read_line(fmt::format(fmt::runtime(form), step, said), now, events);
    }
    std::vector<double> rates;
    for (const Event& event : events) {
      if (const auto* one = std::get_if<StepEvent>(&event)) rates.push_back(rate(*one));
    }
    return rates;
  };
  using testing::DoubleNear;
  using testing::ElementsAre;
  const auto usual = DoubleNear(160, 1e-6);
  EXPECT_THAT(rates_of("regex:Step (?<step>[0-9]+)", "Step {} {}", 2), ElementsAre(usual, usual));
  EXPECT_THAT(rates_of("torch", "Step {:06d}, {:.2f} examples/second", 1),
              ElementsAre(usual, usual));
  EXPECT_EQ(rates_of("regex:Step (?<step>[0-9]+)", "Step {}", 30).size(), 3u) << "a long one";
}

TEST(RegexReader, EachFileIsASample) {
  LogContext context{2, 1, false, {}};
  const auto steps = steps_of("regex:^read (?<file>[^ ]+\\.png)", context,
                              {"read a.png", "read b.png", "other", "read c.png", "read c.jpg"});
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_NEAR(rate(steps[0]), 1, 1e-6);
  EXPECT_NEAR(rate(steps[1]), 0.5, 1e-6);
  EXPECT_FALSE(reads_steps("regex:^read (?<file>[^ ]+)"));
}

}  // namespace
}  // namespace ocrtune
