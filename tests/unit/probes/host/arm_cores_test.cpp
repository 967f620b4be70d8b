#include "probes/host/arm_cores.h"

#include <gtest/gtest.h>

namespace ocrtune {
namespace {

TEST(ArmCores, AreNamedByImplementerAndPart) {
  EXPECT_EQ(arm_core_name("0x41", "0xd0c"), "Neoverse-N1");
  EXPECT_EQ(arm_core_name("0x41", "0xD4F"), "Neoverse-V2");
  EXPECT_EQ(arm_core_name("0x46", "0x001"), "A64FX");
  EXPECT_EQ(arm_core_name("0x61", "0x025"), "M1 Pro Firestorm");
  EXPECT_EQ(arm_core_name("0x70", "0x664"), "FTC664 (Phytium)");
  EXPECT_EQ(arm_core_name("0x48", "0xd01"), "TaiShan v110 (Kunpeng 920)");
}

TEST(ArmCores, UnknownPartsKeepTheirNumbers) {
  EXPECT_EQ(arm_core_name("0x41", "0xfff"), "ARM part 0xfff");
  EXPECT_EQ(arm_core_name("0x99", "0x001"), "implementer 0x99 part 0x001");
}

TEST(ArmCores, WhatIsNoNumberHasNoName) {
  EXPECT_EQ(arm_core_name("", ""), "");
  EXPECT_EQ(arm_core_name("0x", "0x1"), "");
  EXPECT_EQ(arm_core_name("41", "d0c"), "");
  EXPECT_EQ(arm_core_name("0x41", "0x1g"), "");
  EXPECT_EQ(arm_core_name("0x41", "0x123456789"), "");
}

}  // namespace
}  // namespace ocrtune
