// One row for each command; a command adds its declaration here and its file beside this one.
#include "cli/command_list.h"
#include "cli/commands.h"

namespace ocrtune {

// clang-format off
const std::vector<Command>& command_table() {
  static const std::vector<Command> kTable = {
      check_command(),
      completion_command(),
      diagnose_command(),
      infer_command(),
      infer_trial_command(),
      infer_worker_command(),
      list_command(),
      make_data_command(),
      man_command(),
      p2p_command(),
      plan_command(),
      probe_command(),
      rank_exec_command(),
      replay_command(),
      report_command(),
      run_command(),
      show_command(),
      slo_command(),
      train_command(),
      tune_command(),
      verify_command(),
      why_not_command(),
      worker_command(),
  };
  return kTable;
}
// clang-format on

}  // namespace ocrtune
