// What happened in a supervised run, one JSON object a line, on disk at once.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ocrtune {

class Journal {
 public:
  // Appends to the file; makes it where it is not.
  static Result<Journal> open(const std::string& path);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  // {"at": UTC, "event": event, key: text...}
  void write(const std::string& event,
             const std::vector<std::pair<std::string, std::string>>& facts = {});

 private:
  explicit Journal(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace ocrtune
