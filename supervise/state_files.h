// Files in which training programs keep their states, before and after something ran beside them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ocrtune {

class StateFiles {
 public:
  // Those in a folder and two levels below, among the first 20,000 names. Nothing else is opened.
  explicit StateFiles(std::string folder) : folder_(std::move(folder)), files_(look()) {}

  // Since the last look: paths that were there and are others now, or are gone; counts each once.
  std::vector<std::string> replaced();

 private:
  using Version = std::pair<std::int64_t, std::uint64_t>;  // nanoseconds since 1970, bytes
  std::map<std::string, Version> look() const;

  std::string folder_;
  std::map<std::string, Version> files_;
};

}  // namespace ocrtune
