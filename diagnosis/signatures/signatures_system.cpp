// Lines of the kernel, shells, container runtimes, batch systems and memory guards; pods and their
// events, network file systems, the health of cards, NCCL's own checks, and what a rank did while
// others waited for it.
// Sources: kubelet's eviction manager, the kernel's nfs, lustre and ceph clients, NVIDIA's Xid
// catalogue, NCCL 2.24 to 2.31 (RAS and active diagnostics).
#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

const std::string_view kSystemSignatures = R"rows(
# The kernel. The first capture is the pid where there is one, the second the command's name.
kernel_boot host_restarted note 0.1 ^-- (?:Boot|Reboot)\b|\bLinux version \d
kernel_oom_memcg cgroup_out_of_memory proof 0.95 oom-kill:constraint=CONSTRAINT_MEMCG\b.*?task=([^,]*),pid=(\d+)|Memory cgroup out of memory: Kill(?:ed)? process (\d+)(?:, UID \d+,)? ?\(?([^)\s,]*)
kernel_oom_host host_out_of_memory proof 0.95 oom-kill:constraint=CONSTRAINT_NONE\b.*?task=([^,]*),pid=(\d+)|\bOut of memory(?: \([^)]*\))?: Kill(?:ed)? process (\d+)(?:, UID \d+,)? ?\(?([^)\s,]*)
kernel_oom_policy numa_node_full proof 0.95 oom-kill:constraint=CONSTRAINT_MEMORY_POLICY\b.*?task=([^,]*),pid=(\d+)
kernel_oom_cpuset numa_node_full proof 0.95 oom-kill:constraint=CONSTRAINT_CPUSET\b.*?task=([^,]*),pid=(\d+)
kernel_oom_killed_process host_out_of_memory proof 0.85 ^(?:.*[\]:] )?Killed process (\d+)(?:, UID \d+,)? \(([^)]*)\).*(?:total-vm|anon-rss)
kernel_oom_task_in cgroup_out_of_memory proof 0.85 Task in (\S+) killed as a result of limit of (\S+)
kernel_oom_invoked host_out_of_memory proof 0.7 \b(\S+) invoked oom-killer: gfp_mask
kernel_oom_reaper host_out_of_memory proof 0.8 oom_reaper: reaped process (\d+) \(([^)]*)\)
kernel_segfault segmentation_fault proof 0.6 \b(\S+)\[(\d+)\]: segfault at [0-9a-f]+ ip|traps: (\S+)\[(\d+)\] general protection
kernel_invalid_opcode illegal_instruction proof 0.9 traps: (\S+)\[(\d+)\] trap invalid opcode
kernel_xid_fatal gpu_fault proof 0.92 NVRM: Xid \([^)]*\): (48|61|62|63|64|74|79|92|94|95|119|12[0-3]|136|14[03-9]|15[0468]|160)\b|fallen off the bus\b|NVRM: .*(?:RmInitAdapter failed|Cannot attach gpu)|Remapping Failure Occurred +: Yes|[Rr]ow [Rr]emapp\w+ [Ff]ailure|Row remapping failed|amdgpu: (?:ring \S+ timeout|GPU reset begin|.*[Uu]ncorrectable)|SXid \([^)]*\): \d+, Fatal|caused by previous Xid (\d+)
# 45 is the clean-up after another.
kernel_xid_program gpu_kernel_fault proof 0.7 NVRM: Xid \([^)]*\): (13|31|43|68|69)\b
kernel_bad_memory host_hardware_fault proof 0.9 \[Hardware Error\]: .*(?:memory error|multi-bit ECC)|due to hardware memory corruption|Memory failure: 0x\w+: (?:Sending|Killing)|EDAC \S+ (?:\d+ )?UE\b|MCE: Killing|Uncorrected (?:hardware )?(?:memory )?error|Machine Check Exception: \d|Fatal (?:machine check|hardware error)|Uncorrect(?:able|ed) (?:ECC|[Mm]emory|machine check|PCI Express)(?: \w+)? ?\| ?Asserted|\| (?:IERR|CATERR|Thermal Trip|Bus (?:Fatal|Uncorrectable) [Ee]rror|Fatal NMI) ?\| ?Asserted|critical temperature reached|[Rr]eached critical temperature
kernel_panic host_restarted primary 0.8 Kernel panic - not syncing|[Uu]nexpectedly rebooted|rebooted unexpectedly|[Rr]un-?time critical stop
kernel_fork_pids process_limit proof 0.9 cgroup: fork rejected by pids controller in (\S+)
kernel_io_error storage_failure proof 0.75 (?:blk_update_request: (?:critical )?(?:I/O|medium) error|Buffer I/O error on dev|EXT4-fs error \(device|XFS \([^)]*\): .*(?:I/O error|Corruption)|critical (?:medium|target) error, dev)
kernel_nfs storage_failure primary 0.75 nfs: server \S+ not responding, (?:still trying|timed out)
kernel_link_down nccl_network primary 0.75 kernel: .*(?:mlx\d|ens|eth|bond|ixgbe|i40e|ice|bnxt)\S* .*Link (?:is )?[Dd]own
# Of ps: a process that waits for a file system and cannot be killed.
stuck_in_storage storage_failure primary 0.75 \bD[sl<N+]* +(?:rpc_wait_bit|nfs_wait|nfs4_wait|ceph_mdsc|cl_sync_io|request_wait_answer|blk_mq_get_tag)\w*
kernel_hung_task storage_failure symptom 0.2 INFO: task (\S+):(\d+) blocked for more than \d+ seconds
# Memory guards, batch systems, and who kills.
systemd_unit_oom cgroup_out_of_memory proof 0.75 A process of this unit has been killed by the OOM killer|Failed with result 'oom-kill'|The kernel OOM killer killed some processes in this unit
earlyoom_kill userspace_oom_kill proof 0.95 sending SIG(?:TERM|KILL) to process (\d+)(?: uid \d+)? "([^"]*)": (?:oom_score|badness)
guard_kill userspace_oom_kill proof 0.93 systemd-oomd(?:\[\d+\])?: (?:Killed|Killing|Marked|Swept) \S+.*(?:memory used|memory pressure|due to|for killing)|systemd-oomd killed (?:some|\d+) process|low memory! at or below SIG(?:TERM|KILL) limits?|Sending (?:SIGTERM|SIGKILL) to the victim|Sending SIG(?:TERM|KILL) to \S+ \(pid|nohang(?:\[\d+\])?: .*corrective action|ray\.exceptions\.OutOfMemoryError|Workers? \(tasks / actors\) killed due to memory pressure|killed due to the node running low on memory|exceeds the memory usage threshold of \S+ Ray killed
batch_memory cgroup_out_of_memory proof 0.95 (?i:detected [1-9]\d* oom[-_ ]kill event|\bOUT_OF_ME(?:MORY|\+) +\d+:\d+)|srun: error: \S+: tasks? \S+: Out Of Memory|Some of (?:your|the step) processes may have been killed by the cgroup out-of-memory handler|slurmstepd: error: .*(?:[Ee]xceeded (?:job|step) memory limit|exceeded memory limit)|(?:Job|StepId=\S+) exceeded memory limit|TERM_MEMLIMIT: job killed|PBS: job killed: (?:mem|vmem) \S+ exceeded limit|exceeded resource limit.*memory|(?i:container (?:was |has been )?oom[ -]?killed|\bcontainer oom [0-9a-f]|cgroup memory limit of .{0,40}exceeded|gone over memory limit of|memory usage exceeded (?:request_memory|the limit|its limit))
slurm_time_limit time_limit proof 0.96 (?:CANCELLED AT .*)?DUE TO TIME LIMIT|active (?:on the node )?longer than (?:the )?specified deadline|MaxRuntimeExceeded|\bTIMEOUT +\d+:\d+|TERM_RUNLIMIT: job killed|AirflowTaskTimeout: |PBS: job killed: walltime|^timeout: sending signal \S+ to command|\b(?:Killed|Terminated) +timeout[ ]
slurm_preempted preempted_or_evicted proof 0.94 CANCELLED AT .*DUE TO (?:PREEMPTION|NODE FAILURE|JOB REQUEUE)|\bPREEMPTED +\d+:\d+|(?i:\bthe node was low on resource: (?:inodes|pid))|(?i:\bspot (?:instance )?(?:interruption|termination|reclaim)|interruption notice|preempt(?:ed|ion) (?:notice|notification|warning)|instance (?:is being|was|has been|will be) (?:preempted|terminated|reclaimed))|NODE_FAIL\b|srun: error: Node failure on|\b[Nn]odes? \S+ (?:is )?not responding, (?:setting|job killed)
systemd_stop_timeout terminated_from_outside proof 0.85 State '[\w-]+' timed out\. (?:Killing|Terminating)|Killing process \d+ \([^)]*\) with signal SIGKILL
systemd_timeout health_check_failed symptom 0.6 Failed with result 'timeout'
slurm_cancelled terminated_from_outside symptom 0.7 slurmstepd: error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT
# By a user's number: scancel. Slurm ends such a job by SIGTERM, then by SIGKILL.
slurm_cancelled_by terminated_from_outside primary 0.8 \bCANCELLED by \d
kube_evicted_memory host_out_of_memory proof 0.9 The node was low on resource: memory|must evict pod\(s\) to reclaim" resourceName="memory|The node had condition: \[MemoryPressure\]
kube_oom_killed cgroup_out_of_memory proof 0.96 \bOOMKilled["']?(?:$|[,}).;]|\s+[A-Za-z0-9(]|\s*[:=]\s*true)
docker_kill_event killed_by_other proof 0.9 container kill \S+ .*signal=(?:9|KILL|SIGKILL)\b
manual_kill killed_by_other proof 0.94 COMMAND=\S*kill.{0,40} -(?:9|KILL|SIGKILL)\b|COMMAND=\S*fuser -k|CMD \(.*kill -(?:9|KILL) |\$ (?:sudo )?kill -(?:9|KILL|SIGKILL) |^ *\d+ +(?:sudo )?kill -(?:9|KILL) \d|\$ (?:sudo )?pkill -(?:9|KILL|SIGKILL) |\w\[\d+\]: .{0,20}\bp?kill -(?:9|KILL|SIGKILL) |exe="/usr/bin/kill"|\bsyscall=(?:kill|62)\b.* a1=(?:SIGKILL|9)\b
reaper_kill killed_by_other primary 0.8 pid[ =:]*\d+ ?-> ?SIGKILL|(?i:\b(?:killed|killing|reaped|reaping)\b.{0,40}\bpid[ =:]*\d+.{0,40}(?:reservation|quota|policy|idle|owner|limit))|process reaper|\bterminated because it exceeded the limits for interactive|interactive process is killed if|failed to exit within \S+ of signal \S+ - using the force|did not (?:exit|stop) (?:with)?in .{0,20}(?:sending|using|resorting to) SIGKILL
idle_kill killed_by_other primary 0.88 policy \S*idle\S*: (?:scancel|kill|qdel)|scancel (?:--signal[ =]|-s ?)(?:KILL|9)\b|(?:GPU|gpu|[Jj]ob|[Nn]otebook|[Ii]nstance)s?[ _-](?:is |was )?idle\b.{0,120}\b(?:scancel|killed|terminated|culled)\b
watchtower_stop killed_by_other primary 0.9 Stopping /\S+ \([0-9a-f]{8,}\) with SIG
# macOS ends a program whose pages no longer fit its signature.
code_signature killed_by_other primary 0.92 Namespace CODESIGNING|CODE SIGNING: .*(?:[Ii]nvalid|[Kk]ill)|[Cc]ode [Ss]ignature (?:\S+ ){0,3}(?:[Ii]nvalid|not valid)
docker_not_oom killed_by_other note 0.1 "OOMKilled": ?false
# What shells, init systems and launchers print about an ended child.
shell_killed host_out_of_memory symptom 0.65 \bsignal: killed\b|KILLED BY SIGNAL: 9\b|^\S*: line \d+: +\d+ Killed\b|^srun: error: \S+: tasks? \S+: Killed|^(?:\[\d+\]\s*[-+]?\s*)?\d*\s*(?i:killed)(?:\s+\S*(?:python|torchrun|sh|mpirun|cargo|paddle|nohup|CUDA|\./).*)?$|^zsh: killed\b
# Of bash and glibc in Chinese, Japanese, German, French, Russian, Spanish, Italian, Portuguese, Polish and Korean.
shell_killed_abroad host_out_of_memory symptom 0.66 ^(?:\S+ ?: .{0,24}?\d+.{0,6}?[:：]? +\d+ +|\[\d+\]\s*[-+]?\s*\d*\s*)?(?:已杀死|已砍掉|强制终止|強制終了|Getötet|Processus arrêté|Убито|Terminado \(killed\)|Matado|Ucciso|Morto|Unicestwiony|Zabity|죽었음)(?:\s|$)|Killed signal terminated program|internal compiler error: Killed
shell_segfault segmentation_fault symptom 0.75 (?i)\bsegmentation fault(?:\s*\((?:core dumped|address|signal|11\))|$)|\(SIGSEGV\)|段错误|段錯誤|セグメンテーション違反|Speicherzugriffsfehler|Erreur de segmentation|Ошибка сегментирования|Violación de segmento|Errore di segmentazione|Falha de segmentação|Naruszenie ochrony pamięci|세그멘테이션
shell_bus_error shm_full symptom 0.6 (?i)\bbus error(?:\s*\((?:core dumped|\d+|signal)|$)|\(SIGBUS\)|signal: Bus error|总线错误|バスエラー|Bus-Zugriffsfehler|Erreur du bus|Ошибка шины|Error del bus
shell_aborted aborted symptom 0.5 (?i:\baborted\s*\((?:core dumped|6)\)|^Aborted$|: line \d+: +\d+ Aborted\b|\(SIGABRT\)|Signals\.SIGABRT|^(?:\S+: .{0,24}?\d+.{0,6}?[:：]? +\d+ +)?(?:已放弃|中止\b|Abgebrochen|Аварийный останов|Abandon\b|Abortado|Annullato)(?:\s|$|\())|(?:`|\()?Process abort signal(?:`|\))? is detected by the operating system|SIGABRT \(@0x[0-9a-fA-F]+\) received by PID|Fatal Python error: Aborted
cpu_stat thread_oversubscription note 0.6 ^nr_(?:periods|throttled) (\d+)
# A user's services and containers end with the last session, unless the user lingers.
no_linger terminal_hangup primary 0.9 ^Linger=no\b|Stopping libpod-\w+\.scope
sighup terminal_hangup primary 0.9 Received OS signal 'hangup'|`Hangup` is detected by the operating system|got signal: 1$|got signal: SIGHUP|\bReceived SIGHUP\b|death signal,? shutting down.*SIGHUP|Received (?:Signals\.SIGHUP|1) death signal|: line \d+: +\d+ Hangup\b|^Hangup$
sigint interrupted_by_user symptom 0.6 ^(?:\S+: )?KeyboardInterrupt\b|^(?:\^C)?make(?:\[\d+\])?: \*\*\* .*\] Interrupt$|\b[Ee]xit (?:status|code)[ :=]+130$|got signal: 2$|Received (?:Signals\.SIGINT|2) death signal
# What a terminal shows of Ctrl-C; it may have ended no more than a look at the log.
sigint_echo interrupted_by_user symptom 0.45 \^C +\(the log ends there\)$
sigterm_elastic terminated_from_outside symptom 0.5 (?i:\b(?:got|received|caught) (?:\w+ )?(?:\w+ )?SIGTERM\b|(?:got|received|caught) signal:? 15\b)|Received (?:Signals\.SIGTERM|15) death signal
shell_terminated terminated_from_outside symptom 0.5 : line \d+: +\d+ Terminated\b|^Terminated$|^zsh: terminated\b|^\[\d+\]\s*[-+]?\s*\d*\s*[Tt]erminated\b|^已终止$|Force Terminated|[Rr]eceived terminat\w+ signal
closing_signal terminated_from_outside consequence 0.2 Sending process \d+ closing signal SIG|forcefully exiting via SIGKILL|Unable to shutdown process \d+ via
kills_the_rest terminated_from_outside consequence 0.2 Forcefully terminating all other processes|Received sigquit from a child process
children_failed process_failed generic 0.44 mpirun detected that one or more processes exited with non-zero status|Primary job +terminated normally, but \d+ process|MPI_ABORT was invoked on rank|ProcessExitedException: process \d+ terminated with (?:signal|exit code)|ProcessRaisedException|EngineCore (?:failed to start|encountered a fatal error)|Engine core (?:initialization failed|proc \S+ died)|MQEngine is dead|WorkerProc initialization failed|WorkerProc hit an exception|SubprocessOutputError|Ghostscript rasterizing failed
# Pods and containers.
kube_storage_limit storage_limit_evicted proof 0.95 ephemeral local storage usage exceeds the total limit|exceeded its local ephemeral storage limit|low on resource: ephemeral-storage|must evict pod\(s\) to reclaim" resourceName="(?:ephemeral|nodefs)|Usage of EmptyDir volume .* exceeds the limit
kube_liveness health_check_failed primary 0.85 failed (?:liveness|startup) probe, will be restarted|failed the health check \d+ times|failed (?:ELB|container) health checks|(?i:unhealthy).{0,60}(?:restarting|killing|replacing)|start operation timed out\. Terminating
kube_probe_failed health_check_failed symptom 0.4 (?:Liveness|Startup) probe failed|Health check exceeded timeout
kube_backoff process_failed generic 0.4 Back-off restarting failed container|CrashLoopBackOff
kube_image image_pull_failed primary 0.86 ImagePullBackOff|ErrImagePull|Failed to pull image|failed to pull and unpack image|manifest (?:for \S+ not found|unknown)|repository does not exist|InvalidImageName|ErrImageNeverPull|no matching manifest for|unable to retrieve some image pull secrets
kube_pulled image_pull_failed note 0.05 Successfully pulled image|Container image .* already present|Downloaded newer image|Image is up to date
no_gpu_runtime no_gpu_visible primary 0.9 could not select device driver|[Uu]nknown runtime specified nvidia|unknown or invalid runtime name: nvidia
container_setup container_setup_failed primary 0.85 CreateContainerConfigError|CreateContainerError|RunContainerError|(?:secret|configmap|persistentvolumeclaim) "[^"]+" not found|couldn't find key \S+ in (?:Secret|ConfigMap)|[Ee]xec format error|executable file not found in \$PATH|no matching entries in passwd|exec /\S+: no such file|unbound immediate PersistentVolumeClaims
# The wrapper of whatever the runtime met.
container_wrapper container_setup_failed symptom 0.75 Error response from daemon: |OCI runtime create failed|failed to create shim task|FailedCreatePodSandBox
controller_not_delegated container_setup_failed primary 0.93 cgroup controller .{0,24}is not available|controller [`'"]?\w+[`'"]? is not available|cgroup\.subtree_control.{0,80}(?i:no such file|permission denied|not supported|invalid argument|busy)|cannot (?:specify|set) (?:resource )?limits without cgroups
pod_mount container_setup_failed primary 0.85 MountVolume\.\w+ failed|Unable to attach or mount volumes|FailedAttachVolume|Multi-Attach error
# The kubelet pulls after it has mounted.
kube_pulling container_setup_failed note 0.05 Pulling image "|Container image .* already present|Started container[ ]
no_place not_scheduled primary 0.8 exceeded quota: |UnexpectedAdmissionError|Requested node configuration is not available|QOSMax\w+|AssocGrp\w+Limit|Unable to allocate resources: |Unable to create step for job|More processors requested than permitted|Batch job submission failed
kube_no_gpu not_scheduled primary 0.85 Insufficient (?:nvidia\.com/gpu|amd\.com/gpu|nvidia\.com/mig)
kube_unschedulable not_scheduled symptom 0.5 nodes are available: .*(?:Insufficient (?:memory|cpu)|untolerated taint|didn't match|unschedulable|had no available)
kube_scheduled preempted_or_evicted note 0.1 Successfully assigned \S+ to|Started container
kube_preempted preempted_or_evicted proof 0.9 Preempted by (?:pod )?\S+ on node|TaintManagerEviction|DeletionByTaintManager|NodeShutdown|Pod was terminated in response to imminent node shutdown|Warning +NodeNotReady|Marking for deletion Pod|DisruptionTarget +True
# The limit was reached only if "oom" grew; oom_kill counts kills by whatever killer.
memory_of_total host_out_of_memory note 0.05 (?:[Mm]emory us(?:ed|age)|памят|内存)[^\d]{0,40}[\d.]+ ?[^\s\d.]{0,6} ?(?:of|из|/) ?[\d.]+
cgroup_never_full host_out_of_memory note 0.05 ^oom 0$
cgroup_events_oom cgroup_out_of_memory proof 0.85 ^oom_kill [1-9]\d*$|^under_oom 1$
# Network file systems.
nfs_locks storage_failure primary 0.93 No locks available|\[Errno 37\]|lockd: cannot monitor|rpc\.statd is not running
kernel_nfs_ok storage_failure note 0.1 nfs: server \S+ OK
kernel_lustre storage_failure primary 0.85 LustreError: .*(?:failed: rc = -1\d\d|This client was evicted|rc -1[01]\d)|beegfs: .*Communication error|mmfs: .*(?:lost|Disk failure)|Lustre: .*(?:Connection to \S+ .*was lost|Request sent has (?:failed|timed out))
kernel_ceph storage_failure primary 0.85 (?:libceph|ceph): .*(?:mds\d+ (?:hung|caps stale|reconnect denied|closed our session|session (?:lost|blocklisted|blacklisted))|osd\d+ (?:down|.*socket closed)|mon\d+ .*session lost)|Health check failed: .*\b(?:osds?|mons?|mds|data availability|slow ops)|\d+ slow (?:requests|ops)\b
# The health of cards, and NCCL's own checks.
pcie_limited pcie_link_slow note 0.75 available PCIe bandwidth, limited by|LnkSta:.*Width x\d+ \(downgraded\)|pcie\.link\.width\.current: \d+ \(of \d+\)
card_throttled gpu_throttled note 0.75 throttle\w*[=:] ?\w*(?:THERMAL|SLOWDOWN|POWER_BRAKE)|(?:HW|SW|Hardware|Software) (?:Thermal |Power Brake |Power Cap )?Slowdown *: Active|Thermal Slowdown *: Active|Slowdown due to (?:thermal|power)|clocks_(?:throttle|event)_reasons\.(?:hw|sw)_\w*slowdown\W{0,20}Active|MHz\b.{0,40}0x0000000000000(?:0[2-9a-f][0-9a-f]|0[01][89a-f])\b
cpu_throttled cpu_throttled note 0.3 temperature (?:is )?above threshold, cpu clock (?:is )?throttled
card_counts_errors gpu_fault symptom 0.6 (?:DRAM|SRAM|Aggregate|Volatile) Uncorrectable(?: \w+)* *: [1-9]|Double Bit ECC *: [1-9]|Uncorrectable Error *: Yes
kernel_iommu nccl_p2p_broken primary 0.75 (?:nvidia|NVRM).{0,60}IO_PAGE_FAULT|DMAR: .*DMA (?:Read|Write).* fault addr
pcie_fatal gpu_fault symptom 0.6 PCIe Bus Error: severity=Uncorrect\w+|AER: Uncorrected \(Fatal\)
device_lost gpu_fault symptom 0.57 VK_ERROR_DEVICE_LOST|ERROR_DEVICE_LOST|[Dd]evice (?:is |was )?lost\b|context is lost\b|hipErrorLaunchFailure|marked for remapping, reset gpu|Pending Page Blacklist +: Yes
nccl_diag_p2p nccl_p2p_broken primary 0.9 NCCL DIAG \[INFO\] p2p: (?:(?:only )?\d+/\d+ |.*(?:mismatch|import failed|check failed|unavailable|timed out))
# Who holds a port, a card's memory or a node's, as ss, lsof, nvidia-smi and Ray list it.
holds_it gpu_busy note 0.05 users:\(\("[^"]+",pid=(\d+)|^(?:\S+ +|\(raylet[^)]*\) +)?(\d+)\s(?:.*\(LISTEN\)|\s*\d+\.\d+\s+ray::)|^[0-9A-Fa-f]{8}:[0-9A-Fa-f:.]+, (\d+), \S*python.* MiB|^\| +\d+ .{0,20} (\d+) +C(?:\+G)? +\S*python\S* +\d+MiB
# What holds the other ranks up: all of these run on one rank alone in common trainers.
busy_evaluation rank_busy_alone activity 0.8 eval model:: +\d{1,2}%|\beval: +\d{1,2}%\||\b(?:validation|validating|evaluation|evaluating):? +\d{1,2}%\||(?i:(?:starting|running|beginning) (?:the )?(?:full )?(?:validation|evaluation)|(?:validat|evaluat)\w*[ _]on[ _]rank[ _]?(?:0|zero)|(?:other|all other) ranks wait|(?:validation|evaluation|validating|evaluating)\b.{0,60} \d{1,2} ?%|\bval .{0,60}\d% done)
busy_index rank_busy_alone activity 0.75 (?i:(?:building|scanning|creating|generating|computing|caching|indexing|tokenizing|tokenising|preprocessing|downloading|extracting|copying) .{0,60}(?:index|labels?|files?|lmdb|dataset|samples?|images|cache|shards?|archive)|\bindexed \d|(?:index|cache|manifest|vocabulary|label list)\b.{0,60}(?:building it|creating it|rebuilding|being built|not found, build\w+)|(?:index|cache):? +[\d.]+ ?[kM]? ?(?:/|of) ?[\d.]+|\b(?:fetching|downloading|pulling) .{0,80}\d ?[KMGT]i?B\b|\b(?:preparing|building|scanning|caching|indexing|extracting) .{0,60}: +\d{1,3}%\||^Running \w+ on dataset|\b(?:once|only|alone),? (?:by|on|in|for)? ?(?:the )?global rank[ _]?(?:zero|0)\b|skip_first_batches|[Ss]kipping (?:the )?(?:first )?\d+ batches)|(?i:(?:saving|writing|uploading|serialising|serializing) (?:the )?(?:model |full |optimizer )?(?:checkpoint|snapshot|weights|state|model to)|checkpoint (?:written|saved|uploaded) in \d)
busy_compile rank_busy_alone activity 0.7 (?i)\bwaiting for (?:a |the )?(?:file ?)?lock\b|\b(?:compiling|autotuning|warming up|quantizing|exporting|converting|merging|verifying|hashing|uploading) .{0,60}(?:kernels?|engine|model|checksums?|onnx|tensorrt|graph|files|shards|predictions)
skipped_step rank_mismatch activity 0.75 (?i)(?:batch|sample|loss)\b.{0,40}(?:\bempty|has no |\bNone\b|not finite).{0,40}skipp(?:ed|ing)|\bno (?:\w+ )?(?:line|sample|label|image|target)s? left\b.{0,80}skipp|skipp(?:ed|ing).{0,40}(?:\bempty|on (?:this rank|rank \d))|no backward|(?:loader|iterator|dataset|shard)s? (?:is |was )?(?:exhausted|ended early|ran out)|ran out of (?:data|batches|samples)
)rows";

}  // namespace ocrtune
