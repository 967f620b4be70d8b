// Lines are made at once and written in the background. Each is followed by fdatasync(), since the
// next thing to happen may be the end of the machine.
#include "extras/supervise/journal.h"

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

Journal::Journal(int descriptor)
    : descriptor_(new int(descriptor),
                  [](const int* one) {
                    ::close(*one);
                    delete one;
                  }),
      writer_(std::make_unique<BackgroundWriter>()) {}

void Journal::write(const std::string& event,
                    const std::vector<std::pair<std::string, std::string>>& facts) {
  nlohmann::ordered_json line = {{"at", utc_now()}, {"event", event}};
  for (const auto& [key, text] : facts) line[key] = valid_utf8(text);
  std::string text = line.dump() + "\n";
  const std::size_t bytes = text.size();
  // A full disk must not end the run that the journal is about.
  (void)writer_->put(bytes, [file = descriptor_, text = std::move(text)] {
    const ssize_t written = ::write(*file, text.data(), text.size());
    if (written > 0) ::fdatasync(*file);
  });
}

}  // namespace ocrtune
