// Words that tell where and when they were written, so that lost, late, swapped and zeroed data can
// be told apart. The same function fills buffers on a GPU and checks them on the host.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#ifdef __CUDACC__
#define OCRTUNE_BOTH __host__ __device__
#else
#define OCRTUNE_BOTH
#endif

namespace ocrtune {

inline constexpr std::uint32_t kCanaryWord = 0xA5A5A5A5U;  // what a target holds before

// A hash of all three; never 0 and never the canary. `seed` changes from one try to the next, since
// a repeated pattern hides lost writes.
OCRTUNE_BOTH inline std::uint32_t pattern_word(std::uint32_t seed, std::uint32_t source,
                                               std::uint64_t index) {
  std::uint64_t x = index + (static_cast<std::uint64_t>(seed) << 32) +
                    (static_cast<std::uint64_t>(source) + 1) * 0x9E3779B97F4A7C15ULL;
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDULL;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53ULL;
  x ^= x >> 33;
  const auto word = static_cast<std::uint32_t>(x);
  return word == 0 || word == kCanaryWord ? 1U : word;
}

struct PatternSource {
  std::uint32_t seed = 0, source = 0;
};

struct PatternErrors {
  std::uint64_t words = 0;      // checked
  std::uint64_t bad = 0;        // of them
  std::uint64_t first_bad = 0;  // index of a word
  std::string kind;             // "zeros", "canary", "stale", "mirror", "shifted", "other"

  // "first bad byte at 268435456 (a multiple of 256 MiB), zeros, 12 of 1024 words"; "" for none
  std::string text() const;
};

// Checks words [first, first + words.size()) of the pattern `wanted` and adds to `errors`; the kind
// is that of the first bad word. `other` is the pattern of the opposite direction.
void check_pattern(std::span<const std::uint32_t> words, std::uint64_t first,
                   const PatternSource& wanted, std::uint32_t other, PatternErrors& errors);

}  // namespace ocrtune
