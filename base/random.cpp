// The textbook transformations of SplitMix64's 64 bits, none of which uses the standard library's
// distributions.
#include "base/random.h"

#include <cmath>
#include <numbers>

namespace ocrtune {

std::uint64_t mix_bits(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

std::uint64_t Random::next() {
  // The golden ratio in 64 bits; it and the two factors above are the published ones.
  state_ += 0x9E3779B97F4A7C15ULL;
  return mix_bits(state_);
}

// The upper 53 bits, as many as a double holds.
double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

// Box and Muller's transformation, of whose two values one is used: no state is kept between calls.
double Random::normal() {
  // 1 - uniform() lies in (0, 1], whose logarithm is finite.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::int64_t Random::integer(std::int64_t first, std::int64_t last) {
  const auto count = static_cast<std::uint64_t>(last - first) + 1;
  // The whole range of 64 bits.
  if (count == 0) return static_cast<std::int64_t>(next());
  // The upper half of a 128-bit product, without rejection: the bias is below count / 2^64.
  const auto offset =
      static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
  return first + static_cast<std::int64_t>(offset);
}

double Random::exponential(double rate) { return -std::log(1 - uniform()) / rate; }

Random Random::fork(std::uint64_t stream) { return Random(mix_bits(next() ^ mix_bits(stream))); }

}  // namespace ocrtune
