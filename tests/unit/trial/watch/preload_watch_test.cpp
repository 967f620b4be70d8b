#include "trial/watch/preload_watch.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::HasSubstr;

ProcessFacts own_process(double cpu_seconds) {
  ProcessFacts process;
  process.pid = ::getpid();
  process.cpu_seconds = cpu_seconds;
  process.name = "test";
  return process;
}

TEST(PreloadWatch, WithoutALibraryNothingIsMissed) {
  PreloadWatch watch("");
  watch.look({own_process(3)});
  EXPECT_EQ(watch.missed(), "");
}

TEST(PreloadWatch, ALibraryThatIsMappedIsThere) {
  PreloadWatch watch("/nowhere/libc.so.6");
  watch.look({own_process(3)});
  EXPECT_EQ(watch.missed(), "");
}

TEST(PreloadWatch, AProgramThatRunsWithoutItIsNamed) {
  PreloadWatch watch("/usr/lib/libjemalloc.so.2");
  watch.look({own_process(3)});
  EXPECT_THAT(watch.missed(), HasSubstr("runs without libjemalloc.so"));
  EXPECT_THAT(watch.missed(), HasSubstr("clears LD_PRELOAD"));
}

TEST(PreloadWatch, AHelperThatHardlyRunsIsNoMatter) {
  PreloadWatch watch("/usr/lib/libjemalloc.so.2");
  ProcessFacts gone = own_process(100);  // of which the maps cannot be read any more
  gone.pid = 0x7ffffffe;
  watch.look({own_process(3), gone});
  EXPECT_EQ(watch.missed(), "");
}

}  // namespace
}  // namespace ocrtune
