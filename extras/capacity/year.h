// A fleet over a year: growth, spares for what fails, zones, and what scaling by the hour would
// save.
//
// From a plan's count for one load: each further load takes as many machines as it is multiples of
// what one machine carries with 95 %. Machines fail independently of each other, each available for
// the same share of the time, planned work on it included. Zones hold equally many machines, and
// those of all zones but one carry all of the load.
#pragma once

#include <vector>

#include "extras/capacity/capacity.h"
#include "extras/capacity/stated.h"

namespace ocrtune {

struct YearDemand {
  Stated<double> growth = 0.0;  // of the load in a month: 0.03
  int months = 12;
  Stated<double> availability = 0.999;  // share of the time that enough machines are to be there
  Stated<double> machine_availability = 0.995;  // of one machine
  // From the start of a machine until it carries its share; not given: what the run measured.
  Stated<double> warm_up_seconds = 300.0;
  Stated<int> zones = 1;
};

// Machines to buy for a load.
struct FleetSize {
  int machines = 0;   // that the load needs
  int spares = 0;     // k of N+k
  int each_zone = 0;  // with one zone: all
  int bought = 0;
};

struct YearRow {
  int month = 0;                   // 0: now
  double requests_per_second = 0;  // at the peak
  FleetSize fleet;
  double fixed_hours = 0;       // machine hours of the month with all of them all the time
  double scaled_hours = 0;      // with as many as each minute and the warm-up need, and spares
  double fixed_risk_hours = 0;  // expected, in which fewer machines than needed are up
  double scaled_risk_hours = 0;
};

struct HourOfFleet {
  int begins_minute = 0;  // of the profile
  int machines = 0;       // the most that this hour needs, without spares
};

struct YearPlan {
  YearDemand demand;
  double sure_rate = 0;  // requests per second that one machine carries with 95 %
  std::vector<YearRow> rows;
  std::vector<HourOfFleet> hours;  // of the profile, now; empty without one
  double fixed_machine_hours = 0;  // of the year, bought for its largest month
  double scaled_machine_hours = 0;
};

const YearRow& largest_month(const YearPlan& year);  // the latest of those that need the most

// The least k with which `needed` of needed + k machines are up for this share of the time.
int spares_for(int needed, double machine_availability, double availability);

// Share of the time in which fewer than `needed` of `machines` are up.
double share_short(int machines, int needed, double machine_availability);

FleetSize fleet_for(int needed, const YearDemand& demand);

// Of a plan for inference that was not refused.
YearPlan plan_year(const CapacityPlan& plan, const YearDemand& demand);

}  // namespace ocrtune
