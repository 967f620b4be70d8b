// Batches from a PaddleOCR-style label file, decoded ahead of time by worker processes.
//
// A label file has lines of "relative/path.png<TAB>text". Images are PNG or JPEG.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/batch.h"

namespace ocrtune {

struct LoaderOptions {
  std::string label_file;  // its folder is the root of the image paths
  std::string alphabet;    // UTF-8 characters, class 1 first; empty: from the label file
  int batch = 16;
  int height = 32;
  int width = 320;               // widest; lines are scaled to `height`, then cut or padded
  int workers = 0;               // decoding processes; 0 decodes in next()
  int queue_depth = 2;           // batches ready or under way for each worker
  int rank = 0, world_size = 1;  // this rank's share of each epoch
  std::uint64_t seed = 1;        // of the order
  double most_bad_share = 0.05;  // more bad lines than this end the run
};

struct LoaderCounts {
  std::int64_t good = 0;
  std::int64_t bad = 0;
  std::vector<std::string> bad_examples;  // at most 5: "labels.txt:17: no tab"
};

class Loader {
 public:
  virtual ~Loader() = default;

  // usage: fewer lines than one batch for each rank; missing: no file; invalid: nothing usable.
  static Result<std::unique_ptr<Loader>> create(const LoaderOptions& options);

  virtual std::int64_t size() const = 0;                         // usable lines in the label file
  virtual const std::vector<std::string>& alphabet() const = 0;  // class i + 1 is element i
  virtual Result<Batch> next() = 0;                              // endless; a new order each epoch
  virtual LoaderCounts counts() const = 0;
};

}  // namespace ocrtune
