// The commands, one declaration a line, in alphabetical order; rows of cli/command_table.cpp.
#pragma once

#include "cli/commands.h"

namespace ocrtune {

Command check_command();
Command completion_command();
Command diagnose_command();
Command infer_command();
Command infer_trial_command();
Command infer_worker_command();
Command list_command();
Command make_data_command();
Command man_command();
Command p2p_command();
Command plan_command();
Command probe_command();
Command rank_exec_command();
Command replay_command();
Command report_command();
Command run_command();
Command show_command();
Command slo_command();
Command train_command();
Command tune_command();
Command verify_command();
Command why_not_command();
Command worker_command();

}  // namespace ocrtune
