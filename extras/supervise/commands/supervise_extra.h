// The extra `supervise`: long runs kept alive.
#pragma once

#include "cli/extras.h"
#include "reports/catalogue/extra_reports.h"

namespace ocrtune {

Extra supervise_extra();
ExtraReports supervise_reports();

}  // namespace ocrtune
