// The extra `capacity`: machines for a load or a deadline.
#pragma once

#include "cli/extras.h"
#include "reports/catalogue/extra_reports.h"

namespace ocrtune {

Extra capacity_extra();
ExtraReports capacity_reports();

}  // namespace ocrtune
