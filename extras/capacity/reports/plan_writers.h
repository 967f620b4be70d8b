// A plan's document as HTML, console text, Markdown and CSV, as alerts and a dashboard of its
// assumptions, and as the Kubernetes objects of its autoscaling rule (autoscale.h).
#pragma once

#include <string>

#include "extras/capacity/fleet_plan.h"
#include "extras/capacity/reports/plan_document.h"
#include "reports/catalogue/reasons.h"
#include "reports/markup/table.h"

namespace ocrtune {

// Badges, answer, tables and assumptions in one section.
std::string plan_section(const PlanDocument& document);
// A page of its own: the sheet to sign.
std::string plan_page(const PlanDocument& document);

// Answer, tables, what one machine does and the assumptions: one screen.
std::string plan_console(const PlanDocument& document, int width, Language language);
std::string plan_table_text(const PlanTable& table, int width, Language language);

std::string plan_markdown(const PlanDocument& document, Language language);  // the whole sheet
Table plan_sheet_table(const PlanDocument& document);                        // in English

// For rule_files of Prometheus. Empty groups are left out: a plan without watches gives "".
std::string prometheus_rules(const PlanDocument& document);

// The same rules as an object of the Prometheus operator, monitoring.coreos.com/v1.
std::string prometheus_rule_object(const PlanDocument& document);

// For Grafana's import; it asks for the Prometheus data source. Each panel shows what is watched
// and its limit.
std::string grafana_dashboard(const PlanDocument& document);

// Both take the requests in flight of all replicas from Prometheus; apply one of them.
std::string hpa_yaml(const FleetPlan& fleet);
std::string keda_yaml(const FleetPlan& fleet);

}  // namespace ocrtune
