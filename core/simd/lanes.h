// A few floats that move through a loop together, as vector types of the compiler.
//
// Local variables only: passed by value they would depend on the vector width of the caller.
#pragma once

#include <cstdint>
#include <cstring>

namespace ocrtune {

template <int kCount>
struct Lanes {  // typedefs: GCC 12 drops the attribute from an alias that depends on kCount
  typedef float Floats __attribute__((vector_size(kCount * 4)));
  typedef std::int32_t Ints __attribute__((vector_size(kCount * 4)));
  typedef std::uint8_t Bytes __attribute__((vector_size(kCount)));
};

// Unaligned load and store.
template <typename Vector, typename Element>
[[gnu::always_inline]] inline void load_lanes(Vector& to, const Element* from) {
  std::memcpy(&to, from, sizeof(Vector));
}
template <typename Vector, typename Element>
[[gnu::always_inline]] inline void store_lanes(Element* to, const Vector& from) {
  std::memcpy(to, &from, sizeof(Vector));
}

// Small whole numbers to and from bytes.
[[gnu::always_inline]] inline void store_bytes(std::uint8_t* to, const Lanes<16>::Ints& from) {
  store_lanes(to, __builtin_convertvector(from, Lanes<16>::Bytes));
}
[[gnu::always_inline]] inline void store_bytes(std::uint8_t* to, const Lanes<8>::Ints& from) {
  store_lanes(to, __builtin_convertvector(from, Lanes<8>::Bytes));
}
[[gnu::always_inline]] inline void store_bytes(std::uint8_t* to, const Lanes<1>::Ints& from) {
  *to = static_cast<std::uint8_t>(from[0]);
}
[[gnu::always_inline]] inline void load_bytes(Lanes<16>::Ints& to, const std::uint8_t* from) {
  Lanes<16>::Bytes bytes;
  load_lanes(bytes, from);
  to = __builtin_convertvector(bytes, Lanes<16>::Ints);
}
[[gnu::always_inline]] inline void load_bytes(Lanes<8>::Ints& to, const std::uint8_t* from) {
  Lanes<8>::Bytes bytes;
  load_lanes(bytes, from);
  to = __builtin_convertvector(bytes, Lanes<8>::Ints);
}
[[gnu::always_inline]] inline void load_bytes(Lanes<1>::Ints& to, const std::uint8_t* from) {
  to[0] = *from;
}

}  // namespace ocrtune
