// Numbers are in the machine's own byte order: both ends run on one host. A length beyond kMaxBytes
// means that the bytes are no frames, as of a program that prints into the pipe.
#include "trial/ipc/frames.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace ocrtune {
namespace {

constexpr std::uint32_t kMaxBytes = 1 << 20;
constexpr std::size_t kHeadBytes = sizeof(std::uint32_t) + 1;

}  // namespace

void append_number(std::string& to, std::uint32_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::uint32_t take_number(std::string_view& from) {
  std::uint32_t number = 0;
  if (from.size() < sizeof number) return 0;
  std::memcpy(&number, from.data(), sizeof number);
  from.remove_prefix(sizeof number);
  return number;
}

void append_frame(std::string& to, char kind, std::string_view body) {
  // A longer body is cut, or the reader would refuse the whole pipe.
  body = body.substr(0, kMaxBytes);
  append_number(to, static_cast<std::uint32_t>(body.size()));
  to += kind;
  to += body;
}

Status write_frames(int descriptor, std::string_view frames) {
  return write_all(descriptor, frames, "to a worker's pipe");
}

Result<std::vector<Frame>> FrameReader::read(int descriptor) {
  char block[65536];
  const ssize_t got = ::read(descriptor, block, sizeof block);
  if (got == 0) ended_ = true;
  // Neither is an end: the caller polls and comes again.
  if (got < 0 && errno != EINTR && errno != EAGAIN) return system_error(errno, "read a pipe");
  if (got > 0) bytes_.append(block, static_cast<std::size_t>(got));
  std::vector<Frame> frames;
  std::string_view rest = bytes_;
  while (rest.size() >= kHeadBytes) {
    std::string_view head = rest;
    const std::uint32_t length = take_number(head);
    if (length > kMaxBytes) return Error{ErrorKind::invalid, "a worker's pipe holds no message"};
    if (rest.size() < kHeadBytes + length) break;
    // Behind the number: the letter, then the body.
    frames.push_back({head[0], std::string(head.substr(1, length))});
    rest.remove_prefix(kHeadBytes + length);
  }
  bytes_.erase(0, bytes_.size() - rest.size());
  return frames;
}

}  // namespace ocrtune
