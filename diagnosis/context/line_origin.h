// Who wrote a line, and when: what launchers, container engines and journals put before it.
//
// One table of prefixes in line_origin.cpp: srun -l, mpirun, torchrun --tee, docker compose, stern,
// kubectl --prefix, Ray, journals, loggers. Patterns of signatures that start at "^" mean the text
// behind them, and two lines with different names before them are of two processes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ocrtune {

struct LineOrigin {
  std::optional<int> rank;  // of the prefix, else "rank 3" within the first 72 bytes
  std::string actor;        // "trainer-3", "RayTrainWorker pid=3": a process without a rank
  std::string_view host;    // "node-b" of "[node-b] x", of a journal, of NCCL's lines
  std::string_view text;    // the line behind its prefixes
};

LineOrigin origin_of(std::string_view line);

// "==> node-a.log <==" of tail, "GPU 00000000:81:00.0" of nvidia-smi -q: whose lines follow; empty:
// it is no such heading.
std::string_view heading_of(std::string_view line);

// "[rank2]: ...", "[Rank 2]", "self_rank = 2" near the line's start.
std::optional<int> rank_of_line(std::string_view line);

// workerlog.3, exp2_rank5.log, node3-rank1.log, attempt_0/3/stderr.log, slurm-1234-3.out.
std::optional<int> rank_of_file(const std::string& path);

// Seconds since the start of its year of the first date and time in a line: 2024-09-13 15:19:38,123
// | 2024/09/13 15:19:38 | I0913 15:19:38.5 | E913 15:19:38.5 | 09-13 15:19:38 | Sep 13 15:19:38.
// The year is left out because glog and syslog do not write it.
std::optional<double> parse_log_time(std::string_view line);

}  // namespace ocrtune
