// A reader on a GPU keeps more than its largest batch.
#include <gtest/gtest.h>

#include "core/gpu/device_footprint.h"
#include "trial/workloads/engine_infer/engine_inference.h"

namespace ocrtune {
namespace {

std::uint64_t once(int batch, int width) {
  RecognizerOptions options;
  options.batch = batch;
  options.width = width;
  return *device_reading_bytes(options, 97);
}

std::uint64_t all(int batch, int width) {
  RecognizerOptions options;
  options.batch = batch;
  options.width = width;
  return *all_shapes_reading_bytes(options, 97);
}

TEST(ReadingMemory, OneShapeIsItself) { EXPECT_EQ(all(1, 64), once(1, 64)); }

// Widths 64 to 320 are 3 times the widest, powers of two of lines almost twice the most.
TEST(ReadingMemory, ShapesAddUp) {
  const double activations = static_cast<double>(once(128, 320) - once(64, 320));
  const double others = static_cast<double>(all(64, 320) - once(64, 320)) / activations;
  EXPECT_GT(others, 4.5);
  EXPECT_LT(others, 5.0);
  EXPECT_GT(all(64, 320), all(32, 320));
}

TEST(ReadingMemory, WhatCannotBePlannedSaysWhy) {
  RecognizerOptions options;
  options.model = "none";
  EXPECT_EQ(all_shapes_reading_bytes(options, 97).error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace ocrtune
