#include "trial/watch/file_follower.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace ocrtune {

FileFollower::~FileFollower() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FileFollower::read(const std::function<void(const std::string&)>& sink) {
  if (descriptor_ < 0) descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) return false;
  std::array<char, 65536> block;  // NOLINT: not filled on purpose
  bool grew = false;
  for (int blocks = 0; blocks < 16; ++blocks) {
    const ssize_t got = ::read(descriptor_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    grew = true;
    lines_.add(std::string_view(block.data(), static_cast<std::size_t>(got)), sink);
  }
  return grew;
}

}  // namespace ocrtune
