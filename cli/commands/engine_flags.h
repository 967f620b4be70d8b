// The flags that several commands of the built-in engine share, in the same words.
#pragma once

#include <string>
#include <vector>

#include "cli/flags.h"

namespace ocrtune {

struct BatchFlags {
  std::vector<int>& heights;
  int& width_buckets;
  int& queue_depth;
};

// --heights (each within the range), --width-buckets and --queue-depth.
void declare_batch_flags(Flags& cli, BatchFlags flags, int min_height, int max_height,
                         const char* heading = "");

Flag& declare_gpus(Flags& cli, std::string& gpus);  // --gpus
// --alphabet; `fallback`: where the characters come from without it.
Flag& declare_alphabet(Flags& cli, std::string& alphabet, const char* fallback);

}  // namespace ocrtune
