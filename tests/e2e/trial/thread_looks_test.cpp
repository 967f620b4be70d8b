// Looks at threads of this process, each of which waits in its own way.
#include "trial/stages/thread_looks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace ocrtune {
namespace {

using std::chrono::milliseconds;

// Repeats each action in a thread of its own until the end.
class Actors {
 public:
  ~Actors() {
    for (std::thread& one : threads_) one.join();
  }
  void end() { over_ = true; }  // before the last word to those that wait for one
  void add(std::function<void()> action) {
    threads_.emplace_back([this, action = std::move(action)] {
      while (!over_) action();
    });
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

StageUse looked_at(int looks) {
  ProcessFacts self;
  self.pid = ::getpid();
  self.name = "tests";
  ThreadLooks seen;
  for (int i = 0; i < looks; ++i) {
    seen.look(steady_seconds(), {self});
    std::this_thread::sleep_for(milliseconds(5));
  }
  StageUse use;
  seen.fill(use);
  return use;
}

TEST(ThreadLooks, TheKernelNamesWhatThreadsWaitFor) {
  int numbers[2];
  ASSERT_EQ(::pipe(numbers), 0);
  std::mutex model;
  {
    Actors actors;
    for (int i = 0; i < 3; ++i) {
      actors.add([&] {
        const std::lock_guard<std::mutex> held(model);
        std::this_thread::sleep_for(milliseconds(4));
      });
    }
    actors.add([&] {
      std::this_thread::sleep_for(milliseconds(3));
      char one = 'a';
      ASSERT_EQ(::write(numbers[1], &one, 1), 1);
    });
    actors.add([&] {
      char one = 0;
      ASSERT_EQ(::read(numbers[0], &one, 1), 1);
    });
    const StageUse use = looked_at(60);
    EXPECT_EQ(use.looks, 60);
    EXPECT_GT(use.mutex_threads, 0);
    EXPECT_GE(use.lock_threads, use.mutex_threads);
    EXPECT_GT(use.sleeping_threads, 0);
    EXPECT_GT(use.pipe_threads, 0);
    EXPECT_GT(use.running_threads, 0) << "the one that looks";
    EXPECT_DOUBLE_EQ(use.network_threads, 0);
    actors.end();
    ASSERT_EQ(::write(numbers[1], "z", 1), 1);
  }
  for (const int descriptor : {numbers[0], numbers[1]}) ::close(descriptor);
}

TEST(ThreadLooks, AReceiverWaitsForTheNetwork) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener, any, length), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, any, &length), 0);
  const int sender = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(sender, any, length), 0);
  const int receiver = ::accept(listener, nullptr, nullptr);
  ASSERT_GE(receiver, 0);
  {
    Actors actors;
    actors.add([&] {
      char one = 0;
      ASSERT_EQ(::recv(receiver, &one, 1, 0), 1);
    });
    actors.add([&] {
      std::this_thread::sleep_for(milliseconds(3));
      ASSERT_EQ(::send(sender, "a", 1, 0), 1);
    });
    const StageUse use = looked_at(60);
    EXPECT_GT(use.network_threads, 0);
    actors.end();
    ASSERT_EQ(::send(sender, "z", 1, 0), 1);
  }
  for (const int descriptor : {listener, sender, receiver}) ::close(descriptor);
}

}  // namespace
}  // namespace ocrtune
