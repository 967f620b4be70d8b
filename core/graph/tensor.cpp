// Memory comes from mmap(), so that it is zeroed, starts at a page and goes back at once.
#include "core/graph/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

std::size_t ImageDesc::pixels() const {
  return static_cast<std::size_t>(shape.h) * static_cast<std::size_t>(shape.w);
}

std::size_t ImageDesc::floats() const {
  return static_cast<std::size_t>(shape.n) * static_cast<std::size_t>(padded_channels()) * pixels();
}

std::size_t align_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

Result<Memory> Memory::allocate(std::size_t bytes) {
  Memory memory;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) {
    return Error{ErrorKind::exhausted,
                 fmt::format("map {} of memory: {}", format_bytes(size), std::strerror(errno))};
  }
  // Fewer page faults and TLB misses; a refusal costs nothing.
  if (size >= 2 * kHugePage) madvise(start, size, MADV_HUGEPAGE);
  memory.pages_ =
      std::unique_ptr<std::byte, PageUnmap>(static_cast<std::byte*>(start), PageUnmap{size});
  return memory;
}

void PageUnmap::operator()(std::byte* start) const { munmap(start, size); }

void copy_layout(const float* from, const ImageDesc& from_desc, float* to, Layout to_layout) {
  const ImageDesc to_desc{from_desc.shape, to_layout};
  const int from_block = from_desc.layout.block;
  const int to_block = to_layout.block;
  const auto pixels = static_cast<std::ptrdiff_t>(from_desc.pixels());
  const std::ptrdiff_t from_sample = pixels * from_desc.padded_channels();
  const std::ptrdiff_t to_sample = pixels * to_desc.padded_channels();
  const int channels = from_desc.shape.c;
  // Tiles of pixels keep the strided side in cache.
  constexpr std::ptrdiff_t kTile = 64;
  const std::ptrdiff_t tiles = (pixels + kTile - 1) / kTile;
#pragma omp parallel for collapse(2) schedule(static)
  for (int n = 0; n < from_desc.shape.n; ++n) {
    for (std::ptrdiff_t tile = 0; tile < tiles; ++tile) {
      const std::ptrdiff_t first = tile * kTile;
      const std::ptrdiff_t last = std::min(pixels, first + kTile);
      const float* source = from + n * from_sample;
      float* target = to + n * to_sample;
      for (int c = 0; c < to_desc.padded_channels(); ++c) {
        float* out = target + (c / to_block) * pixels * to_block + c % to_block;
        if (c >= channels) {
          for (std::ptrdiff_t p = first; p < last; ++p) out[p * to_block] = 0;
          continue;
        }
        const float* in = source + (c / from_block) * pixels * from_block + c % from_block;
        for (std::ptrdiff_t p = first; p < last; ++p) out[p * to_block] = in[p * from_block];
      }
    }
  }
}

}  // namespace ocrtune
