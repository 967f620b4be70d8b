// The table and its reader: name, outcome, remedy and meaning of a cause, then, each behind a
// double bar, what confirms it and what mends it. The text is parsed once, on the first look; a row
// that is wrong aborts the program.
#include "diagnosis/causes.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/tables/rows.h"
#include "base/text.h"

namespace ocrtune {

const std::string_view kCauses = R"rows(
# Host memory, shared memory and the other things that a process can run out of.
host_out_of_memory out_of_memory fewer_workers A process got SIGKILL, which is what the kernel's out-of-memory killer sends: the host (or the container) ran out of main memory. Loader workers are the usual victims. GPU memory has no part in it. || dmesg -T | grep -iE 'out of memory|oom-kill'; grep oom_kill /proc/vmstat; free -h while it runs || fewer processes at once, each has its own workers and copies; smaller batches || docker run --memory=... or more RAM; ocrtune tune shows the peak of each setting
cgroup_out_of_memory out_of_memory fewer_workers The memory limit of the container, pod, job or unit was reached and the kernel killed a process inside it; the host itself may still have had memory to spare. || cd /sys/fs/cgroup; grep -sH . memory.max memory.events memory/memory.limit_in_bytes memory/memory.oom_control || raise the limit: docker run --memory=64g | resources.limits.memory | sbatch --mem=64G || fewer processes at once, each has its own workers and copies; smaller batches || count /dev/shm too: its pages are charged to the same limit
numa_node_full out_of_memory fewer_workers The process was bound to some NUMA nodes, by a memory policy or a cpuset. Their memory was used up, and the kernel killed it although other nodes may have had memory to spare. || numactl --hardware; grep Mems_allowed_list /proc/PID/status; grep -m1 bind /proc/PID/numa_maps || fewer processes on each node, the others bound to the other nodes || fewer processes at once, each has its own workers and copies; smaller batches
userspace_oom_kill out_of_memory fewer_workers A memory guard in user space (systemd-oomd, earlyoom, nohang) killed the process because memory was nearly used up; the kernel's own counters do not show it. || journalctl -u systemd-oomd -u earlyoom --since today || fewer processes at once, each has its own workers and copies; smaller batches || systemd-run --user --scope -p ManagedOOMMemoryPressure=auto -- CMD
host_allocation_failed out_of_memory fewer_ranks The system refused an allocation in main memory (ENOMEM): limits, overcommit policy or memory itself were used up. || ulimit -v -l; cat /proc/sys/vm/overcommit_memory; free -h || fewer processes at once, each has its own workers and copies; smaller batches || ulimit -v unlimited; ulimit -l unlimited || sysctl vm.overcommit_memory=0   # if it was 2
memory_leak out_of_memory retry Memory grows steadily while the work per step stays the same, so the run ends at its limit sooner or later. || ocrtune run -- CMD   # shows the growth with its interval and the time left || replace the process from time to time: restart from the last checkpoint at night || look for what is kept from step to step: losses, images, results in a list
gpu_out_of_memory out_of_memory smaller_batch The memory of the GPU was used up by this process or by others on the same card. || nvidia-smi   # memory used by other processes before the run starts || a smaller batch, smaller or fewer images at once || stop the other users of the card, or choose another one with CUDA_VISIBLE_DEVICES
shm_full out_of_memory fewer_workers /dev/shm, through which loader workers and NCCL hand over their buffers, is full; a container gets only 64 MiB of it unless told otherwise. || df -h /dev/shm while it runs || docker run --shm-size=8g (or --ipc=host); Kubernetes: an emptyDir with medium: Memory || mount -o remount,size=8g /dev/shm || fewer loader workers
too_many_open_files crashed fewer_workers The limit on open files was reached: many loader workers, or descriptors that leak. || ulimit -n; ls /proc/PID/fd | wc -l   # growing from epoch to epoch? || ulimit -n 65535 || fewer loader workers
disk_full crashed none A disk or quota was full when a file (mostly a checkpoint or a log) was written. || df -h; df -i; quota -s || free space, or save to another disk || keep fewer checkpoints
process_limit crashed fewer_threads The system refused a new thread or process: the limit of processes per user or container was reached. || ulimit -u; cat /sys/fs/cgroup/pids.max; ps -eLf | wc -l || export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1   # or cores / ranks || docker run --pids-limit=-1 || ulimit -u 65535 || fewer workers or ranks
storage_failure crashed retry The storage gave an error or did not answer while it was read or written: a failing disk or a lost network file system. || dmesg -T | grep -iE 'i/o error|nfs|lustre|ceph|ext4|xfs|blocked for more' || read and write on another disk or mount until this one is mended
# Signals and limits from outside the program.
killed_by_other crashed retry The process got SIGKILL and nothing says that memory ran out: another program, a person, a container runtime or a batch system may have sent it. || journalctl --since '1 hour ago' | grep -i kill; the batch system's or pod's event list || rule out memory first: dmesg -T | grep -i oom || ask who stops jobs on this machine
terminated_from_outside crashed retry The process was asked to stop (SIGTERM): by its launcher because another rank failed, or by a batch system, a container runtime, a shutdown or a person. || the logs of the other ranks; the batch system's or pod's event list; last -x shutdown || restart from the last checkpoint, and save more often
preempted_or_evicted crashed retry The scheduler took the machine back (preemption, eviction, node failure). || sacct -j JOB --format=State,ExitCode; kubectl describe pod NAME || restart from the last checkpoint; ask for a class that is not preempted
storage_limit_evicted crashed none The pod was evicted because it wrote more to the node's local disk than its limit, or the disk, allows: checkpoints, caches, logs and emptyDir volumes all count. Memory has no part in it. || kubectl describe pod NAME   # Message: which limit, and how much was used || resources.limits.ephemeral-storage: 100Gi, or a larger sizeLimit of the emptyDir || write checkpoints and caches to a persistent volume
time_limit timed_out none The time limit of the job was reached. || sacct -j JOB --format=State,Elapsed,Timelimit || sbatch --time=...; restart from the last checkpoint
terminal_hangup crashed retry The terminal or ssh connection was closed and took the run with it (SIGHUP). || was the run started under nohup, tmux or systemd? || nohup CMD >train.log 2>&1 &   # or tmux, or ocrtune run -- CMD under setsid
interrupted_by_user crashed none Somebody pressed Ctrl-C (SIGINT). ||  || restart from the last checkpoint if it was not meant
# The processes cannot talk to one another.
communication_stall hung p2p_off No step ended any more although all ranks lived: a collective that never completes, or a rank that the others wait for. || py-spy dump --pid of each rank; NCCL_DEBUG=INFO; ocrtune p2p || ocrtune p2p   # is peer-to-peer broken here? || NCCL_P2P_DISABLE=1, if p2p says that it is || give all ranks the same number of batches (drop_last, even shards)
stalled hung retry No step ended any more although the process lived: it waits for a lock, a worker or the storage, or it spins. || py-spy dump --pid PID; cat /proc/PID/stack || look at what the stack waits for: a lock, a worker, the storage (iostat -x 1)
nccl_error crashed p2p_off NCCL reported an error of its own. Its one-line text rarely says which resource failed; the WARN lines of NCCL_DEBUG do. || NCCL_DEBUG=INFO NCCL_DEBUG_FILE=/tmp/nccl.%h.%p CMD; df -h /dev/shm; ocrtune p2p || ocrtune p2p   # finds the smallest change that works and its cost || enlarge /dev/shm (docker --shm-size=8g): the most frequent reason in containers || NCCL_P2P_DISABLE=1 only if ocrtune p2p shows broken copies
nccl_p2p_broken hung p2p_off Copies straight from GPU to GPU fail or hang here (driver, IOMMU or PCIe access control). || ocrtune p2p; nvidia-smi topo -p2p r || export NCCL_P2P_DISABLE=1   # NCCL then goes through host shared memory || update the driver; switch IOMMU/ACS off in the firmware
nccl_network crashed none NCCL could not set up or keep its network connection: wrong interface, firewall or InfiniBand trouble. || ip -br addr; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET CMD || export NCCL_SOCKET_IFNAME=eth0   # the interface that reaches the other nodes || export NCCL_IB_DISABLE=1   # to rule InfiniBand out || open the ports between the nodes
nccl_init_hang hung p2p_off The log ends where NCCL starts to connect the ranks: a rank is missing, the wrong network interface was chosen, or GPU-to-GPU copies hang. || NCCL_DEBUG=INFO CMD; ocrtune p2p; are all ranks alive? || read the logs of the other ranks first || export NCCL_SOCKET_IFNAME=eth0 || ocrtune p2p   # before any NCCL_P2P_DISABLE=1
nccl_version_mismatch crashed none The ranks, or the framework and the installed library, use different NCCL or CUDA versions. || python -c 'import torch; print(torch.cuda.nccl.version())'   # on every node || install the same framework build on every node || unset LD_LIBRARY_PATH   # if it leads to another NCCL
duplicate_gpu crashed none Two ranks were given the same GPU, which NCCL refuses. || print the device of every rank; echo $CUDA_VISIBLE_DEVICES || one rank a GPU: --nproc_per_node = number of GPUs || torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
collective_timeout hung longer_timeout A rank waited longer for the others than the time-out allows: another rank died, hangs, got a different number of batches, or was busy alone (evaluation and checkpoints run on rank 0 only). || which rank did not arrive? its own log, py-spy dump --pid PID on it || read the logs of the other ranks: their first error is the cause || the same number of batches on all ranks; long work of one rank before or after the run
rank_busy_alone hung longer_timeout One rank was busy alone (evaluation, a checkpoint, an index or a cache of the data) for longer than the others may wait for it in a collective. || the log of the rank that did not time out: what was its last line? || evaluate on fewer samples or less often || build indices and caches before the launch, not in rank 0
peer_lost crashed retry The connection to another rank broke because that rank ended; this process is only the witness. || the logs and the exit code of the rank that is named as the peer || diagnose the logs of all ranks together: ocrtune diagnose LOGS
rendezvous_failed crashed none The ranks did not find one another at the start: one did not start, the address or port is wrong or blocked, or the numbers of nodes differ. || nc -zv MASTER PORT from every node; the first lines of every rank's log || same --master, --nnodes and port on every node; node ranks 0..n-1, each once || read the log of the rank that never became ready || unset http_proxy https_proxy; check the firewall
port_in_use crashed retry The port is taken, often by a process left over from an earlier run. || ss -ltnp | grep PORT || end the left-over process by its pid, or choose another port
rank_mismatch crashed none The ranks do not do the same: another number of batches, model, sequence of collectives, world size or rank number. || compare the command lines and env of all nodes: ocrtune check A.yml B.yml || give all ranks the same number of batches (drop_last, even shards) || the same command on every node except its rank || unset PADDLE_TRAINER_ID RANK WORLD_SIZE || TORCH_DISTRIBUTED_DEBUG=DETAIL CMD   # names the collective that differs
unused_parameters crashed none A parameter took no part in the loss, so the gradient reducer waits for it for ever. ||  || use every parameter in the loss, or let the reducer look for unused ones
not_launched crashed none The script was started directly although it expects the variables of a launcher. || env | grep -E 'PADDLE_|RANK|WORLD_SIZE' || start it with the launcher that it was written for
# Devices, crashes, data and the program itself.
no_gpu_visible unsupported none The program wants a GPU and sees none: no driver, a container without access, or an empty CUDA_VISIBLE_DEVICES. || nvidia-smi; echo "$CUDA_VISIBLE_DEVICES" || install or reload the driver || docker run --gpus all
gpu_id_invalid unsupported none A GPU was asked for by a number that is not among the visible ones; numbers are counted within CUDA_VISIBLE_DEVICES. || nvidia-smi -L; echo "$CUDA_VISIBLE_DEVICES" || ids from 0 to the number of visible GPUs - 1; at most one rank a GPU
cuda_driver_too_old unsupported none The driver is older than the CUDA version that the framework was built for. || nvidia-smi   # 'CUDA Version' must be at least that of the wheel || update the driver, or install the wheel for the driver's CUDA version
gpu_busy crashed retry Another process holds the GPU: its memory, or the card as a whole (exclusive mode, a pending reset). || nvidia-smi --query-gpu=compute_mode --format=csv; nvidia-smi   # who holds it || end the process that holds the card, or choose another one with CUDA_VISIBLE_DEVICES || vLLM and SGLang beside it: a share (--gpu-memory-utilization, --mem-fraction-static) below what is free || nvidia-smi -c DEFAULT
driver_mismatch unsupported none The user-space part of the GPU driver and the loaded kernel module have different versions, mostly after a package update. || cat /proc/driver/nvidia/version; nvidia-smi || restart the machine, or unload and load the nvidia modules || apt-mark hold the driver's packages, so that no nightly update replaces them
gpu_arch_unsupported unsupported none The framework has no code for this GPU's generation. || nvidia-smi --query-gpu=name,compute_cap --format=csv || install a build for a newer (or older) CUDA version that lists this card
cuda_library_missing unsupported none A CUDA, cuDNN or NCCL library could not be loaded. || ldconfig -p | grep -E 'cudnn|cublas|nccl'; echo $LD_LIBRARY_PATH || install the version that the wheel names; put its folder on LD_LIBRARY_PATH
cuda_library_error crashed smaller_batch cuDNN or cuBLAS failed: mostly a version that does not fit the framework or the card, or GPU memory that ran out inside the library. || python -c 'import paddle; paddle.utils.run_check()'; nvidia-smi during the run || use the CUDA and cuDNN versions that the framework was built with || halve the batch to rule memory out
gpu_fault crashed retry The GPU or its link failed: an Xid event, an uncorrectable memory error, or the card fell off the bus. || dmesg -T | grep -i xid; nvidia-smi -q -d ECC,PAGE_RETIREMENT || restart the machine; check power, cooling and seating of the card || run on the other cards: CUDA_VISIBLE_DEVICES=...
host_hardware_fault crashed retry Memory or a processor of the host is faulty: the kernel met an uncorrectable error and ended the process that used the page. || dmesg -T | grep -iE 'mce|edac|memory failure'; ras-mc-ctl --errors || take the machine out of service and have its memory tested || restart from the last checkpoint on another machine
gpu_kernel_fault crashed none A kernel on the GPU touched memory that is not its own or failed an assertion; everything after it in this process fails too. || CUDA_LAUNCH_BLOCKING=1 CMD   # names the operator || try another framework version; run one batch on the CPU for a plain message
label_out_of_range crashed none A label or index is outside the classes, or a text holds a character that the dictionary lacks: dictionary, head size and labels do not fit together. || compare the dictionary's line count with the head's classes || use the dictionary that the labels and the head were made with || correct the label file; ocrtune check compares dictionaries by content
illegal_instruction unsupported none The program met an instruction that this CPU or virtual machine does not have (AVX, AVX-512, AMX), or that a faulty build put there: Paddle 2.6 dies so on CPUs with AVX2 as well. || grep -m1 flags /proc/cpuinfo | tr ' ' '\n' | grep -E 'avx|amx'; ocrtune probe || install a build for this CPU, or another version of the package || let the virtual machine pass the host's CPU through (cpu: host)
segmentation_fault crashed retry The process touched memory that is not its own (SIGSEGV): a fault in native code or two libraries that do not fit together. || python -X faulthandler CMD; gdb -batch -ex bt --args CMD || reinstall the framework with the versions that it asks for (numpy, opencv, protobuf)
aborted crashed retry The program ended itself (SIGABRT) after a check inside native code failed. || the line just above: terminate called, Check failed, double free || the message above the abort names the check
openmp_duplicate_runtime crashed none Two OpenMP runtimes were loaded into one process. ||  || use one source for all packages (all pip or all conda)
onednn_unsupported crashed none oneDNN (MKL-DNN) met an operator or attribute that this Paddle version cannot run with it (known for 3.3.0 and 3.3.1 on the CPU). || does it run with enable_mkldnn=False? || enable_mkldnn=False (or device='cpu' with run_mode='paddle') || pip install paddlepaddle==3.2.2
cpu_wheel_with_gpu unsupported none The configuration asks for a GPU but the CPU build of the framework is installed. || pip list | grep -i -E 'paddle|torch' || install the CUDA build of the framework, or run on the CPU on purpose
missing_file crashed none A file or folder that the run needs is not there (or not on this node). || ls -l the path that is named, as the same user on the same node || correct the path in the config; relative paths count from the working folder || copy or mount the data on every node
permission_denied crashed none The user of the run may not read or write a file or device. || id; ls -l the path that is named || chown or chmod it, or choose another folder
missing_module crashed none A Python package or a program is missing, or of a version without the wanted name. || pip show NAME in the environment of the run || install what is named, in the environment of the run
library_conflict crashed none Installed packages and the program do not fit together: shared libraries or versions are missing, or a new version has a name or an argument no more. || pip check; ldd the library that is named || a fresh environment with the versions that the framework pins
bad_configuration crashed none The configuration or command line is wrong: an unknown key, option or a syntax error. ||  || compare with the program's --help, or with the example of the same version
dataset_too_small crashed fewer_ranks After the split over the ranks there are fewer samples than one batch. || samples / ranks must reach the batch: wc -l LABEL_FILE || a smaller batch or fewer ranks || keep the last, smaller batch (drop_last false)
bad_training_data crashed none Samples or documents could not be read or decoded, or may not be altered; in training they are silently replaced by others. || open the samples that are named; how many lines name one? || correct or remove the samples that are named
checkpoint_mismatch crashed none The saved weights do not fit the model: another architecture, dictionary or version. ||  || use the config and dictionary that the checkpoint was trained with
checkpoint_refused crashed none The file is whole, but the loader refuses it: it holds Python objects, which newer versions (torch 2.6, numpy) load only when told to. || does it load with torch.load(PATH, weights_only=False)? || torch.serialization.add_safe_globals([CLASS]), or weights_only=False for a trusted file || save it anew as a plain state_dict or safetensors
shape_mismatch crashed none Tensors of different shapes, types or devices met in one operation: input size, model and batch do not fit together. ||  || the input size and channels that the model was exported or configured with || pad or resize all samples of a batch to one size
checkpoint_damaged crashed none A saved file is cut short or not of the expected format: an interrupted save or download, or a full disk. || ls -l it; compare its size with its neighbours || take the checkpoint before it || download it again and compare the checksum
loader_worker_failed crashed retry A loader worker ended with an exception whose text was lost on the way. || the same run with num_workers=0 prints the real error || num_workers=0 shows the error itself
loader_timeout hung fewer_workers The training process waited in vain for a batch: workers died, hang or are far too slow. || py-spy dump --pid of a worker; is the storage slow? || num_workers=0 to see whether it still stops || raise the loader's timeout || copy the data to a local disk
evaluation_hang hung fewer_workers The log ends at the start of an evaluation: its loader workers wait for one another. || py-spy dump --pid PID || no loader workers for the evaluation
loss_diverged wrong_result none The loss became nan or infinite: what is trained from there on is worthless. || grep -n -m1 -i 'loss: nan' the log: at which step? || a lower learning rate (with n ranks the global batch is n times larger), warm-up, clipped gradients || bf16 or fp32 instead of fp16; look for empty or broken labels
pages_left_out wrong_result none Pages stayed without text: each took longer, or was larger, than the program's limit for one page, which it then leaves out. It ends well all the same. || how many pages does the log say were skipped? the size of the text beside the number of pages || ocrmypdf --tesseract-timeout 300 --skip-big 100   # above the slowest page || fewer jobs at once, a lower resolution or a faster model, so that a page takes less time
runs_on_cpu ok none The program was to use a GPU, could not, and went on with the CPU, which takes ten times as long and more. It may end well all the same. || nvidia-smi while it runs: is the program in its list of processes? || the GPU build of the framework, for the CUDA version that nvidia-smi names || docker run --gpus all
data_loading_bound ok none The step waits for data for a large part of its time. || avg_reader_cost / avg_batch_cost in the log || more loader workers, up to the free cores and memory: ocrtune tune || LMDB, a local disk, fewer augmentations (RecConAug reads two more images a sample)
thread_oversubscription ok fewer_threads More compute threads than cores, or than the CPU limit of the container allows: they spend their time waiting. || ocrtune probe; ps -eLf | wc -l || threads x processes at most the usable cores: OMP_NUM_THREADS, cpu_threads
narrow_cpu_mask ok none The process may run on fewer CPUs than its job or machine has: a mask or a cpuset binds it, and all its threads and workers share those few. || nproc and grep Cpus_allowed_list /proc/self/status, in the place of the program || srun --cpus-per-task=$SLURM_CPUS_PER_TASK CMD: since Slurm 22.05 a step does not take it over from sbatch || without taskset, numactl -C and --cpuset-cpus, or with all CPUs of the job in them
python_exception crashed none The program ended with an exception that is not in ocrtune's table. ||  || read the last traceback from its end upwards
native_exception crashed none A program that is not Python (C++, Rust, Go, Java, JavaScript) ended with an exception or panic that is not in the table. || RUST_BACKTRACE=1 or gdb shows where || the message itself names the reason
process_failed crashed retry A process ended with an error code; the lines at hand do not say why. || the log of the rank that is named || diagnose the logs of all ranks together: ocrtune diagnose LOGS
unknown crashed retry The lines at hand show that something failed but fit no known cause. || what did the run do last? the lines before its end, of all its processes || give more of the log, from the start of the run to its last line
# What a run needs from others: hubs, stores, registries, certificates, clocks, schedulers.
remote_unreachable crashed retry A server that the run needs could not be reached (a model hub, an object store, a registry, a database): no route, a proxy or firewall, a name that does not resolve, or the server is down. || curl -sv URL from the same machine or container; getent hosts NAME; env | grep -i proxy || export HTTPS_PROXY=http://PROXY:PORT   # or NO_PROXY for hosts inside || download the models once and name their folder; HF_HUB_OFFLINE=1
host_unreachable crashed retry A host of the run could not be reached any more: it reboots or was taken away, its network is down, or it is stopped or overloaded. || ssh HOST uptime; last reboot and journalctl -b -1 there; sinfo -R, scontrol show node HOST || bring the host back, or leave it out of --hosts; ocrtune run waits for --host-patience || save more often: what came after the last checkpoint is lost with a host
access_refused crashed none A server refused the credentials of the run: a token or session that expired, a missing login, no right to the object, a licence, or too many requests. || the same request with the same credentials by hand; when does the token expire? || renew the token or key, and let long runs refresh it || ask for the right to the bucket, image or model that is named
clock_wrong crashed none The clock of this machine is wrong, so certificates, tokens and signatures are refused as not yet valid or out of date. || date -u; timedatectl; chronyc tracking || timedatectl set-ntp true; chronyc makestep || replace the battery of a clock that starts in an old year
tls_failed crashed none The certificate of a server could not be verified: it has expired, or a proxy or server signs with an authority that is unknown here. || openssl s_client -connect HOST:443 </dev/null | openssl x509 -noout -issuer -dates || add the authority: update-ca-certificates; export REQUESTS_CA_BUNDLE=/path/ca.pem || renew the server's certificate
image_pull_failed crashed retry The container image could not be pulled: the name or tag does not exist, the registry asks for a login, or it could not be reached. || docker pull IMAGE (or crictl pull IMAGE) on that node || correct the name and tag || imagePullSecrets, or docker login
container_setup_failed crashed none The container could not be started: a secret, config map, volume, device or command of its description is missing, or its image is for another kind of CPU. || kubectl describe pod NAME; docker inspect NAME || create what is named, in the same namespace || docker build --platform linux/amd64   # if it says exec format error
not_scheduled crashed none The scheduler found no place for the job: no node has the GPUs, CPUs or memory that it asks for, or a quota is used up. || kubectl describe pod NAME; squeue -j JOB -o %r; sinfo -o '%n %G %m' || ask for what one node has || free the quota, or use another partition or namespace
health_check_failed crashed retry The container was restarted because its health check failed: often the model loads for longer than the probe waits, or requests block the check. || kubectl describe pod NAME   # probe, delay and period; the time until the model is loaded || a startupProbe with failureThreshold x periodSeconds above the load time || initialDelaySeconds above the load time; answer the check from another thread
request_too_large crashed none A page, request, message or buffer was larger than a limit of the program, server, proxy or device allows. ||  || send fewer or smaller pages
# How a process was made or allowed, formats of another version, limits of servers, slow hardware.
start_method crashed none Child processes were made in a way that the program or the system does not bear: spawned without a guarded main module, from a daemonic worker, or forked after CUDA, OpenMP or an LMDB environment was in use. || does it run with num_workers=0 (or one process)? || start processes below if __name__ == '__main__':, before CUDA or LMDB is used || torch.multiprocessing.set_start_method('spawn')   # and load models in the child
seccomp_refused unsupported none The container's filter of system calls (seccomp) answers EPERM: no limit is reached, the call itself is not allowed. || docker version; docker run --security-opt seccomp=unconfined IMAGE CMD   # once, to see || Docker 20.10.10 or newer with libseccomp 2.5: older ones refuse clone3 of new images || a seccomp profile that allows the call; --cap-add SYS_NICE for mbind
read_only_filesystem crashed none A file was to be written where the file system is mounted read-only: by its mount options, or because the kernel remounted it after errors of the disk. || findmnt -T PATH -o TARGET,FSTYPE,OPTIONS; dmesg -T | grep -iE 'remount|ext4|xfs|i/o error' || write elsewhere, or mount it with rw (docker -v PATH:PATH:rw, readOnlyRootFilesystem: false) || where the kernel remounted it: the disk fails; copy what is on it and replace it
lmdb_limit crashed none A limit that the LMDB environment was opened with is reached: map_size, readers or named databases. The disk has no part in it. || mdb_stat -e PATH   # map size, readers || open it with a higher limit
store_full crashed none A store of results or messages (Redis) holds all that its limit allows and refuses writes. The machine's memory has no part in it. || redis-cli INFO memory   # used_memory, maxmemory, maxmemory_policy || redis-cli CONFIG SET maxmemory 8gb; CONFIG SET maxmemory-policy volatile-ttl || results that expire sooner or stay out of it: result_expires=3600   # Celery
engine_plan_mismatch unsupported none A TensorRT engine runs only with the version and on the kind of GPU that it was built with. || python -c 'import tensorrt; print(tensorrt.__version__)'; nvidia-smi -L || build it anew here: trtexec --onnx=MODEL.onnx --saveEngine=MODEL.plan || delete the engine cache, so that the program builds it anew
worker_timeout timed_out none The server gave a request up, or ended its own worker, because it (or the loading of models) took longer than the server waits. A SIGABRT or SIGKILL after it is the server's; memory has no part in it. || how long does one request take? compare with the worker time-out (gunicorn: 30 s) || a worker time-out above the slowest request, or long work in a queue outside of it || load the models before the first request
server_overloaded crashed none A server refused requests because all its places were taken (429, queue full): the client has more requests in flight than the server has slots. The server is not down. || requests in flight of the client against slots, workers or queue length of the server || fewer requests in flight, and a retry that waits longer each time || more slots, workers or replicas, where memory allows
host_restarted crashed retry The machine started anew under the run: a reboot, a crash of the kernel or a loss of power. || last -x reboot shutdown; journalctl -b -1 -n 50   # what came before the boot || restart from the last checkpoint || without a shutdown in last -x: look at power, ipmitool sel list and kdump
pcie_link_slow ok none A card's PCIe link is narrower or slower than the card can: copies to it take many times longer. || nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current,pcie.link.width.max --format=csv   # under load || seat the card anew, another slot or riser; firmware: PCIe generation of the slot || until then: larger batches, pinned memory, fewer copies
gpu_throttled ok none The GPU lowers its clock because of heat or its power limit. || nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER || fans, dust, air flow; nvidia-smi -pl WATTS below the limit that overheats it || the power cable and supply, where it says Power Brake
cpu_throttled ok none The CPU lowers its clock because of heat. || turbostat --interval 5; grep MHz /proc/cpuinfo || fans, dust, air flow || fewer threads, where the cooling cannot be mended
throughput_fell ok none The rate fell during the run while the work per step stayed the same: heat, storage that the page cache no longer hides, memory that swaps, or a neighbour. || nvidia-smi -q -d PERFORMANCE; iostat -x 1; vmstat 1   # now, while it is slow || data on a local disk, or smaller than the free memory || clocks and temperatures of GPU and CPU over the run
learnt_nothing ok none The run came to its end and learnt nothing: its accuracy stayed at 0, or its loss where it began. || the model's output on some samples of the training set: is it always the same, or empty? || the dictionary and the labels: letter by letter the same, of the same script || a learning rate ten times smaller, then ten times larger, on a hundred samples, until these are learnt by heart
learning_rate_zero ok none Every step printed a learning rate of 0, or of less than is printed: nothing or next to nothing is learnt. The schedule has ended, most often as a run goes on from a checkpoint beyond its last epoch. || the schedule's number of epochs or steps against those of the checkpoint || a schedule for the new number of epochs, or weights alone from the checkpoint (pretrained) and not its state
)rows";

namespace {

constexpr const char* kInItsLine =
    "the line that is quoted names it";  // where nothing else confirms

constexpr std::string_view kRemedies[] = {"none",          "retry",         "fewer_workers",
                                          "smaller_batch", "fewer_ranks",   "fewer_threads",
                                          "p2p_off",       "longer_timeout"};

Remedy remedy_named(std::string_view name) {
  const auto found = std::ranges::find(kRemedies, name);
  OCRTUNE_CHECK(found != std::end(kRemedies));
  return static_cast<Remedy>(found - std::begin(kRemedies));
}

}  // namespace

std::vector<std::string> split_at(std::string_view text, std::string_view mark) {
  std::vector<std::string> parts;
  for (std::size_t at; (at = text.find(mark)) != text.npos; text.remove_prefix(at + mark.size())) {
    parts.emplace_back(text.substr(0, at));
  }
  parts.emplace_back(text);
  return parts;
}

bool listed(std::string_view list, std::string_view word) {
  return list.find(" " + std::string(word) + " ") != std::string_view::npos;
}

const std::vector<CauseRow>& cause_table() {
  static const std::vector<CauseRow> kTable = [] {
    std::vector<CauseRow> causes;
    for (std::string_view row : rows_of(kCauses)) {
      CauseRow cause{lasting(take_column(row)), "", kInItsLine, {}, lasting(take_column(row))};
      cause.remedy = remedy_named(take_column(row));
      const std::vector<std::string> parts = split_at(row, " || ");
      cause.meaning = lasting(parts[0]);
      if (parts.size() > 1 && !parts[1].empty()) cause.confirm = lasting(parts[1]);
      for (std::size_t i = 2; i < parts.size(); ++i) cause.fixes.push_back(lasting(parts[i]));
      // A run that ends well and is only slow has the outcome of a good trial.
      if (cause.outcome == std::string_view("ok")) cause.kind = CauseKind::slowness;
      causes.push_back(std::move(cause));
    }
    return causes;
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
