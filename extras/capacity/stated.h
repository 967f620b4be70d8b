// A number that has a default: whether the user gave it or it is assumed goes with it.
#pragma once

#include <utility>

namespace ocrtune {

template <typename T>
struct Stated {
  T value{};
  bool given = false;

  Stated() = default;
  Stated(T assumed) : value(std::move(assumed)) {}  // NOLINT(google-explicit-constructor)
  Stated& operator=(T stated) {
    value = std::move(stated);
    given = true;
    return *this;
  }
  operator const T&() const { return value; }  // NOLINT(google-explicit-constructor)
};

}  // namespace ocrtune
