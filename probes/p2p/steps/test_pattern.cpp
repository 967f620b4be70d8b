// The kind of the first bad word is found by asking which other word of the pattern it would be.
#include "probes/p2p/steps/test_pattern.h"

#include <fmt/format.h>

namespace ocrtune {
namespace {

// Alignments at which links and windows break.
struct Alignment {
  std::uint64_t bytes;
  const char* text;
};
constexpr Alignment kAlignments[] = {{256ULL << 20, "256 MiB"},
                                     {2ULL << 20, "2 MiB"},
                                     {64ULL << 10, "64 KiB"},
                                     {4ULL << 10, "4 KiB"}};

std::string kind_of(std::uint32_t word, std::uint64_t index, const PatternSource& wanted,
                    std::uint32_t other) {
  if (word == 0) return "zeros";
  if (word == kCanaryWord) return "canary: nothing arrived";
  // The seed goes up by one from try to try; four back are a guess.
  for (std::uint32_t back = 1; back <= 4; ++back) {
    if (word == pattern_word(wanted.seed - back, wanted.source, index)) {
      return "stale: of an earlier try";
    }
  }
  if (word == pattern_word(wanted.seed, other, index)) return "mirror: the receiver's own";
  for (const Alignment& alignment : kAlignments) {
    const std::uint64_t step = alignment.bytes / 4;
    if (word == pattern_word(wanted.seed, wanted.source, index + step) ||
        (index >= step && word == pattern_word(wanted.seed, wanted.source, index - step))) {
      return std::string("shifted by ") + alignment.text;
    }
  }
  return "other";
}

}  // namespace

std::string PatternErrors::text() const {
  if (bad == 0) return "";
  const std::uint64_t byte = first_bad * 4;
  std::string aligned;
  for (const Alignment& alignment : kAlignments) {
    if (byte == 0 || byte % alignment.bytes != 0) continue;
    aligned = fmt::format(" (a multiple of {})", alignment.text);
    break;
  }
  return fmt::format("first bad byte at {}{}, {}; {} of {} words wrong", byte, aligned, kind, bad,
                     words);
}

void check_pattern(std::span<const std::uint32_t> words, std::uint64_t first,
                   const PatternSource& wanted, std::uint32_t other, PatternErrors& errors) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t index = first + i;
    if (words[i] == pattern_word(wanted.seed, wanted.source, index)) continue;
    if (errors.bad++ == 0) {
      errors.first_bad = index;
      errors.kind = kind_of(words[i], index, wanted, other);
    }
  }
  errors.words += words.size();
}

}  // namespace ocrtune
