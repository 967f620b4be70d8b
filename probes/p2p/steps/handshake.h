// Two resident kernels that talk through each other's memory, as NCCL's do, but always end.
//
// Each side owns a mailbox. In every round one side stores a payload into the other's mailbox,
// makes it visible to the whole system, and raises the flag there; the other waits for the flag in
// its own memory, checks the payload by local reads, and answers in the next round. That is the
// guarantee on which collectives rest: a store becomes visible *while both kernels run*. A wait
// ends with the time limit, so a link that breaks the guarantee costs an error code and no wedged
// GPU.
//
// The logic is one template over a Lane (what a thread can do), so that tests run it on the host
// with threads for GPUs and with memory that loses, delays or zeroes stores.
#pragma once

#include <cstdint>

#include "probes/p2p/steps/test_pattern.h"

namespace ocrtune {

inline constexpr int kPayloadWords = 1024;

struct Mailbox {
  std::uint32_t flag = 0;
  std::uint32_t padding[31] = {};  // the flag has its own cache line
  std::uint32_t payload[kPayloadWords] = {};
};

struct HandshakeRules {
  std::uint32_t seed = 1;
  int side = 0;  // 0 begins
  int rounds = 0;
  std::uint64_t limit_nanoseconds = 0;  // of all rounds together
};

struct HandshakeResult {
  int rounds_done = 0;
  int timed_out = 0;
  std::uint32_t bad_words = 0;
  int first_bad_round = -1;
  std::uint32_t bad_index = 0, got = 0;
  std::uint64_t nanoseconds = 0;
};

template <typename Lane>
OCRTUNE_BOTH void send_round(Lane& lane, Mailbox* peer, const HandshakeRules& plan, int round) {
  for (int i = lane.index(); i < kPayloadWords; i += lane.count()) {
    lane.store(&peer->payload[i],
               pattern_word(plan.seed + static_cast<std::uint32_t>(round),
                            static_cast<std::uint32_t>(plan.side), static_cast<std::uint64_t>(i)));
  }
  lane.fence();
  lane.sync();
  if (lane.index() == 0) {
    lane.store(&peer->flag, static_cast<std::uint32_t>(round) + 1);
    lane.fence();
  }
}

// False: the time was up.
template <typename Lane>
OCRTUNE_BOTH bool await_round(Lane& lane, const Mailbox* mine, const HandshakeRules& plan,
                              int round, std::uint64_t start) {
  if (lane.index() == 0) {
    bool there = false;
    do {
      there = lane.load(&mine->flag) == static_cast<std::uint32_t>(round) + 1;
    } while (!there && lane.now() - start < plan.limit_nanoseconds && lane.may_spin());
    lane.fence();
    lane.share(there);
  }
  lane.sync();
  return lane.shared();
}

template <typename Lane>
OCRTUNE_BOTH void check_round(Lane& lane, const Mailbox* mine, const HandshakeRules& plan,
                              int round, HandshakeResult* result) {
  for (int i = lane.index(); i < kPayloadWords; i += lane.count()) {
    const std::uint32_t word = lane.load(&mine->payload[i]);
    const std::uint32_t wanted =
        pattern_word(plan.seed + static_cast<std::uint32_t>(round),
                     static_cast<std::uint32_t>(1 - plan.side), static_cast<std::uint64_t>(i));
    if (word != wanted && lane.add(&result->bad_words) == 0) {
      result->first_bad_round = round;
      result->bad_index = static_cast<std::uint32_t>(i);
      result->got = word;
    }
  }
  lane.sync();
}

// Rounds of one side; even rounds are sent by side 0. `result` is this side's own.
template <typename Lane>
OCRTUNE_BOTH void shake_hands(Lane& lane, Mailbox* mine, Mailbox* peer, const HandshakeRules& plan,
                              HandshakeResult* result) {
  const std::uint64_t start = lane.now();
  int round = 0;
  bool alive = true;
  for (; round < plan.rounds && alive; ++round) {
    if (round % 2 == plan.side) {
      send_round(lane, peer, plan, round);
    } else {
      alive = await_round(lane, mine, plan, round, start);
      if (alive) check_round(lane, mine, plan, round, result);
    }
  }
  if (lane.index() != 0) return;
  result->rounds_done = alive ? round : round - 1;
  result->timed_out = alive ? 0 : 1;
  result->nanoseconds = lane.now() - start;
}

}  // namespace ocrtune
