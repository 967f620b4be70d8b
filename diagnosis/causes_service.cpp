// The part of the cause table that concerns services, sandboxes, child processes, formats of other
// versions, and hardware that only slows.
#include "diagnosis/causes.h"

namespace ocrtune {

const std::string_view kServiceCauses = R"rows(
# What a run needs from others: hubs, stores, registries, certificates, clocks, schedulers.
remote_unreachable crashed retry A server that the run needs could not be reached (a model hub, an object store, a registry, a database): no route, a proxy or firewall, a name that does not resolve, or the server is down.
? curl -sv URL from the same machine or container; getent hosts NAME; env | grep -i proxy
- export HTTPS_PROXY=http://PROXY:PORT   # or NO_PROXY for hosts inside
- download the models once and name their folder; HF_HUB_OFFLINE=1
host_unreachable crashed retry A host of the run could not be reached any more: it reboots or was taken away, its network is down, or it is stopped or overloaded.
? ssh HOST uptime; last reboot and journalctl -b -1 there; sinfo -R, scontrol show node HOST
- bring the host back, or leave it out of --hosts; ocrtune run waits for --host-patience
- save more often: what came after the last checkpoint is lost with a host
access_refused crashed none A server refused the credentials of the run: a token or session that expired, a missing login, no right to the object, a licence, or too many requests.
? the same request with the same credentials by hand; when does the token expire?
- renew the token or key, and let long runs refresh it
- ask for the right to the bucket, image or model that is named
clock_wrong crashed none The clock of this machine is wrong, so certificates, tokens and signatures are refused as not yet valid or out of date.
? date -u; timedatectl; chronyc tracking
- timedatectl set-ntp true; chronyc makestep
- replace the battery of a clock that starts in an old year
tls_failed crashed none The certificate of a server could not be verified: it has expired, or a proxy or server signs with an authority that is unknown here.
? openssl s_client -connect HOST:443 </dev/null | openssl x509 -noout -issuer -dates
- add the authority: update-ca-certificates; export REQUESTS_CA_BUNDLE=/path/ca.pem
- renew the server's certificate
image_pull_failed crashed retry The container image could not be pulled: the name or tag does not exist, the registry asks for a login, or it could not be reached.
? docker pull IMAGE (or crictl pull IMAGE) on that node
- correct the name and tag
- imagePullSecrets, or docker login
container_setup_failed crashed none The container could not be started: a secret, config map, volume, device or command of its description is missing, or its image is for another kind of CPU.
? kubectl describe pod NAME; docker inspect NAME
- create what is named, in the same namespace
- docker build --platform linux/amd64   # if it says exec format error
not_scheduled crashed none The scheduler found no place for the job: no node has the GPUs, CPUs or memory that it asks for, or a quota is used up.
? kubectl describe pod NAME; squeue -j JOB -o %r; sinfo -o '%n %G %m'
- ask for what one node has
- free the quota, or use another partition or namespace
health_check_failed crashed retry The container was restarted because its health check failed: often the model loads for longer than the probe waits, or requests block the check.
? kubectl describe pod NAME   # probe, delay and period; the time until the model is loaded
- a startupProbe with failureThreshold x periodSeconds above the load time
- initialDelaySeconds above the load time; answer the check from another thread
request_too_large crashed none A page, request, message or buffer was larger than a limit of the program, server, proxy or device allows.
? the message names the size and the limit
- send fewer or smaller pages
# How a process was made or allowed, formats of another version, limits of servers, slow hardware.
start_method crashed none Child processes were made in a way that the program or the system does not bear: spawned without a guarded main module, from a daemonic worker, or forked after CUDA, OpenMP or an LMDB environment was in use.
? does it run with num_workers=0 (or one process)?
- start processes below if __name__ == '__main__':, before CUDA or LMDB is used
- torch.multiprocessing.set_start_method('spawn')   # and load models in the child
seccomp_refused unsupported none The container's filter of system calls (seccomp) answers EPERM: no limit is reached, the call itself is not allowed.
? docker version; docker run --security-opt seccomp=unconfined IMAGE CMD   # once, to see
- Docker 20.10.10 or newer with libseccomp 2.5: older ones refuse clone3 of new images
- a seccomp profile that allows the call; --cap-add SYS_NICE for mbind
read_only_filesystem crashed none A file was to be written where the file system is mounted read-only: by its mount options, or because the kernel remounted it after errors of the disk.
? findmnt -T PATH -o TARGET,FSTYPE,OPTIONS; dmesg -T | grep -iE 'remount|ext4|xfs|i/o error'
- write elsewhere, or mount it with rw (docker -v PATH:PATH:rw, readOnlyRootFilesystem: false)
- where the kernel remounted it: the disk fails; copy what is on it and replace it
lmdb_limit crashed none A limit that the LMDB environment was opened with is reached: map_size, readers or named databases. The disk has no part in it.
? mdb_stat -e PATH   # map size, readers
- open it with a higher limit
store_full crashed none A store of results or messages (Redis) holds all that its limit allows and refuses writes. The machine's memory has no part in it.
? redis-cli INFO memory   # used_memory, maxmemory, maxmemory_policy
- redis-cli CONFIG SET maxmemory 8gb; CONFIG SET maxmemory-policy volatile-ttl
- results that expire sooner or stay out of it: result_expires=3600   # Celery
engine_plan_mismatch unsupported none A TensorRT engine runs only with the version and on the kind of GPU that it was built with.
? python -c 'import tensorrt; print(tensorrt.__version__)'; nvidia-smi -L
- build it anew here: trtexec --onnx=MODEL.onnx --saveEngine=MODEL.plan
- delete the engine cache, so that the program builds it anew
worker_timeout timed_out none The server gave a request up, or ended its own worker, because it (or the loading of models) took longer than the server waits. A SIGABRT or SIGKILL after it is the server's; memory has no part in it.
? how long does one request take? compare with the worker time-out (gunicorn: 30 s)
- a worker time-out above the slowest request, or long work in a queue outside of it
- load the models before the first request
server_overloaded crashed none A server refused requests because all its places were taken (429, queue full): the client has more requests in flight than the server has slots. The server is not down.
? requests in flight of the client against slots, workers or queue length of the server
- fewer requests in flight, and a retry that waits longer each time
- more slots, workers or replicas, where memory allows
host_restarted crashed retry The machine started anew under the run: a reboot, a crash of the kernel or a loss of power.
? last -x reboot shutdown; journalctl -b -1 -n 50   # what came before the boot
- restart from the last checkpoint
- without a shutdown in last -x: look at power, ipmitool sel list and kdump
pcie_link_slow ok none A card's PCIe link is narrower or slower than the card can: copies to it take many times longer.
? nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current,pcie.link.width.max --format=csv   # under load
- seat the card anew, another slot or riser; firmware: PCIe generation of the slot
- until then: larger batches, pinned memory, fewer copies
gpu_throttled ok none The GPU lowers its clock because of heat or its power limit.
? nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER
- fans, dust, air flow; nvidia-smi -pl WATTS below the limit that overheats it
- the power cable and supply, where it says Power Brake
cpu_throttled ok none The CPU lowers its clock because of heat.
? turbostat --interval 5; grep MHz /proc/cpuinfo
- fans, dust, air flow
- fewer threads, where the cooling cannot be mended
memory_swaps ok none Main memory is full and the kernel moves pages to and from the disk (swap): each step waits for it.
? vmstat 1   # si and so; free -g
- fewer loader workers
- no images or data kept in memory by each worker
throughput_fell ok none The rate fell during the run while the work per step stayed the same: heat, storage that the page cache no longer hides, memory that swaps, or a neighbour.
? nvidia-smi -q -d PERFORMANCE; iostat -x 1; vmstat 1   # now, while it is slow
- data on a local disk, or smaller than the free memory
- clocks and temperatures of GPU and CPU over the run
learning_rate_zero ok none Every step printed a learning rate of 0, or of less than is printed: nothing or next to nothing is learnt. The schedule has ended, most often as a run goes on from a checkpoint beyond its last epoch.
? the schedule's number of epochs or steps against those of the checkpoint
- a schedule for the new number of epochs, or weights alone from the checkpoint (pretrained) and not its state
)rows";

}  // namespace ocrtune
