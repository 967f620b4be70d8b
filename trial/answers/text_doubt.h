// What is assumed of chance where texts are compared.
#pragma once

namespace ocrtune {

inline constexpr double kTextDoubt = 0.025;  // one side of a 95 % interval
// Of programs whose repeats all agree, those that vary all the same; our assumption.
inline constexpr double kHiddenVariation = 0.1;

}  // namespace ocrtune
