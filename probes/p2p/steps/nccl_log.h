// What NCCL says that it does: transports, versions, settings and warnings out of its debug log.
//
// A recommendation such as "P2P off" stands only if the log of the passing run proves that the
// transport changed, so every line form since NCCL 2.7 is understood, and lines that are not are
// counted, not dropped. Get such a log with NCCL_DEBUG=INFO,
// NCCL_DEBUG_SUBSYS=INIT,ENV,P2P,SHM,NET,GRAPH,TUNING and one NCCL_DEBUG_FILE a process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ocrtune {

enum class NcclTransport { p2p, shm, net, other };

std::string_view transport_name(NcclTransport transport);  // "P2P", "SHM", "NET", "other"

struct NcclChannel {
  int channel = 0, from = 0, to = 0;  // ranks
  std::string direction;              // "send", "receive", or "" where the log does not say
  NcclTransport transport = NcclTransport::other;
  std::string via;  // the log's own words: "P2P/CUMEM/read", "NET/Socket/0"
};

struct NcclTuning {
  std::string operation;  // "AllReduce"
  std::uint64_t bytes = 0;
  std::string algorithm, protocol;  // "RING", "SIMPLE"
  int first_channel = 0, last_channel = 0;
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
  std::string version, cuda_version;  // "2.28.9", "13.0"
  std::string network;                // "Socket", "IB", plugin name
  std::vector<NcclChannel> channels;
  std::vector<NcclTuning> tunings;
  std::vector<std::pair<std::string, std::string>> environment;  // NCCL_* that NCCL took over
  std::vector<std::string> warnings;                             // texts of WARN lines
  std::vector<std::string> notes;  // other lines that a verdict needs: "P2P is disabled ..."
  int init_complete = 0;           // communicators whose init ended well
  int collective_channels = 0;
  bool nvls = false;  // NVLink SHARP is available
  NcclDiagnostics diagnostics;
  int lines = 0, unreadable_lines = 0;

  bool uses(NcclTransport transport) const;
  std::map<NcclTransport, int> channel_counts() const;
  std::string transports_text() const;  // "P2P x 8, SHM x 2"
};

// Any text; damaged, cut or interleaved lines never fail, they count as unreadable.
NcclLog parse_nccl_log(std::string_view text);

// Adds another rank's log of the same run.
void merge_nccl_log(NcclLog& into, const NcclLog& other);

}  // namespace ocrtune
