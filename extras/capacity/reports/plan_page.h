// A capacity plan as a page of its own: the sheet to sign.
#pragma once

#include <string>

#include "extras/capacity/reports/plan_document.h"

namespace ocrtune {

std::string plan_page(const PlanDocument& document);

}  // namespace ocrtune
