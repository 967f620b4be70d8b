// How near the processes of a tree are to their own limits on open files.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/process_tree.h"

namespace ocrtune {

struct OpenFiles {
  std::int64_t open = 0, limit = 0;  // of the process that is nearest to its soft limit
};

// Empty when none may be read. Each process has a limit of its own: `ulimit -n` of its shell.
std::optional<OpenFiles> fullest_file_table(const std::vector<ProcessFacts>& members);

}  // namespace ocrtune
