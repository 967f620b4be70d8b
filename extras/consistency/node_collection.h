// What one node would train with, put into a folder that `check` compares with other nodes' ones.
//
// DIR/<host>/ gets copies of the configurations, env.txt (the variables that decide how training
// runs, no others: an environment holds secrets), versions.txt (packages of the Python that trains,
// the NVIDIA driver) and contents.txt (hashes of the dictionary and label files that the
// configurations name). DIR on a shared file system, or copied together, makes one folder of all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct NodeCollection {
  std::string directory;             // DIR
  std::string host;                  // the node's name; files of the same names are replaced
  std::vector<std::string> configs;  // YAML or JSON files
  std::string python = "python3";    // whose packages are listed; empty: none
  std::map<std::string, std::string> environment;
};

struct Collected {
  std::string folder;              // DIR/<host>
  std::vector<std::string> notes;  // what could not be collected, each a sentence
};

// Errors: unreadable or invalid configurations, two of one name (usage), a folder that cannot be
// written. Runs `python` once (at most a minute).
Result<Collected> collect_node(const NodeCollection& node);

}  // namespace ocrtune
