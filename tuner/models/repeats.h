// What repeats of settings say about the noise between them, and which of them to doubt.
//
// Other load that no counter shows now and then slows a trial by far more than the noise. One such
// trial must not make all others look uncertain, nor count in the middle of its setting. Where such
// trials recur they are launches of the program itself, and part of its noise.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

namespace ocrtune {

// Relative, between repeats: believed before any was seen.
inline constexpr double kExpectedNoise = 0.03;
// Deviations; no repeat of the same setting is so far off.
inline constexpr double kFarOff = 3.5;

// Standard deviation of two values.
inline double spread_of_two(double one, double other) {
  return std::fabs(one - other) / std::numbers::sqrt2;
}

// Relative standard deviation between repeats of a setting, pooled over `repeats` (the rates of one
// setting each); `prior` weighs as three repeats. Single repeats far off are left out, unless they
// recur.
double pooled_noise(const std::vector<std::vector<double>>& repeats, double prior);

// Which of the rates of one setting lie so far below the others that other load slowed them.
std::vector<bool> slowed(const std::vector<double>& rates, double noise);

}  // namespace ocrtune
