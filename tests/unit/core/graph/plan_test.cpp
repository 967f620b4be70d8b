#include "core/graph/plan.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "core/backends/backend_table.h"
#include "core/models/model.h"

namespace ocrtune {
namespace {

bool collide(const Place& a, const Place& b) {
  const bool same_time = a.first <= b.last && b.first <= a.last;
  return same_time && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

TEST(AssignOffsets, NeverSharesBytesAtOneTime) {
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<Place> places(static_cast<std::size_t>(random.integer(1, 40)));
    std::size_t largest = 0, total = 0;
    for (Place& place : places) {
      place.bytes = static_cast<std::size_t>(random.integer(1, 9)) * 64;
      place.first = static_cast<int>(random.integer(0, 20));
      place.last = place.first + static_cast<int>(random.integer(0, 6));
      largest = std::max(largest, place.bytes);
      total += place.bytes;
    }
    const std::size_t arena = assign_offsets(places);
    EXPECT_GE(arena, largest);
    EXPECT_LE(arena, total);
    for (std::size_t i = 0; i < places.size(); ++i) {
      EXPECT_LE(places[i].offset + places[i].bytes, arena);
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(collide(places[i], places[j]));
    }
  }
}

TEST(AssignOffsets, UsesMemoryAgain) {
  std::vector<Place> places = {{64, 0, 1, 0}, {64, 1, 2, 0}, {64, 2, 3, 0}, {128, 4, 4, 0}};
  EXPECT_EQ(assign_offsets(places), 128U);
}

std::size_t arena_bytes(int batch, bool training) {
  const Graph graph = build_crnn(97, CrnnSizes{});
  const auto backend = make_backend({"onednn", "fp32"});
  return make_plan(graph, **backend, {batch, 3, 32, 320}, training)->arena_bytes;
}

TEST(Plan, GrowsLinearlyWithTheBatch) {
  const double at8 = static_cast<double>(arena_bytes(8, true));
  const double at16 = static_cast<double>(arena_bytes(16, true));
  const double at32 = static_cast<double>(arena_bytes(32, true));
  EXPECT_NEAR((at32 - at16) / (2 * (at16 - at8)), 1, 0.05);
}

TEST(Plan, InferenceNeedsLittle) { EXPECT_LT(arena_bytes(16, false), arena_bytes(16, true) / 2); }

TEST(Plan, RefusesImagesThatVanish) {
  const Graph graph = build_crnn(97, CrnnSizes{});
  const auto backend = make_backend({"reference", "fp32"});
  const auto plan = make_plan(graph, **backend, {1, 3, 4, 320}, true);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().kind, ErrorKind::usage);
  EXPECT_NE(plan.error().what.find("4 x 320"), std::string::npos) << plan.error().what;
}

}  // namespace
}  // namespace ocrtune
