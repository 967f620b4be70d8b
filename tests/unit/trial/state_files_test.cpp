#include "trial/state_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StateFiles, AreReplacedByAnotherSizeAndByTheirRemoval) {
  const std::string folder = *make_temporary_directory("states");
  const auto write = [&](const std::string& name, const std::string& text) {
    ASSERT_TRUE(make_directories(parent_path(folder + "/" + name)));
    ASSERT_TRUE(write_file(folder + "/" + name, text));
  };
  for (const char* name : {"a.pt", "out/best/b.pdparams", "out/one/two/deep.pt", "log.txt"}) {
    write(name, "old");
  }
  StateFiles states(folder);
  EXPECT_THAT(states.replaced(), IsEmpty());
  for (const char* name : {"a.pt", "out/one/two/deep.pt", "log.txt", "new.pt"}) {
    write(name, "other");
  }
  ASSERT_TRUE(remove_tree(folder + "/out/best"));
  EXPECT_THAT(states.replaced(), ElementsAre("a.pt", "out/best/b.pdparams"));
  EXPECT_THAT(states.replaced(), IsEmpty());
  EXPECT_THAT(StateFiles(folder + "/absent").replaced(), IsEmpty());
  EXPECT_TRUE(remove_tree(folder));
}

TEST(StateFiles, AreKnownByTheirEndings) {
  for (const char* name : {"a.pth.tar", "a.keras", "a.pkl", "a.tar", "a.pdparams", "a.ckpt"}) {
    EXPECT_TRUE(holds_state(name)) << name;
  }
  for (const char* name : {"train.log", ".pt", "tar", "a.tar.gz"}) {
    EXPECT_FALSE(holds_state(name)) << name;
  }
}

}  // namespace
}  // namespace ocrtune
