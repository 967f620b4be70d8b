// Activations: their logical shape, the order of their floats in memory, and page-backed memory.
//
// Every activation is logically [N, C, H, W]; tokens [N, T, C] are the same with H * W = T.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"

namespace ocrtune {

struct Shape {
  int n = 0, c = 0, h = 0, w = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

// Memory order [N][ceil(C / block)][H][W][block]: block 1 is NCHW, block C is NHWC (tokens), and
// 8 and 16 are what oneDNN's AVX2 and AVX-512 kernels like. Channels that only fill up the last
// block ("padding") hold 0.
struct Layout {
  int block = 1;
  friend bool operator==(const Layout&, const Layout&) = default;
};

struct ImageDesc {
  Shape shape;
  Layout layout;

  int blocks() const { return (shape.c + layout.block - 1) / layout.block; }
  int padded_channels() const { return blocks() * layout.block; }
  std::size_t pixels() const;  // H * W
  std::size_t floats() const;  // padding included
  friend bool operator==(const ImageDesc&, const ImageDesc&) = default;
};

inline constexpr std::size_t kMemoryAlignment = 64;

std::size_t align_up(std::size_t bytes, std::size_t alignment = kMemoryAlignment);

struct PageUnmap {
  std::size_t size = 0;
  void operator()(std::byte* start) const;
};

// Zeroed anonymous pages, huge ones where the kernel gives them.
class Memory {
 public:
  Memory() = default;
  static Result<Memory> allocate(std::size_t bytes);  // exhausted: the system has no more

  std::byte* bytes() const { return pages_.get(); }
  float* floats() const { return reinterpret_cast<float*>(pages_.get()); }
  std::size_t size() const { return pages_.get_deleter().size; }

 private:
  std::unique_ptr<std::byte, PageUnmap> pages_;
};

// Copies between two layouts of one shape; padding of the target becomes 0. Runs on the OpenMP
// team.
void copy_layout(const float* from, const ImageDesc& from_desc, float* to, Layout to_layout);

}  // namespace ocrtune
