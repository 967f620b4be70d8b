// Python scripts of a folder that train, serve HTTP or read pages, known by their text: nothing is
// executed.
#pragma once

#include <string>
#include <vector>

namespace ocrtune {

struct OwnScript {
  std::string file;          // relative to the folder
  std::string library;       // that it uses: "torch", "rapidocr"
  std::string batch_flag;    // of its command line: "--batch-size"; empty: none is known
  std::string workers_flag;  // likewise: "--num-workers"
  std::string port_flag;     // likewise: "--port"
  std::string port;          // of a server without such a flag: the number in its text
  enum class Does { trains, serves, reads } does = Does::reads;
  int rank = 0;  // among those that do the same: the lowest is the likeliest to be started
};

// Those of the folder itself and of its scripts/, src/ and tools/: trainers, servers, readers.
std::vector<OwnScript> own_scripts(const std::string& folder);

}  // namespace ocrtune
