// What NCCL says that it does: transports, versions, settings and warnings out of its debug log.
//
// A recommendation such as "P2P off" stands only if the log of the passing run proves that the
// transport changed, so every line form since NCCL 2.7 is understood. Get such a log with
// NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,ENV,P2P,SHM,NET,GRAPH,TUNING and one NCCL_DEBUG_FILE a
// process.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ocrtune {

enum class NcclTransport { p2p, shm, net, other };

std::string_view transport_name(NcclTransport transport);  // "P2P", "SHM", "NET", "other"

struct NcclChannel {
  int from = 0, to = 0;  // ranks
  NcclTransport transport = NcclTransport::other;
};

// What NCCL_RUN_DIAGNOSTICS=1 reports, from 2.31 on, on rank 0's stdout: every direction between
// two ranks that may use P2P was written and read once.
struct NcclDiagnostics {
  struct Fault {
    int from = -1, to = -1;  // ranks
    std::string text;        // "write mismatch", "peer-memory import failed"
  };
  int tested = 0, passed = 0;  // directions; 0 tested: no report, or no P2P in it
  std::vector<Fault> faults;
};

struct NcclLog {
  std::string version;  // "2.28.9"
  std::vector<NcclChannel> channels;
  std::vector<std::pair<std::string, std::string>> environment;  // NCCL_* that NCCL took over
  std::vector<std::string> warnings;                             // texts of WARN lines
  NcclDiagnostics diagnostics;

  bool uses(NcclTransport transport) const;
  std::map<NcclTransport, int> channel_counts() const;
  std::string transports_text() const;  // "P2P x 8, SHM x 2"
};

// Any text; damaged, cut or interleaved lines never fail, and prove nothing.
NcclLog parse_nccl_log(std::string_view text);

// Adds another rank's log of the same run.
void merge_nccl_log(NcclLog& into, const NcclLog& other);

}  // namespace ocrtune
