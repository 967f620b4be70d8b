// The extra `hosts`: several machines, through agents.
#pragma once

#include "cli/extras.h"
#include "reports/catalogue/extra_reports.h"

namespace ocrtune {

Extra hosts_extra();
ExtraReports hosts_reports();

}  // namespace ocrtune
