// The extra `consistency`: are the configurations of all nodes the same where training needs it?
#pragma once

#include "cli/extras.h"
#include "reports/catalogue/extra_reports.h"

namespace ocrtune {

Extra consistency_extra();
ExtraReports consistency_reports();

}  // namespace ocrtune
