// The part of the cause table that concerns devices, crashes, data and the program itself.
#include "diagnosis/causes.h"

namespace ocrtune {

const std::string_view kProgramCauses = R"rows(
no_gpu_visible unsupported none The program wants a GPU and sees none: no driver, a container without access, or an empty CUDA_VISIBLE_DEVICES.
? nvidia-smi; echo "$CUDA_VISIBLE_DEVICES"
- install or reload the driver
- docker run --gpus all
gpu_id_invalid unsupported none A GPU was asked for by a number that is not among the visible ones; numbers are counted within CUDA_VISIBLE_DEVICES.
? nvidia-smi -L; echo "$CUDA_VISIBLE_DEVICES"
- ids from 0 to the number of visible GPUs - 1; at most one rank a GPU
cuda_driver_too_old unsupported none The driver is older than the CUDA version that the framework was built for.
? nvidia-smi   # 'CUDA Version' must be at least that of the wheel
- update the driver, or install the wheel for the driver's CUDA version
gpu_busy crashed retry Another process holds the GPU: its memory, or the card as a whole (exclusive mode, a pending reset).
? nvidia-smi --query-gpu=compute_mode --format=csv; nvidia-smi   # who holds it
- end the process that holds the card, or choose another one with CUDA_VISIBLE_DEVICES
- nvidia-smi -c DEFAULT
driver_mismatch unsupported none The user-space part of the GPU driver and the loaded kernel module have different versions, mostly after a package update.
? cat /proc/driver/nvidia/version; nvidia-smi
- restart the machine, or unload and load the nvidia modules
- apt-mark hold the driver's packages, so that no nightly update replaces them
gpu_arch_unsupported unsupported none The framework has no code for this GPU's generation.
? nvidia-smi --query-gpu=name,compute_cap --format=csv
- install a build for a newer (or older) CUDA version that lists this card
cuda_library_missing unsupported none A CUDA, cuDNN or NCCL library could not be loaded.
? ldconfig -p | grep -E 'cudnn|cublas|nccl'; echo $LD_LIBRARY_PATH
- install the version that the wheel names; put its folder on LD_LIBRARY_PATH
cuda_library_error crashed smaller_batch cuDNN or cuBLAS failed: mostly a version that does not fit the framework or the card, or GPU memory that ran out inside the library.
? python -c 'import paddle; paddle.utils.run_check()'; nvidia-smi during the run
- use the CUDA and cuDNN versions that the framework was built with
- halve the batch to rule memory out
gpu_fault crashed retry The GPU or its link failed: an Xid event, an uncorrectable memory error, or the card fell off the bus.
? dmesg -T | grep -i xid; nvidia-smi -q -d ECC,PAGE_RETIREMENT
- restart the machine; check power, cooling and seating of the card
- run on the other cards: CUDA_VISIBLE_DEVICES=...
host_hardware_fault crashed retry Memory or a processor of the host is faulty: the kernel met an uncorrectable error and ended the process that used the page.
? dmesg -T | grep -iE 'mce|edac|memory failure'; ras-mc-ctl --errors
- take the machine out of service and have its memory tested
- restart from the last checkpoint on another machine
gpu_kernel_fault crashed none A kernel on the GPU touched memory that is not its own or failed an assertion; everything after it in this process fails too.
? CUDA_LAUNCH_BLOCKING=1 CMD   # names the operator
- try another framework version; run one batch on the CPU for a plain message
label_out_of_range crashed none A label or index is outside the classes, or a text holds a character that the dictionary lacks: dictionary, head size and labels do not fit together.
? compare the dictionary's line count with the head's classes
- use the dictionary that the labels and the head were made with
- correct the label file; ocrtune check compares dictionaries by content
illegal_instruction unsupported none The program met an instruction that this CPU or virtual machine does not have (AVX, AVX-512, AMX), or that a faulty build put there: Paddle 2.6 dies so on CPUs with AVX2 as well.
? grep -m1 flags /proc/cpuinfo | tr ' ' '\n' | grep -E 'avx|amx'; ocrtune probe
- install a build for this CPU, or another version of the package
- let the virtual machine pass the host's CPU through (cpu: host)
segmentation_fault crashed retry The process touched memory that is not its own (SIGSEGV): a fault in native code or two libraries that do not fit together.
? python -X faulthandler CMD; gdb -batch -ex bt --args CMD
- reinstall the framework with the versions that it asks for (numpy, opencv, protobuf)
aborted crashed retry The program ended itself (SIGABRT) after a check inside native code failed.
? the line just above: terminate called, Check failed, double free
- the message above the abort names the check
openmp_duplicate_runtime crashed none Two OpenMP runtimes were loaded into one process.
? ldd or the message lists both libraries
- use one source for all packages (all pip or all conda)
onednn_unsupported crashed none oneDNN (MKL-DNN) met an operator or attribute that this Paddle version cannot run with it (known for 3.3.0 and 3.3.1 on the CPU).
? does it run with enable_mkldnn=False?
- enable_mkldnn=False (or device='cpu' with run_mode='paddle')
- pip install paddlepaddle==3.2.2
cpu_wheel_with_gpu unsupported none The configuration asks for a GPU but the CPU build of the framework is installed.
? pip list | grep -i -E 'paddle|torch'
- install the CUDA build of the framework, or run on the CPU on purpose
first_gpu_only ok none Inference runs on the first GPU; the others stay idle unless each has its own process.
? nvidia-smi during the run
- one process a GPU: CUDA_VISIBLE_DEVICES=k CMD, each with its share of the files
- ocrtune infer DIR   # proves the placement
amp_without_effect ok none Mixed precision was asked for on a device where the framework ignores it.
? the message names the place
- switch mixed precision off on this device
missing_file crashed none A file or folder that the run needs is not there (or not on this node).
? ls -l the path that is named, as the same user on the same node
- correct the path in the config; relative paths count from the working folder
- copy or mount the data on every node
permission_denied crashed none The user of the run may not read or write a file or device.
? id; ls -l the path that is named
- chown or chmod it, or choose another folder
missing_module crashed none A Python package or a program is missing, or of a version without the wanted name.
? pip show NAME in the environment of the run
- install what is named, in the environment of the run
library_conflict crashed none Installed packages need shared libraries or versions that are not here.
? pip check; ldd the library that is named
- a fresh environment with the versions that the framework pins
bad_configuration crashed none The configuration or command line is wrong: an unknown key, option or a syntax error.
? the message names the key or option
- compare with the program's --help, or with the example of the same version
dataset_too_small crashed fewer_ranks After the split over the ranks there are fewer samples than one batch.
? samples / ranks must reach the batch: wc -l LABEL_FILE
- a smaller batch or fewer ranks
- keep the last, smaller batch (drop_last false)
bad_training_data crashed none Samples or documents could not be read or decoded, or may not be altered; in training they are silently replaced by others.
? open the samples that are named; how many lines name one?
- correct or remove the samples that are named
checkpoint_mismatch crashed none The saved weights do not fit the model: another architecture, dictionary or version.
? the message lists the parameters and shapes
- use the config and dictionary that the checkpoint was trained with
checkpoint_refused crashed none The file is whole, but the loader refuses it: it holds Python objects, which newer versions (torch 2.6, numpy) load only when told to.
? does it load with torch.load(PATH, weights_only=False)?
- torch.serialization.add_safe_globals([CLASS]), or weights_only=False for a trusted file
- save it anew as a plain state_dict or safetensors
shape_mismatch crashed none Tensors of different shapes, types or devices met in one operation: input size, model and batch do not fit together.
? the message names both shapes, types or devices
- the input size and channels that the model was exported or configured with
- pad or resize all samples of a batch to one size
checkpoint_damaged crashed none A saved file is cut short or not of the expected format: an interrupted save or download, or a full disk.
? ls -l it; compare its size with its neighbours
- take the checkpoint before it
- download it again and compare the checksum
loader_worker_failed crashed retry A loader worker ended with an exception whose text was lost on the way.
? the same run with num_workers=0 prints the real error
- num_workers=0 shows the error itself
loader_timeout hung fewer_workers The training process waited in vain for a batch: workers died, hang or are far too slow.
? py-spy dump --pid of a worker; is the storage slow?
- num_workers=0 to see whether it still stops
- raise the loader's timeout
- copy the data to a local disk
evaluation_hang hung fewer_workers The log ends at the start of an evaluation: its loader workers wait for one another.
? py-spy dump --pid PID
- no loader workers for the evaluation
loss_diverged wrong_result none The loss became nan or infinite: what is trained from there on is worthless.
? grep -n -m1 -i 'loss: nan' the log: at which step?
- lower the learning rate; with n ranks the global batch is n times larger
- fp32 instead of mixed precision; look for empty or broken labels
data_loading_bound ok none The step waits for data for a large part of its time.
? avg_reader_cost / avg_batch_cost in the log
- more loader workers, up to the free cores and memory: ocrtune tune
- LMDB, a local disk, fewer augmentations (RecConAug reads two more images a sample)
thread_oversubscription ok fewer_threads More compute threads than cores, or than the CPU limit of the container allows: they spend their time waiting.
? ocrtune probe; ps -eLf | wc -l
- threads x processes at most the usable cores: OMP_NUM_THREADS, cpu_threads
narrow_cpu_mask ok none The process may run on fewer CPUs than its job or machine has: a mask or a cpuset binds it, and all its threads and workers share those few.
? nproc and grep Cpus_allowed_list /proc/self/status, in the place of the program
- srun --cpus-per-task=$SLURM_CPUS_PER_TASK CMD: since Slurm 22.05 a step does not take it over from sbatch
- without taskset, numactl -C and --cpuset-cpus, or with all CPUs of the job in them
single_thread_default ok none Paddle sets OMP_NUM_THREADS=1 on import unless it is set, so a CPU rank uses one core.
? echo $OMP_NUM_THREADS; top -H
- OMP_NUM_THREADS and --nproc_per_node together: ocrtune tune finds the best pair
python_exception crashed none The program ended with an exception that is not in ocrtune's table.
? the traceback names the file and line
- read the last traceback from its end upwards
native_exception crashed none A program that is not Python (C++, Rust, Go, Java, JavaScript) ended with an exception or panic that is not in the table.
? RUST_BACKTRACE=1 or gdb shows where
- the message itself names the reason
process_failed crashed retry A process ended with an error code; the lines at hand do not say why.
? the log of the rank that is named
- diagnose the logs of all ranks together: ocrtune diagnose LOGS
unknown crashed retry The lines at hand show that something failed but fit no known cause.
? what did the run do last? the lines before its end, of all its processes
- give more of the log, from the start of the run to its last line
)rows";

}  // namespace ocrtune
