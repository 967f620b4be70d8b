#include "cli/shell/progress.h"

#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "cli/shell/terminal.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

SearchState half_way() {
  return {12, {212, 207, 216}, 80, 160, "race", "nproc=2 threads=4 batch=32 binding=compact"};
}

std::string contents(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  return text;
}

TEST(SearchProgress, SaysHowFarBestAndTimeLeft) {
  EXPECT_EQ(search_text(half_way(), 200),
            "trial 12 [#####.....] 1 min 20 s left | best 212.0 (207.0..216.0) samples/s | race "
            "nproc=2 threads=4 batch=32 binding=compact");
}

TEST(SearchProgress, LeavesOutWhatIsNotKnownYet) {
  EXPECT_EQ(search_text({1, {}, 0, 0, "", ""}, 80), "trial 1");
  EXPECT_EQ(search_text({41, {}, -3, 60, "race", ""}, 80), "trial 41 [##########] | race")
      << "past the budget the bar is full";
}

TEST(SearchProgress, TellsTheTimeSoFarWhereNoBudgetIsKnown) {
  SearchState state;
  state.phase = "trying one step";
  state.seconds = 8;
  EXPECT_EQ(search_text(state, 80), "trying one step | 8.0 s");
}

TEST(SearchProgress, OneBestRateHasNoInterval) {
  SearchState state = half_way();
  state.best = {212, 212, 212};
  EXPECT_NE(search_text(state, 200).find("| best 212.0 samples/s |"), std::string::npos);
}

TEST(SearchProgress, FitsSixtyColumns) {
  const std::string text = search_text(half_way(), 60);
  EXPECT_LE(display_width(text), 60);
  EXPECT_NE(text.find("trial 12 [#####.....]"), std::string::npos);
}

TEST(SearchProgress, SaysNothingIntoAPipeButNotesStay) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    SearchProgress line(file);
    line.show(half_way());
    line.note("kept\x1b[31m");
    line.plain("trial 1: nproc=2: 12 samples/s");
  }
  EXPECT_EQ(contents(file), "kept\\x1b[31m\ntrial 1: nproc=2: 12 samples/s\n");
  std::fclose(file);
}

TEST(WorkLine, SpeaksOnceOfWhatTakesLongAndElseNotAtAll) {
  testing::internal::CaptureStderr();
  { const WorkLine quick("asking two hosts"); }
  {
    const WorkLine slow("measuring CPUs");
    std::this_thread::sleep_for(std::chrono::seconds(4));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "measuring CPUs\n");
}

TEST(SearchProgress, GoesOnBelowANote) {
  int seen = -1, written = -1;
  ASSERT_EQ(::openpty(&seen, &written, nullptr, nullptr, nullptr), 0);
  ::setenv("TERM", "xterm", 1);
  std::FILE* terminal = ::fdopen(written, "w");
  SearchProgress line(terminal);
  line.show(half_way());
  line.note("a rate was tried");
  line.clear();
  std::fclose(terminal);
  std::string text, part(4096, '\0');  // a terminal gives what it has, piece by piece
  for (ssize_t got = 0; (got = ::read(seen, part.data(), part.size())) > 0;) {
    text.append(part, 0, static_cast<std::size_t>(got));
  }
  ::close(seen);
  const std::size_t note = text.find("a rate was tried");
  ASSERT_NE(note, std::string::npos) << text;
  EXPECT_NE(text.find("trial 12", note), std::string::npos) << text;
}

TEST(Terminal, AFileIsNeitherTerminalNorColoured) {
  std::FILE* file = std::tmpfile();
  EXPECT_FALSE(is_terminal(file));
  EXPECT_FALSE(may_colour(file));
  ::setenv("COLUMNS", "132", 1);
  EXPECT_EQ(terminal_width(file), 132);
  ::setenv("COLUMNS", "20", 1);
  EXPECT_EQ(terminal_width(file), 30);
  ::setenv("COLUMNS", "wide", 1);
  EXPECT_EQ(terminal_width(file), 80);
  ::unsetenv("COLUMNS");
  std::fclose(file);
}

}  // namespace
}  // namespace ocrtune
