// Messages between two processes over a pipe: a length, a letter that says what it is, and bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct Frame {
  char kind = 0;
  std::string body;
};

void append_frame(std::string& to, char kind, std::string_view body);
Status write_frames(int descriptor, std::string_view frames);  // all of it; blocks

// Collects what a pipe gives and hands out whole frames.
class FrameReader {
 public:
  // One read(): the frames that are whole now. An empty `ended` pipe gives no more. invalid: a
  // length that no message has.
  Result<std::vector<Frame>> read(int descriptor);
  bool ended() const { return ended_; }

 private:
  std::string bytes_;
  bool ended_ = false;
};

// The numbers that stand at the front of a body.
void append_number(std::string& to, std::uint32_t number);
std::uint32_t take_number(std::string_view& from);  // 0 where nothing is left

}  // namespace ocrtune
