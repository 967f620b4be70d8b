#include "diagnosis/context/card_report.h"

#include <string>

#include <gtest/gtest.h>

#include "diagnosis/diagnosis.h"

namespace ocrtune {
namespace {

std::string cause_of_report(const std::string& text) {
  const Diagnosis found = diagnose_text(text);
  return found.causes.empty() ? "" : found.causes[0].row->name;
}

TEST(CardReport, ReasonsForALowerClock) {
  EXPECT_EQ(cause_of_report("        SW Thermal Slowdown               : Active\n"),
            "gpu_throttled");
  EXPECT_EQ(cause_of_report("        SW Thermal Slowdown               : Not Active\n"), "");
}

TEST(CardReport, ColumnsOfATable) {
  const std::string link =
      "index, name, pcie.link.gen.current, pcie.link.width.current, pcie.link.width.max\n"
      "0, NVIDIA GeForce RTX 4090, 4, 16, 16\n";
  EXPECT_EQ(cause_of_report(link), "");
  EXPECT_EQ(cause_of_report(link + "1, NVIDIA GeForce RTX 4090, 4, 4, 16\n"), "pcie_link_slow");
  const std::string reasons =
      "timestamp, clocks_throttle_reasons.sw_power_cap, "
      "clocks_throttle_reasons.hw_thermal_slowdown\n";
  EXPECT_EQ(cause_of_report(reasons + "2024/03/05 10:11:12.123, Not Active, Not Active\n"), "");
  EXPECT_EQ(cause_of_report(reasons + "2024/03/05 10:11:12.123, Not Active, Active\n"),
            "gpu_throttled");
}

TEST(CardReport, AQuotaThatRanOut) {
  const Diagnosis found = diagnose_text("nr_periods 53702\nnr_throttled 52988\n");
  ASSERT_FALSE(found.causes.empty());
  EXPECT_STREQ(found.causes[0].row->name, "thread_oversubscription");
  EXPECT_EQ(found.causes[0].evidence[0].text, "nr_throttled 52988");
  EXPECT_NE(found.causes[0].fixes[0].find("resources.limits.cpu"), std::string::npos);
}

TEST(CardReport, ACpuThatIsTooHotInTheKernelsWords) {
  EXPECT_EQ(
      cause_of_report("[ 1234.567890] mce: CPU3: Core temperature is above threshold, cpu clock "
                      "is throttled (total events = 1)\n"),
      "cpu_throttled");
}

TEST(CardReport, OtherLinesStayAsTheyAre) {
  CardReport report;
  for (const char* line : {"Current : 4x", "Max : 16x", "a, b, c", "", "Link Width", "16x",
                           "loss: 0.5, ips: 99.1 samples/s"}) {
    EXPECT_EQ(report.take_line(line), "") << line;
  }
}

}  // namespace
}  // namespace ocrtune
