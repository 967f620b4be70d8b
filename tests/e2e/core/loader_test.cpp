#include "core/data/loader.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "core/data/batch_maker.h"
#include "core/data/image_file.h"
#include "core/data/label_file.h"
#include "core/data/loader_workers.h"
#include "tests/support/forked_ranks.h"

namespace ocrtune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Children of `pid`, from /proc.
std::vector<int> children_of(int pid) {
  const std::string id = std::to_string(pid);
  std::vector<int> children;
  const std::string text = read_file("/proc/" + id + "/task/" + id + "/children").value_or("");
  for (const std::string& word : words(text)) children.push_back(std::stoi(word));
  return children;
}

class LoaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("loader");
    options_.label_file = folder_ + "/labels.txt";
    options_.batch = 4;
    options_.height = 8;
    options_.width = 24;
  }
  void TearDown() override { (void)remove_tree(folder_); }

  static void put_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary)
        << bytes;  // unlike write_file, does not wait for the disk
  }

  // Line i shows grey level i % 256 and says the number i.
  void make_lines(int count) {
    std::string labels;
    for (int i = 0; i < count; ++i) {
      Image image{10 + i % 7, 8, {}};
      image.pixels.assign(static_cast<std::size_t>(image.width * image.height * 3),
                          static_cast<std::uint8_t>(i));
      const std::string name = std::to_string(i) + ".png";
      put_file(folder_ + "/" + name, *encode_png(image));
      labels += name + "\t" + std::to_string(i) + "\n";
    }
    put_file(options_.label_file, labels);
  }
  std::string image(int i) const { return folder_ + "/" + std::to_string(i) + ".png"; }

  std::vector<Batch> batches(int workers, int count) {
    options_.workers = workers;
    auto loader = Loader::create(options_);
    std::vector<Batch> list;
    for (int i = 0; loader && i < count; ++i) {
      auto batch = (*loader)->next();
      if (!batch) break;
      list.push_back(std::move(batch).value());
    }
    if (loader) counts_ = (*loader)->counts();
    return list;
  }
  // The error that ends loading within `most` batches, or "".
  Error first_error(int most) {
    auto loader = Loader::create(options_);
    if (!loader) return loader.error();
    for (int i = 0; i < most; ++i) {
      auto batch = (*loader)->next();
      if (!batch) return batch.error();
    }
    return Error{};
  }

  std::string folder_;
  LoaderOptions options_;
  LoaderCounts counts_;
};

TEST_F(LoaderTest, ImagesMatchTheirLabels) {
  make_lines(40);
  auto loader = Loader::create(options_);
  ASSERT_TRUE(loader) << loader.error().what;
  EXPECT_EQ((*loader)->size(), 40);
  EXPECT_EQ((*loader)->alphabet().size(), 10U);
  EXPECT_EQ((*loader)->batches_per_epoch(), 10);
  std::set<int> seen;
  for (int b = 0; b < 10; ++b) {
    const auto batch = (*loader)->next();
    ASSERT_TRUE(batch);
    ASSERT_EQ(batch->images.size(), 4U * 3 * 8 * 24);
    for (std::size_t n = 0; n < 4; ++n) {
      std::string text;
      for (int label : batch->labels[n]) text += static_cast<char>('0' + label - 1);
      const int number = std::stoi(text);
      EXPECT_NEAR(batch->images[n * 3 * 8 * 24], number / 127.5 - 1, 1e-5);
      EXPECT_EQ(batch->images[n * 3 * 8 * 24 + 23], 0.0F) << "padding";
      EXPECT_TRUE(seen.insert(number).second) << "twice in one epoch";
    }
  }
  EXPECT_EQ(seen.size(), 40U);
  EXPECT_EQ((*loader)->counts().good, 40);
}

TEST_F(LoaderTest, MultiScaleBatchesHoldTheSamePixels) {
  make_lines(60);
  options_.batch = 6;
  options_.heights = {8, 12, 16};
  const auto alone = batches(0, 12);
  ASSERT_EQ(alone.size(), 12U);
  std::map<int, int> heights;
  std::set<std::vector<int>> seen;
  for (const Batch& batch : alone) {
    ++heights[batch.height];
    EXPECT_EQ(batch.count, 6 * 8 / batch.height);
    EXPECT_EQ(batch.images.size(), static_cast<std::size_t>(batch.count * 3 * batch.height * 24));
    EXPECT_EQ(batch.labels.size(), static_cast<std::size_t>(batch.count));
    seen.insert(batch.labels.begin(), batch.labels.end());
  }
  EXPECT_EQ(heights, (std::map<int, int>{{8, 4}, {12, 4}, {16, 4}}));
  EXPECT_EQ(seen.size(), 4U * (6 + 4 + 3)) << "one epoch: nothing twice";
  const auto together = batches(2, 12);
  ASSERT_EQ(together.size(), 12U);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].images, together[i].images);
    EXPECT_EQ(alone[i].labels, together[i].labels);
  }
  options_.first_batch = 5;  // a resumed run goes on with the same batches
  EXPECT_EQ(batches(0, 1)[0].images, alone[5].images);
}

TEST_F(LoaderTest, WidthBucketsFollowTheLines) {
  make_lines(60);  // widths 10 to 16, and every eighth line wide
  for (int i = 0; i < 60; i += 8) {
    Image wide{60, 8, std::vector<std::uint8_t>(60 * 8 * 3, static_cast<std::uint8_t>(i))};
    put_file(image(i), i % 16 == 0 ? *encode_png(wide) : *encode_jpeg(wide, 90));
  }
  put_file(image(5), "no picture");
  options_.width = 100;
  options_.width_buckets = 3;
  const auto alone = batches(0, 26);
  ASSERT_EQ(alone.size(), 26U);
  std::set<int> widths;
  for (const Batch& batch : alone) {
    widths.insert(batch.width);
    ASSERT_EQ(batch.images.size(), image_floats({batch.count, batch.height, batch.width}));
    EXPECT_GE(batch.count, 4);
    for (std::size_t n = 0; n < 4 && batch.width == 64; ++n) {
      EXPECT_NE(batch.images[n * 3 * 8 * 64 + 16], 0.0F) << "a narrow line in the wide bucket";
    }
  }
  EXPECT_EQ(widths, (std::set<int>{16, 64}));
  EXPECT_EQ(counts_.bad, 1);
  const auto together = batches(2, 26);
  ASSERT_EQ(together.size(), 26U);
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(alone[i].images, together[i].images);
}

TEST_F(LoaderTest, WidthBucketsAndHeightsExcludeEachOther) {
  make_lines(20);
  options_.heights = {8, 16};
  options_.width_buckets = 2;
  EXPECT_THAT(first_error(1).what, HasSubstr("one height"));
  options_.heights.clear();
  options_.width_buckets = 17;
  EXPECT_THAT(first_error(1).what, HasSubstr("0 to 16"));
}

TEST_F(LoaderTest, RanksSeeTheSameHeightsAndDifferentLines) {
  make_lines(60);
  options_.batch = 6;
  options_.heights = {8, 16};
  options_.world_size = 2;
  const auto first = batches(0, 6);
  options_.rank = 1;
  const auto second = batches(0, 6);
  ASSERT_EQ(second.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(first[i].height, second[i].height);
    EXPECT_NE(first[i].labels, second[i].labels);
  }
}

TEST_F(LoaderTest, BatchesAreTheSameForEveryNumberOfWorkers) {
  make_lines(60);
  ASSERT_EQ(::truncate(image(11).c_str(), 30), 0);
  ASSERT_EQ(::unlink(image(42).c_str()), 0);
  const auto alone = batches(0, 40);
  const LoaderCounts alone_counts = counts_;
  ASSERT_EQ(alone.size(), 40U);
  for (int workers : {1, 3}) {
    for (int depth : {1, 3}) {
      options_.queue_depth = depth;
      const auto together = batches(workers, 40);
      ASSERT_EQ(together.size(), 40U);
      for (std::size_t i = 0; i < 40; ++i) {
        EXPECT_EQ(together[i].images, alone[i].images) << workers << " workers, batch " << i;
        EXPECT_EQ(together[i].labels, alone[i].labels);
      }
      EXPECT_EQ(counts_.bad, alone_counts.bad);
      EXPECT_EQ(counts_.bad_examples, alone_counts.bad_examples);
    }
  }
  EXPECT_EQ(alone_counts.bad, 2);
}

class LinesInTurn final : public BatchOrder {
 public:
  BatchShape shape(std::int64_t /*sequence*/) const override { return shapes_[0]; }
  std::int64_t line(std::int64_t sequence, int item, int /*attempt*/) const override {
    return (4 * sequence + item) % 40;
  }
  std::int64_t batches_per_epoch() const override { return 10; }
  const std::vector<BatchShape>& shapes() const override { return shapes_; }

 private:
  std::vector<BatchShape> shapes_ = {{4, 8, 24}};
};

// The thread sanitizer sees nothing of what processes share.
TEST_F(LoaderTest, AThreadHandsOverAsAWorkerDoes) {
  make_lines(40);
  const auto file = LabelFile::read(options_.label_file, "");
  ASSERT_TRUE(file);
  const BatchMaker maker(**file, std::make_unique<LinesInTurn>());
  const auto memory = LoaderWorkers::reserve(maker, 1, 2);
  ASSERT_TRUE(memory);
  std::atomic<bool> end = false;
  std::thread worker([&] { (*memory)->serve(0, [&end] { return end.load(); }); });
  for (std::int64_t sequence = 0; sequence < 60; ++sequence) {
    const auto ready = (*memory)->take(sequence);
    EXPECT_TRUE(ready);
    if (!ready) break;
    std::vector<float> expected(ready->images.size());
    std::vector<std::int64_t> lines(4);
    std::vector<BadLine> bad;
    EXPECT_TRUE(maker.make(sequence, expected, lines, bad));
    EXPECT_TRUE(std::equal(lines.begin(), lines.end(), ready->lines.begin()));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), ready->images.begin()));
    (*memory)->give_back(sequence);
  }
  end = true;
  worker.join();
}

TEST_F(LoaderTest, OrderFollowsTheSeed) {
  make_lines(60);
  const auto one = batches(0, 5);
  EXPECT_EQ(batches(0, 5)[4].labels, one[4].labels);
  options_.seed = 2;
  EXPECT_NE(batches(0, 5)[4].labels, one[4].labels);
}

TEST_F(LoaderTest, AResumedRunGoesOnInTheOrder) {
  make_lines(60);
  const auto whole = batches(0, 40);
  options_.first_batch = 25;
  for (int workers : {0, 2}) {
    const auto rest = batches(workers, 15);
    ASSERT_EQ(rest.size(), 15U);
    for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(rest[i].images, whole[25 + i].images);
  }
}

TEST_F(LoaderTest, BadImagesAreReplacedCountedAndNamed) {
  make_lines(100);
  ASSERT_EQ(::truncate(image(3).c_str(), 40), 0);
  put_file(image(50), "not a picture");
  ASSERT_EQ(::unlink(image(77).c_str()), 0);
  const auto list = batches(2, 50);  // two epochs: each bad line counts once
  ASSERT_EQ(list.size(), 50U);
  EXPECT_EQ(counts_.good, 200);
  EXPECT_EQ(counts_.bad, 3);
  std::string named;
  for (const std::string& example : counts_.bad_examples) named += example + "\n";
  EXPECT_THAT(named, AllOf(HasSubstr("labels.txt:4: PNG"), HasSubstr("labels.txt:51: neither"),
                           HasSubstr("labels.txt:78: open"), HasSubstr("77.png")));
  for (const Batch& batch : list) {
    for (const auto& label : batch.labels) EXPECT_FALSE(label.empty());
  }
}

TEST_F(LoaderTest, MoreThanFivePercentBadEndsTheRun) {
  make_lines(100);
  for (int i = 10; i < 16; ++i) ASSERT_EQ(::unlink(image(i).c_str()), 0);
  for (int workers : {0, 2}) {
    options_.workers = workers;
    const Error error = first_error(100);
    EXPECT_EQ(error.kind, ErrorKind::invalid);
    EXPECT_THAT(error.what, AllOf(HasSubstr("6 of 100 lines are unusable"), HasSubstr("5.0 %"),
                                  HasSubstr("labels.txt:1")));
  }
  options_.max_bad_share = 0.06;
  EXPECT_EQ(first_error(100).what, "");
}

TEST_F(LoaderTest, AllImagesMissing) {
  make_lines(300);
  for (int i = 0; i < 300; ++i) ASSERT_EQ(::unlink(image(i).c_str()), 0);
  for (int workers : {0, 2}) {
    options_.workers = workers;
    EXPECT_THAT(first_error(1).what, HasSubstr("lines are unusable"));
  }
}

TEST_F(LoaderTest, BadLabelsAloneCanEndTheRun) {
  make_lines(20);
  const std::string labels = *read_file(options_.label_file);
  put_file(options_.label_file, labels + "one without a tab\n");
  EXPECT_EQ(first_error(5).what, "");
  put_file(options_.label_file, labels + "one\ntwo\n");
  EXPECT_THAT(first_error(5).what, HasSubstr("2 of 22 lines are unusable"));
}

TEST_F(LoaderTest, WrongUseIsNamed) {
  EXPECT_EQ(first_error(1).kind, ErrorKind::missing);
  make_lines(7);
  options_.world_size = 2;
  const Error few = first_error(1);
  EXPECT_EQ(few.kind, ErrorKind::usage);
  EXPECT_THAT(few.what, HasSubstr("7 usable lines; 2 ranks with a batch of 4 need 8"));
  options_.world_size = 1;
  for (const auto& [number, value] :
       std::vector<std::pair<int LoaderOptions::*, int>>{{&LoaderOptions::batch, 0},
                                                         {&LoaderOptions::workers, -1},
                                                         {&LoaderOptions::queue_depth, 0},
                                                         {&LoaderOptions::rank, 1},
                                                         {&LoaderOptions::width, 0},
                                                         {&LoaderOptions::workers, 1000}}) {
    const LoaderOptions before = options_;
    options_.*number = value;
    EXPECT_EQ(first_error(1).kind, ErrorKind::usage) << value;
    options_ = before;
  }
  put_file(options_.label_file, "");
  EXPECT_EQ(first_error(1).kind, ErrorKind::invalid);
}

TEST_F(LoaderTest, AKilledWorkerIsAnErrorThatNamesTheSignal) {
  make_lines(40);
  options_.workers = 2;
  auto loader = Loader::create(options_);
  ASSERT_TRUE(loader);
  ASSERT_TRUE((*loader)->next());
  const auto workers = children_of(::getpid());
  ASSERT_EQ(workers.size(), 2U);
  ::kill(workers[1], SIGKILL);
  Error error;
  for (int i = 0; i < 20 && error.what.empty(); ++i) {
    const auto batch = (*loader)->next();
    if (!batch) error = batch.error();
  }
  EXPECT_EQ(error.kind, ErrorKind::failed);
  EXPECT_THAT(error.what, AllOf(HasSubstr("loader worker 1 (pid " + std::to_string(workers[1])),
                                HasSubstr("signal 9 (Killed)"), HasSubstr("memory")));
  EXPECT_FALSE((*loader)->next());  // and stays an error
}

TEST_F(LoaderTest, AStoppedWorkerGoesOn) {
  make_lines(40);
  options_.workers = 2;
  auto loader = Loader::create(options_);
  ASSERT_TRUE(loader);
  ASSERT_TRUE((*loader)->next());
  ::kill(children_of(::getpid()).at(1), SIGSTOP);
  ::alarm(60);  // else it would wait for ever
  for (int i = 0; i < 20; ++i) EXPECT_TRUE((*loader)->next());
  ::alarm(0);
}

TEST_F(LoaderTest, NoWorkerOutlivesTheLoader) {
  make_lines(40);
  options_.workers = 3;
  auto loader = Loader::create(options_);
  ASSERT_TRUE(loader);
  EXPECT_EQ(children_of(::getpid()).size(), 3U);
  loader = Error{};
  EXPECT_TRUE(children_of(::getpid()).empty());
}

TEST_F(LoaderTest, NoWorkerOutlivesAKilledRank) {
  make_lines(40);
  options_.workers = 3;
  std::vector<int> workers;
  const auto ends = fork_ranks(1, [&](int) -> std::string {
    auto loader = Loader::create(options_);
    (void)(*loader)->next();
    std::string pids;
    for (int pid : children_of(::getpid())) pids += std::to_string(pid) + " ";
    put_file(folder_ + "/pids", pids);
    ::raise(SIGKILL);
    return "";
  });
  EXPECT_TRUE(ends[0].killed());
  const auto pids = words(*read_file(folder_ + "/pids"));
  EXPECT_EQ(pids.size(), 3U);
  for (const std::string& pid : pids) {
    // Re-parented and dead, at the latest when init has reaped it: gone or a zombie.
    std::string state = "?";
    for (int i = 0; i < 200 && state != "gone"; ++i) {
      const auto stat = read_file("/proc/" + pid + "/stat");
      state = !stat || stat->find(") Z") != std::string::npos ? "gone" : "alive";
      if (state != "gone") ::usleep(10'000);
    }
    EXPECT_EQ(state, "gone") << pid;
  }
}

TEST_F(LoaderTest, ReusesTheMemoryOfTheBatch) {
  make_lines(40);
  options_.workers = 1;
  auto loader = Loader::create(options_);
  Batch batch;
  ASSERT_TRUE((*loader)->next_into(batch));
  const float* where = batch.images.data();
  const auto labels = batch.labels;
  ASSERT_TRUE((*loader)->next_into(batch));
  EXPECT_EQ(batch.images.data(), where);
  EXPECT_NE(batch.labels, labels);
}

}  // namespace
}  // namespace ocrtune
