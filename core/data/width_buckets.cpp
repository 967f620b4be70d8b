// Widths are counted in bins of 16 pixels or more; dynamic programming over the bins finds the
// edges with the least padding. The order then takes a batch from one bucket at a time.
#include "core/data/width_buckets.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "base/check.h"
#include "base/plural.h"
#include "base/random.h"
#include "base/text.h"
#include "core/data/image_file.h"
#include "core/data/resize.h"

namespace ocrtune {
namespace {

constexpr int kWidthStep = 16;
constexpr int kMaxBins = 256;  // the search looks at every pair of them

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

// The widths counted in bins of equal size; bin i holds those in (edge(i - 1), edge(i)].
struct Histogram {
  int step = kWidthStep, max_width = 0;
  std::vector<std::int64_t> lines, columns;

  Histogram(std::span<const int> widths, int most) : max_width(most) {
    while ((most + step - 1) / step > kMaxBins) step += kWidthStep;
    lines.assign(at((most + step - 1) / step), 0);
    columns = lines;
    for (const int width : widths) {
      if (width == 0) continue;
      const std::size_t bin = at((width + step - 1) / step - 1);
      ++lines[bin];
      columns[bin] += width;
    }
  }
  int edge(std::size_t bin) const { return std::min(static_cast<int>(bin + 1) * step, max_width); }
};

constexpr std::int64_t kImpossible = std::numeric_limits<std::int64_t>::max() / 4;

// best[k][j]: the least padded columns of the first j bins in k buckets; from[k][j] where the last
// of them begins. A bucket without a line costs nothing and is left out later.
struct Search {
  const Histogram& histogram;
  std::int64_t min_lines;
  std::vector<std::int64_t> lines_before{0};
  std::vector<std::vector<std::int64_t>> best;
  std::vector<std::vector<std::size_t>> from;

  Search(const Histogram& counted, int max_buckets, std::int64_t least)
      : histogram(counted), min_lines(least) {
    for (const std::int64_t lines : histogram.lines) {
      lines_before.push_back(lines_before.back() + lines);
    }
    const std::size_t bins = histogram.lines.size();
    best.assign(at(max_buckets) + 1, std::vector<std::int64_t>(bins + 1, kImpossible));
    from.assign(best.size(), std::vector<std::size_t>(bins + 1, 0));
    best[0][0] = 0;
    for (std::size_t k = 1; k < best.size(); ++k) {
      for (std::size_t j = 1; j <= bins; ++j) extend(k, j);
    }
  }

  void extend(std::size_t k, std::size_t j) {
    for (std::size_t i = 0; i < j; ++i) {
      const std::int64_t lines = lines_before[j] - lines_before[i];
      // A bucket of fewer lines than a batch of all ranks would never be trained on.
      if (best[k - 1][i] == kImpossible || (lines != 0 && lines < min_lines)) continue;
      const std::int64_t cost = best[k - 1][i] + lines * histogram.edge(j - 1);
      if (cost >= best[k][j]) continue;
      best[k][j] = cost;
      from[k][j] = i;
    }
  }
};

Result<PictureSize> size_of_line(const SampleSource& source, std::int64_t line) {
  const auto head = OCRTUNE_TRY(source.image_head(line, kPictureHeadBytes));
  const auto size = picture_size(head);
  if (size || head.size() < kPictureHeadBytes) return size;
  const auto whole = source.image_bytes(line);
  return whole ? picture_size(*whole) : Result<PictureSize>(whole.error());
}

class BucketOrder final : public BatchOrder {
 public:
  BucketOrder(const BucketOrderOptions& options, std::span<const int> widths,
              std::span<const WidthBucket> buckets)
      : options_(options), lines_(buckets.size()) {
    for (const WidthBucket& bucket : buckets) {
      shapes_.push_back({options.batch, options.height, bucket.width});
    }
    for (std::size_t line = 0; line < widths.size(); ++line) {
      std::size_t bucket = 0;
      while (bucket + 1 < buckets.size() && widths[line] > buckets[bucket].width) ++bucket;
      lines_[bucket].push_back(static_cast<std::uint32_t>(line));
    }
    const std::int64_t together = std::int64_t{options.batch} * options.world_size;
    for (const auto& lines : lines_) {
      per_epoch_ += static_cast<std::int64_t>(lines.size()) / together;
      last_batch_.push_back(per_epoch_);
    }
  }

  BatchShape shape(std::int64_t sequence) const override { return shapes_[find(sequence).bucket]; }
  std::int64_t line(std::int64_t sequence, int item, int attempt) const override {
    const Place place = find(sequence);
    const auto& lines = lines_[place.bucket];
    const auto count = static_cast<std::int64_t>(lines.size());
    const std::int64_t index =
        (place.batch * options_.world_size + options_.rank) * options_.batch + item;
    if (attempt == 0) return lines[at(permuted(index, count, place.key))];
    Random random = Random(place.key)
                        .fork(static_cast<std::uint64_t>(index))
                        .fork(static_cast<std::uint64_t>(attempt));
    return lines[at(random.integer(0, count - 1))];
  }
  std::int64_t batches_per_epoch() const override { return per_epoch_; }
  const std::vector<BatchShape>& shapes() const override { return shapes_; }

 private:
  struct Place {
    std::size_t bucket = 0;
    std::int64_t batch = 0;  // of the bucket's
    std::uint64_t key = 0;   // of the bucket's order in this epoch
  };

  Place find(std::int64_t sequence) const {
    const std::int64_t number = options_.first_batch + sequence;
    const std::uint64_t epoch = mix_bits(options_.seed + 0xB0CCE7) ^
                                mix_bits(static_cast<std::uint64_t>(number / per_epoch_) + 1);
    // Batches of all buckets are numbered through, and the numbers are mixed.
    const std::int64_t turn = permuted(number % per_epoch_, per_epoch_, epoch);
    Place place;
    while (turn >= last_batch_[place.bucket]) ++place.bucket;
    place.batch = turn - (place.bucket == 0 ? 0 : last_batch_[place.bucket - 1]);
    place.key = mix_bits(epoch + place.bucket + 1);
    return place;
  }

  BucketOrderOptions options_;
  std::vector<BatchShape> shapes_;
  std::vector<std::vector<std::uint32_t>> lines_;  // of each bucket
  std::vector<std::int64_t> last_batch_;           // batches of an epoch up to and with each bucket
  std::int64_t per_epoch_ = 0;
};

}  // namespace

std::vector<int> measure_line_widths(const SampleSource& source, int height, int max_width) {
  std::vector<int> widths(at(source.size()), 0);
  for (std::int64_t line = 0; line < source.size(); ++line) {
    const auto size = size_of_line(source, line);
    if (size) widths[at(line)] = scaled_width(*size, height, max_width);
  }
  return widths;
}

std::vector<WidthBucket> choose_width_buckets(std::span<const int> widths, int max_buckets,
                                              std::int64_t min_lines, int max_width) {
  OCRTUNE_CHECK(max_buckets >= 1 && max_buckets <= kMaxWidthBuckets && !widths.empty());
  const Histogram histogram(widths, max_width);
  const auto total = static_cast<std::int64_t>(widths.size() - at(std::ranges::count(widths, 0)));
  if (total == 0) return {{max_width, 0, 0}};
  const Search search(histogram, max_buckets, std::min(min_lines, total));
  std::size_t end = histogram.lines.size(), used = 1;
  for (std::size_t k = 1; k < search.best.size(); ++k) {
    if (search.best[k][end] < search.best[used][end]) used = k;
  }
  std::vector<WidthBucket> buckets;
  for (; used > 0; --used) {
    const std::size_t first = search.from[used][end];
    WidthBucket bucket;
    for (std::size_t bin = first; bin < end; ++bin) {
      if (histogram.lines[bin] > 0) bucket.width = histogram.edge(bin);
      bucket.lines += histogram.lines[bin];
      bucket.columns += histogram.columns[bin];
    }
    if (bucket.lines > 0) buckets.push_back(bucket);
    end = first;
  }
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

PaddingShare padding_share(std::span<const WidthBucket> buckets, int max_width) {
  std::int64_t columns = 0, padded = 0, alone = 0;
  for (const WidthBucket& bucket : buckets) {
    columns += bucket.columns;
    padded += bucket.lines * bucket.width;
    alone += bucket.lines * max_width;
  }
  const auto share = [&](std::int64_t all) {
    return 1 - static_cast<double>(columns) / static_cast<double>(std::max<std::int64_t>(all, 1));
  };
  return {share(padded), share(alone)};
}

std::string describe_width_buckets(std::span<const WidthBucket> buckets, int max_width) {
  std::int64_t total = 0;
  for (const WidthBucket& bucket : buckets) total += bucket.lines;
  std::vector<std::string> parts;
  for (const WidthBucket& bucket : buckets) {
    parts.push_back(fmt::format(
        "{} px: {} ({})", bucket.width, how_many(bucket.lines, "line"),
        format_percent(static_cast<double>(bucket.lines) / static_cast<double>(total))));
  }
  const PaddingShare padding = padding_share(buckets, max_width);
  return fmt::format("{}; {} padding instead of {}", join(parts, ", "),
                     format_percent(padding.with_buckets), format_percent(padding.without));
}

std::unique_ptr<BatchOrder> make_bucket_order(const BucketOrderOptions& options,
                                              std::span<const int> widths,
                                              std::span<const WidthBucket> buckets) {
  return std::make_unique<BucketOrder>(options, widths, buckets);
}

}  // namespace ocrtune
