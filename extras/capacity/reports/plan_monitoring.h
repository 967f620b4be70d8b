// The assumptions of a plan as alerts and as a dashboard: one alert and one panel for each.
#pragma once

#include <string>

#include "extras/capacity/reports/plan_document.h"

namespace ocrtune {

// For rule_files of Prometheus. Empty groups are left out: a plan without watches gives "".
std::string prometheus_rules(const PlanDocument& document);

// The same rules as an object of the Prometheus operator, monitoring.coreos.com/v1.
std::string prometheus_rule_object(const PlanDocument& document);

// For Grafana's import; it asks for the Prometheus data source. Each panel shows what is watched
// and its limit.
std::string grafana_dashboard(const PlanDocument& document);

}  // namespace ocrtune
