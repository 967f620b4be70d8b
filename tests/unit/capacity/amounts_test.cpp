#include "extras/capacity/amounts.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "extras/capacity/day_profile.h"

namespace ocrtune {
namespace {

TEST(ParseCount, TakesNumbersAsPeopleWriteThem) {
  for (const auto& [text, value] : {std::pair<const char*, double>{"40000", 40000},
                                    {"40,000", 40000},
                                    {"24,800,000", 24.8e6},
                                    {"1,234.5", 1234.5},
                                    {"40k", 40000},
                                    {"24.8M", 24.8e6},
                                    {"1e6", 1e6},
                                    {"0.34", 0.34}}) {
    const auto count = parse_count(text);
    ASSERT_TRUE(count.ok()) << count.error().what;
    EXPECT_DOUBLE_EQ(*count, value) << text;
  }
  for (const char* text : {"", "k", "40,00", ",000", "4,0000", "40,000,", "40 000", "-3", "0",
                           "nan", "1e999", "1e30", "40kk", "3,141.5,9", "many"}) {
    EXPECT_FALSE(parse_count(text).ok()) << text;
  }
}

TEST(ParseRate, TakesThemToo) {
  EXPECT_DOUBLE_EQ(parse_rate("40,000/day").value(), 40000 / 86400.0);
  EXPECT_DOUBLE_EQ(parse_rate("40k/d").value(), 40000 / 86400.0);
  EXPECT_FALSE(parse_rate("40,00/day").ok());
}

TEST(ParsePeak, IsAFactorAndTimes) {
  EXPECT_DOUBLE_EQ(parse_peak("3")->factor, 3);
  EXPECT_EQ(parse_peak("3x")->begins_minute, -1);
  for (const char* text : {"3x 9-11", "3x@9-11", "3@09:00-11:00", "9-11 3X"}) {
    const auto peak = parse_peak(text);
    ASSERT_TRUE(peak.ok()) << text;
    EXPECT_EQ(peak->begins_minute, 9 * 60);
    EXPECT_EQ(peak->ends_minute, 11 * 60);
  }
  EXPECT_EQ(parse_peak("2x 22-24")->ends_minute, 24 * 60);
  for (const char* text : {"", "x", "0.5x", "3x 9", "3x 9-9", "3x 9-25", "3x 9-11 Mon", "3x 24-2",
                           "3x 9:61-11", "infx"}) {
    EXPECT_FALSE(parse_peak(text).ok()) << text;
  }
}

TEST(ProfileOfPeak, HoldsTheDaysRequests) {
  for (const char* text : {"3x 9-11", "2x 22-24", "1.5x 23-1", "1x 0-12"}) {
    const auto profile = profile_of_peak(*parse_peak(text), 40000);
    ASSERT_TRUE(profile.ok()) << profile.error().what;
    EXPECT_NEAR(daily_requests(*profile), 40000, 1e-6) << text;
  }
  const auto profile = profile_of_peak(*parse_peak("3x 9-11"), 40000);
  EXPECT_NEAR(busiest_part(*profile).requests_per_second, 40000 * 3 / 86400.0, 1e-12);
  EXPECT_EQ(time_in(*profile, busiest_part(*profile).begins_minute), "09:00");
  EXPECT_FALSE(profile_of_peak(*parse_peak("5x 9-15"), 40000).ok());
}

}  // namespace
}  // namespace ocrtune
