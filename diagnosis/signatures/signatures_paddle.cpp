// Lines of Paddle, its launcher and PaddleOCR. Sources: Paddle's data_loader.cc, init.cc,
// launch/controllers, PaddleOCR's tools/program.py and ppocr/data; issue threads.
#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

const std::string_view kPaddleSignatures = R"rows(
# Loader workers.
worker_sigkill host_out_of_memory primary 0.8 (?:DataLoader (?:process|worker) \(pid\(?s?\)? *(\d+)\).*?)?is killed by signal: (?:Killed|已杀死|9\b)
worker_sigbus shm_full primary 0.9 is killed by signal: (?:Bus error|总线错误)|Unexpected BUS error encountered in DataLoader worker|exited is killed by signal: \d{3,}\.?
worker_sigabrt aborted primary 0.64 is killed by signal: (?:Aborted|已放弃|中止)|GGML_ASSERT\(|exit status 0xc0000409
fatal_illegal illegal_instruction primary 0.91 is killed by signal: (?:Illegal instruction|非法指令)|Illegal instruction[`)]* is detected by the operating system|SIGILL \(@0x[0-9a-fA-F]+\) received by PID|Fatal Python error: Illegal instruction|(?i:(?-i:illegal hardware instruction)|\billegal instruction(?:\s*\((?:core dumped|signal)|$|: \d)|\(SIGILL\)|Signals\.SIGILL|SIGILL|非法指令|无效指令|不正な命令|Ungültiger Maschinenbefehl|Instruction non permise|Недопустимая инструкция|Instrucción ilegal)|(?i:your machine (?:doesn't|does not|not) support AVX|requires? AVX|AVX\w* instructions, but (?:these|they) aren't available|CPU does not support AVX|WITH_AVX=OFF)
worker_sigterm terminated_from_outside consequence 0.27 is killed by signal: (?:15\b|Terminated|Hangup|Interrupt|已终止|挂起|中断)|main proc \d+ exit, kill process group \d+
fatal_fpe native_exception primary 0.73 Unexpected floating-point exception encountered in DataLoader worker|(?:`|\()?Erroneous arithmetic operation(?:`|\))? is detected by the operating system
paddle_worker_exit loader_worker_failed generic 0.6 DataLoader process \(pid.*exited unexpectedly with code (-?\d+)|exited unexpectedly with code \d+\. Error detailed are lost
paddle_workers_exit loader_worker_failed generic 0.5 DataLoader \d+ workers? exit unexpectedly, pids?: ?([\d, ]+)
paddle_reader_thread loader_worker_failed generic 0.35 DataLoader reader thread raised an exception|Blocking queue is killed because the data reader
paddle_worker_caught loader_worker_failed generic 0.3 DataLoader worker\(\d+\) caught (\w+) with message
loader_queue_timeout loader_timeout symptom 0.5 (?i:(?:DataLoader|\bread\w*r|blocking queue).{0,80}(?:timed out|timeout after))
# The launcher, and ends by a signal.
paddle_container_failed process_failed generic 0.3 Container rank (-?\d+) status \w+ cmd .* code (-?[1-9]\d*) |Container failed !!!
paddle_pod_failed process_failed generic 0.2 LAUNCH INFO .*Pod failed|LAUNCH INFO .*Exit code (-?[1-9]\d*)
paddle_legacy_abort process_failed generic 0.3 ABORT!!! +Out of all \d+ (?:trainers|servers), the (?:trainer|server) process with rank=\[([\d, ]+)\]
paddle_terminate_all process_failed consequence 0.1 terminate all the procs|terminate process group gid|Local processes completed|LAUNCH INFO .*Terminating with signal
paddle_termination_signal terminated_from_outside consequence 0.2 (?:`|\()?Termination signal(?:`|\))? is detected by the operating system
paddle_sigterm_from terminated_from_outside consequence 0.2 SIGTERM \(@0x[0-9a-fA-F]+\) received by PID (\d+)
fatal_segfault segmentation_fault primary 0.75 (?:`|\()?Segmentation fault(?:`|\))? is detected by the operating system|SIGSEGV \(@0x[0-9a-fA-F]+\) received by PID|Fatal Python error: Segmentation fault|Windows fatal exception: access violation|double free or corruption|free\(\): (?:invalid (?:pointer|size|next)|double free detected)|malloc\(\): (?:memory corruption|corrupted|invalid|unaligned|unsorted)|corrupted (?:size vs\. prev_size|double-linked list)|munmap_chunk\(\): invalid pointer|\*\*\* stack smashing detected|is killed by signal: (?:Segmentation fault|段错误)|Unexpected segmentation fault encountered in DataLoader worker
fatal_sigbus shm_full primary 0.72 (?:`|\()?Access to an undefined portion of a memory object(?:`|\))? is detected|SIGBUS \(@0x[0-9a-fA-F]+\) received by PID|Fatal Python error: Bus error
paddle_server_not_ready rendezvous_failed at_end 0.75 server not ready, wait \d+ sec to retry|not ready endpoints:|Waiting peer start\.\.\.|Waiting for (?:master|peer|all (?:nodes|peers))
# Devices.
paddle_cuda_version library_conflict symptom 0.4 device: \d+, cuDNN Version: .*(?:mismatch|less than)|The installed Paddle is compiled with (?:CUDA|CUDNN) .*but (?:CUDA|CUDNN)|[Ii]nstalled Paddle is compiled with
paddle_onednn_pir onednn_unsupported primary 0.95 ConvertPirAttribute2RuntimeAttribute not support|onednn_instruction\.cc
paddle_onednn onednn_unsupported primary 0.65 (?:could not (?:create|execute|initialize) a (?:primitive|memory|sub-?memory|dnnl)|dnnl::error|mkldnn::error|MKLDNN (?:primitive|error))
paddle_amp_cpu amp_without_effect note 0.8 amp_guard can only be enabled on .*makes no effect|so it makes no effect|amp only support NVIDIA GPU with Compute Capability|GradScaler is enabled, but CUDA is not available|but CUDA is not available\. +Disabling
paddle_omp_note single_thread_default note 0.1 OMP_NUM_THREADS set to (\d+), not 1
smi_card first_gpu_only note 0.5 (\d+W / +\d+W \| +\d+MiB / +\d+MiB \| +\d+%)[ ]
ppocr_first_gpu first_gpu_only note 0.4 The first GPU is used for inference by default, GPU ID: (\d+)
# Training.
ppocr_line_error bad_training_data note 0.5 When parsing line (.{0,80})
ppocr_missing_image missing_file note 0.55 Exception: (\S.*) does not exist!|(?:img_path|image|file)\S* .*does not exist!
ppocr_learnt_nothing checkpoint_mismatch note 0.3 best metric, (?:acc|hmean): 0(?:\.0+)?,
ppocr_param_shape checkpoint_mismatch note 0.55 The shape of model params \S+ \[.*\] not matched with loaded params|The pretrained params \S+ not in model
paddle_state_shape checkpoint_mismatch note 0.5 Skip loading for \S+\. \S+ receives? a shape|Skip loading for
paddle_eval_frozen evaluation_hang at_end 0.7 eval model:: +0%\|
paddle_nccl_shm_hint shm_full primary 0.55 export NCCL_SHM_DISABLE=1
paddle_store_retry rendezvous_failed at_end 0.6 Retry to connect to \S+ while the server is not yet listening
paddle_store_connected rendezvous_failed note 0.05 Successfully connected to \S+
collective_late collective_timeout symptom 0.7 CommTaskManager.*(?:timeout|[Tt]imed out)|(?:Detected|detect) (?:timeout|Timeout) .*(?:task|collective)|ProcessGroupNCCL.*(?:timed ?out|Timeout at)|comm_task.*[Tt]imeout|(?i:(?:detected|caught|hit|reached|exceeded) (?:a )?timeout (?:of|in|at|while|for) .{0,60}(?:\bop\b|task|rank|collective|barrier)|(?:all_?reduce|all_?gather|broadcast|barrier|collective\b).{0,60} timed out|failed to pass monitoredBarrier)|Heartbeat monitor timed out|watchdog got stuck for \d+ seconds|Received a (?:global )?(?:dump|timeout) signal (?:from|due to)
)rows";

}  // namespace ocrtune
