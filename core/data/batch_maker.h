// Fills one batch: reads, decodes, scales and normalises its lines; a bad one is replaced.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/data/batch_plan.h"
#include "core/data/sample_source.h"

namespace ocrtune {

struct BadLine {
  std::int64_t line = 0;
  std::string why;  // "labels.txt:17: open a.png: No such file or directory"
};

class BatchMaker {
 public:
  // The source must outlive the maker.
  BatchMaker(const SampleSource& source, std::unique_ptr<BatchOrder> order)
      : source_(&source), order_(std::move(order)) {}

  const BatchOrder& order() const { return *order_; }

  // images [count, 3, height, width] in the batch's shape and the lines they show; what was bad is
  // added to `bad`. The same for every process. invalid: a hundred lines in a row are bad.
  Status make(std::int64_t sequence, std::span<float> images, std::span<std::int64_t> lines,
              std::vector<BadLine>& bad) const;

 private:
  Status write_image(std::int64_t line, const BatchShape& shape, std::span<float> planes) const;

  const SampleSource* source_;
  std::unique_ptr<BatchOrder> order_;
};

}  // namespace ocrtune
