// What this program is made of and can do: versions of its libraries, and features of this build.
//
// Libraries of the system are asked when the program runs; those that are compiled in name the
// version that was compiled.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ocrtune {

std::string program_version();  // "0.1.0"

// "ocrtune" first, then libraries, "OpenMP" and "compiler".
const std::vector<std::pair<std::string, std::string>>& program_versions();

struct Feature {
  const char* name;
  bool here;
  std::string help;  // what it is, or how to get it
};

const std::vector<Feature>& program_features();

}  // namespace ocrtune
