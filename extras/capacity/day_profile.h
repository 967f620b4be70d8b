// The load of a day or of a week, hour by hour: when the peak comes and how long it lasts.
//
// A file of lines "14:00 12000/min": from that time of day on the rate is so high, until the next
// line's time; before the first line it is the last one's, so that one line is a constant load.
// With weekdays before the times ("Mon-Fri 08:00 12000/min", "Sun 10:00 100/min") it is a week's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ocrtune {

struct DayProfile {
  struct Part {
    int begins_minute = 0;  // of the day, or of the week from Monday 00:00 on
    double requests_per_second = 0;
  };
  std::vector<Part> parts;  // in order of time; empty: no profile
  bool weekly = false;
};

// "200", "200/s", "12000/min", "300/5min", "1e6/h", "5e6/day" as requests per second. Errors
// (usage) say what is wanted.
Result<double> parse_rate(const std::string& text);
// "40000", "40k/day" as requests a day.
Result<double> parse_daily(const std::string& text);

// Blank or comma between time and rate; lines that begin with # and a first line of words are
// passed over; a rate of 0 is a quiet hour. Errors (invalid) name the line: no time of day, no
// rate, a time twice, nothing but zeros.
Result<DayProfile> read_day_profile(const std::string& path);

double daily_requests(const DayProfile& profile);  // of a week: the mean day's
// Of every minute of the day or week, its first on.
std::vector<double> rates_by_minute(const DayProfile& profile);
// The same shape with so many requests a day.
DayProfile scale_to_day(DayProfile profile, double requests);

const DayProfile::Part& busiest_part(const DayProfile& profile);  // of equals the first

std::string time_of_day(int minute);                         // 842 -> "14:02"
std::string time_in(const DayProfile& profile, int minute);  // the same; of a week "Tue 14:02"
// Local time of day of a Unix time, "14:02"; empty where the seconds count from another start.
std::string time_of_day_at(double unix_seconds);

// When the load is above this rate: "13:00 to 16:00", "08:00 to 10:00 and 13:00 to 16:00", "all
// day"; empty: never.
std::string times_above(const DayProfile& profile, double requests_per_second);

// A peak of the day: "3", "3x", "3x 9-11", "3x@09:00-11:30".
struct DayPeak {
  double factor = 1;                         // times the day's mean rate
  int begins_minute = -1, ends_minute = -1;  // of the day; -1: no time was given
};
Result<DayPeak> parse_peak(const std::string& text);

// A day of so many requests with that peak, and an even rate outside of it. usage: more than the
// whole day would come within it.
Result<DayProfile> profile_of_peak(const DayPeak& peak, double daily_requests);

}  // namespace ocrtune
