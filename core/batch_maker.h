// Fills one batch: reads, decodes, scales and normalises its lines; a bad one is replaced.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/batch_plan.h"
#include "core/sample_source.h"

namespace ocrtune {

struct BadLine {
  std::int64_t line = 0;
  std::string why;  // "labels.txt:17: open a.png: No such file or directory"
};

class BatchMaker {
 public:
  // The source must outlive the maker.
  BatchMaker(const SampleSource& source, const BatchPlan& plan, int height, int width)
      : source_(&source), plan_(plan), height_(height), width_(width) {}

  const BatchPlan& plan() const { return plan_; }
  int height() const { return height_; }
  int width() const { return width_; }
  std::size_t image_floats() const;  // of one image

  // images [batch, 3, height, width] and the lines they show; what was bad is added to `bad`. The
  // same for every process. invalid: a hundred lines in a row are bad.
  Status make(std::int64_t sequence, std::span<float> images, std::span<std::int64_t> lines,
              std::vector<BadLine>& bad) const;

 private:
  Status write_image(std::int64_t line, std::span<float> planes) const;

  const SampleSource* source_;
  BatchPlan plan_;
  int height_, width_;
};

}  // namespace ocrtune
