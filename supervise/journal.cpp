#include "supervise/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tuner/store/store.h"

namespace ocrtune {

Result<Journal> Journal::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return system_error(errno, "open " + path);
  return Journal(descriptor);
}

Journal::Journal(Journal&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::write(const std::string& event,
                    const std::vector<std::pair<std::string, std::string>>& facts) {
  nlohmann::ordered_json line = {{"at", utc_now()}, {"event", event}};
  for (const auto& [key, text] : facts) line[key] = valid_utf8(text);
  const std::string text = line.dump() + "\n";
  // A full disk must not end the run that the journal is about.
  const ssize_t written = ::write(descriptor_, text.data(), text.size());
  if (written > 0) ::fdatasync(descriptor_);
}

}  // namespace ocrtune
