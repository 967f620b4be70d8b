// Batches from a PaddleOCR-style label file, decoded ahead of time by worker processes.
//
// A label file has lines of "relative/path.png<TAB>text" (core/data/label_file.h). Images are PNG
// or JPEG. The order depends on the seed alone: 0, 1 or many workers give the same batches. A line
// whose image is bad is replaced by another one, counted and named.
//
// Workers are forked processes. Create the Loader before anything large is allocated (a fork copies
// the page tables, and each page that is written afterwards is copied once) and before the first
// OpenMP region, so before the Trainer; and on a thread that lives as long as the Loader, because
// the kernel kills the workers when that thread ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/data/width_buckets.h"
#include "core/graph/batch.h"

namespace ocrtune {

struct LoaderOptions {
  std::string label_file;  // its folder is the root of the image paths; or a folder with data.mdb
  std::string alphabet;    // UTF-8 characters, class 1 first; empty: from the label file
  int batch = 16;
  int height = 32;
  int width = 320;  // lines are scaled to `height`, then padded, or squeezed if they are wider
  std::vector<int> heights;  // multi-scale batches, see core/graph/batch.h; empty: `height` alone
  int width_buckets = 0;     // at most so many, see core/data/width_buckets.h; 0: all `width` wide
  int workers = 0;           // decoding processes; 0 decodes in next()
  int queue_depth = 2;       // batches ready or under way for each worker
  int rank = 0, world_size = 1;  // this rank's share of each epoch
  std::uint64_t seed = 1;        // of the order
  std::int64_t first_batch = 0;  // batches of the order to pass over: a resumed run goes on here
  double max_bad_share = 0.05;   // of the lines seen; more bad ones than this end the run
};

struct LoaderCounts {
  std::int64_t good = 0;                  // samples given out
  std::int64_t bad = 0;                   // lines found unusable so far, each counted once
  std::vector<std::string> bad_examples;  // at most 5: "labels.txt:17: no tab"
};

class Loader {
 public:
  virtual ~Loader() = default;

  // usage: fewer lines than one batch for each rank; missing: no file; invalid: nothing usable, or
  // too many lines that are bad by their label.
  static Result<std::unique_ptr<Loader>> create(const LoaderOptions& options);

  virtual std::int64_t size() const = 0;                         // usable lines in the label file
  virtual const std::vector<std::string>& alphabet() const = 0;  // class i + 1 is element i
  virtual std::int64_t batches_per_epoch() const = 0;            // of this rank

  // Narrowest first; empty where all batches have the width that was asked for.
  virtual const std::vector<WidthBucket>& width_buckets() const = 0;

  // Endless; a new order each epoch. invalid: too many bad lines; failed: a worker died.
  virtual Result<Batch> next() = 0;
  virtual Status next_into(Batch& batch) = 0;  // the same, and reuses the memory of `batch`
  virtual LoaderCounts counts() const = 0;
};

}  // namespace ocrtune
