// Lines of PyTorch, NCCL, gloo, MPI and the CUDA runtime.
#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

std::vector<SignatureRow> torch_signatures();

namespace {

std::vector<SignatureRow> torch_loader_rows() {
  return {
      {"lightning_profile", "data_loading_bound", Role::note, 0.75,
       R"(train_dataloader_next\s*\|.*\|\s*([0-9.]+)\s*\|\s*$)"},
      {"torch_worker_sigkill", "host_out_of_memory", Role::primary, 0.8,
       R"(DataLoader worker \(pid\(?s?\)? ?(\d+)\) is killed by signal: (?:Killed|9|已杀死))"},
      {"torch_worker_sigbus", "shm_full", Role::primary, 0.92,
       R"(DataLoader worker \(pid\(?s?\)? ?(\d+)\) is killed by signal: (?:Bus error|总线错误))"},
      {"torch_worker_sigsegv", "segmentation_fault", Role::primary, 0.75,
       R"(DataLoader worker \(pid\(?s?\)? ?(\d+)\) is killed by signal: (?:Segmentation fault|段错误))"},
      {"torch_worker_sigabrt", "aborted", Role::primary, 0.55,
       R"(DataLoader worker \(pid\(?s?\)? ?(\d+)\) is killed by signal: Aborted)"},
      {"torch_worker_sigill", "illegal_instruction", Role::primary, 0.93,
       R"(DataLoader worker \(pid\(?s?\)? ?(\d+)\) is killed by signal: Illegal instruction)"},
      {"torch_worker_terminated", "terminated_from_outside", Role::consequence, 0.3,
       R"(DataLoader worker \(pid\(?s?\)? ?(\d+)\) is killed by signal: (?:Terminated|Hangup|Interrupt))"},
      {"torch_worker_exit_code", "loader_worker_failed", Role::primary, 0.6,
       R"(DataLoader worker \(pid \d+\) exited unexpectedly with exit code [1-9])"},
      {"torch_worker_exit", "loader_worker_failed", Role::symptom, 0.5,
       R"(DataLoader worker \(pid\(?s?\)?\s*([\d, ]+)\) exited unexpectedly)"},
      {"torch_worker_traceback", "loader_worker_failed", Role::generic, 0.15,
       R"(Caught (\w+) in DataLoader worker process (\d+))"},
      {"torch_loader_timeout", "loader_timeout", Role::primary, 0.75,
       R"(DataLoader timed out after [\d.]+ seconds)"},
      {"torch_worker_count", "thread_oversubscription", Role::note, 0.3,
       R"(This DataLoader will create \d+ worker processes in total)"},
      {"torch_shm_object", "shm_full", Role::primary, 0.85,
       R"(unable to (?:mmap|write to file|open shared memory object|resize) .*?(?:/torch_|torch_)\S*.*(?:Cannot allocate memory|No space left|Read-only|: No such file)|unable to write to file </torch_)"},
      {"torch_shm_fds", "too_many_open_files", Role::primary, 0.85,
       R"(received \d+ items of ancdata|unable to open shared memory object .*Too many open files)"},
  };
}

std::vector<SignatureRow> torch_memory_rows() {
  return {
      {"torch_gpu_oom", "gpu_out_of_memory", Role::primary, 0.95,
       R"(failed to allocate (?:CUDA|Vulkan|Metal)\d* buffer|UR_RESULT_ERROR_OUT_OF_(?:DEVICE_MEMORY|RESOURCES)|(?:CUDA|HIP|[NX]PU|MLU|MUSA) out of memory|显存(?:不足|已满|溢出)|GPU 内存不足|Device\(id:\d+\) memory isn't enough|torch\.(?:cuda\.)?OutOfMemoryError|MPS backend out of memory)"},
      {"cuda_oom", "gpu_out_of_memory", Role::primary, 0.9,
       R"(cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|C(?:UDA|uda) (?:error|driver error|failure)(?:[^:]*:)? ?(?:2 )?'?out of memory|cudaMalloc failed: out of memory|DriverError\(CUDA_ERROR_OUT_OF_MEMORY)"},
      {"cublas_alloc", "gpu_out_of_memory", Role::primary, 0.6, R"(CUBLAS_STATUS_ALLOC_FAILED)"},
      {"tensorrt_oom", "gpu_out_of_memory", Role::primary, 0.8,
       R"(\[TRT\].*(?:OutOfMemory|out of memory)|Error Code \d+: OutOfMemory|Requested amount of GPU memory \(\d+ bytes\) could not be allocated)"},
      {"onnxruntime_oom", "gpu_out_of_memory", Role::primary, 0.75,
       R"(onnxruntime.*(?:Failed to allocate memory for requested buffer of size|BFCArena|CUDA failure 2))"},
      {"tf_oom", "gpu_out_of_memory", Role::primary, 0.7,
       R"(OOM when allocating tensor|RESOURCE_EXHAUSTED: |failed to allocate .* from device: CUDA_ERROR_OUT_OF_MEMORY)"},
      {"wgpu_oom", "gpu_out_of_memory", Role::primary, 0.85,
       R"(wgpu error: Out of Memory|[Nn]ot enough memory left|failed to reserve \d+ bytes of device memory|BufferTooBig|can't allocate buffer of size)"},
      {"gpu_oom_words", "gpu_out_of_memory", Role::symptom, 0.7,
       R"((?i)(?:cuda|gpu|vulkan|vk_|hip|cupy|device).{0,60}out[ _]of[ _](?:device[ _])?memory)"},
      {"torch_cpu_alloc", "host_allocation_failed", Role::primary, 0.93,
       R"(DefaultCPUAllocator: (?:can't|not enough memory)|not enough memory: you tried to allocate)"},
  };
}

std::vector<SignatureRow> nccl_rows() {
  return {
      {"nccl_unhandled", "nccl_error", Role::symptom, 0.8,
       R"(ncclSystemError|ncclUnhandledCudaError|ncclInternalError|ncclInvalidUsage|ncclInvalidArgument|NCCL error in:|NCCL_ERROR: |NCCL Error \d+: |Test NCCL failure|DistBackendError: NCCL error)"},
      {"nccl_remote", "peer_lost", Role::symptom, 0.6,
       R"(ncclRemoteError|[Cc]onnection closed by (?:remote )?peer|socketProgress: Connection closed|Call to recv from \S+ failed : (?:Connection|Broken)|NET/IB : Got completion (?:from|with) .*(?:error|status|err)=?\s?12|remote process (?:exiting|has exited))"},
      {"nccl_duplicate", "duplicate_gpu", Role::primary, 0.96, R"(Duplicate GPU detected ?:)"},
      {"nccl_version_line", "nccl_version_mismatch", Role::note, 0.05,
       R"(NCCL version (\d+\.\d+\.\d+))"},
      {"nccl_truncated", "rank_mismatch", Role::symptom, 0.6,
       R"([Mm]essage truncated ?: receiv\w+ \d+ bytes instead of)"},
      {"flight_missing", "rank_mismatch", Role::symptom, 0.6,
       R"(Not all ranks joining collective|(?:missing|absent) ranks: [\[{])"},
      {"nccl_version", "nccl_version_mismatch", Role::primary, 0.88,
       R"(Mismatched NCCL version detected|NCCL version mismatch|[Mm]ismatched? .*NCCL version|different NCCL versions)"},
      {"nccl_no_interface", "nccl_network", Role::primary, 0.93,
       R"((?:Bootstrap|NET/Socket) ?: no (?:socket )?interface found|No interface found (?:in|starting with|for)|Unable to find (?:address|interface) for:? \S+|Invalid NCCL_SOCKET_IFNAME)"},
      {"nccl_connect", "nccl_network", Role::primary, 0.72,
       R"((?:socketStartConnect|ncclSocketConnect|Net ?: Connect|NET/Socket ?: Connect|socketPollConnect|Call to connect).*(?:failed|timeout|refused|No route|unreachable|timed out))"},
      {"nccl_ib", "nccl_network", Role::primary, 0.75,
       R"(NET/IB ?: (?:.*(?:Call to ibv_\w+ failed|error|Unable to open))|ibv_(?:modify_qp|reg_mr|create_qp|poll_cq)\S* failed|Call to ibv_\w+ failed)"},
      {"nccl_ib_completion", "nccl_network", Role::primary, 0.85,
       R"(NET/IB ?: Got completion from .*status=(?:[1-9]|IBV_WC_\w*ERR)|got completion with error|Transport retry count exceeded|NET/OFI .*(?:completed with error|[Uu]nresponsive)|UCX +ERROR .*(?:timeout|timed out|unreachable))"},
      {"nccl_shm", "shm_full", Role::primary, 0.93,
       R"([Ee]rror while creating shared memory segment|Call to (?:posix_fallocate|ftruncate|shm_open) failed ?: No space left|Error: failed to extend \S*nccl-\S*|shm_open failed|ncclShmOpen.*(?:failed|No space))"},
      {"nccl_p2p_warn", "nccl_p2p_broken", Role::primary, 0.75,
       R"(peer access (?:is not supported|not enabled|could not be enabled|is already)|cudaErrorPeerAccess\w*|P2P is disabled between connected GPUs|transport/p2p\.cc:\d+ NCCL WARN|transport/p2p.*(?:failed|error)|Missing P2P connection|peer mapping resources exhausted|mapping of buffer object failed)"},
      {"nccl_async", "nccl_error", Role::symptom, 0.5,
       R"(NCCL WARN (?:Cuda failure|\[Service thread\]|Call to|Failed|Error)|ncclCommInitRank\w* failed|ncclCommAbort|NCCL communicator was aborted|ProcessGroupNCCL.*terminated with exception)"},
      {"nccl_watchdog", "collective_timeout", Role::symptom, 0.85,
       R"(Watchdog caught collective operation timeout|WorkNCCL\(.*\) ran for \d+ milliseconds before timing out|Some NCCL operations have failed or timed out|Timeout at NCCL work|WorkNCCL::checkTimeout|collective operation timeout: Work)"},
      {"horovod_stall", "collective_timeout", Role::at_end, 0.7,
       R"(waiting for remainder of ranks for more than)"},
      {"nccl_heartbeat", "collective_timeout", Role::symptom, 0.6,
       R"(Heartbeat monitor timed out|watchdog got stuck for \d+ seconds|Received a (?:global )?(?:dump|timeout) signal (?:from|due to))"},
      {"nccl_init_last", "nccl_init_hang", Role::at_end, 0.6,
       R"(NCCL INFO (?:Connected all (?:rings|trees)|Channel \d+/\d+ ?:|comm 0x\w+ rank \d+ nranks \d+.*Init START|Bootstrap ?: Using|Trees \[))"},
      {"torch_barrier_warning", "nccl_init_hang", Role::note, 0.2,
       R"(using GPU \d+ to perform barrier as devices used by this process are currently unknown)"},
      {"torch_mismatch", "rank_mismatch", Role::primary, 0.92,
       R"(Detected mismatch between collectives on ranks|Collectives differ in the following aspects|RuntimeError: Detected mismatch|[Mm]ismatch in collective)"},
      {"torch_shape_ranks", "rank_mismatch", Role::primary, 0.85,
       R"(DDP expects same model across all ranks|Params? .* (?:has|have) different (?:sizes|shapes) .*across|appears not to match (?:strides|sizes) of the same param in process 0|invalid (?:rank|world_?size)|rank \d+ is out of range|out of range for world|[Ww]orld size mismatch|(?:WORLD_SIZE|world size|ntasks\S*) .{0,60}does not match|rank .* (?:must be|should be) (?:less than|in) .*world|trainer_?id .*(?:out of range|>=))"},
      {"torch_unused", "unused_parameters", Role::primary, 0.93,
       R"(Expected to have finished reduction in the prior iteration|Expected to mark a variable ready only once|parameters (?:that )?were not used in producing loss|[Tt]here are unused parameters|Error happened, when parameter\[)"},
  };
}

std::vector<SignatureRow> rendezvous_rows() {
  return {
      {"gloo_timeout", "collective_timeout", Role::symptom, 0.85,
       R"(gloo::TimeoutException|TIMEOUT self_rank ?= ?(\d+) pair_rank ?= ?(\d+)|pair\.cc:\d+\] TIMEOUT|Timed out waiting \d+ms for (?:recv|send) operation to complete)"},
      {"hccl_timeout", "collective_timeout", Role::symptom, 0.8,
       R"(\bE[IJ]00(?:02|06)\b|Getting socket times out|notify wait.{0,20}(?:timeout|timed out))"},
      {"gloo_peer", "peer_lost", Role::symptom, 0.65,
       R"(pair\.cc:\d+\] (?:Connection closed by peer|[Rr]ead error|[Ww]rite error|Socket closed)|gloo::IoException|(?:Connection reset|Broken pipe|Connection closed) by peer \[)"},
      {"mpi_lost_daemon", "peer_lost", Role::primary, 0.8,
       R"((?:ORTE|PRTE|PMIx) has lost communication|lost communication with a remote daemon|marked (?:as )?dead\b|missed too many heartbeats|(?i:\bheartbeats? (?:from .{0,60})?(?:timed out|lost|missed)))"},
      {"mpi_no_daemon", "rendezvous_failed", Role::primary, 0.75,
       R"(unable to reliably start one or more daemons|Permission denied \(publickey|ssh: connect to host \S+ port \d+: |not reachable via ssh|\bssh\b.{0,80} exit status 255)"},
      {"ssh_host_key", "access_refused", Role::primary, 0.88,
       R"(REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed|Host key for \S+ has changed)"},
      {"gloo_mesh", "rendezvous_failed", Role::primary, 0.75,
       R"([Gg]loo connectFullMesh failed|gloo.*connect .*(?:Connection refused|timed out)|[Cc]onnect(?:ion)? \[\S+\]:\d+: Connection refused|SO_ERROR: Connection refused)"},
      {"gloo_interface", "nccl_network", Role::primary, 0.8,
       R"(Unable to (?:find|resolve) (?:interface|address|hostname)\b.*|makeDeviceForInterface\(\): unsupported gloo device|ifa != nullptr\. Unable to find)"},
      {"torch_store_timeout", "rendezvous_failed", Role::primary, 0.82,
       R"([Tt]he client socket has timed out after \d+ ?(?:s|ms) while trying to connect|RendezvousTimeoutError|RendezvousConnectionError|wait timeout after \d+ms, keys|Timed out after \d+ seconds waiting for clients|[Ss]ocket Timeout|Rendezvous\w* (?:failed|timed out)|RendezvousClosedError|store->get\('?\d+'?\) got error: (?:Socket Timeout|wait timeout))"},
      {"torch_store_joined", "rendezvous_failed", Role::primary, 0.85,
       R"(waiting for clients\. \d+/\d+ clients joined|in store based barrier on rank: \d+)"},
      {"torch_rank_twice", "rank_mismatch", Role::primary, 0.85,
       R"([Dd]uplicate rank \d+|rank \d+ (?:is|was) (?:already|registered twice)|rank must be unique)"},
      {"host_name", "rendezvous_failed", Role::symptom, 0.6,
       R"(Name or service not known|Temporary failure in name resolution|gai error: |No address associated with hostname|(?i:could not resolve host|(?:failed|unable|could not) to connect to \S+:\d+))"},
      {"torch_store_reset", "peer_lost", Role::symptom, 0.6,
       R"(store->get\(.*\) got error: (?:Connection reset|Broken pipe)|TCPStore\S* (?:recvValue|sendBytes)? ?failed|failed to recv, got 0 bytes|Failed to (?:recv|check|send).*TCPStore|got error: Connection reset by peer)"},
      {"port_in_use", "port_in_use", Role::primary, 0.95,
       R"((?i)address already in use|地址已在使用|only one usage of each socket address|只允许使用一次|EADDRINUSE|Errno 98\]|Errno 10048|port \d+ (?:is )?(?:already )?(?:in use|occupied|not available|was used)|port is already allocated|Cannot find empty port in range)"},
      {"address_elsewhere", "rendezvous_failed", Role::primary, 0.8,
       R"(EADDRNOTAVAIL|[Cc]annot assign requested address)"},
      {"env_missing_rank", "not_launched", Role::primary, 0.88,
       R"(environment variable (?:RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT|LOCAL_RANK) expected, but not set|KeyError: '(?:LOCAL_RANK|RANK|WORLD_SIZE|MASTER_ADDR|PADDLE_TRAINER_ID)'|[Dd]efault process group has not been initialized)"},
      {"elastic_failed", "process_failed", Role::generic, 0.3,
       R"(failed \(exitcode: [1-9]\d*\)|ChildFailedError|exitcode *: [1-9]\d*\b)"},
      {"spawn_signal", "process_failed", Role::generic, 0.4,
       R"(ProcessExitedException: process \d+ terminated with (?:signal|exit code)|ProcessRaisedException)"},
      {"pool_broken", "host_out_of_memory", Role::symptom, 0.5,
       R"(BrokenProcessPool|A process in the process pool was terminated abruptly|TerminatedWorkerError)"},
      {"semaphore_leak", "process_failed", Role::consequence, 0.05,
       R"(resource_tracker: There appear to be \d+ leaked)"},
      {"multiprocessing_eof", "peer_lost", Role::symptom, 0.3,
       R"(^(?:\S+ )?(?:EOFError$|ConnectionResetError: \[(?:Errno 104|WinError 10054)\]|BrokenPipeError: \[Errno 32\]|ConnectionRefusedError: \[Errno 111\]))"},
  };
}

std::vector<SignatureRow> cuda_rows() {
  return {
      {"cuda_unknown", "no_gpu_visible", Role::primary, 0.7,
       R"(CUDA unknown error - this may be due to an incorrectly set up environment)"},
      {"cuda_fabric", "no_gpu_visible", Role::primary, 0.85,
       R"(Error 802: |system not yet initialized|cudaErrorSystemNotReady|CUDA error\(802\))"},
      {"cuda_no_device", "no_gpu_visible", Role::primary, 0.9,
       R"(No Virtual GPU device found|failed to find an appropriate adapter|no CUDA-capable device is detected|No (?:CUDA|HIP|XPU) (?:GPUs|devices) are available|nvml error: driver not loaded|cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE|Found no NVIDIA driver on your system|NVIDIA-SMI has failed|CUDA error\(100\)|Failed to initialize NVML|libcuda\.so\S*: cannot open shared object|dynamically load the "cuda" shared library|no suitable adapter found|No possible adapter available|no ROCm-capable device|^No devices were found|nvidia-container-cli: initialization error)"},
      {"cuda_bad_ordinal", "gpu_id_invalid", Role::primary, 0.93,
       R"(invalid device ordinal|is larger than the number of available GPUs|cudaErrorInvalidDevice|Attempting to deserialize object on CUDA device \d+|Invalid device id|CUDA error\(101\)|device < num_gpus|[Bb]ut your machine only has: \[)"},
      {"torch_no_cuda", "cpu_wheel_with_gpu", Role::primary, 0.93,
       R"(Torch not compiled with CUDA enabled|torch\.cuda\.is_available\(\) is False|without ATen_cuda library|Could not run '\S+' with arguments from the 'CUDA' backend|built without CUDA)"},
      // torch.__version__, torch.version.cuda and torch.cuda.is_available(), as people print them.
      {"torch_cpu_version", "cpu_wheel_with_gpu", Role::symptom, 0.6,
       R"(\b\d+\.\d+\.\d+\+cpu (?:None )?False$)"},
      {"onnx_no_cuda", "cpu_wheel_with_gpu", Role::symptom, 0.55,
       R"(Specified provider '(?:CUDA|Tensorrt|ROCM)ExecutionProvider' is not in available provider names)"},
      {"cuda_driver_old", "cuda_driver_too_old", Role::primary, 0.94,
       R"(CUDA driver version is insufficient|PTX was compiled with an unsupported toolchain|NVIDIA driver on your system is too old|cudaErrorInsufficientDriver|forward compatibility was attempted on non supported HW|CUDA error\((?:35|804)\)|unsatisfied condition: cuda>=)"},
      {"driver_mismatch", "driver_mismatch", Role::primary, 0.96,
       R"((?i:driver/library version mismatch)|NVRM: API mismatch|CUDA error\(803\)|cudaErrorSystemDriverMismatch|unsupported display driver / cuda driver)"},
      {"cuda_arch", "gpu_arch_unsupported", Role::primary, 0.93,
       R"(no kernel image is available for execution|sm_\d+ is not compatible with the current PyTorch|is not compatible with the current PyTorch installation|cudaErrorNoKernelImageForDevice|CUDA error\(209\)|Unsupported gpu architecture|Value 'sm_\d+' is not defined|only supports? (?:Volta|Turing|Ampere|Ada|Hopper|Blackwell)\b|doesn't support bf16|error: invalid device function|hipErrorNoBinaryForGpu|Mismatched GPU Architecture|installed Paddle is not compiled for)"},
      {"cuda_capability", "gpu_arch_unsupported", Role::primary, 0.85,
       R"([Mm]inimum capability: \d|compute capability (?:of )?(?:at least|>=|\d+(?:\.\d+)? or (?:higher|above))|[Rr]equires? (?:a GPU with )?compute capability)"},
      {"cuda_illegal_access", "gpu_kernel_fault", Role::primary, 0.85,
       R"(an illegal memory access was encountered|cudaErrorIllegalAddress|Memory access fault by GPU|operation not supported on global/shared address space|CUDA_ERROR_ILLEGAL_ADDRESS|CUDA error\((?:700|716|719)\)|misaligned address|unspecified launch failure|cudaErrorLaunchFailure)"},
      {"cuda_assert", "label_out_of_range", Role::primary, 0.8,
       R"(device-side assert triggered|Assertion `(?:t >= 0 && t < n_classes|srcIndex < srcSelectDimSize|idx_dim >= 0|-sizes\[i\] <= index|input_val >= zero|index >= -sizes)|IndexError: Target \d+ is out of bounds|cudaErrorAssert|CUDA error\(710\)|index out of range in self)"},
      {"cuda_ecc", "gpu_fault", Role::primary, 0.95,
       R"(uncorrectable ECC error encountered|cudaErrorECCUncorrectable|CUDA error\(214\)|GPU is lost|Unable to determine the device handle for GPU|hardware stack error|NVLink.*(?:uncorrectable|fatal) error)"},
      {"cuda_busy", "gpu_busy", Role::primary, 0.85,
       R"(CUDA-capable device(?:s|\(s\) is/)\s?are busy or unavailable|cudaErrorDevicesUnavailable|CUDA error\(46\)|exclusive[- ]process mode)"},
      {"cuda_library", "cuda_library_missing", Role::primary, 0.94,
       R"((?:libcudnn|libcublas|libcudart|libnccl|libcufft|libcurand|libcusolver|libcusparse|libnvinfer|libnvrtc|libcupti|libnvToolsExt)\S*: cannot open shared object|Could not load (?:dynamic )?library '?"?lib(?:cu|nv)|Could not locate (?:cudnn|zlibwapi)\S*\.dll|Unable to load any of \{libcudnn|Library lib(?:cu|nv)\S+ is not found or cannot be loaded|Could not load symbol cu|Error loading "\S*(?:cudnn|caffe2|torch)\S*\.dll")"},
      {"cuda_version_file", "library_conflict", Role::primary, 0.75,
       R"(cuDNN version incompatibility|The detected CUDA version \S+ mismatches|CUDNN_STATUS_VERSION_MISMATCH|Loaded runtime CuDNN library: .* but source was compiled with)"},
      {"cuda_generic", "gpu_kernel_fault", Role::generic, 0.35,
       R"(^(?:\[?rank\d+\]?: ?)?(?:\S*RuntimeError: |\S*AcceleratorError: )?CUDA error: |CUDA error\(\d+\)|ExternalError: CUDA)"},
      {"cufft", "cuda_library_error", Role::symptom, 0.65,
       R"(CUFFT_(?:INTERNAL|ALLOC|EXEC|INVALID)|CUSOLVER_STATUS_\w+|CUSPARSE_STATUS_\w+|Unable to find a valid cuDNN algorithm|cuDNN error: CUDNN_STATUS|CUDA error: CUBLAS_STATUS|GET was unable to find an engine)"},
  };
}

}  // namespace

std::vector<SignatureRow> torch_signatures() {
  std::vector<SignatureRow> rows;
  for (auto& part :
       {torch_loader_rows(), torch_memory_rows(), nccl_rows(), rendezvous_rows(), cuda_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace ocrtune
