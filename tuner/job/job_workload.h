// From a job and what is asked of its search to the workload that is measured and launched.
#pragma once

#include <memory>

#include "trial/workloads/workload.h"
#include "tuner/job/job.h"

namespace ocrtune {

std::unique_ptr<const Workload> workload_of(const Job& job, const SearchRequest& search);

// The job's command, which has one, with the knobs that the search turns and fixes.
CommandWorkload command_workload(const Job& job, const SearchRequest& search);
// The same with what is known of it.
UserCommandOptions user_command(const Job& job, const SearchRequest& search);

}  // namespace ocrtune
