// The rows of the extra `capacity`.
#include <nlohmann/json.hpp>

#include "cli/extras.h"
#include "extras/capacity/commands/plan_demand.h"
#include "extras/capacity/reports/plan_json.h"
#include "extras/capacity/reports/plan_words.h"
#include "extras/capacity/reports/plan_writers.h"
#include "reports/catalogue/extra_reports.h"
#include "reports/html/document_fields.h"

namespace ocrtune {
namespace {

std::string section_of(const nlohmann::json& document) {
  return plan_section(read_plan_document(field_object(document, "document")));
}

}  // namespace

Extra capacity_extra() {
  return {{{"diagnose",
            {"plan", kLaunch, "Say how many machines a load or a deadline takes",
             "ocrtune plan --rate 12000/min --slo p99=80ms --cost-per-hour 1.2\n"
             "ocrtune plan --daily 40,000 --peak '3x 9-11' --slo p95=5s --zones 2 --growth 5\n"
             "ocrtune plan --pages 24,800,000 --within 10h --cost-per-hour 0.34\n"
             "ocrtune plan --rate 200/min --lines-per-page 40 --slo p95=2s\n"
             "ocrtune plan cpu.sqlite=0.8 gpu.sqlite=2.9 --rate 3e6/h --out plan\n"
             "ocrtune plan --samples 2e6 --epochs 20 --deadline 'Fri 18:00' --interruptions 8h "
             "--checkpoint-every 15m:20s",
             "Exit code: 0 planned, 1 nothing can meet it or it lies beyond the valid range.",
             declare_plan}}}};
}

ExtraReports capacity_reports() {
  return {plan_table, {{"plan", {"rows", "valid_range"}, {"capacity", "Capacity"}, section_of}}};
}

}  // namespace ocrtune
