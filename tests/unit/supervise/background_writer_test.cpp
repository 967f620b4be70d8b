#include "extras/supervise/background_writer.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(BackgroundWriter, WritesInOrderWhatSeveralPut) {
  std::vector<int> written;  // by its thread alone, until it is idle
  BackgroundWriter writer;
  std::atomic<int> turn{0};
  std::vector<std::thread> putters;
  for (int putter = 0; putter < 2; ++putter) {
    putters.emplace_back([&, putter] {
      for (int i = putter; i < 200; i += 2) {
        while (turn != i) std::this_thread::yield();
        EXPECT_TRUE(writer.put(1, [&written, i] { written.push_back(i); }));
        turn = i + 1;
      }
    });
  }
  for (std::thread& putter : putters) putter.join();
  ASSERT_TRUE(writer.finish(60));
  ASSERT_EQ(written.size(), 200U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(written[static_cast<std::size_t>(i)], i);
}

// A write that hangs: its writer goes on, and is told once the queue takes no more.
TEST(BackgroundWriter, AWriteThatHangsHoldsNobodyUp) {
  const auto answer = std::make_shared<std::latch>(1);
  const auto later = std::make_shared<std::atomic<int>>(0);
  {
    BackgroundWriter writer(100);
    EXPECT_TRUE(writer.put(60, [answer] { answer->wait(); }));
    EXPECT_TRUE(writer.put(40, [later] { ++*later; }));
    EXPECT_FALSE(writer.put(1, [later] { *later += 100; }));
    EXPECT_FALSE(writer.idle());
    EXPECT_FALSE(writer.finish(0.01));
    answer->count_down();
    EXPECT_TRUE(writer.finish(60));
    EXPECT_TRUE(writer.put(100, [later] { ++*later; }));
  }
  EXPECT_EQ(*later, 2);
}

TEST(BackgroundWriter, WhatHasNotBegunIsGivenUp) {
  const auto answer = std::make_shared<std::latch>(1);
  const auto later = std::make_shared<std::atomic<int>>(0);
  {
    BackgroundWriter writer(100, 0.01);
    EXPECT_TRUE(writer.put(1, [answer] { answer->wait(); }));
    EXPECT_TRUE(writer.put(1, [later] { ++*later; }));
  }
  EXPECT_EQ(later.use_count(), 1);
  answer->count_down();
}

struct EndsWith9 {
  ~EndsWith9() { ::_exit(9); }
};

TEST(BackgroundWriterAtExit, NoDestructorRunsBesideAHungWrite) {
  const auto end_after = [](bool hangs) {
    static const EndsWith9 object;
    const auto begun = std::make_shared<std::latch>(1), answer = std::make_shared<std::latch>(1);
    if (!hangs) answer->count_down();
    {
      BackgroundWriter writer(100, hangs ? 0.01 : 60);
      writer.put(1, [begun, answer] {
        begun->count_down();
        answer->wait();
      });
      begun->wait();
    }
    std::exit(3);
  };
  EXPECT_EXIT(end_after(true), testing::ExitedWithCode(3), "");
  EXPECT_EXIT(end_after(false), testing::ExitedWithCode(9), "");
}

}  // namespace
}  // namespace ocrtune
