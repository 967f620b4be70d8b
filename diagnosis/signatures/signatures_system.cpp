// Lines of the kernel, shells, container runtimes, batch systems and memory guards; pods and their
// events, network file systems, the health of cards, NCCL's own checks, and what a rank did while
// others waited for it.
// Sources: kubelet's eviction manager, the kernel's nfs, lustre and ceph clients, NVIDIA's Xid
// catalogue, NCCL 2.24 to 2.31 (RAS and active diagnostics).
#include <deque>

#include <fmt/format.h>

#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

std::vector<SignatureRow> system_signatures();

namespace {

// The first capture is the pid where there is one, the second the command's name.
std::vector<SignatureRow> kernel_rows() {
  return {
      {"kernel_boot", "host_restarted", Role::note, 0.1,
       R"(^-- (?:Boot|Reboot)\b|\bLinux version \d)"},
      {"kernel_oom_memcg", "cgroup_out_of_memory", Role::proof, 0.95,
       R"(oom-kill:constraint=CONSTRAINT_MEMCG\b.*?task=([^,]*),pid=(\d+))"},
      {"kernel_oom_host", "host_out_of_memory", Role::proof, 0.95,
       R"(oom-kill:constraint=CONSTRAINT_NONE\b.*?task=([^,]*),pid=(\d+))"},
      {"kernel_oom_node", "host_out_of_memory", Role::proof, 0.95,
       R"(oom-kill:constraint=CONSTRAINT_(?:CPUSET|MEMORY_POLICY)\b.*?task=([^,]*),pid=(\d+))"},
      {"kernel_oom_memcg_kill", "cgroup_out_of_memory", Role::proof, 0.95,
       R"(Memory cgroup out of memory: Kill(?:ed)? process (\d+)(?:, UID \d+,)? ?\(?([^)\s,]*))"},
      {"kernel_oom_host_kill", "host_out_of_memory", Role::proof, 0.95,
       R"(\bOut of memory(?: \([^)]*\))?: Kill(?:ed)? process (\d+)(?:, UID \d+,)? ?\(?([^)\s,]*))"},
      {"kernel_oom_killed_process", "host_out_of_memory", Role::proof, 0.85,
       R"(^(?:.*[\]:] )?Killed process (\d+)(?:, UID \d+,)? \(([^)]*)\).*(?:total-vm|anon-rss))"},
      {"kernel_oom_task_in", "cgroup_out_of_memory", Role::proof, 0.85,
       R"(Task in (\S+) killed as a result of limit of (\S+))"},
      {"kernel_oom_invoked", "host_out_of_memory", Role::proof, 0.7,
       R"(\b(\S+) invoked oom-killer: gfp_mask)"},
      {"kernel_oom_reaper", "host_out_of_memory", Role::proof, 0.8,
       R"(oom_reaper: reaped process (\d+) \(([^)]*)\))"},
      {"kernel_segfault", "segmentation_fault", Role::proof, 0.6,
       R"(\b(\S+)\[(\d+)\]: segfault at [0-9a-f]+ ip)"},
      {"kernel_invalid_opcode", "illegal_instruction", Role::proof, 0.9,
       R"(traps: (\S+)\[(\d+)\] trap invalid opcode)"},
      {"kernel_general_protection", "segmentation_fault", Role::proof, 0.6,
       R"(traps: (\S+)\[(\d+)\] general protection)"},
      {"kernel_xid_fatal", "gpu_fault", Role::proof, 0.92,
       R"(NVRM: Xid \([^)]*\): (48|61|62|63|64|74|79|92|94|95|119|120|121|122|123|136|140|143)\b)"},
      {"kernel_xid_program", "gpu_kernel_fault", Role::proof, 0.7,
       R"(NVRM: Xid \([^)]*\): (13|31|43|45|68|69)\b)"},
      {"kernel_fell_off_bus", "gpu_fault", Role::proof, 0.95,
       R"(fallen off the bus\b|NVRM: .*(?:RmInitAdapter failed|Cannot attach gpu))"},
      {"kernel_mce", "host_hardware_fault", Role::note, 0.3,
       R"(mce: \[Hardware Error\]: Machine check)"},
      {"kernel_bad_memory", "host_hardware_fault", Role::proof, 0.9,
       R"(\[Hardware Error\]: .*(?:memory error|multi-bit ECC)|due to hardware memory corruption|Memory failure: 0x\w+: (?:Sending|Killing)|EDAC \S+ (?:\d+ )?UE\b|MCE: Killing|Uncorrected (?:hardware )?(?:memory )?error)"},
      {"kernel_machine_check", "host_hardware_fault", Role::proof, 0.9,
       R"(Machine Check Exception: \d|Fatal (?:machine check|hardware error)|Uncorrect(?:able|ed) (?:ECC|[Mm]emory|machine check|PCI Express)(?: \w+)? ?\| ?Asserted|\| (?:IERR|CATERR|Thermal Trip|Bus (?:Fatal|Uncorrectable) [Ee]rror|Fatal NMI) ?\| ?Asserted)"},
      // `last -x` of a host that went down without a shutdown.
      {"host_crashed", "host_hardware_fault", Role::symptom, 0.55,
       R"(^reboot +system boot .* - crash)"},
      {"kernel_panic", "host_hardware_fault", Role::symptom, 0.5,
       R"(Kernel panic - not syncing|watchdog: BUG: soft lockup|NMI watchdog: Watchdog detected hard LOCKUP)"},
      {"kernel_thermal", "host_hardware_fault", Role::proof, 0.85,
       R"(critical temperature reached|[Rr]eached critical temperature)"},
      {"kernel_fork_pids", "process_limit", Role::proof, 0.9,
       R"(cgroup: fork rejected by pids controller in (\S+))"},
      {"kernel_io_error", "storage_failure", Role::proof, 0.75,
       R"((?:blk_update_request: (?:critical )?(?:I/O|medium) error|Buffer I/O error on dev|EXT4-fs error \(device|XFS \([^)]*\): .*(?:I/O error|Corruption)|critical (?:medium|target) error, dev))"},
      {"kernel_nfs", "storage_failure", Role::primary, 0.75,
       R"(nfs: server \S+ not responding, (?:still trying|timed out))"},
      {"kernel_link_down", "nccl_network", Role::primary, 0.75,
       R"(kernel: .*(?:mlx\d|ens|eth|bond|ixgbe|i40e|ice|bnxt)\S* .*Link (?:is )?[Dd]own)"},
      {"kernel_hung_task", "storage_failure", Role::symptom, 0.2,
       R"(INFO: task (\S+):(\d+) blocked for more than \d+ seconds)"},
  };
}

std::vector<SignatureRow> guard_rows() {
  return {
      {"systemd_oomd_kill", "userspace_oom_kill", Role::proof, 0.95,
       R"(systemd-oomd(?:\[\d+\])?: (?:Killed|Killing|Marked|Swept) \S+.*(?:memory used|memory pressure|due to|for killing))"},
      {"systemd_oomd_unit", "userspace_oom_kill", Role::proof, 0.95,
       R"(systemd-oomd killed (?:some|\d+) process)"},
      {"systemd_unit_oom", "cgroup_out_of_memory", Role::proof, 0.75,
       R"(A process of this unit has been killed by the OOM killer|Failed with result 'oom-kill'|The kernel OOM killer killed some processes in this unit)"},
      {"earlyoom_kill", "userspace_oom_kill", Role::proof, 0.95,
       R"re(sending SIG(?:TERM|KILL) to process (\d+)(?: uid \d+)? "([^"]*)": (?:oom_score|badness))re"},
      {"earlyoom_low", "userspace_oom_kill", Role::proof, 0.85,
       R"(low memory! at or below SIG(?:TERM|KILL) limits?)"},
      {"nohang_kill", "userspace_oom_kill", Role::proof, 0.9,
       R"(Sending (?:SIGTERM|SIGKILL) to the victim|Sending SIG(?:TERM|KILL) to \S+ \(pid|nohang(?:\[\d+\])?: .*corrective action)"},
      {"slurm_oom_event", "cgroup_out_of_memory", Role::proof, 0.96,
       R"((?i)detected [1-9]\d* oom[-_ ]kill event|\bOUT_OF_ME(?:MORY|\+) +\d+:\d+)"},
      {"slurm_task_oom", "cgroup_out_of_memory", Role::proof, 0.95,
       R"(srun: error: \S+: tasks? \S+: Out Of Memory|Some of (?:your|the step) processes may have been killed by the cgroup out-of-memory handler)"},
      {"slurm_exceeded_memory", "cgroup_out_of_memory", Role::proof, 0.95,
       R"(slurmstepd: error: .*(?:[Ee]xceeded (?:job|step) memory limit|exceeded memory limit)|(?:Job|StepId=\S+) exceeded memory limit)"},
      {"pbs_lsf_memory", "cgroup_out_of_memory", Role::proof, 0.93,
       R"(TERM_MEMLIMIT: job killed|PBS: job killed: (?:mem|vmem) \S+ exceeded limit|exceeded resource limit.*memory)"},
      {"slurm_time_limit", "time_limit", Role::proof, 0.96,
       R"((?:CANCELLED AT .*)?DUE TO TIME LIMIT|active (?:on the node )?longer than (?:the )?specified deadline|MaxRuntimeExceeded|\bTIMEOUT +\d+:\d+|TERM_RUNLIMIT: job killed|PBS: job killed: walltime|^timeout: sending signal \S+ to command|\b(?:Killed|Terminated) +timeout )"},
      {"slurm_preempted", "preempted_or_evicted", Role::proof, 0.95,
       R"(CANCELLED AT .*DUE TO (?:PREEMPTION|NODE FAILURE|JOB REQUEUE)|\bPREEMPTED +\d+:\d+|(?i:\bthe node was low on resource: (?:inodes|pid))|(?i:\bspot (?:instance )?(?:interruption|termination|reclaim)|interruption notice|preempt(?:ed|ion) (?:notice|notification|warning)|instance (?:is being|was|has been|will be) (?:preempted|terminated|reclaimed)))"},
      {"systemd_stop_timeout", "terminated_from_outside", Role::proof, 0.85,
       R"(State '[\w-]+' timed out\. (?:Killing|Terminating)|Killing process \d+ \([^)]*\) with signal SIGKILL)"},
      {"systemd_start_timeout", "health_check_failed", Role::primary, 0.85,
       R"(start operation timed out\. Terminating)"},
      {"systemd_timeout", "health_check_failed", Role::symptom, 0.6,
       R"(Failed with result 'timeout')"},
      {"slurm_cancelled", "terminated_from_outside", Role::symptom, 0.7,
       R"(slurmstepd: error: \*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT)"},
      // By a user's number: scancel. Slurm ends such a job by SIGTERM, then by SIGKILL.
      {"slurm_cancelled_by", "terminated_from_outside", Role::primary, 0.8, R"(\bCANCELLED by \d)"},
      {"kube_evicted_memory", "host_out_of_memory", Role::proof, 0.9,
       R"(The node was low on resource: memory|must evict pod\(s\) to reclaim" resourceName="memory|The node had condition: \[MemoryPressure\])"},
      {"kube_oom_killed", "cgroup_out_of_memory", Role::proof, 0.96,
       R"(\bOOMKilled["']?(?:$|[,}).;]|\s+[A-Za-z0-9(]|\s*[:=]\s*true))"},
      {"container_oom_words", "cgroup_out_of_memory", Role::proof, 0.9,
       R"((?i)container (?:was |has been )?oom[ -]?killed|\bcontainer oom [0-9a-f]|cgroup memory limit of .{0,40}exceeded|gone over memory limit of|memory usage exceeded (?:request_memory|the limit|its limit))"},
      {"ray_oom", "userspace_oom_kill", Role::proof, 0.9,
       R"(ray\.exceptions\.OutOfMemoryError|Workers? \(tasks / actors\) killed due to memory pressure|killed due to the node running low on memory|exceeds the memory usage threshold of \S+ Ray killed)"},
      {"colab_oom", "host_out_of_memory", Role::primary, 0.85,
       R"((?i)your session crashed after using all available RAM)"},
      {"docker_kill_event", "killed_by_other", Role::proof, 0.9,
       R"(container kill \S+ .*signal=(?:9|KILL|SIGKILL)\b)"},
      {"manual_kill", "killed_by_other", Role::proof, 0.94,
       R"(COMMAND=\S*kill.{0,40} -(?:9|KILL|SIGKILL)\b|COMMAND=\S*fuser -k|CMD \(.*kill -(?:9|KILL) |\$ (?:sudo )?kill -(?:9|KILL|SIGKILL) |^ *\d+ +(?:sudo )?kill -(?:9|KILL) \d|\$ (?:sudo )?pkill -(?:9|KILL|SIGKILL) |\w\[\d+\]: .{0,20}\bp?kill -(?:9|KILL|SIGKILL) |exe="/usr/bin/kill"|\bsyscall=(?:kill|62)\b.* a1=(?:SIGKILL|9)\b)"},
      {"reaper_kill", "killed_by_other", Role::primary, 0.8,
       R"(pid[ =:]*\d+ ?-> ?SIGKILL|(?i:\b(?:killed|killing|reaped|reaping)\b.{0,40}\bpid[ =:]*\d+.{0,40}(?:reservation|quota|policy|idle|owner|limit))|process reaper|\bterminated because it exceeded the limits for interactive|interactive process is killed if|failed to exit within \S+ of signal \S+ - using the force|did not (?:exit|stop) (?:with)?in .{0,20}(?:sending|using|resorting to) SIGKILL)"},
      {"docker_not_oom", "killed_by_other", Role::note, 0.1, R"("OOMKilled": ?false)"},
  };
}

// What shells, init systems and launchers print about an ended child.
std::vector<SignatureRow> exit_rows() {
  return {
      {"shell_killed", "host_out_of_memory", Role::symptom, 0.65,
       R"(\bsignal: killed\b|KILLED BY SIGNAL: 9\b|^\S*: line \d+: +\d+ Killed\b|^srun: error: \S+: tasks? \S+: Killed|^(?:\[\d+\]\s*[-+]?\s*)?\d*\s*(?i:killed)(?:\s+\S*(?:python|torchrun|sh|mpirun|cargo|paddle|nohup|CUDA|\./).*)?$|^zsh: killed\b)"},
      // Of bash and glibc in Chinese, Japanese, German, French, Russian, Spanish, Italian,
      // Portuguese, Polish and Korean.
      {"shell_killed_abroad", "host_out_of_memory", Role::symptom, 0.65,
       R"(^(?:\S+ ?: .{0,24}?\d+.{0,6}?[:：]? +\d+ +|\[\d+\]\s*[-+]?\s*\d*\s*)?(?:已杀死|已砍掉|强制终止|強制終了|Getötet|Processus arrêté|Убито|Terminado \(killed\)|Matado|Ucciso|Morto|Unicestwiony|Zabity|죽었음)(?:\s|$))"},
      {"compiler_killed", "host_out_of_memory", Role::symptom, 0.68,
       R"(Killed signal terminated program|internal compiler error: Killed)"},
      {"shell_segfault", "segmentation_fault", Role::symptom, 0.75,
       R"((?i)\bsegmentation fault(?:\s*\((?:core dumped|address|signal|11\))|$)|\(SIGSEGV\)|段错误|段錯誤|セグメンテーション違反|Speicherzugriffsfehler|Erreur de segmentation|Ошибка сегментирования|Violación de segmento|Errore di segmentazione|Falha de segmentação|Naruszenie ochrony pamięci|세그멘테이션)"},
      {"shell_bus_error", "shm_full", Role::symptom, 0.6,
       R"((?i)\bbus error(?:\s*\((?:core dumped|\d+|signal)|$)|\(SIGBUS\)|signal: Bus error|总线错误|バスエラー|Bus-Zugriffsfehler|Erreur du bus|Ошибка шины|Error del bus)"},
      {"shell_illegal_instruction", "illegal_instruction", Role::primary, 0.93,
       R"((?i)(?-i:illegal hardware instruction)|\billegal instruction(?:\s*\((?:core dumped|signal)|$|: \d)|\(SIGILL\)|Signals\.SIGILL|SIGILL|非法指令|无效指令|不正な命令|Ungültiger Maschinenbefehl|Instruction non permise|Недопустимая инструкция|Instrucción ilegal)"},
      {"shell_aborted", "aborted", Role::symptom, 0.5,
       R"((?i)\baborted\s*\((?:core dumped|6)\)|^Aborted$|: line \d+: +\d+ Aborted\b|\(SIGABRT\)|Signals\.SIGABRT|^(?:\S+: .{0,24}?\d+.{0,6}?[:：]? +\d+ +)?(?:已放弃|中止\b|Abgebrochen|Аварийный останов|Abandon\b|Abortado|Annullato)(?:\s|$|\())"},
      {"cpu_stat", "thread_oversubscription", Role::note, 0.6,
       R"(^nr_(?:periods|throttled) (\d+))"},
      {"sighup", "terminal_hangup", Role::primary, 0.9,
       R"(Received OS signal 'hangup'|`Hangup` is detected by the operating system|got signal: 1$|got signal: SIGHUP|\bReceived SIGHUP\b|death signal,? shutting down.*SIGHUP|Received (?:Signals\.SIGHUP|1) death signal|: line \d+: +\d+ Hangup\b|^Hangup$)"},
      {"sigint", "interrupted_by_user", Role::symptom, 0.6,
       R"(^(?:\S+: )?KeyboardInterrupt\b|^(?:\^C)?make(?:\[\d+\])?: \*\*\* .*\] Interrupt$|\b[Ee]xit (?:status|code)[ :=]+130$|got signal: 2$|Received (?:Signals\.SIGINT|2) death signal)"},
      {"sigterm_elastic", "terminated_from_outside", Role::symptom, 0.5,
       R"((?i:\b(?:got|received|caught) (?:\w+ )?(?:\w+ )?SIGTERM\b|(?:got|received|caught) signal:? 15\b)|Received (?:Signals\.SIGTERM|15) death signal)"},
      {"shell_terminated", "terminated_from_outside", Role::symptom, 0.5,
       R"(: line \d+: +\d+ Terminated\b|^Terminated$|^zsh: terminated\b|^\[\d+\]\s*[-+]?\s*\d*\s*[Tt]erminated\b|^已终止$|Force Terminated|[Rr]eceived terminat\w+ signal)"},
      {"closing_signal", "terminated_from_outside", Role::consequence, 0.2,
       R"(Sending process \d+ closing signal SIG|forcefully exiting via SIGKILL|Unable to shutdown process \d+ via)"},
      {"kills_the_rest", "terminated_from_outside", Role::consequence, 0.2,
       R"(Forcefully terminating all other processes|Received sigquit from a child process)"},
      {"mpi_child_exit", "process_failed", Role::generic, 0.4,
       R"(mpirun detected that one or more processes exited with non-zero status|Primary job +terminated normally, but \d+ process|MPI_ABORT was invoked on rank)"},
      {"command_not_found", "missing_file", Role::primary, 0.85,
       R"(: (?:command )?not found$|python3?: can't open file|execvp error on file|Could not find the program)"},
  };
}

// How launchers, shells, batch systems and init systems put a child's death by a signal: the same
// few phrases with every signal.
struct SignalRow {
  const char* id;
  const char* name;  // without SIG
  const char* cause;
  const char* also;  // an alternative of this signal's own, or ""
  double weight;
  int number;
  Role role;
};

constexpr SignalRow kSignals[] = {
    {"exit_sigkill", "KILL", "host_out_of_memory", "", 0.7, 9, Role::symptom},
    {"exit_sigbus", "BUS", "shm_full", "", 0.65, 7, Role::symptom},
    {"exit_sigsegv", "SEGV", "segmentation_fault", "|status_access_violation|0xc0000005", 0.7, 11,
     Role::symptom},
    {"exit_sigabrt", "ABRT", "aborted", "", 0.45, 6, Role::symptom},
    {"exit_sigill", "ILL", "illegal_instruction", "|status_illegal_instruction|0xc000001d", 0.85, 4,
     Role::symptom},
    {"exit_sigfpe", "FPE", "native_exception", "", 0.6, 8, Role::symptom},
    {"exit_sigterm", "TERM", "terminated_from_outside", "", 0.3, 15, Role::consequence},
};

// Phrases with the signal's number, its name, or the shell's 128 + number. The words stand in one
// group, because RE2 would factor their common starts into pieces too short for the prefilter.
std::string phrases(const SignalRow& signal) {
  constexpr const char* kPhrases =
      R"((?i)(?:exit code|exitcode|exit_code|exit status|exit value|return code|returncode|exited with code|exited with status|exited with|non-zero exit status)(?: is| was)?[^0-9A-Za-z-]*(?:-{number}|{shell})\b)"
      R"(|(?:by|on|with|to|due to|got|received|caught) (?:an? )?(?:unhandled |fatal |death )?signal[ :(]+{number}\b)"
      R"(|(?:by|on|with|sent|via|due to) (?:an? )?(?:unhandled |fatal )?(?:signal[ :]+)?\[?sig{name}\b|\*\*\* .{{0,80}}error {shell}\b)"
      R"(|died with <signals\.sig{name}|\(sig{name}\)|sig{name}\(-{number}\)|\bsignal: {number}, sig{name}\b)"
      R"(|status={number}/{name}\b{also})";
  return fmt::format(kPhrases, fmt::arg("number", signal.number),
                     fmt::arg("shell", 128 + signal.number), fmt::arg("name", signal.name),
                     fmt::arg("also", signal.also));
}

std::vector<SignatureRow> signal_rows() {
  static std::deque<std::string> patterns;  // the rows point into it
  std::vector<SignatureRow> rows;
  for (const SignalRow& signal : kSignals) {
    patterns.push_back(phrases(signal));
    rows.push_back({signal.id, signal.cause, signal.role, signal.weight, patterns.back().c_str()});
  }
  return rows;
}

std::vector<SignatureRow> pod_rows() {
  return {
      {"kube_storage_limit", "storage_limit_evicted", Role::proof, 0.95,
       R"(ephemeral local storage usage exceeds the total limit|exceeded its local ephemeral storage limit|low on resource: ephemeral-storage|must evict pod\(s\) to reclaim" resourceName="(?:ephemeral|nodefs)|Usage of EmptyDir volume .* exceeds the limit)"},
      {"kube_liveness", "health_check_failed", Role::primary, 0.85,
       R"(failed (?:liveness|startup) probe, will be restarted|failed the health check \d+ times|failed (?:ELB|container) health checks|(?i:unhealthy).{0,60}(?:restarting|killing|replacing))"},
      {"kube_probe_failed", "health_check_failed", Role::symptom, 0.4,
       R"((?:Liveness|Startup) probe failed|Health check exceeded timeout)"},
      {"kube_backoff", "process_failed", Role::generic, 0.4,
       R"(Back-off restarting failed container|CrashLoopBackOff)"},
      {"kube_image", "image_pull_failed", Role::primary, 0.86,
       R"(ImagePullBackOff|ErrImagePull|Failed to pull image|failed to pull and unpack image|manifest (?:for \S+ not found|unknown)|repository does not exist|InvalidImageName|ErrImageNeverPull|no matching manifest for|unable to retrieve some image pull secrets)"},
      {"kube_pulled", "image_pull_failed", Role::note, 0.05,
       R"(Successfully pulled image|Container image .* already present|Downloaded newer image|Image is up to date)"},
      {"no_gpu_runtime", "no_gpu_visible", Role::primary, 0.9,
       R"(could not select device driver|[Uu]nknown runtime specified nvidia|unknown or invalid runtime name: nvidia)"},
      {"container_setup", "container_setup_failed", Role::primary, 0.85,
       R"(CreateContainerConfigError|CreateContainerError|RunContainerError|(?:secret|configmap|persistentvolumeclaim) "[^"]+" not found|couldn't find key \S+ in (?:Secret|ConfigMap)|[Ee]xec format error|OCI runtime create failed|failed to create shim task|FailedCreatePodSandBox|executable file not found in \$PATH|no matching entries in passwd|exec /\S+: no such file|unbound immediate PersistentVolumeClaims)"},
      {"controller_not_delegated", "container_setup_failed", Role::primary, 0.93,
       R"(cgroup controller .{0,24}is not available|controller [`'"]?\w+[`'"]? is not available|cgroup\.subtree_control.{0,80}(?i:no such file|permission denied|not supported|invalid argument|busy)|cannot (?:specify|set) (?:resource )?limits without cgroups|[Rr]esource limits are not supported and ignored on cgroups V1 rootless)"},
      {"pod_mount", "container_setup_failed", Role::primary, 0.85,
       R"(MountVolume\.\w+ failed|Unable to attach or mount volumes|FailedAttachVolume|Multi-Attach error)"},
      // The kubelet pulls after it has mounted.
      {"kube_pulling", "container_setup_failed", Role::note, 0.05,
       R"(Pulling image "|Container image .* already present|Started container )"},
      {"no_place", "not_scheduled", Role::primary, 0.8,
       R"(exceeded quota: |UnexpectedAdmissionError|Requested node configuration is not available|QOSMax\w+|AssocGrp\w+Limit|Unable to allocate resources: |Unable to create step for job|More processors requested than permitted|Batch job submission failed)"},
      {"kube_no_gpu", "not_scheduled", Role::primary, 0.85,
       R"(Insufficient (?:nvidia\.com/gpu|amd\.com/gpu|nvidia\.com/mig))"},
      {"kube_unschedulable", "not_scheduled", Role::symptom, 0.5,
       R"(nodes are available: .*(?:Insufficient (?:memory|cpu)|untolerated taint|didn't match|unschedulable|had no available))"},
      {"kube_scheduled", "preempted_or_evicted", Role::note, 0.1,
       R"(Successfully assigned \S+ to|Started container)"},
      {"kube_preempted", "preempted_or_evicted", Role::proof, 0.9,
       R"(Preempted by (?:pod )?\S+ on node|TaintManagerEviction|DeletionByTaintManager|NodeShutdown|Pod was terminated in response to imminent node shutdown|Warning +NodeNotReady|Marking for deletion Pod|DisruptionTarget +True)"},
      // The limit was reached only if "oom" grew; oom_kill counts kills by whatever killer.
      {"cgroup_never_full", "host_out_of_memory", Role::note, 0.05, R"(^oom 0$)"},
      {"cgroup_events_oom", "cgroup_out_of_memory", Role::proof, 0.85,
       R"(^oom_kill [1-9]\d*$|^under_oom 1$)"},
      {"srun_node_failed", "preempted_or_evicted", Role::proof, 0.9,
       R"(srun: error: Node failure on|NODE_FAIL\b|\b[Nn]odes? \S+ (?:is )?not responding, (?:setting|job killed))"},
      {"elastic_heartbeat", "peer_lost", Role::primary, 0.83,
       R"(failed to send a keep-alive heartbeat to the rendezvous|has failed to shutdown the rendezvous)"},
  };
}

std::vector<SignatureRow> storage_rows() {
  return {
      {"kernel_nfs_ok", "storage_failure", Role::note, 0.1, R"(nfs: server \S+ OK)"},
      {"kernel_lustre", "storage_failure", Role::primary, 0.85,
       R"(LustreError: .*(?:failed: rc = -1\d\d|This client was evicted|rc -1[01]\d)|beegfs: .*Communication error|mmfs: .*(?:lost|Disk failure)|Lustre: .*(?:Connection to \S+ .*was lost|Request sent has (?:failed|timed out)))"},
      {"kernel_ceph", "storage_failure", Role::primary, 0.85,
       R"((?:libceph|ceph): .*(?:mds\d+ (?:hung|caps stale|reconnect denied|closed our session|session (?:lost|blocklisted|blacklisted))|osd\d+ (?:down|.*socket closed)|mon\d+ .*session lost)|Health check failed: .*\b(?:osds?|mons?|mds|data availability|slow ops)|\d+ slow (?:requests|ops)\b)"},
      {"eshutdown", "storage_failure", Role::primary, 0.85,
       R"(\[Errno 108\]|Cannot send after transport endpoint shutdown|\[Errno 110\] Connection timed out: '/|\[Errno 121\] Remote I/O error|\[Errno 112\] Host is down: '/)"},
      {"mount_refused", "permission_denied", Role::primary, 0.9,
       R"(mount\.nfs\S*: access denied|access denied by server while mounting)"},
      {"mount_failed", "storage_failure", Role::primary, 0.9,
       R"(mount\.(?:nfs|cifs|lustre|ceph)\S*: .*(?:timed out|refused|No route|error|not responding)|Remounting filesystem read-only|EXT4-fs .*Remounting|re-mounted\. .*\bro\b)"},
      {"fuse_lost", "storage_failure", Role::primary, 0.8,
       R"(Transport endpoint is not connected|\[Errno 107\]|Software caused connection abort: '/)"},
  };
}

std::vector<SignatureRow> card_rows() {
  return {
      {"kernel_xid_link", "gpu_fault", Role::proof, 0.92,
       R"(NVRM: Xid \([^)]*\): (1(?:44|45|46|47|48|49|50|54|56|58|60))\b)"},
      {"pcie_limited", "pcie_link_slow", Role::note, 0.75,
       R"(available PCIe bandwidth, limited by|LnkSta:.*Width x\d+ \(downgraded\)|Link Width Current *: \d+x \(of \d+x\)|pcie\.link\.width\.current: \d+ \(of \d+\))"},
      {"card_throttled", "gpu_throttled", Role::note, 0.75,
       R"((?:HW|SW|Hardware|Software) (?:Thermal |Power Brake |Power Cap )?Slowdown *: Active|Thermal Slowdown *: Active|Slowdown due to (?:thermal|power)|clocks_(?:throttle|event)_reasons\.(?:hw|sw)_\w*slowdown\W{0,20}Active)"},
      {"card_power_cap", "gpu_throttled", Role::note, 0.4,
       R"(SW Power Cap *: Active|clocks_(?:throttle|event)_reasons\.sw_power_cap\W{0,20}Active)"},
      {"cpu_throttled", "cpu_throttled", Role::note, 0.3,
       R"(temperature (?:is )?above threshold, cpu clock (?:is )?throttled)"},
      {"smi_process", "gpu_busy", Role::note, 0.05,
       R"(\| +\d+ +(?:N/A +N/A +)?(\d+) +[CG](?:\+[CG])? +(\S.*?) +(\d+)MiB \|)"},
      {"kernel_amdgpu", "gpu_fault", Role::proof, 0.9,
       R"(amdgpu: (?:ring \S+ timeout|GPU reset begin|.*[Uu]ncorrectable))"},
      {"kernel_sxid", "gpu_fault", Role::proof, 0.85, R"(SXid \([^)]*\): \d+, Fatal)"},
      {"card_counts_errors", "gpu_fault", Role::symptom, 0.6,
       R"((?:DRAM|SRAM|Aggregate|Volatile) Uncorrectable(?: \w+)* *: [1-9]|Double Bit ECC *: [1-9]|Uncorrectable Error *: Yes)"},
      {"kernel_iommu", "nccl_p2p_broken", Role::primary, 0.75,
       R"((?:nvidia|NVRM).{0,60}IO_PAGE_FAULT|DMAR: .*DMA (?:Read|Write).* fault addr)"},
      {"pcie_fatal", "gpu_fault", Role::symptom, 0.6,
       R"(PCIe Bus Error: severity=Uncorrect\w+|AER: Uncorrected \(Fatal\))"},
      {"device_lost", "gpu_fault", Role::symptom, 0.6,
       R"(VK_ERROR_DEVICE_LOST|ERROR_DEVICE_LOST|[Dd]evice (?:is |was )?lost\b|context is lost\b|hipErrorLaunchFailure)"},
      {"kernel_xid_after", "gpu_fault", Role::proof, 0.9, R"(caused by previous Xid (\d+))"},
      {"row_remap_failed", "gpu_fault", Role::proof, 0.9,
       R"(Remapping Failure Occurred +: Yes|[Rr]ow [Rr]emapp\w+ [Ff]ailure|Row remapping failed)"},
      {"row_remap_pending", "gpu_fault", Role::symptom, 0.5,
       R"(marked for remapping, reset gpu|Pending Page Blacklist +: Yes)"},
      {"nccl_diag_p2p", "nccl_p2p_broken", Role::primary, 0.9,
       R"(NCCL DIAG \[INFO\] p2p: (?:(?:only )?\d+/\d+ |.*(?:mismatch|import failed|check failed|unavailable|timed out)))"},
      {"nccl_diag_net", "nccl_network", Role::symptom, 0.5,
       R"(NCCL DIAG \[INFO\] net bw: .*(?:failed|timed out|off median))"},
      {"ras_mismatch", "communication_stall", Role::symptom, 0.75,
       R"(Communicator ranks have different \w+ operation counts|\d+ ranks have launched up to operation)"},
      {"ras_dead", "peer_lost", Role::symptom, 0.7,
       R"(Missing communicator data from \d+ job process|job process(?:es)? (?:is|are) considered dead)"},
  };
}

// What holds the other ranks up: all of these run on one rank alone in common trainers.
std::vector<SignatureRow> activity_rows() {
  return {
      {"busy_evaluation", "rank_busy_alone", Role::activity, 0.8,
       R"(eval model:: +\d{1,2}%|\beval: +\d{1,2}%\||\b(?:validation|validating|evaluation|evaluating):? +\d{1,2}%\||(?i:(?:starting|running|beginning) (?:the )?(?:full )?(?:validation|evaluation)|(?:validat|evaluat)\w*[ _]on[ _]rank[ _]?(?:0|zero)|(?:other|all other) ranks wait|(?:validation|evaluation|validating|evaluating)\b.{0,60} \d{1,2} ?%|\bval .{0,60}\d% done))"},
      {"busy_checkpoint", "rank_busy_alone", Role::activity, 0.75,
       R"((?i)(?:saving|writing|uploading|serialising|serializing) (?:the )?(?:model |full |optimizer )?(?:checkpoint|snapshot|weights|state|model to)|checkpoint (?:written|saved|uploaded) in \d)"},
      {"busy_index", "rank_busy_alone", Role::activity, 0.75,
       R"((?i)(?:building|scanning|creating|generating|computing|caching|indexing|tokenizing|tokenising|preprocessing|downloading|extracting|copying) .{0,60}(?:index|labels?|files?|lmdb|dataset|samples?|images|cache|shards?|archive)|\bindexed \d|(?:index|cache|manifest|vocabulary|label list)\b.{0,60}(?:building it|creating it|rebuilding|being built|not found, build\w+)|(?:index|cache):? +[\d.]+ ?[kM]? ?(?:/|of) ?[\d.]+|\b(?:fetching|downloading|pulling) .{0,80}\d ?[KMGT]i?B\b|\b(?:preparing|building|scanning|caching|indexing|extracting) .{0,60}: +\d{1,3}%\||^Running \w+ on dataset|\b(?:once|only|alone),? (?:by|on|in|for)? ?(?:the )?global rank[ _]?(?:zero|0)\b|skip_first_batches|[Ss]kipping (?:the )?(?:first )?\d+ batches)"},
      {"busy_compile", "rank_busy_alone", Role::activity, 0.7,
       R"((?i)\bwaiting for (?:a |the )?(?:file ?)?lock\b|\b(?:compiling|autotuning|warming up|quantizing|exporting|converting|merging|verifying|hashing|uploading) .{0,60}(?:kernels?|engine|model|checksums?|onnx|tensorrt|graph|files|shards|predictions))"},
      {"skipped_step", "rank_mismatch", Role::activity, 0.75,
       R"((?i)(?:batch|sample|loss)\b.{0,40}(?:\bempty|has no |\bNone\b|not finite).{0,40}skipp(?:ed|ing)|skipp(?:ed|ing).{0,40}(?:\bempty|on (?:this rank|rank \d))|no backward|(?:loader|iterator|dataset|shard)s? (?:is |was )?(?:exhausted|ended early|ran out)|ran out of (?:data|batches|samples))"},
  };
}

}  // namespace

std::vector<SignatureRow> system_signatures() {
  std::vector<SignatureRow> rows;
  for (auto& part : {kernel_rows(), guard_rows(), exit_rows(), signal_rows(), pod_rows(),
                     storage_rows(), card_rows(), activity_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace ocrtune
