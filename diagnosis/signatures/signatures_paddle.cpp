// Lines of Paddle, its launcher and PaddleOCR. Sources: Paddle's data_loader.cc, init.cc,
// launch/controllers, PaddleOCR's tools/program.py and ppocr/data; issue threads.
#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

std::vector<SignatureRow> paddle_signatures();

namespace {

std::vector<SignatureRow> loader_rows() {
  return {
      {"paddle_worker_sigkill", "host_out_of_memory", Role::primary, 0.8,
       R"((?:DataLoader process \(pid +(\d+)\).*?)?exited is killed by signal: (?:Killed|已杀死|9\b))"},
      {"paddle_worker_sigbus", "shm_full", Role::primary, 0.92,
       R"(exited is killed by signal: (?:Bus error|总线错误))"},
      {"paddle_worker_signal_is_pid", "shm_full", Role::primary, 0.85,
       R"(exited is killed by signal: \d{3,}\.?)"},
      {"paddle_worker_sigsegv", "segmentation_fault", Role::primary, 0.8,
       R"(exited is killed by signal: (?:Segmentation fault|段错误))"},
      {"paddle_worker_sigabrt", "aborted", Role::primary, 0.6,
       R"(exited is killed by signal: (?:Aborted|已放弃|中止))"},
      {"paddle_worker_sigill", "illegal_instruction", Role::primary, 0.93,
       R"(exited is killed by signal: (?:Illegal instruction|非法指令))"},
      {"paddle_worker_sigterm", "terminated_from_outside", Role::consequence, 0.3,
       R"(exited is killed by signal: (?:15\b|Terminated|Hangup|Interrupt|已终止|挂起|中断))"},
      {"paddle_shm_hint", "shm_full", Role::primary, 0.9,
       R"(may be caused by insufficient shared (?:storage space|memory)|might be caused by insufficient shared memory|insufficient shared memory \(shm\))"},
      {"paddle_worker_bus_error", "shm_full", Role::primary, 0.92,
       R"(Unexpected BUS error encountered in DataLoader worker)"},
      {"paddle_worker_segfault", "segmentation_fault", Role::primary, 0.75,
       R"(Unexpected segmentation fault encountered in DataLoader worker)"},
      {"paddle_worker_fpe", "native_exception", Role::primary, 0.75,
       R"(Unexpected floating-point exception encountered in DataLoader worker)"},
      {"paddle_worker_exit", "loader_worker_failed", Role::generic, 0.6,
       R"(DataLoader process \(pid.*exited unexpectedly with code (-?\d+)|exited unexpectedly with code \d+\. Error detailed are lost)"},
      {"paddle_workers_exit", "loader_worker_failed", Role::generic, 0.5,
       R"(DataLoader \d+ workers? exit unexpectedly, pids?: ?([\d, ]+))"},
      {"paddle_reader_thread", "loader_worker_failed", Role::generic, 0.35,
       R"(DataLoader reader thread raised an exception|Blocking queue is killed because the data reader)"},
      {"paddle_worker_caught", "loader_worker_failed", Role::generic, 0.3,
       R"(DataLoader worker\(\d+\) caught (\w+) with message)"},
      {"paddle_loader_timeout", "loader_timeout", Role::primary, 0.6,
       R"(DataLoader timed out after \d+|DataLoader reader process (?:\S+ )?timeout)"},
      {"loader_queue_timeout", "loader_timeout", Role::symptom, 0.5,
       R"((?i:(?:DataLoader|\bread\w*r|blocking queue).{0,80}(?:timed out|timeout after)))"},
      {"paddle_shm_create", "shm_full", Role::primary, 0.75,
       R"(Fail to (?:allocate|truncate|create|map) (?:shared memory|a file descriptor|mmap)|File descriptor .* open failed, unable in read-write mode|mmap failed: Cannot allocate memory.*shm|shm_open failed)"},
      {"paddle_bvar_busy", "host_out_of_memory", Role::note, 0.1,
       R"(bvar is busy at sampling for \d+ seconds)"},
  };
}

std::vector<SignatureRow> memory_rows() {
  return {
      {"paddle_gpu_oom", "gpu_out_of_memory", Role::primary, 0.95,
       R"(Out of memory error on (?:GPU|XPU|NPU|MLU|\w+) ?(\d+)?\.? ?(?:Cannot allocate|\.))"},
      {"paddle_gpu_oom_short", "gpu_out_of_memory", Role::primary, 0.9,
       R"(Please check whether there is any other process using GPU|ResourceExhaustedError: .*(?:GPU|device \d|device memory)|CUDA error\(2\), ?(?:out of memory|cudaErrorMemoryAllocation)|Cannot malloc \S+ MB GPU memory)"},
      {"paddle_exhausted", "gpu_out_of_memory", Role::symptom, 0.6, R"(ResourceExhaustedError)"},
      {"paddle_host_alloc", "host_allocation_failed", Role::primary, 0.9,
       R"(Fail to alloc memory of (\d+) size, error code is (\d+))"},
      {"paddle_host_oom", "host_allocation_failed", Role::primary, 0.85,
       R"(Out of memory error on CPU|Cannot allocate \S+ memory on CPU|mkldnn.*out of memory|Alloc \d+ error!)"},
  };
}

std::vector<SignatureRow> launch_rows() {
  return {
      {"paddle_container_sigkill", "host_out_of_memory", Role::symptom, 0.72,
       R"(Container rank (-?\d+) status \w+ cmd .* code -9 )"},
      {"paddle_container_sigbus", "shm_full", Role::symptom, 0.7,
       R"(Container rank (-?\d+) status \w+ cmd .* code -7 )"},
      {"paddle_container_sigsegv", "segmentation_fault", Role::symptom, 0.6,
       R"(Container rank (-?\d+) status \w+ cmd .* code -11 )"},
      {"paddle_container_sigabrt", "aborted", Role::symptom, 0.45,
       R"(Container rank (-?\d+) status \w+ cmd .* code -6 )"},
      {"paddle_container_sigill", "illegal_instruction", Role::symptom, 0.85,
       R"(Container rank (-?\d+) status \w+ cmd .* code -4 )"},
      {"paddle_container_sigterm", "terminated_from_outside", Role::consequence, 0.3,
       R"(Container rank (-?\d+) status \w+ cmd .* code -15 )"},
      {"paddle_container_failed", "process_failed", Role::generic, 0.3,
       R"(Container rank (-?\d+) status failed cmd .* code (\d+) |Container failed !!!)"},
      {"paddle_pod_failed", "process_failed", Role::generic, 0.2, R"(LAUNCH INFO .*Pod failed)"},
      {"paddle_legacy_abort", "process_failed", Role::generic, 0.3,
       R"(ABORT!!! +Out of all \d+ (?:trainers|servers), the (?:trainer|server) process with rank=\[([\d, ]+)\])"},
      {"paddle_exit_code", "process_failed", Role::generic, 0.2,
       R"(LAUNCH INFO .*Exit code (-?[1-9]\d*))"},
      {"paddle_terminate_all", "process_failed", Role::consequence, 0.1,
       R"(terminate all the procs|terminate process group gid|Local processes completed|LAUNCH INFO .*Terminating with signal)"},
      {"paddle_termination_signal", "terminated_from_outside", Role::consequence, 0.2,
       R"((?:`|\()?Termination signal(?:`|\))? is detected by the operating system)"},
      {"paddle_sigterm_from", "terminated_from_outside", Role::consequence, 0.2,
       R"(SIGTERM \(@0x[0-9a-fA-F]+\) received by PID (\d+))"},
      {"ppocr_kill_group", "terminated_from_outside", Role::consequence, 0.2,
       R"(main proc \d+ exit, kill process group \d+)"},
      {"paddle_fatal_segfault", "segmentation_fault", Role::primary, 0.7,
       R"((?:`|\()?Segmentation fault(?:`|\))? is detected by the operating system|SIGSEGV \(@0x[0-9a-fA-F]+\) received by PID)"},
      {"paddle_fatal_abort", "aborted", Role::symptom, 0.5,
       R"((?:`|\()?Process abort signal(?:`|\))? is detected by the operating system|SIGABRT \(@0x[0-9a-fA-F]+\) received by PID)"},
      {"paddle_fatal_illegal", "illegal_instruction", Role::primary, 0.95,
       R"((?:`|\()?Illegal instruction(?:`|\))? is detected by the operating system|SIGILL \(@0x[0-9a-fA-F]+\) received by PID)"},
      {"paddle_fatal_sigbus", "shm_full", Role::primary, 0.75,
       R"((?:`|\()?Access to an undefined portion of a memory object(?:`|\))? is detected|SIGBUS \(@0x[0-9a-fA-F]+\) received by PID)"},
      {"paddle_fatal_fpe", "native_exception", Role::primary, 0.7,
       R"((?:`|\()?Erroneous arithmetic operation(?:`|\))? is detected by the operating system)"},
      {"paddle_no_avx", "illegal_instruction", Role::primary, 0.85,
       R"((?i)your machine (?:doesn't|does not|not) support AVX|requires? AVX|AVX\w* instructions, but (?:these|they) aren't available|CPU does not support AVX|WITH_AVX=OFF)"},
      {"paddle_server_not_ready", "rendezvous_failed", Role::at_end, 0.75,
       R"(server not ready, wait \d+ sec to retry)"},
      {"paddle_endpoints", "rendezvous_failed", Role::at_end, 0.6, R"(not ready endpoints:)"},
      {"paddle_waiting_peers", "rendezvous_failed", Role::at_end, 0.65,
       R"(Waiting peer start\.\.\.|Waiting for (?:master|peer|all (?:nodes|peers)))"},
      {"paddle_device_not_found", "gpu_id_invalid", Role::primary, 0.93,
       R"(Device not found (\S+) from (\S+) for setting)"},
      {"paddle_selected_dev", "gpu_id_invalid", Role::primary, 0.8, R"(selected_dev_list\[)"},
      {"paddle_not_launched", "not_launched", Role::primary, 0.9,
       R"(paddle\.distributed initialize error, environment variable (\S+) is needed)"},
      {"paddle_not_parallel", "not_launched", Role::note, 0.2,
       R"(Currently not a parallel execution environment)"},
      {"paddle_gpu_log", "process_failed", Role::note, 0.05, R"(save gpu log failed)"},
  };
}

std::vector<SignatureRow> device_rows() {
  return {
      {"ppocr_cpu_wheel", "cpu_wheel_with_gpu", Role::primary, 0.95,
       R"(Config \S+ cannot be set as true while (?:you are using paddlepaddle cpu version|your paddle is not compiled))"},
      {"paddle_not_compiled_cuda", "cpu_wheel_with_gpu", Role::primary, 0.9,
       R"(Cannot use (?:GPU|CUDAPlace) because (?:you have installed CPU|there is no GPU)|PaddlePaddle should be compiled with GPU|is not compiled with CUDA|not compiled with (?:CUDA|GPU) support|Please recompile or reinstall Paddle with CUDA support|Please check that your paddle compiles with WITH_GPU|Not compiled with CUDA)"},
      {"paddle_no_gpu_runtime", "no_gpu_visible", Role::primary, 0.8,
       R"(Compiled with WITH_GPU, but no GPU found in runtime|Can not find (?:any )?GPU|No GPU device (?:is )?found)"},
      {"paddle_invalid_device", "gpu_id_invalid", Role::primary, 0.9,
       R"(Invalid CUDAPlace\(\d+\)|Device id must be less than GPU count|(?:gpu|GPU) id \d+ (?:is )?(?:out of range|must)|expects? (?:id|device).*less than)"},
      {"paddle_cudnn_missing", "cuda_library_missing", Role::primary, 0.85,
       R"(Cannot load (?:cudnn|cublas|nccl|cuda|cusolver|cufft|curand|libcu\w+) (?:shared )?library|[Tt]he third-party dynamic library \(([^)]*)\) that Paddle depends on is not configured correctly|PreconditionNotMetError: Cannot load \S+ shared library)"},
      {"paddle_cudnn_status", "cuda_library_error", Role::symptom, 0.72,
       R"((?i:CUDNN error)\W*(\d*).*CUDNN_STATUS_(\w+)|CUDNN_STATUS_(?:EXECUTION_FAILED|NOT_INITIALIZED|INTERNAL_ERROR|BAD_PARAM|MAPPING_ERROR|ARCH_MISMATCH|NOT_SUPPORTED))"},
      {"paddle_cublas_status", "cuda_library_error", Role::symptom, 0.72,
       R"((?i:CUBLAS error)\W*(\d+)|CUBLAS_STATUS_(?:EXECUTION_FAILED|NOT_INITIALIZED|INTERNAL_ERROR|ALLOC_FAILED|ARCH_MISMATCH|INVALID_VALUE))"},
      {"paddle_cuda_version", "library_conflict", Role::symptom, 0.4,
       R"(device: \d+, cuDNN Version: .*(?:mismatch|less than)|The installed Paddle is compiled with (?:CUDA|CUDNN) .*but (?:CUDA|CUDNN)|[Ii]nstalled Paddle is compiled with)"},
      {"paddle_label_range", "label_out_of_range", Role::primary, 0.93,
       R"(The value of label expected >= 0 and < ?\d+|[Ll]abel value (?:should|must|\[?\d+\]?).*(?:less than|range|>=)|[Ii]ndex \d+ is out of (?:range|bounds).*(?:dict|vocab|embedding)|Variable value \(input\) of OP\(\S*embedding\) expected >= 0)"},
      {"paddle_onednn_pir", "onednn_unsupported", Role::primary, 0.95,
       R"(ConvertPirAttribute2RuntimeAttribute not support|onednn_instruction\.cc)"},
      {"paddle_onednn", "onednn_unsupported", Role::primary, 0.65,
       R"((?:could not (?:create|execute|initialize) a (?:primitive|memory|sub-?memory|dnnl)|dnnl::error|mkldnn::error|MKLDNN (?:primitive|error)))"},
      {"paddle_amp_cpu", "amp_without_effect", Role::note, 0.8,
       R"(amp_guard can only be enabled on .*makes no effect|so it makes no effect|amp only support NVIDIA GPU with Compute Capability|GradScaler is enabled, but CUDA is not available|but CUDA is not available\. +Disabling)"},
      {"paddle_omp_note", "single_thread_default", Role::note, 0.1,
       R"(OMP_NUM_THREADS set to (\d+), not 1)"},
      {"smi_card", "first_gpu_only", Role::note, 0.5,
       R"((\d+W / +\d+W \| +\d+MiB / +\d+MiB \| +\d+%) )"},
      {"ppocr_first_gpu", "first_gpu_only", Role::note, 0.4,
       R"(The first GPU is used for inference by default, GPU ID: (\d+))"},
  };
}

std::vector<SignatureRow> training_rows() {
  return {
      {"ppocr_no_images", "dataset_too_small", Role::primary, 0.92,
       R"(No Images in (?:train|eval|valid)\w* ?data(?:set|loader|))"},
      {"ppocr_line_error", "bad_training_data", Role::note, 0.5, R"(When parsing line (.{0,80}))"},
      {"ppocr_missing_image", "missing_file", Role::note, 0.55,
       R"(Exception: (\S.*) does not exist!|(?:img_path|image|file)\S* .*does not exist!)"},
      {"ppocr_learnt_nothing", "checkpoint_mismatch", Role::note, 0.3,
       R"(best metric, (?:acc|hmean): 0(?:\.0+)?,)"},
      {"ppocr_param_shape", "checkpoint_mismatch", Role::note, 0.55,
       R"(The shape of model params \S+ \[.*\] not matched with loaded params|The pretrained params \S+ not in model)"},
      {"paddle_state_shape", "checkpoint_mismatch", Role::note, 0.5,
       R"(Skip loading for \S+\. \S+ receives? a shape|Skip loading for)"},
      {"paddle_param_file", "missing_file", Role::primary, 0.8,
       R"(The (?:pretrained_?model|checkpoints?|\S+\.pdparams|\S*pdopt\S*) ?(?:path )?(?:.*) does not exists?!?|[Gg]iven dir \S+ not exist|Please check whether the model path is correct)"},
      {"paddle_model_file", "missing_file", Role::primary, 0.8,
       R"(not find (?:model|params?|inference)\.\w* ?(?:file )?path|Cannot open file \S+, please confirm whether the file is (?:normal|valid)|model file path is not (?:existed|valid))"},
      {"paddle_unserialize", "checkpoint_damaged", Role::primary, 0.8,
       R"((?:Unserialize|Deserialize|Load)\S*.*(?:file|model).*(?:is (?:damaged|broken|empty)|failed)|Deserialize to tensor failed|loaded file is not a paddle model|InvalidArgumentError: .*(?:tensor version|Deserialize))"},
      {"paddle_eval_frozen", "evaluation_hang", Role::at_end, 0.7, R"(eval model:: +0%\|)"},
      {"paddle_nccl_init", "nccl_init_hang", Role::at_end, 0.7,
       R"(init nccl context nranks: (\d+) local rank: (\d+))"},
      {"paddle_nccl_error", "nccl_error", Role::symptom, 0.85,
       R"(NCCL error\((\d+)\)|Nccl error,|NCCL error, |External_?\S* NCCL error)"},
      {"paddle_nccl_shm_hint", "shm_full", Role::primary, 0.55, R"(export NCCL_SHM_DISABLE=1)"},
      {"paddle_store_timeout", "rendezvous_failed", Role::primary, 0.7,
       R"(TCPStore.*[Tt]imed? ?out|TCPStore.{0,40}[Cc]onnect.{0,60}failed|TCP connect(?:ion)? (?:timeout|failed)|[Tt]imeout waiting (?:key|for (?:TCPStore|key))|Waiting? timed? ?out.*(?:store|key)|The current IP address cannot be connected)"},
      {"paddle_store_retry", "rendezvous_failed", Role::at_end, 0.6,
       R"(Retry to connect to \S+ while the server is not yet listening)"},
      {"paddle_store_connected", "rendezvous_failed", Role::note, 0.05,
       R"(Successfully connected to \S+)"},
      {"paddle_store_reset", "rendezvous_failed", Role::primary, 0.7,
       R"(TCP connection reset by peer\. Details)"},
      {"paddle_comm_timeout", "collective_timeout", Role::symptom, 0.75,
       R"(CommTaskManager.*(?:timeout|[Tt]imed out)|(?:Detected|detect) (?:timeout|Timeout) .*(?:task|collective)|ProcessGroupNCCL.*(?:timed ?out|Timeout at)|comm_task.*[Tt]imeout)"},
      {"collective_late", "collective_timeout", Role::symptom, 0.7,
       R"((?i)(?:detected|caught|hit|reached|exceeded) (?:a )?timeout (?:of|in|at|while|for) .{0,60}(?:\bop\b|task|rank|collective|barrier)|(?:all_?reduce|all_?gather|broadcast|barrier|collective\b).{0,60} timed out|failed to pass monitoredBarrier)"},
      {"paddle_bkcl", "nccl_error", Role::symptom, 0.7, R"((?:BKCL|HCCL|CNCL) error)"},
  };
}

}  // namespace

std::vector<SignatureRow> paddle_signatures() {
  std::vector<SignatureRow> rows;
  for (auto& part : {loader_rows(), memory_rows(), launch_rows(), device_rows(), training_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace ocrtune
