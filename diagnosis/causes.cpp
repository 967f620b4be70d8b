// The part of the cause table that concerns memory, processes and ranks, and the reader of all its
// parts. The texts are parsed once, on the first look; a row that is wrong aborts the program.
#include "diagnosis/causes.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/tables/rows.h"
#include "base/text.h"

namespace ocrtune {
namespace {

constexpr std::string_view kRunCauses = R"rows(
# Host memory, shared memory and the other things that a process can run out of.
host_out_of_memory out_of_memory fewer_workers A process got SIGKILL, which is what the kernel's out-of-memory killer sends: the host (or the container) ran out of main memory. Loader workers are the usual victims. GPU memory has no part in it.
? dmesg -T | grep -iE 'out of memory|oom-kill'; grep oom_kill /proc/vmstat; free -h while it runs
- fewer processes at once, each has its own workers and copies; smaller batches
- docker run --memory=... or more RAM; ocrtune tune shows the peak of each setting
cgroup_out_of_memory out_of_memory fewer_workers The memory limit of the container, pod, job or unit was reached and the kernel killed a process inside it; the host itself may still have had memory to spare.
? cd /sys/fs/cgroup; grep -sH . memory.max memory.events memory/memory.limit_in_bytes memory/memory.oom_control
- raise the limit: docker run --memory=64g | resources.limits.memory | sbatch --mem=64G
- fewer processes at once, each has its own workers and copies; smaller batches
- count /dev/shm too: its pages are charged to the same limit
numa_node_full out_of_memory fewer_workers The process was bound to some NUMA nodes, by a memory policy or a cpuset. Their memory was used up, and the kernel killed it although other nodes may have had memory to spare.
? numactl --hardware; grep Mems_allowed_list /proc/PID/status; grep -m1 bind /proc/PID/numa_maps
- fewer processes on each node, the others bound to the other nodes
- fewer processes at once, each has its own workers and copies; smaller batches
userspace_oom_kill out_of_memory fewer_workers A memory guard in user space (systemd-oomd, earlyoom, nohang) killed the process because memory was nearly used up; the kernel's own counters do not show it.
? journalctl -u systemd-oomd -u earlyoom --since today
- fewer processes at once, each has its own workers and copies; smaller batches
- systemd-run --user --scope -p ManagedOOMMemoryPressure=auto -- CMD
host_allocation_failed out_of_memory fewer_ranks The system refused an allocation in main memory (ENOMEM): limits, overcommit policy or memory itself were used up.
? ulimit -v -l; cat /proc/sys/vm/overcommit_memory; free -h
- fewer processes at once, each has its own workers and copies; smaller batches
- ulimit -v unlimited; ulimit -l unlimited
- sysctl vm.overcommit_memory=0   # if it was 2
memory_leak out_of_memory retry Memory grows steadily while the work per step stays the same, so the run ends at its limit sooner or later.
? ocrtune run -- CMD   # shows the growth with its interval and the time left
- replace the process from time to time: restart from the last checkpoint at night
- look for what is kept from step to step: losses, images, results in a list
gpu_out_of_memory out_of_memory smaller_batch The memory of the GPU was used up by this process or by others on the same card.
? nvidia-smi   # memory used by other processes before the run starts
- a smaller batch, smaller or fewer images at once
- stop the other users of the card, or choose another one with CUDA_VISIBLE_DEVICES
shm_full out_of_memory fewer_workers /dev/shm, through which loader workers and NCCL hand over their buffers, is full; a container gets only 64 MiB of it unless told otherwise.
? df -h /dev/shm while it runs
- docker run --shm-size=8g (or --ipc=host); Kubernetes: an emptyDir with medium: Memory
- mount -o remount,size=8g /dev/shm
- fewer loader workers
too_many_open_files crashed fewer_workers The limit on open files was reached: many loader workers, or descriptors that leak.
? ulimit -n; ls /proc/PID/fd | wc -l   # growing from epoch to epoch?
- ulimit -n 65535
- fewer loader workers
disk_full crashed none A disk or quota was full when a file (mostly a checkpoint or a log) was written.
? df -h; df -i; quota -s
- free space, or save to another disk
- keep fewer checkpoints
process_limit crashed fewer_threads The system refused a new thread or process: the limit of processes per user or container was reached.
? ulimit -u; cat /sys/fs/cgroup/pids.max; ps -eLf | wc -l
- export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1   # or cores / ranks
- docker run --pids-limit=-1
- ulimit -u 65535
- fewer workers or ranks
storage_failure crashed retry The storage gave an error or did not answer while it was read or written: a failing disk or a lost network file system.
? dmesg -T | grep -iE 'i/o error|nfs|lustre|ceph|ext4|xfs|blocked for more'
- read and write on another disk or mount until this one is mended
# Signals and limits from outside the program.
killed_by_other crashed retry The process got SIGKILL and nothing says that memory ran out: another program, a person, a container runtime or a batch system may have sent it.
? journalctl --since '1 hour ago' | grep -i kill; the batch system's or pod's event list
- rule out memory first: dmesg -T | grep -i oom
- ask who stops jobs on this machine
terminated_from_outside crashed retry The process was asked to stop (SIGTERM): by its launcher because another rank failed, or by a batch system, a container runtime, a shutdown or a person.
? the logs of the other ranks; the batch system's or pod's event list; last -x shutdown
- restart from the last checkpoint, and save more often
preempted_or_evicted crashed retry The scheduler took the machine back (preemption, eviction, node failure).
? sacct -j JOB --format=State,ExitCode; kubectl describe pod NAME
- restart from the last checkpoint; ask for a class that is not preempted
storage_limit_evicted crashed none The pod was evicted because it wrote more to the node's local disk than its limit, or the disk, allows: checkpoints, caches, logs and emptyDir volumes all count. Memory has no part in it.
? kubectl describe pod NAME   # Message: which limit, and how much was used
- resources.limits.ephemeral-storage: 100Gi, or a larger sizeLimit of the emptyDir
- write checkpoints and caches to a persistent volume
time_limit timed_out none The time limit of the job was reached.
? sacct -j JOB --format=State,Elapsed,Timelimit
- sbatch --time=...; restart from the last checkpoint
terminal_hangup crashed retry The terminal or ssh connection was closed and took the run with it (SIGHUP).
? was the run started under nohup, tmux or systemd?
- nohup CMD >train.log 2>&1 &   # or tmux, or ocrtune run -- CMD under setsid
interrupted_by_user crashed none Somebody pressed Ctrl-C (SIGINT).
? the last lines say KeyboardInterrupt
- restart from the last checkpoint if it was not meant
# The processes cannot talk to one another.
communication_stall hung p2p_off No step ended any more although all ranks lived: a collective that never completes, or a rank that the others wait for.
? py-spy dump --pid of each rank; NCCL_DEBUG=INFO; ocrtune p2p
- ocrtune p2p   # is peer-to-peer broken here?
- NCCL_P2P_DISABLE=1, if p2p says that it is
- give all ranks the same number of batches (drop_last, even shards)
stalled hung retry No step ended any more although the process lived: it waits for a lock, a worker or the storage, or it spins.
? py-spy dump --pid PID; cat /proc/PID/stack
- look at what the stack waits for: a lock, a worker, the storage (iostat -x 1)
nccl_error crashed p2p_off NCCL reported an error of its own. Its one-line text rarely says which resource failed; the WARN lines of NCCL_DEBUG do.
? NCCL_DEBUG=INFO NCCL_DEBUG_FILE=/tmp/nccl.%h.%p CMD; df -h /dev/shm; ocrtune p2p
- ocrtune p2p   # finds the smallest change that works and its cost
- enlarge /dev/shm (docker --shm-size=8g): the most frequent reason in containers
- NCCL_P2P_DISABLE=1 only if ocrtune p2p shows broken copies
nccl_p2p_broken hung p2p_off Copies straight from GPU to GPU fail or hang here (driver, IOMMU or PCIe access control).
? ocrtune p2p; nvidia-smi topo -p2p r
- export NCCL_P2P_DISABLE=1   # NCCL then goes through host shared memory
- update the driver; switch IOMMU/ACS off in the firmware
nccl_network crashed none NCCL could not set up or keep its network connection: wrong interface, firewall or InfiniBand trouble.
? ip -br addr; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET CMD
- export NCCL_SOCKET_IFNAME=eth0   # the interface that reaches the other nodes
- export NCCL_IB_DISABLE=1   # to rule InfiniBand out
- open the ports between the nodes
nccl_init_hang hung p2p_off The log ends where NCCL starts to connect the ranks: a rank is missing, the wrong network interface was chosen, or GPU-to-GPU copies hang.
? NCCL_DEBUG=INFO CMD; ocrtune p2p; are all ranks alive?
- read the logs of the other ranks first
- export NCCL_SOCKET_IFNAME=eth0
- ocrtune p2p   # before any NCCL_P2P_DISABLE=1
nccl_version_mismatch crashed none The ranks, or the framework and the installed library, use different NCCL or CUDA versions.
? python -c 'import torch; print(torch.cuda.nccl.version())'   # on every node
- install the same framework build on every node
- unset LD_LIBRARY_PATH   # if it leads to another NCCL
duplicate_gpu crashed none Two ranks were given the same GPU, which NCCL refuses.
? print the device of every rank; echo $CUDA_VISIBLE_DEVICES
- one rank a GPU: --nproc_per_node = number of GPUs
- torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
collective_timeout hung longer_timeout A rank waited longer for the others than the time-out allows: another rank died, hangs, got a different number of batches, or was busy alone (evaluation and checkpoints run on rank 0 only).
? which rank did not arrive? its own log, py-spy dump --pid PID on it
- read the logs of the other ranks: their first error is the cause
- the same number of batches on all ranks; long work of one rank before or after the run
rank_busy_alone hung longer_timeout One rank was busy alone (evaluation, a checkpoint, an index or a cache of the data) for longer than the others may wait for it in a collective.
? the log of the rank that did not time out: what was its last line?
- evaluate on fewer samples or less often
- build indices and caches before the launch, not in rank 0
peer_lost crashed retry The connection to another rank broke because that rank ended; this process is only the witness.
? the logs and the exit code of the rank that is named as the peer
- diagnose the logs of all ranks together: ocrtune diagnose LOGS
rendezvous_failed crashed none The ranks did not find one another at the start: one did not start, the address or port is wrong or blocked, or the numbers of nodes differ.
? nc -zv MASTER PORT from every node; the first lines of every rank's log
- same --master, --nnodes and port on every node; node ranks 0..n-1, each once
- read the log of the rank that never became ready
- unset http_proxy https_proxy; check the firewall
port_in_use crashed retry The port is taken, often by a process left over from an earlier run.
? ss -ltnp | grep PORT
- end the left-over process by its pid, or choose another port
rank_mismatch crashed none The ranks do not do the same: another number of batches, model, sequence of collectives, world size or rank number.
? compare the command lines and env of all nodes: ocrtune check A.yml B.yml
- give all ranks the same number of batches (drop_last, even shards)
- the same command on every node except its rank
- unset PADDLE_TRAINER_ID RANK WORLD_SIZE
- TORCH_DISTRIBUTED_DEBUG=DETAIL CMD   # names the collective that differs
unused_parameters crashed none A parameter took no part in the loss, so the gradient reducer waits for it for ever.
? the message lists the parameters
- use every parameter in the loss, or let the reducer look for unused ones
not_launched crashed none The script was started directly although it expects the variables of a launcher.
? env | grep -E 'PADDLE_|RANK|WORLD_SIZE'
- start it with the launcher that it was written for
)rows";

constexpr std::string_view kRemedies[] = {"none",          "retry",         "fewer_workers",
                                          "smaller_batch", "fewer_ranks",   "fewer_threads",
                                          "p2p_off",       "longer_timeout"};

Remedy remedy_named(std::string_view name) {
  const auto found = std::ranges::find(kRemedies, name);
  OCRTUNE_CHECK(found != std::end(kRemedies));
  return static_cast<Remedy>(found - std::begin(kRemedies));
}

void add_causes(std::string_view text, std::vector<CauseRow>& causes) {
  for (std::string_view row : rows_of(text)) {
    const bool confirms = starts_with(row, "? ");
    if (confirms || starts_with(row, "- ")) {
      const char* words = lasting(row.substr(2));
      if (confirms) causes.back().confirm = words;
      if (!confirms) causes.back().fixes.push_back(words);
      continue;
    }
    CauseRow cause{lasting(take_column(row)), "", "", {}, lasting(take_column(row))};
    cause.remedy = remedy_named(take_column(row));
    cause.meaning = lasting(row);
    // A run that ends well and is only slow has the outcome of a good trial.
    if (cause.outcome == std::string_view("ok")) cause.kind = CauseKind::slowness;
    causes.push_back(std::move(cause));
  }
}

}  // namespace

bool listed(std::string_view list, std::string_view word) {
  return list.find(" " + std::string(word) + " ") != std::string_view::npos;
}

const std::vector<CauseRow>& cause_table() {
  static const std::vector<CauseRow> kTable = [] {
    std::vector<CauseRow> table;
    for (const std::string_view part : {kRunCauses, kProgramCauses, kServiceCauses}) {
      add_causes(part, table);
    }
    return table;
  }();
  return kTable;
}

const CauseRow& find_cause(std::string_view name) {
  const auto& table = cause_table();
  const auto found = std::ranges::find(table, name, &CauseRow::name);
  return found == table.end() ? find_cause("unknown") : *found;
}

std::string_view remedy_name(Remedy remedy) { return kRemedies[static_cast<std::size_t>(remedy)]; }

}  // namespace ocrtune
