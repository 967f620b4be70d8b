// Batches of lines that are about equally wide, so that little of a batch is padding.
//
// The buckets come from the widths of the user's own lines: those that leave the least padding.
// Every rank reads the same lines and finds the same buckets.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/data/batch_plan.h"
#include "core/data/sample_source.h"

namespace ocrtune {

inline constexpr int kMaxWidthBuckets = 16;

struct WidthBucket {
  int width = 0;             // pixels: a multiple of 16, or the most that there may be
  std::int64_t lines = 0;    // whose scaled width is at most this, and above the bucket before
  std::int64_t columns = 0;  // the sum of their scaled widths
};

// The width of every line of `source` when it is scaled to `height`, at most `max_width`; 0 where
// the picture cannot be read. Reads the head of every file: about 10 us a line once the disk has
// delivered it.
std::vector<int> measure_line_widths(const SampleSource& source, int height, int max_width);

// At most `max_buckets` buckets, narrowest first, each with `min_lines` or more where there are
// so many lines at all. Exact: no other choice of such widths pads less. Widths of 0 do not count.
std::vector<WidthBucket> choose_width_buckets(std::span<const int> widths, int max_buckets,
                                              std::int64_t min_lines, int max_width);

// Padding as a share of all columns: with these buckets, and in batches of `max_width`.
struct PaddingShare {
  double with_buckets = 0, without = 0;
};
PaddingShare padding_share(std::span<const WidthBucket> buckets, int max_width);

// "96 px: 310 lines (31 %), 320 px: 690 lines (69 %); 12.0 % padding instead of 47.1 %".
std::string describe_width_buckets(std::span<const WidthBucket> buckets, int max_width);

struct BucketOrderOptions {
  int batch = 1, height = 32;
  int rank = 0, world_size = 1;
  std::uint64_t seed = 1;
  std::int64_t first_batch = 0;
};

// Each batch from one bucket (lines of width 0 stand in the narrowest), the same bucket on all
// ranks; buckets and lines in a new order every epoch. What does not fill a batch of all ranks
// waits for another epoch.
std::unique_ptr<BatchOrder> make_bucket_order(const BucketOrderOptions& options,
                                              std::span<const int> widths,
                                              std::span<const WidthBucket> buckets);

}  // namespace ocrtune
