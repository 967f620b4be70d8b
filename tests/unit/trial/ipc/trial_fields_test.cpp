#include "trial/ipc/trial_fields.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(StageFields, WhatWasWrittenBeforeAFieldWasAddedIsRead) {
  StageUse stages;
  stages.looks = 7;
  stages.launcher_set = {{"OMP_NUM_THREADS", "1"}};
  FieldsJson json = stages;
  EXPECT_EQ(json.get<StageUse>().launcher_set[0].text(), "OMP_NUM_THREADS=1");
  json.erase("launcher_set");
  const auto older = json.get<StageUse>();
  EXPECT_EQ(older.looks, 7);
  EXPECT_TRUE(older.launcher_set.empty());
  EXPECT_THROW((void)FieldsJson("no object").get<StageUse>(), std::exception);
  json["looks"] = "many";
  EXPECT_THROW((void)json.get<StageUse>(), std::exception);
}

}  // namespace
}  // namespace ocrtune
