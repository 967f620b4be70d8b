#include "core/data/lmdb_source.h"

#if __has_include(<lmdb.h>)
#include <lmdb.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/files.h"
#include "core/data/image_file.h"
#include "core/data/loader.h"
#include "core/data/samples.h"

namespace ocrtune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LmdbSourceTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("lmdb"); }
  void TearDown() override { (void)remove_tree(folder_); }

  void put(const std::map<std::string, std::string>& entries) { put_at(folder_, entries); }
  static void put_at(const std::string& folder, const std::map<std::string, std::string>& entries) {
    MDB_env* environment = nullptr;
    MDB_txn* transaction = nullptr;
    MDB_dbi database = 0;
    ASSERT_EQ(::mdb_env_create(&environment), 0);
    ASSERT_EQ(::mdb_env_set_mapsize(environment, 16 << 20), 0);
    ASSERT_EQ(::mdb_env_open(environment, folder.c_str(), MDB_NOSYNC, 0600), 0);
    ASSERT_EQ(::mdb_txn_begin(environment, nullptr, 0, &transaction), 0);
    ASSERT_EQ(::mdb_dbi_open(transaction, nullptr, 0, &database), 0);
    for (const auto& [key, value] : entries) {
      MDB_val name = {key.size(), const_cast<char*>(key.data())};
      MDB_val bytes = {value.size(), const_cast<char*>(value.data())};
      ASSERT_EQ(::mdb_put(transaction, database, &name, &bytes, 0), 0);
    }
    ASSERT_EQ(::mdb_txn_commit(transaction), 0);
    ::mdb_env_close(environment);
  }
  void put_lines(int count) {
    std::map<std::string, std::string> entries = {{"num-samples", std::to_string(count)}};
    for (int i = 1; i <= count; ++i) {
      char number[16];
      std::snprintf(number, sizeof number, "%09d", i);
      Image image{12, 8, std::vector<std::uint8_t>(12 * 8 * 3, static_cast<std::uint8_t>(i))};
      entries[std::string("image-") + number] = *encode_png(image);
      entries[std::string("label-") + number] = std::to_string(i);
    }
    put(entries);
  }
  std::string folder_;
};

TEST_F(LmdbSourceTest, ReadsWhatPaddleOcrWrites) {
  put({{"num-samples", "2"},
       {"label-000000001", "ba"},
       {"image-000000001", "bytes"},
       {"label-000000002", "c"}});
  const auto source = LmdbSource::open(folder_, "");
  ASSERT_TRUE(source) << source.error().what;
  EXPECT_EQ((*source)->size(), 2);
  EXPECT_THAT((*source)->alphabet(), ElementsAre("a", "b", "c"));
  EXPECT_THAT((*source)->label(0), ElementsAre(2, 1));
  EXPECT_EQ(*(*source)->image_bytes(0), "bytes");
  EXPECT_THAT((*source)->image_bytes(1).error().what, HasSubstr("image-000000002"));
  EXPECT_EQ((*source)->name(1), folder_ + ":2");
}

TEST_F(LmdbSourceTest, FileThatIsCutShortIsRefused) {
  put_lines(200);
  const std::string path = folder_ + "/data.mdb";
  const auto size = static_cast<off_t>(read_file(path)->size());
  ASSERT_EQ(::truncate(path.c_str(), size / 2), 0);
  const auto source = LmdbSource::open(folder_, "");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, ErrorKind::invalid);
  EXPECT_THAT(source.error().what, HasSubstr(folder_ + " is cut short"));
}

// As on a disk that gives an error: the pages are not there when they are read.
TEST_F(LmdbSourceTest, FileThatIsCutWhileItIsReadIsAnError) {
  put_lines(200);
  const auto source = LmdbSource::open(folder_, "");
  ASSERT_TRUE(source);
  ASSERT_EQ(::truncate((folder_ + "/data.mdb").c_str(), 0), 0);
  const auto image = (*source)->image_bytes(0);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::invalid);
  EXPECT_THAT(image.error().what, HasSubstr("image-000000001"));
}

// LMDB itself believes what its pages say.
TEST_F(LmdbSourceTest, DamagedPagesAreAnErrorOrOtherBytes) {
  put_lines(200);
  const std::string path = folder_ + "/data.mdb";
  const std::string whole = *read_file(path);
  constexpr std::size_t kFirstPage = 2 * 4096;  // behind the two heads
  int refused = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::string damaged = whole;
    unsigned draw = seed;
    for (int i = 0; i < 200; ++i) {
      draw = draw * 1664525U + 1013904223U;
      damaged[kFirstPage + (draw >> 4) % (damaged.size() - kFirstPage)] =
          static_cast<char>(draw >> 24);
    }
    std::ofstream(path, std::ios::binary) << damaged;
    const auto source = LmdbSource::open(folder_, "");
    if (!source) ++refused;
    for (std::int64_t i = 0; source && i < (*source)->size(); ++i) {
      if (!(*source)->image_bytes(i)) ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST_F(LmdbSourceTest, DamagedHeadsAreRefusedOrRead) {
  put_lines(20);
  const std::string path = folder_ + "/data.mdb";
  const std::string whole = *read_file(path);
  for (std::size_t at = 0; at < 160; ++at) {
    for (const int byte : {0, 0xff}) {
      std::string damaged = whole;
      for (std::size_t head : {0, 4096}) damaged[head + at] = static_cast<char>(byte);
      std::ofstream(path, std::ios::binary) << damaged;
      const auto source = LmdbSource::open(folder_, "");
      for (std::int64_t i = 0; source && i < (*source)->size(); ++i)
        (void)(*source)->image_bytes(i);
    }
  }
  for (std::size_t size = 0; size < 8192; size += 512) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(LmdbSource::open(folder_, "")) << size;
  }
  std::string no_page_size = whole;
  for (std::size_t head : {0, 4096}) no_page_size.replace(head + 40, 4, 4, '\0');
  std::ofstream(path, std::ios::binary) << no_page_size;
  EXPECT_FALSE(LmdbSource::open(folder_, ""));
}

TEST_F(LmdbSourceTest, MoreSamplesThanAFileCanHoldAreRefused) {
  put({{"num-samples", "999999999"}, {"label-000000001", "x"}});
  EXPECT_THAT(LmdbSource::open(folder_, "").error().what, HasSubstr("num-samples is 999999999"));
}

TEST_F(LmdbSourceTest, WalksTheFoldersBelow) {
  for (const auto& [folder, text] : {std::pair{"/b/train", "b"}, std::pair{"/a", "a"}}) {
    ASSERT_TRUE(make_directories(folder_ + folder));
    put_at(folder_ + folder,
           {{"num-samples", "1"}, {"label-000000001", text}, {"image-000000001", folder}});
  }
  EXPECT_THAT(lmdb_folders(folder_), ElementsAre(folder_ + "/a", folder_ + "/b/train"));
  const auto source = LmdbSource::open(folder_, "");
  ASSERT_TRUE(source) << source.error().what;
  EXPECT_THAT((*source)->alphabet(), ElementsAre("a", "b"));
  ASSERT_EQ((*source)->size(), 2);
  EXPECT_EQ(*(*source)->image_bytes(1), "/b/train");
  EXPECT_EQ((*source)->name(1), folder_ + "/b/train:1");
  EXPECT_EQ(samples_path(folder_), folder_);
}

TEST_F(LmdbSourceTest, NamesTheFolderBelowThatIsDamaged) {
  ASSERT_TRUE(make_directories(folder_ + "/a"));
  ASSERT_TRUE(make_directories(folder_ + "/b"));
  put_at(folder_ + "/a", {{"num-samples", "0"}});
  put_at(folder_ + "/b", {{"key", "value"}});
  EXPECT_THAT(LmdbSource::open(folder_, "").error().what, HasSubstr(folder_ + "/b"));
}

TEST_F(LmdbSourceTest, CountsWhatIsUnusable) {
  put({{"num-samples", "3"}, {"label-000000001", "12"}, {"label-000000002", "x"}});
  const auto source = LmdbSource::open(folder_, "12");
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->size(), 1);
  EXPECT_EQ((*source)->unusable().count, 2);
}

TEST_F(LmdbSourceTest, RefusesWhatIsNoSuchDatabase) {
  EXPECT_EQ(LmdbSource::open("/nowhere", "").error().kind, ErrorKind::missing);
  std::ofstream(folder_ + "/data.mdb") << std::string(10'000, 'x');
  EXPECT_EQ(LmdbSource::open(folder_, "").error().kind, ErrorKind::invalid);
  (void)remove_tree(folder_ + "/data.mdb");
  put({{"num-samples", "many"}});
  EXPECT_THAT(LmdbSource::open(folder_, "").error().what, HasSubstr("num-samples is 'many'"));
}

TEST_F(LmdbSourceTest, TheLoaderTakesAFolderForALabelFile) {
  put_lines(24);
  LoaderOptions options;
  options.label_file = folder_;
  options.batch = 4;
  options.height = 8;
  options.width = 16;
  std::vector<std::vector<float>> images;
  for (int workers : {0, 2}) {
    options.workers = workers;
    auto loader = Loader::create(options);
    ASSERT_TRUE(loader) << loader.error().what;
    for (int i = 0; i < 12; ++i) {
      const auto batch = (*loader)->next();
      ASSERT_TRUE(batch) << batch.error().what;
      if (workers == 0) {
        images.push_back(batch->images);
      } else {
        EXPECT_EQ(batch->images, images[static_cast<std::size_t>(i)]);
      }
    }
  }
}

// A read is bounded by the processor time of one search, not by the size of the file: 100 GiB of
// lines that nobody asks for, most of them holes, lie before those that are read.
TEST_F(LmdbSourceTest, AFileOf100GiBIsReadLikeAnyOther) {
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  MDB_env* environment = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi database = 0;
  ASSERT_EQ(::mdb_env_create(&environment), 0);
  ASSERT_EQ(::mdb_env_set_mapsize(environment, 101 * kGiB), 0);
  const unsigned options = MDB_NOSYNC | MDB_WRITEMAP | MDB_NOMEMINIT;
  if (::mdb_env_open(environment, folder_.c_str(), options, 0600) != 0) {
    ::mdb_env_close(environment);
    GTEST_SKIP() << "no sparse file or mapping of 101 GiB here";
  }
  ASSERT_EQ(::mdb_txn_begin(environment, nullptr, 0, &transaction), 0);
  ASSERT_EQ(::mdb_dbi_open(transaction, nullptr, 0, &database), 0);
  const auto put_one = [&](std::string key, std::size_t size, const std::string& bytes) {
    MDB_val name = {key.size(), key.data()};
    MDB_val value = {size, nullptr};
    ASSERT_EQ(::mdb_put(transaction, database, &name, &value, MDB_RESERVE), 0) << key;
    std::memcpy(value.mv_data, bytes.data(), bytes.size());
  };
  for (int i = 0; i < 100; ++i) put_one("image-1" + std::to_string(i), kGiB - 4096, "");
  put_one("num-samples", 1, "2");
  put_one("label-000000001", 1, "a");
  put_one("image-000000001", 5, "first");
  put_one("label-000000002", 1, "b");
  put_one("image-000000002", 6, "second");
  ASSERT_EQ(::mdb_txn_commit(transaction), 0);
  ::mdb_env_close(environment);
  const auto source = LmdbSource::open(folder_, "");
  ASSERT_TRUE(source) << source.error().what;
  EXPECT_EQ(*(*source)->image_bytes(0), "first");
  EXPECT_EQ(*(*source)->image_bytes(1), "second");
}

// Damaged pages may point at each other in a circle.
TEST(MappedRead, AReadWithoutEndIsLeft) {
  volatile bool going_on = true;
  EXPECT_FALSE(read_mapped_briefly([&] {
    while (going_on) {
    }
  }));
  bool read = false;
  EXPECT_TRUE(read_mapped_briefly([&] { read = true; }));
  EXPECT_TRUE(read);
}

// To be left within malloc is to leave its lock taken.
TEST(MappedRead, WhatAllocatesIsNotLeftAtAnyInstruction) {
  const double end = thread_cpu_seconds() + 2.5;
  EXPECT_TRUE(read_mapped([&] {
    while (thread_cpu_seconds() < end) std::free(std::malloc(100));
  }));
  std::string bytes;
  EXPECT_FALSE(read_mapped([] { std::raise(SIGBUS); }));
  std::thread([&] { bytes.resize(1 << 20); }).join();
  EXPECT_EQ(bytes.size(), 1U << 20);
}

TEST(MappedRead, AThreadTakesItsTimerAlong) {
  const auto timers = [] {
    const std::string text = read_file("/proc/self/timers").value_or("");
    return std::count(text.begin(), text.end(), 'I');  // "ID: 3", once a timer
  };
  const auto before = timers();
  for (int i = 0; i < 20; ++i) std::thread([] { (void)read_mapped_briefly([] {}); }).join();
  EXPECT_EQ(timers(), before);
}

}  // namespace
}  // namespace ocrtune

#endif
