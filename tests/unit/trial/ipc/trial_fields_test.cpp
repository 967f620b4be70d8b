#include "trial/ipc/trial_fields.h"

#include <gtest/gtest.h>

#include "trial/ipc/same_fields.h"

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

TEST(SameFields, AnEarlierRunWasNotRepeatable) {
  SameResult same;
  same.not_compared = NotCompared::no;
  same.repeatable = true;
  FieldsJson json = same;
  EXPECT_TRUE(json.get<SameResult>().repeatable);
  json.erase("repeatable");
  EXPECT_FALSE(json.get<SameResult>().repeatable);
  EXPECT_TRUE(json.get<SameResult>().compared());
}

}  // namespace
}  // namespace ocrtune
