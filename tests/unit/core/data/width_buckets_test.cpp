#include "core/data/width_buckets.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

std::vector<int> draw_widths(int count, std::uint64_t seed, int most) {
  Random random(seed);
  std::vector<int> widths;
  for (int i = 0; i < count; ++i) {
    const double skewed = random.uniform() * random.uniform();
    widths.push_back(1 + static_cast<int>(skewed * (most - 1)));
  }
  return widths;
}

std::int64_t padded_columns(const std::vector<WidthBucket>& buckets) {
  std::int64_t columns = 0;
  for (const WidthBucket& bucket : buckets) columns += bucket.lines * bucket.width;
  return columns;
}

// All sets of at most `max_buckets` multiples of 16, one after another.
std::int64_t min_by_trying(const std::vector<int>& widths, int max_buckets, int max_width,
                           std::int64_t min_lines) {
  std::int64_t least = std::int64_t{1} << 60;
  std::vector<int> edges;
  const std::function<void(int)> extend = [&](int from) {
    if (!edges.empty() && edges.back() >= *std::max_element(widths.begin(), widths.end())) {
      std::map<int, std::int64_t> lines;
      for (const int width : widths) ++lines[*std::lower_bound(edges.begin(), edges.end(), width)];
      std::int64_t columns = 0;
      bool enough = true;
      for (const auto& [edge, count] : lines) {
        columns += edge * count;
        enough &= count >= min_lines;
      }
      if (enough) least = std::min(least, columns);
    }
    if (static_cast<int>(edges.size()) == max_buckets) return;
    for (int edge = from; edge <= max_width; edge += 16) {
      edges.push_back(edge);
      extend(edge + 16);
      edges.pop_back();
    }
  };
  extend(16);
  return least;
}

TEST(WidthBuckets, NoOtherChoicePadsLess) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const std::int64_t least : {1, 30}) {
      const std::vector<int> widths = draw_widths(200, seed, 160);
      const auto buckets = choose_width_buckets(widths, 3, least, 160);
      EXPECT_EQ(padded_columns(buckets), min_by_trying(widths, 3, 160, least)) << seed;
    }
  }
}

TEST(WidthBuckets, CountEveryLineOnceAndKeepTheirOrder) {
  const std::vector<int> widths = draw_widths(1000, 3, 320);
  const auto buckets = choose_width_buckets(widths, 6, 50, 320);
  ASSERT_GE(buckets.size(), 3U);
  std::int64_t lines = 0, columns = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_GT(buckets[i].width, i == 0 ? 0 : buckets[i - 1].width);
    EXPECT_GE(buckets[i].lines, 50);
    lines += buckets[i].lines;
    columns += buckets[i].columns;
  }
  EXPECT_EQ(lines, 1000);
  EXPECT_EQ(columns, std::accumulate(widths.begin(), widths.end(), std::int64_t{0}));
  const PaddingShare padding = padding_share(buckets, 320);
  EXPECT_LT(padding.with_buckets, padding.without);
  EXPECT_THAT(describe_width_buckets(buckets, 320), HasSubstr("padding instead of"));
}

TEST(WidthBuckets, OneWidthNeedsOneBucket) {
  const auto buckets = choose_width_buckets(std::vector<int>(40, 100), 4, 8, 320);
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_EQ(buckets[0].width, 112);
  EXPECT_EQ(buckets[0].lines, 40);
}

TEST(WidthBuckets, UnreadableLinesDoNotCount) {
  const auto none = choose_width_buckets(std::vector<int>(5, 0), 4, 1, 200);
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].width, 200);
  const auto some = choose_width_buckets(std::vector<int>{0, 30, 0}, 4, 1, 200);
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some[0].width, 32);
  EXPECT_EQ(some[0].lines, 1);
}

TEST(WidthBuckets, TooFewLinesForTheWidestGoWithTheNext) {
  std::vector<int> widths(100, 50);
  widths.push_back(300);
  const auto buckets = choose_width_buckets(widths, 2, 8, 320);
  ASSERT_EQ(buckets.size(), 1U) << "one line of 300 fills no batch of 8";
  EXPECT_EQ(buckets[0].width, 304);
}

TEST(WidthBuckets, VeryWideImagesAreBinnedCoarsely) {
  const std::vector<int> widths = draw_widths(500, 5, 65536);
  const auto buckets = choose_width_buckets(widths, 8, 1, 65536);
  EXPECT_EQ(buckets.size(), 8U);
  EXPECT_GE(buckets.back().width, *std::max_element(widths.begin(), widths.end()));
}

// Ranks share the shape of each batch, no line comes twice in an epoch, and every line fits.
TEST(BucketOrder, DealsAnEpochOut) {
  const std::vector<int> widths = draw_widths(301, 7, 200);
  const auto buckets = choose_width_buckets(widths, 3, 8, 200);
  ASSERT_EQ(buckets.size(), 3U);
  std::vector<std::unique_ptr<BatchOrder>> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(make_bucket_order({4, 32, rank, 2, 9, 0}, widths, buckets));
  }
  const std::int64_t batches = ranks[0]->batches_per_epoch();
  EXPECT_GE(batches, 301 / 8 - 3);
  for (const std::int64_t epoch : {0, 1}) {
    std::set<std::int64_t> seen;
    for (std::int64_t k = epoch * batches; k < (epoch + 1) * batches; ++k) {
      const BatchShape shape = ranks[0]->shape(k);
      EXPECT_EQ(shape, ranks[1]->shape(k));
      for (const auto& rank : ranks) {
        for (int item = 0; item < 4; ++item) {
          const std::int64_t line = rank->line(k, item, 0);
          EXPECT_TRUE(seen.insert(line).second) << "line " << line << " twice";
          EXPECT_LE(widths[static_cast<std::size_t>(line)], shape.width);
          const std::int64_t other = rank->line(k, item, 3);
          EXPECT_LE(widths[static_cast<std::size_t>(other)], shape.width);
        }
      }
    }
  }
  const auto resumed = make_bucket_order({4, 32, 0, 2, 9, 10}, widths, buckets);
  EXPECT_EQ(resumed->line(0, 1, 0), ranks[0]->line(10, 1, 0));
  EXPECT_NE(ranks[0]->line(0, 0, 0), ranks[0]->line(batches, 0, 0)) << "a new order every epoch";
}

}  // namespace
}  // namespace ocrtune
