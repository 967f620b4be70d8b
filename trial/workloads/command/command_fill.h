// A command filled for one setting: the one way from a user's command to what is started.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "probes/machine/machine.h"
#include "trial/workloads/command/command_workload.h"
#include "trial/workloads/launch.h"

namespace ocrtune {

struct FilledCommand {
  Launch launch;
  std::vector<std::vector<std::string>> setup, cleanup;
  std::string log_file;
  std::vector<std::string> answer_files;  // shell patterns
  std::vector<CpuSet> masks;              // one for each rank; empty: no binding
};

// A command and the knobs that fill it.
struct LaunchSetting {
  CommandWorkload workload;
  Knobs knobs;
};

struct TrialPlace {
  std::string trial_dir;
  int port = 0;
  // Of a job over several hosts; {node_rank} {master_addr} {master_port} {hostlist}.
  std::string node_rank = "0";
  std::string master_addr = "127.0.0.1";
  std::string master_port{};                       // empty: `port`
  std::vector<std::string> hosts = {"localhost"};  // those of the job, the master first
};

int nodes_of(const Knobs& knobs);  // its dimension `nodes`, the number of hosts; 1 without one
// Samples between two updates of the weights: nodes x nproc x batch x accumulate.
std::int64_t global_batch(const Knobs& knobs);
Knobs on_nodes(Knobs knobs, int nodes);  // with that dimension so, if it has it
// As hosts know each other: "user@node7" is a name for ssh.
std::string plain_host(const std::string& name);
// Of the host with this number of a job over the first `nodes` of `hosts`.
TrialPlace host_place(const std::vector<std::string>& hosts, int node_rank, int nodes);
// Of whatever host of several: <NODE_RANK>, <MASTER_ADDR>, <HOSTLIST>.
TrialPlace any_host();

// Errors of placeholders and of binding; usage: several nodes, and a place that knows of no others.
Result<FilledCommand> fill_for(const CommandWorkload& workload, const Machine& machine,
                               const Knobs& knobs, const TrialPlace& place);

// Every placeholder that the command, its setup and its environment use; {global_batch} stands for
// nproc, batch and accumulate as well, {gpus}, {gpu} and {copy} for nproc.
std::set<std::string> names_used(const CommandWorkload& workload);

// The command names {hostlist} and not what differs from host to host: it starts the others' part
// itself, as mpirun and srun do, and runs on the first one alone.
bool starts_other_hosts(const CommandWorkload& workload);

bool turns(const CommandWorkload& workload, const std::string& knob);

// The command holds {gpu} or {copy}: nproc copies of it are started.
bool starts_copies(const CommandWorkload& workload);

// It holds {gpu}: several are on one GPU where there are more copies than GPUs.
bool copies_take_gpus(const CommandWorkload& workload);

// Its speed is told by the ends of its runs: --log-reader runs[:SAMPLES].
bool times_whole_runs(const CommandWorkload& workload);

// Puts `ocrtune rank-exec` between a launcher and the program that its ranks run, so that each rank
// is on its CPUs before its first instruction, in a trial and in the line that is recommended.
// Paddle's launcher starts by python what ends in .py and anything else as it is; torchrun does so
// with --no_python. Sources: paddle/distributed/launch/controllers/controller.py (3.2),
// torch/distributed/run.py (1.13). `starter`: the path of ocrtune. Empty: not a launcher that is
// known (paddle.distributed.launch, torchrun, torch.distributed.run), or one that starts a module.
std::optional<std::vector<std::string>> with_rank_starter(const std::vector<std::string>& command,
                                                          const std::string& starter);

}  // namespace ocrtune
