// The flags of every command that trains the built-in core on batches of several shapes.
#pragma once

#include <vector>

namespace CLI {
class App;
}

namespace ocrtune {

struct BatchFlags {
  std::vector<int>& heights;
  int& width_buckets;
  int& queue_depth;
};

// --heights (each within the range), --width-buckets and --queue-depth.
void declare_batch_flags(CLI::App& app, BatchFlags flags, int min_height, int max_height);

}  // namespace ocrtune
