// The load of a day: what is read, when it peaks, and what is refused in one line.
#include "extras/capacity/day_profile.h"

#include <cstdlib>
#include <ctime>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace ocrtune {
namespace {

using ::testing::HasSubstr;

class DayProfileFile : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = make_temporary_directory("profile").value(); }
  void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }
  Result<DayProfile> read(const std::string& text) {
    const std::string path = join_path(folder_, "day.txt");
    EXPECT_TRUE(write_file(path, text).ok());
    return read_day_profile(path);
  }
  std::string folder_;
};

TEST_F(DayProfileFile, ReadsTimesAndRatesInAnyOrder) {
  const auto day = read("time,rate\n# a shop\n18:00,60/min\n08:30, 600/min\n14:00\t 50\r\n\n");
  ASSERT_TRUE(day.ok()) << day.error().what;
  ASSERT_EQ(day->parts.size(), 3U);
  EXPECT_EQ(day->parts[0].begins_minute, 8 * 60 + 30);
  EXPECT_DOUBLE_EQ(day->parts[0].requests_per_second, 10);
  EXPECT_EQ(time_of_day(busiest_part(*day).begins_minute), "14:00");
  // 5.5 h at 10/s, 4 h at 50/s, 14.5 h at 1/s.
  EXPECT_DOUBLE_EQ(daily_requests(*day), 3600 * (5.5 * 10 + 4 * 50 + 14.5));
  const DayProfile scaled = scale_to_day(*day, 1e6);
  EXPECT_NEAR(daily_requests(scaled), 1e6, 1e-3);
  EXPECT_NEAR(scaled.parts[1].requests_per_second / scaled.parts[0].requests_per_second, 5, 1e-9);
}

TEST_F(DayProfileFile, KnowsWhenItIsAboveARate) {
  const DayProfile day =
      *read("00:00 1\n08:00 20\n10:00 5\n13:00 30\n14:00 50\n15:00 30\n16:00 5\n");
  EXPECT_EQ(times_above(day, 60), "");
  EXPECT_EQ(times_above(day, 40), "14:00 to 15:00");
  EXPECT_EQ(times_above(day, 10), "08:00 to 10:00 and 13:00 to 16:00");
  EXPECT_EQ(times_above(day, 0.5), "all day");
  const DayProfile night = *read("06:00 5\n22:00 40\n");
  EXPECT_EQ(times_above(night, 10), "22:00 to 06:00");  // over midnight
}

TEST_F(DayProfileFile, AWeekHasItsOwnDays) {
  const auto week = read("Mon-Fri 08:00 100\nMon-Fri 18:00 10\nSat 09:00 20\nSun 00:00 0\n");
  ASSERT_TRUE(week.ok()) << week.error().what;
  EXPECT_TRUE(week->weekly);
  EXPECT_EQ(week->parts.size(), 12U);
  const auto rates = rates_by_minute(*week);
  ASSERT_EQ(rates.size(), 7U * 1440);
  EXPECT_EQ(rates[0], 0);  // Monday 00:00 is still Sunday's
  EXPECT_EQ(rates[8 * 60], 100);
  EXPECT_EQ(rates[1440], 10);                // Monday's evening lasts until Tuesday 08:00
  EXPECT_EQ(rates[5 * 1440 + 10 * 60], 20);  // Saturday
  double seconds = 0;
  for (const double rate : rates) seconds += rate * 60;
  EXPECT_NEAR(daily_requests(*week), seconds / 7, 1e-6);
  EXPECT_EQ(time_in(*week, busiest_part(*week).begins_minute), "Mon 08:00");
  EXPECT_THAT(times_above(*week, 50), HasSubstr("Fri 08:00 to Fri 18:00"));
}

TEST_F(DayProfileFile, NamesTheBadLine) {
  const auto refusal = [&](const std::string& text) {
    const auto day = read(text);
    EXPECT_FALSE(day.ok()) << text;
    return day ? "" : day.error().what;
  };
  EXPECT_THAT(refusal(""), HasSubstr("needs lines like"));
  EXPECT_THAT(refusal("14:00 0\n"), HasSubstr("one above zero"));
  EXPECT_THAT(refusal("14:00 5\n25:00 5\n"), HasSubstr("day.txt:2: '25:00' is no time of day"));
  EXPECT_THAT(refusal("14:00 5\nnoon 5\n"), HasSubstr("'noon' is no time of day"));
  EXPECT_THAT(refusal("14:00\n"), HasSubstr("wants a time and a rate"));
  EXPECT_THAT(refusal("14:00 -5\n"), HasSubstr("must be above zero"));
  EXPECT_THAT(refusal("14:00 5/fortnight\n"), HasSubstr("12000/min"));
  EXPECT_THAT(refusal("14:00 5\n14:00 6\n"), HasSubstr("stands there twice"));
  EXPECT_THAT(refusal("Mon 14:00 5\n15:00 6\n"), HasSubstr("before all times or before none"));
  EXPECT_THAT(refusal("Mon\n"), HasSubstr("after the weekday"));
  EXPECT_EQ(read_day_profile("/no/day.txt").error().kind, ErrorKind::missing);
}

TEST(ParseRate, UnitsOfTime) {
  EXPECT_DOUBLE_EQ(*parse_rate("200"), 200);
  EXPECT_DOUBLE_EQ(*parse_rate("12000/min"), 200);
  EXPECT_DOUBLE_EQ(*parse_rate("720000/h"), 200);
  EXPECT_DOUBLE_EQ(*parse_rate("86400/day"), 1);
  EXPECT_DOUBLE_EQ(*parse_rate("300/5min"), 1);
  EXPECT_DOUBLE_EQ(*parse_rate("120/minute"), 2);
  EXPECT_DOUBLE_EQ(*parse_rate("3.6k/hr"), 1);
  EXPECT_DOUBLE_EQ(*parse_daily("40,000"), 40000);
  EXPECT_DOUBLE_EQ(*parse_daily("40k/day"), 40000);
  EXPECT_DOUBLE_EQ(*parse_daily("36.5M/year"), 100000);
  for (const char* bad : {"", "0", "-1/s", "12/fortnight", "x/min", "inf", "3/0min", "3/-5min"}) {
    EXPECT_FALSE(parse_rate(bad).ok()) << bad;
  }
}

TEST(TimeOfDay, UnixTimesOnly) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(time_of_day_at(1763733725), "14:02");  // 2025-11-21 14:02:05 UTC
  EXPECT_EQ(time_of_day_at(3600), "");             // a trace's own clock
  EXPECT_EQ(time_of_day_at(1763733725e3), "");     // milliseconds
}

}  // namespace
}  // namespace ocrtune
