#include "tuner/store/flat_json.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "trial/ipc/trial_fields.h"
#include "tuner/store/columns.h"

namespace ocrtune {
namespace {

TEST(FlatJson, ReadsWhatTheLibraryReads) {
  StageUse use;
  use.looks = 25;
  use.busiest_thread = "python3 (main)";
  use.observed_seconds = 2.609242948999963;
  use.system_share = 1e-300;
  use.opened_bytes = 1ULL << 60;
  StageUse read;
  ASSERT_TRUE(read_flat(column_text(use), read));
  EXPECT_EQ(column_text(read), column_text(use));
  EXPECT_EQ(read.observed_seconds, use.observed_seconds);
}

TEST(FlatJson, LeavesTheRestToTheLibrary) {
  StageUse use;
  use.busiest_thread = "a \"b\"";
  StageUse read;
  EXPECT_FALSE(read_flat(column_text(use), read));
  use.busiest_thread = "\xC3\xA9";
  EXPECT_FALSE(read_flat(column_text(use), read));
  use = StageUse();
  use.launcher_set = {{"OMP_NUM_THREADS", "1"}};
  EXPECT_FALSE(read_flat(column_text(use), read));
  for (const char* damaged :
       {"", "{", "{\"looks\":", "{\"looks\":1", "{\"looks\":1,}", "[1]", "{\"looks\":1.5}",
        "{\"looks\":null}", "{\"looks\":\"1\"}", "{\"looks\":99999999999999999999}",
        "{\"looks\":{}}", "{\"looks\":1}}"}) {
    EXPECT_FALSE(read_flat(damaged, read)) << damaged;
  }
  EXPECT_EQ(column_text(read), column_text(StageUse()));
}

}  // namespace
}  // namespace ocrtune
