#include "trial/ipc/frames.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  void put(std::string_view bytes) { EXPECT_TRUE(write_frames(ends[1], bytes)); }
  void end() {
    ::close(ends[1]);
    ends[1] = -1;
  }
};

TEST(Frames, ComeOutWholeHoweverTheyAreCut) {
  std::string bytes;
  append_frame(bytes, 'A', "one");
  append_frame(bytes, 'B', "");
  append_frame(bytes, 'C', std::string("\0\n\xFF", 3));
  Pipe pipe;
  FrameReader reader;
  std::vector<Frame> all;
  for (char byte : bytes) {
    pipe.put(std::string_view(&byte, 1));
    const auto frames = reader.read(pipe.ends[0]).value();
    all.insert(all.end(), frames.begin(), frames.end());
  }
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].kind, 'A');
  EXPECT_EQ(all[0].body, "one");
  EXPECT_EQ(all[1].body, "");
  EXPECT_EQ(all[2].body, std::string("\0\n\xFF", 3));
  EXPECT_FALSE(reader.ended());
  pipe.end();
  EXPECT_TRUE(reader.read(pipe.ends[0])->empty());
  EXPECT_TRUE(reader.ended());
}

TEST(Frames, AnImpossibleLengthIsAnError) {
  Pipe pipe;
  pipe.put("\xFF\xFF\xFF\xFFZ rubbish");
  FrameReader reader;
  EXPECT_FALSE(reader.read(pipe.ends[0]));
}

TEST(Frames, NumbersComeBack) {
  std::string body;
  append_number(body, 7);
  append_number(body, 0xFFFFFFFF);
  std::string_view rest = body;
  EXPECT_EQ(take_number(rest), 7U);
  EXPECT_EQ(take_number(rest), 0xFFFFFFFFU);
  EXPECT_EQ(take_number(rest), 0U);
}

}  // namespace
}  // namespace ocrtune
