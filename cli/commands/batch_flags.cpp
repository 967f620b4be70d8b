#include "cli/commands/batch_flags.h"

#include <CLI/CLI.hpp>

#include "core/data/width_buckets.h"

namespace ocrtune {

void declare_batch_flags(CLI::App& app, BatchFlags flags, int min_height, int max_height) {
  app.add_option("--heights", flags.heights,
                 "Multi-scale batches as PaddleOCR draws them: 32,48,64; batch is first_bs")
      ->delimiter(',')
      ->check(CLI::Range(min_height, max_height));
  app.add_option("--width-buckets", flags.width_buckets,
                 "Batches of lines about equally wide, in at most so many widths; 0: all --width")
      ->check(CLI::Range(0, kMaxWidthBuckets));
  app.add_option("--queue-depth", flags.queue_depth,
                 "Batches ready or under way for each loader worker")
      ->check(CLI::Range(1, 64));
}

}  // namespace ocrtune
