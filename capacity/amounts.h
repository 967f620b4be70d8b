// Amounts of work as people write them.
#pragma once

#include <string>

#include "base/result.h"
#include "capacity/day_profile.h"

namespace ocrtune {

// "40,000", "40k", "24.8M", "2e6": above zero. usage: says what is wanted.
Result<double> parse_count(const std::string& text);

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
