// Starts the program memory_tree, whose memory is known from its command line.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace ocrtune {

// `script`: the words of tests/support/programs/memory_tree_main.cpp.
inline std::vector<std::string> memory_tree_command(const std::string& script) {
  std::vector<std::string> command = {join_path(parent_path(OCRTUNE_FAKE_WORKER), "memory_tree")};
  for (const std::string& word : words(script)) command.push_back(word);
  return command;
}

inline ProcessOptions memory_tree(const std::string& script) {
  ProcessOptions options;
  options.arguments = memory_tree_command(script);
  return options;
}

}  // namespace ocrtune
