// Pseudo-random numbers that are the same on every machine and library for one seed.
//
// std::normal_distribution and friends differ between libraries; drawn data and replayed searches
// must not. Generator: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ocrtune {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  double uniform();                                             // [0, 1)
  double uniform(double low, double high);                      // [low, high)
  double normal();                                              // mean 0, deviation 1
  std::int64_t integer(std::int64_t first, std::int64_t last);  // inclusive at both ends
  double exponential(double rate);                              // mean 1 / rate
  Random fork(std::uint64_t stream);                            // an independent generator

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      const auto j = static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(i) - 1));
      std::swap(items[i - 1], items[j]);
    }
  }

 private:
  std::uint64_t state_;
};

std::uint64_t mix_bits(std::uint64_t value);  // SplitMix64's finaliser: a good 64-bit hash

}  // namespace ocrtune
