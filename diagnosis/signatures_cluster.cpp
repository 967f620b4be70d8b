// Lines that tell about a cluster: pods and their events, network file systems, the health of
// cards, NCCL's own checks, and what a rank did while others waited for it.
// Sources: kubelet's eviction manager, the kernel's nfs, lustre and ceph clients, NVIDIA's Xid
// catalogue, NCCL 2.24 to 2.31 (RAS and active diagnostics).
#include "diagnosis/signatures.h"

namespace ocrtune {

std::vector<SignatureRow> cluster_signatures();

namespace {

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
      {"container_setup", "container_setup_failed", Role::primary, 0.85,
       R"(CreateContainerConfigError|CreateContainerError|RunContainerError|(?:secret|configmap|persistentvolumeclaim) "[^"]+" not found|couldn't find key \S+ in (?:Secret|ConfigMap)|MountVolume\.\w+ failed|Unable to attach or mount volumes|FailedAttachVolume|Multi-Attach error|[Ee]xec format error|OCI runtime create failed|failed to create shim task|FailedCreatePodSandBox|executable file not found in \$PATH|no matching entries in passwd|exec /\S+: no such file|unbound immediate PersistentVolumeClaims)"},
      {"no_place", "not_scheduled", Role::primary, 0.8,
       R"(exceeded quota: |UnexpectedAdmissionError|Requested node configuration is not available|QOSMax\w+|AssocGrp\w+Limit|Unable to allocate resources: |Unable to create step for job|More processors requested than permitted|Batch job submission failed)"},
      {"kube_no_gpu", "not_scheduled", Role::primary, 0.85,
       R"(Insufficient (?:nvidia\.com/gpu|amd\.com/gpu|nvidia\.com/mig))"},
      {"kube_unschedulable", "not_scheduled", Role::symptom, 0.5,
       R"(nodes are available: .*(?:Insufficient (?:memory|cpu)|untolerated taint|didn't match|unschedulable|had no available))"},
      {"kube_scheduled", "preempted_or_evicted", Role::note, 0.1,
       R"(Successfully assigned \S+ to|Started container)"},
      {"kube_preempted", "preempted_or_evicted", Role::proof, 0.9,
       R"(Preempted by (?:pod )?\S+ on node|TaintManagerEviction|DeletionByTaintManager|NodeShutdown|Pod was terminated in response to imminent node shutdown)"},
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
       R"(mount\.(?:nfs|cifs|lustre|ceph)\S*: .*(?:timed out|refused|No route|error|not responding)|Remounting filesystem read-only)"},
      {"fuse_lost", "storage_failure", Role::primary, 0.8,
       R"(Transport endpoint is not connected|\[Errno 107\]|Software caused connection abort: '/)"},
  };
}

std::vector<SignatureRow> card_rows() {
  return {
      {"kernel_xid_link", "gpu_fault", Role::proof, 0.92,
       R"(NVRM: Xid \([^)]*\): (1(?:44|45|46|47|48|49|50|54|56|58|60))\b)"},
      {"kernel_amdgpu", "gpu_fault", Role::proof, 0.9,
       R"(amdgpu: (?:ring \S+ timeout|GPU reset begin|.*[Uu]ncorrectable))"},
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
       R"(eval model:: +\d{1,2}%|(?i:(?:starting|running|beginning) (?:the )?(?:full )?(?:validation|evaluation)|(?:validation|evaluation) on rank 0|(?:validation|evaluation|validating|evaluating)\b.{0,60} \d{1,2} ?%|\bval .{0,60}\d% done))"},
      {"busy_checkpoint", "rank_busy_alone", Role::activity, 0.75,
       R"((?i)(?:saving|writing|uploading|serialising|serializing) (?:the )?(?:model |full |optimizer )?(?:checkpoint|snapshot|weights|state|model to)|checkpoint (?:written|saved|uploaded) in \d)"},
      {"busy_index", "rank_busy_alone", Role::activity, 0.75,
       R"((?i)(?:building|scanning|creating|generating|computing|caching|indexing|tokenizing|tokenising|preprocessing|downloading|extracting|copying) .{0,60}(?:index|labels?|files?|lmdb|dataset|samples?|images|cache|shards?|archive)|\bindexed \d|(?:index|cache|manifest|vocabulary|label list)\b.{0,60}(?:building it|creating it|rebuilding|being built|not found, build\w+)|(?:index|cache):? +[\d.]+ ?[kM]? ?(?:/|of) ?[\d.]+|\b(?:fetching|downloading|pulling) .{0,80}\d ?[KMGT]i?B\b)"},
      {"busy_compile", "rank_busy_alone", Role::activity, 0.7,
       R"((?i)\bwaiting for (?:a |the )?(?:file ?)?lock\b|\b(?:compiling|autotuning|warming up|quantizing|exporting|converting|merging|verifying|hashing|uploading) .{0,60}(?:kernels?|engine|model|checksums?|onnx|tensorrt|graph|files|shards|predictions))"},
      {"skipped_step", "rank_mismatch", Role::activity, 0.75,
       R"((?i)(?:batch|sample|loss)\b.{0,40}(?:\bempty|has no |\bNone\b|not finite).{0,40}skipp(?:ed|ing)|skipp(?:ed|ing).{0,40}(?:\bempty|on (?:this rank|rank \d))|no backward|(?:loader|iterator|dataset|shard)s? (?:is |was )?(?:exhausted|ended early|ran out)|ran out of (?:data|batches|samples))"},
  };
}

}  // namespace

std::vector<SignatureRow> cluster_signatures() {
  std::vector<SignatureRow> rows;
  for (auto& part : {pod_rows(), storage_rows(), card_rows(), activity_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace ocrtune
