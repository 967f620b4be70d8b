// The GPU handshake's own logic on the host: two threads for two GPUs, over memory that is
// coherent and memory that is not. What it must never do is run on without end.
#include "probes/p2p/steps/handshake.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

enum class Fault { none, flags_lost, zeroed_payload, stale_payload, all_lost };

// One thread as a whole block.
struct ThreadLane {
  Fault fault = Fault::none;
  Mailbox* peer = nullptr;
  bool flag = false;

  int index() const { return 0; }
  int count() const { return 1; }
  void store(std::uint32_t* to, std::uint32_t value) const {
    const bool is_flag = to == &peer->flag;
    if (fault == Fault::all_lost || (fault == Fault::flags_lost && is_flag)) return;
    if (fault == Fault::zeroed_payload && !is_flag) value = 0;
    if (fault == Fault::stale_payload && !is_flag && peer->payload[0] != 0) return;
    std::atomic_ref<std::uint32_t>(*to).store(value, std::memory_order_release);
  }
  std::uint32_t load(const std::uint32_t* from) const {
    return std::atomic_ref<std::uint32_t>(*const_cast<std::uint32_t*>(from))
        .load(std::memory_order_acquire);
  }
  void fence() const { std::atomic_thread_fence(std::memory_order_seq_cst); }
  void sync() const {}
  std::uint64_t now() const {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
  }
  bool may_spin() const {
    std::this_thread::yield();
    return true;
  }
  void share(bool value) { flag = value; }
  bool shared() const { return flag; }
  std::uint32_t add(std::uint32_t* counter) const { return (*counter)++; }
};

struct Hands {
  HandshakeResult results[2];
};

// `fault` is in the stores of side 0, towards side 1.
Hands shake(Fault fault, int rounds, std::uint64_t limit_nanoseconds) {
  auto boxes = std::make_unique<Mailbox[]>(2);
  Hands out;
  std::thread sides[2];
  for (int side = 0; side < 2; ++side) {
    sides[side] = std::thread([&, side] {
      ThreadLane lane{side == 0 ? fault : Fault::none, &boxes[1 - side], false};
      shake_hands(lane, &boxes[side], &boxes[1 - side],
                  HandshakeRules{7, side, rounds, limit_nanoseconds}, &out.results[side]);
    });
  }
  for (std::thread& side : sides) side.join();
  return out;
}

TEST(Handshake, PassesOverCoherentMemory) {
  const Hands hands = shake(Fault::none, 40, 20'000'000'000);
  for (const HandshakeResult& result : hands.results) {
    EXPECT_EQ(result.timed_out, 0);
    EXPECT_EQ(result.bad_words, 0U);
    EXPECT_EQ(result.rounds_done, 40);
  }
}

TEST(Handshake, EndsByItselfWhereStoresAreLost) {
  for (const Fault fault : {Fault::flags_lost, Fault::all_lost}) {
    const Hands hands = shake(fault, 40, 50'000'000);
    EXPECT_EQ(hands.results[1].timed_out, 1);
    EXPECT_EQ(hands.results[1].rounds_done, 0);
    EXPECT_EQ(hands.results[0].timed_out, 1) << "nobody answered it";
  }
}

TEST(Handshake, SeesPayloadThatDidNotArriveWithItsFlag) {
  const Hands zeroed = shake(Fault::zeroed_payload, 4, 20'000'000'000);
  EXPECT_EQ(zeroed.results[1].bad_words, 2U * kPayloadWords);
  EXPECT_EQ(zeroed.results[1].first_bad_round, 0);
  EXPECT_EQ(zeroed.results[1].got, 0U);
  EXPECT_EQ(zeroed.results[0].bad_words, 0U) << "the other direction is sound";
  const Hands stale = shake(Fault::stale_payload, 4, 20'000'000'000);
  EXPECT_GT(stale.results[1].bad_words, 0U);
}

}  // namespace
}  // namespace ocrtune
