// The row of the extra `consistency`.
#include "cli/extras.h"
#include "extras/consistency/commands/check_command.h"
#include "reports/catalogue/extra_reports.h"

namespace ocrtune {

Extra consistency_extra() {
  return {
      {{"p2p",
        {"check", kHostsGroup, "Compare the configurations of all nodes before a run",
         "ocrtune hosts check node0/rec.yml node1/rec.yml --nproc 4\n"
         "ocrtune hosts check --hosts node1,node2 rec.yml   # each host's own file of that path\n"
         "ocrtune hosts check --collect shared/nodes rec.yml   # on every node, then: ocrtune "
         "hosts check shared/nodes\n"
         "ocrtune hosts check collected/   # collected/<node>/{rec.yml,env.txt,versions.txt}",
         "Exit code: 0 consistent, 1 differences that break training, 3 unreadable.",
         declare_check}}}};
}

ExtraReports consistency_reports() { return {}; }

}  // namespace ocrtune
