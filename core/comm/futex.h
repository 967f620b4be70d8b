// Sleeping on a word that processes share: the kernel's futex.
#pragma once

#include <atomic>
#include <cstdint>

namespace ocrtune {

// Sleeps while `word` still is `seen`, for at most `milliseconds`; may return early.
void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen, int milliseconds);
void wake_all(std::atomic<std::uint32_t>& word);

}  // namespace ocrtune
