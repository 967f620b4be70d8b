// The rate that one workload was recommended with, run after run.
#pragma once

#include <string>
#include <vector>

#include "base/stats.h"
#include "reports/catalogue/verdict.h"

namespace ocrtune {

struct TrendPoint {
  std::string started;  // UTC, ISO 8601
  Interval rate;        // all zero: no setting worked
  Badge badge;          // its verdict
  std::string remark;   // plain text, shown when the pointer rests on the point
  std::string link;     // relative; empty: none
};

// Points in any order, rates in `unit` (a phrase); "" with fewer than two of them.
std::string trend_figure(const std::vector<TrendPoint>& points, const std::string& unit);

}  // namespace ocrtune
