// The page's section on several hosts: what each count of them brought, and the links that
// `probe --hosts` measured.
#pragma once

#include <string>

#include "reports/html/page_documents.h"
#include "tuner/store/run_record.h"

namespace ocrtune {

// Empty without a setting of several hosts and without `survey` (may be null).
std::string hosts_section(const RunRecord& run, const HostsDocument* survey);

}  // namespace ocrtune
