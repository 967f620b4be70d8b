// What happened in a supervised run, one JSON object a line, on disk at once.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "extras/supervise/background_writer.h"

namespace ocrtune {

class Journal {
 public:
  // Appends to the file; makes it where it is not.
  static Result<Journal> open(const std::string& path);

  // {"at": UTC, "event": event, key: text...}. Waits for no disk.
  void write(const std::string& event,
             const std::vector<std::pair<std::string, std::string>>& facts = {});

 private:
  explicit Journal(int descriptor);
  std::shared_ptr<const int> descriptor_;  // shared with what is still to be written
  std::unique_ptr<BackgroundWriter> writer_;
};

}  // namespace ocrtune
