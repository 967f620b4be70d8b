#include "trial/observe/shm_leftovers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Leftovers : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = *make_temporary_directory("shm");
    put("torch_7_before");
    shm_.emplace(folder_);
  }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_)); }

  std::string path(const std::string& name) const { return join_path(folder_, name); }
  void put(const std::string& name) const { ASSERT_TRUE(write_file(path(name), "x")); }

  std::string folder_;
  std::optional<ShmLeftovers> shm_;
};

TEST_F(Leftovers, ANameNeedsThePidInItsPlace) {
  for (const char* name : {"torch_7_1", "paddle_7_24_3", "sem.loky-7-ab", "torch_8_7", "torch_7",
                           "paddle_99_7_7", "review_cache_7", "x_torch_7_1"}) {
    put(name);
  }
  ASSERT_TRUE(make_directories(path("torch_7_folder/data")));
  EXPECT_THAT(shm_->remove({7}, false).removed, IsEmpty()) << "others may have the same ids";
  EXPECT_THAT(shm_->remove({7}, true).removed,
              ElementsAre("paddle_7_24_3", "sem.loky-7-ab", "torch_7_1"));
  EXPECT_TRUE(path_exists(path("torch_7_before")));
  EXPECT_TRUE(path_exists(path("torch_7_folder/data")));
}

// A state in memory is what the next attempt goes on from.
TEST_F(Leftovers, WhatTheUserNamedStays) {
  for (const char* name : {"state.pt", "latest.pdparams", "segment", "torch_7_9"}) put(name);
  shm_->add_used({"state.pt", "latest.pdparams", "segment", "torch_7_9"});
  for (const char* name : {"state.pt", "latest"}) shm_->keep(path(name));
  shm_->keep(path("none/at/all"));
  EXPECT_THAT(shm_->remove({}, false).removed, ElementsAre("segment", "torch_7_9"));
  put("segment");
  put("torch_7_9");
  shm_->keep(folder_ + "/");
  EXPECT_THAT(shm_->remove({}, false).removed, ElementsAre("torch_7_9"));
  EXPECT_TRUE(path_exists(path("state.pt")));
}

TEST_F(Leftovers, SegmentsOfKilledLaunchesGo) {
  for (const char* name : {"ocrtune-17-4", "ocrtune-18-4", "ocrtune-17", "ocrtune-17-4-1",
                           "ocrtune-a-4", "other-17-4", "xocrtune-17-4"}) {
    put(name);
  }
  remove_orphaned_segments(folder_, 60);
  EXPECT_TRUE(path_exists(path("ocrtune-17-4"))) << "its ranks may yet come";
  const int held = ::open(path("ocrtune-18-4").c_str(), O_RDWR | O_CLOEXEC);
  void* mapped = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, held, 0);
  ::close(held);
  remove_orphaned_segments(folder_, 0);
  EXPECT_TRUE(path_exists(path("ocrtune-18-4"))) << "mapped by a rank";
  ::munmap(mapped, 1);
  EXPECT_FALSE(path_exists(path("ocrtune-17-4")));
  for (const char* name :
       {"ocrtune-17", "ocrtune-17-4-1", "ocrtune-a-4", "other-17-4", "xocrtune-17-4"}) {
    EXPECT_TRUE(path_exists(path(name))) << name;
  }
}

// Another job's cache, which the trial only reads; that job has it open at times.
TEST_F(Leftovers, WhatWasOnlyReadIsNotTheTrials) {
  put("cache");
  put("own");
  const int cache = ::open(path("cache").c_str(), O_RDONLY | O_CLOEXEC);
  const int own = ::open(path("own").c_str(), O_RDWR | O_CLOEXEC);
  void* mapped = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, cache, 0);
  ProcessFacts self;
  self.pid = ::getpid();
  shm_->look({self});
  ::munmap(mapped, 1);
  ::close(cache);
  ::close(own);
  const auto report = shm_->remove({}, true);
  EXPECT_THAT(report.removed, ElementsAre("own"));
  EXPECT_THAT(report.left, ElementsAre("cache"));
}

TEST_F(Leftovers, WhatSomebodyHasOpenStays) {
  put("psm_held");
  put("psm_free");
  put("psm_nobody_saw");
  shm_->add_used({"psm_held", "psm_free"});
  const int held = ::open(path("psm_held").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(held, 0);
  const auto report = shm_->remove({}, true);
  ::close(held);
  EXPECT_THAT(report.removed, ElementsAre("psm_free"));
  EXPECT_THAT(report.left, ElementsAre("psm_held", "psm_nobody_saw"));
  EXPECT_THAT(shm_->remove({}, true).removed, ElementsAre("psm_held"));
}

TEST_F(Leftovers, AnotherUsersFilesAndLinksStay) {
  put("torch_7_theirs");
  put("target");
  ASSERT_EQ(::symlink(path("target").c_str(), path("torch_7_link").c_str()), 0);
  if (::chown(path("torch_7_theirs").c_str(), 65534, 65534) != 0) {
    GTEST_SKIP() << "needs root to give a file away";
  }
  EXPECT_THAT(shm_->remove({7}, true).removed, IsEmpty());
}

TEST_F(Leftovers, SeesWhatThisProcessHasOpen) {
  put("held");
  const int held = ::open(path("held").c_str(), O_RDWR | O_CLOEXEC);
  ProcessFacts self;
  self.pid = ::getpid();
  shm_->look({self});
  ::close(held);
  EXPECT_THAT(shm_->remove({}, false).removed, ElementsAre("held"));
}

}  // namespace
}  // namespace ocrtune
