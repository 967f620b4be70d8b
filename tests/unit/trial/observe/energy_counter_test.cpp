#include "trial/observe/energy_counter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ocrtune {
namespace {

using testing::HasSubstr;

class EnergyCounterTest : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = *make_temporary_directory("energy"); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }
  void set(const std::string& zone, const std::string& file, const std::string& text) {
    const std::string zone_folder = folder_ + "/sys/class/powercap/" + zone;
    ASSERT_TRUE(make_directories(zone_folder).ok());
    ASSERT_TRUE(write_file(zone_folder + "/" + file, text).ok());
  }
  std::string folder_;
};

TEST_F(EnergyCounterTest, AddsPackagesAndNotTheirParts) {
  set("intel-rapl:0", "energy_uj", "1000000\n");
  set("intel-rapl:1", "energy_uj", "5000000\n");
  set("intel-rapl:0:0", "energy_uj", "900000\n");
  EnergyCounter counter{FileRoot(folder_)};
  ASSERT_TRUE(counter.available());
  set("intel-rapl:0", "energy_uj", "3000000\n");
  set("intel-rapl:1", "energy_uj", "5500000\n");
  set("intel-rapl:0:0", "energy_uj", "2900000\n");
  EXPECT_NEAR(counter.take_joules(), 2.5, 1e-9);
  EXPECT_NEAR(counter.take_joules(), 0, 1e-9);
}

TEST_F(EnergyCounterTest, BeginsAgainAtItsRange) {
  set("intel-rapl:0", "energy_uj", "9000000");
  set("intel-rapl:0", "max_energy_range_uj", "10000000");
  EnergyCounter counter{FileRoot(folder_)};
  set("intel-rapl:0", "energy_uj", "500000");
  EXPECT_NEAR(counter.take_joules(), 1.5, 1e-9);
}

TEST_F(EnergyCounterTest, SaysWhyThereIsNone) {
  EnergyCounter none{FileRoot(folder_)};
  EXPECT_FALSE(none.available());
  EXPECT_THAT(none.missing_reason(), HasSubstr("powercap"));
  set("intel-rapl:0", "energy_uj", "not a number");
  EnergyCounter broken{FileRoot(folder_)};
  EXPECT_FALSE(broken.available());
  EXPECT_THAT(broken.missing_reason(), HasSubstr("energy_uj"));
  EXPECT_EQ(broken.take_joules(), 0);
}

}  // namespace
}  // namespace ocrtune
