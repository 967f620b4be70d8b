// Python scripts of a folder that train or read pages, known by their text: nothing is executed.
#pragma once

#include <string>
#include <vector>

namespace ocrtune {

struct OwnScript {
  std::string file;        // relative to the folder
  std::string library;     // that it uses: "torch", "rapidocr"
  std::string batch_flag;  // of its command line: "--batch-size"; empty: none is known
  bool trains = false;     // else it reads pages
};

// Those of the folder itself and of its scripts/, src/ and tools/, trainers first.
std::vector<OwnScript> own_scripts(const std::string& folder);

}  // namespace ocrtune
