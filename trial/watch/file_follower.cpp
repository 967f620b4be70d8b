// A file is known by device and inode, because logs are rotated and cut while they are followed.
// The open file is read to its end before a new one of that name is looked for.
#include "trial/watch/file_follower.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace ocrtune {
namespace {

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

FileFollower::FileFollower(std::string path) : path_(std::move(path)) {
  if (path_.empty() || ::stat(path_.c_str(), &earlier_) != 0) earlier_ = {};
}

FileFollower::~FileFollower() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FileFollower::read(const std::function<void(const std::string&)>& sink) {
  if (descriptor_ >= 0 && read_open(sink)) return true;
  open();
  return descriptor_ >= 0 && read_open(sink);
}

void FileFollower::open() {
  struct stat named {};
  struct stat held {};
  if (::stat(path_.c_str(), &named) != 0) return;
  if (descriptor_ >= 0 && ::fstat(descriptor_, &held) == 0 && same_file(named, held)) return;
  // A FIFO without a writer would block the loop of the trial.
  const int opened = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) return;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = opened;
  lines_ = LineSplitter();
  // A program that appends to the log of an earlier run says nothing of its own up to there.
  if (same_file(named, earlier_)) ::lseek(descriptor_, earlier_.st_size, SEEK_SET);
}

bool FileFollower::read_open(const std::function<void(const std::string&)>& sink) {
  struct stat held {};
  if (::fstat(descriptor_, &held) == 0 && held.st_size < ::lseek(descriptor_, 0, SEEK_CUR)) {
    ::lseek(descriptor_, 0, SEEK_SET);  // it was cut
    lines_ = LineSplitter();
  }
  std::array<char, 65536> block;  // NOLINT: not filled on purpose
  bool grew = false;
  // At most 1 MiB at once, as from pipes: other watches wait for this one.
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
