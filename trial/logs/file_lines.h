// Lines that each name another picture or document: what a program prints as it reads its pages.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace ocrtune {

class FileLines {
 public:
  void add(const std::string& line, double now_seconds);

  struct Found {
    std::string pattern;  // of log reader regex: a sample a line
    std::string line;
  };
  // The words that came with the most files, `files` of them or more. Lines that come at once are a
  // list, and count as one.
  std::optional<Found> found(std::size_t files) const;

 private:
  struct Named {
    std::set<std::string> files;
    double latest_seconds = 0;
    std::string line;
  };
  std::map<std::string, Named> patterns_;
};

}  // namespace ocrtune
