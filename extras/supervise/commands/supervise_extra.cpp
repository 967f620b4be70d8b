// The row of the extra `supervise`.
#include "extras/supervise/commands/supervise_extra.h"

#include "extras/supervise/commands/run_command.h"
#include "extras/supervise/reports/supervise_table.h"

namespace ocrtune {

Extra supervise_extra() {
  return {
      {{"export",
        {"run", kLaunch, "Launch a command, watch it, and bring it back after a failure",
         "ocrtune run --from last --checkpoint output/rec/latest --logs log -- \\\n"
         "  python -m paddle.distributed.launch --nproc_per_node {nproc} tools/train.py -c x.yml",
         "Exit code: 0 it ended well, 1 gave up, 130 interrupted.", declare_run}}}};
}

ExtraReports supervise_reports() { return {supervise_table, {}}; }

}  // namespace ocrtune
