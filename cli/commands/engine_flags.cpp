// The declarations of those flags; their values are checked where they are used.
#include "cli/commands/engine_flags.h"

#include "core/data/width_buckets.h"

namespace ocrtune {

void declare_batch_flags(Flags& cli, BatchFlags flags, int min_height, int max_height,
                         const char* heading) {
  cli.option("--heights", flags.heights, "PIXELS,...",
             "Draw multi-scale batches as PaddleOCR does: 32,48,64; batch is first_bs")
      .range(min_height, max_height)
      .under(heading);
  cli.option("--width-buckets", flags.width_buckets, "N",
             "Make batches of lines about equally wide, in at most N widths; 0: all --width")
      .range(0, kMaxWidthBuckets)
      .under(heading);
  cli.option("--queue-depth", flags.queue_depth, "N",
             "Keep N batches ready or under way for each loader worker")
      .range(1, 64)
      .under(heading);
}

Flag& declare_gpus(Flags& cli, std::string& gpus) {
  return cli.option("--gpus", gpus, "IDS",
                    "Compute on these GPUs: all, 0,2 as this process sees them, or UUIDs");
}

Flag& declare_alphabet(Flags& cli, std::string& alphabet, const char* fallback) {
  return cli
      .option("--alphabet", alphabet, "ALPHABET",
              "Read these: digits, alnum, a dictionary file, or the characters themselves")
      .default_text(fallback)
      .file();
}

}  // namespace ocrtune
