// Advice by the program that wrote the log, by the line that speaks for the cause and by who runs
// the container or the job, and what tells two suspects apart; what is true of everybody stands in
// the table of causes.
#include <algorithm>
#include <string>
#include <utility>

#include "base/tables/rows.h"
#include "base/text.h"
#include "diagnosis/advice.h"

namespace ocrtune {
namespace {

// Causes or signatures, and what to do about them, each fix behind a double bar: who is to have
// written the log, and who not.
constexpr std::string_view kProgramFixes = R"rows(
host_out_of_memory cgroup_out_of_memory numa_node_full userspace_oom_kill host_allocation_failed || PaddleOCR_training,Paddle -PaddleOCR,PaddleX Train.loader.num_workers=2 Eval.loader.num_workers=0   # PaddleOCR: append to -o || PaddleOCR_training,Paddle -PaddleOCR,PaddleX fewer ranks: --nproc_per_node halved; each rank has its own workers || PaddleOCR_training,Paddle -PaddleOCR,PaddleX smaller batch: Train.loader.batch_size_per_card and Train.sampler.first_bs halved || PaddleOCR_training - read the data from LMDB, so that no worker holds the whole label list || PaddleOCR,PaddleX -PaddleOCR_training text_recognition_batch_size=1 cpu_threads=4; a new process after some hundred pages || OpenMMLab - --cfg-options train_dataloader.num_workers=2   # mmcv 1: data.workers_per_gpu=2 || accelerate - --dataloader_num_workers 2; --per_device_train_batch_size halved, --gradient_accumulation_steps doubled || vLLM - --limit-mm-per-prompt '{"image": 1}' --mm-processor-cache-gb 0 --swap-space 1 || DeepSpeed - offload_optimizer: "nvme", or none with ZeRO stage 3: on the CPU it holds 12 bytes a parameter and more || PyTorch -vLLM,SGLang,OpenMMLab,accelerate,Paddle,gunicorn,uvicorn DataLoader(num_workers=2, prefetch_factor=1); memory-mapped data instead of lists of images || kraken - ketos train --workers 2 --batch-size 1 || OCRmyPDF - ocrmypdf --jobs 1 --skip-big 50 --max-image-mpixels 250 || gunicorn - gunicorn -w 1 --max-requests 200 --max-requests-jitter 50   # each worker loads its own models || uvicorn -vLLM,SGLang,gunicorn uvicorn --workers 1 --limit-concurrency 8   # each worker loads its own models || Celery - a bound on a page's pixels before it is read; task_reject_on_worker_lost=False, or the same task ends each worker || Celery - celery worker -c 1 --max-tasks-per-child 20   # each child loads its own models || Ray - fewer tasks at once: @ray.remote(num_cpus=4, memory=8 * 1024**3)
memory_leak || Paddle - pip install 'paddlepaddle>=2.1.2'   # older ones leak a set of loader workers an epoch || PyTorch -vLLM,SGLang keep float(loss), not the tensor; persistent_workers=True || gunicorn - gunicorn --max-requests 200 --max-requests-jitter 50 || Celery - celery worker --max-tasks-per-child 20 --max-memory-per-child 4000000
gpu_out_of_memory || PaddleOCR_training - halve Train.loader.batch_size_per_card and Train.sampler.first_bs || PaddleOCR,PaddleX -PaddleOCR_training text_recognition_batch_size=1 text_det_limit_side_len=960 || Paddle - export FLAGS_allocator_strategy=auto_growth || vLLM - --gpu-memory-utilization 0.8 --max-model-len 8192 --max-num-seqs 16 || vLLM - --enforce-eager   # no memory for CUDA graphs || SGLang - --mem-fraction-static 0.7 --chunked-prefill-size 2048 --max-running-requests 16 || Triton_server - config.pbtxt: max_batch_size and the count of instance_group lower || ONNX_Runtime - gpu_mem_limit and arena_extend_strategy=kSameAsRequested of the CUDA provider || DeepSpeed - train_micro_batch_size_per_gpu halved, gradient_accumulation_steps doubled; ZeRO stage 3 with offload_optimizer || accelerate - --per_device_train_batch_size halved, --gradient_accumulation_steps doubled, --gradient_checkpointing True || Lightning - batch_size halved with Trainer(accumulate_grad_batches=2); precision='bf16-mixed' || OpenMMLab - --cfg-options train_dataloader.batch_size=N   # half of what it was; mmcv 1: data.samples_per_gpu || kraken - ketos train --batch-size 1 --precision bf16-mixed || docTR - ocr_predictor(det_bs=1, reco_bs=32) || llama.cpp - fewer layers on the card and a shorter context: -ngl 20 -c 4096 || PyTorch -vLLM,SGLang,DeepSpeed,accelerate,Lightning,OpenMMLab,kraken,docTR halve the batch; export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True   # if fragmented
shm_full || Paddle -PaddleOCR,PaddleX Train.loader.use_shared_memory=False, or fewer workers
shm_object worker_sigbus fatal_sigbus exit_sigbus shell_bus_error too_many_open_files || PyTorch -vLLM,SGLang,uvicorn,gunicorn,Celery torch.multiprocessing.set_sharing_strategy('file_system') || uvicorn,gunicorn,Celery - ls -l /proc/PID/fd names what stays open: close it in the code (uploads, images, PDFs: with open(...)); a restart helps until then
too_many_open_files || Paddle - pip install 'paddlepaddle>=2.1.2'   # older ones leak a set of pipes an epoch
disk_full storage_limit_evicted || OCRmyPDF,Celery - TMPDIR on a volume with room; fewer --jobs, a lower --oversample || PaddleOCR_training - Global.save_model_dir=/big/disk; fewer checkpoints: raise Global.save_epoch_step || accelerate - --save_total_limit 2 --output_dir /big/disk || Lightning - ModelCheckpoint(dirpath='/big/disk', save_top_k=2, save_last=True) || OpenMMLab - --cfg-options default_hooks.checkpoint.max_keep_ckpts=2 || vLLM,SGLang - export HF_HOME=/big/disk   # where the models are downloaded to
terminated_from_outside preempted_or_evicted time_limit interrupted_by_user killed_by_other host_restarted || PaddleOCR_training - restart from the last checkpoint: -o Global.checkpoints=DIR/latest || accelerate - --resume_from_checkpoint DIR/checkpoint-N --save_steps 200 || Lightning -kraken trainer.fit(model, ckpt_path='last') || OpenMMLab - --resume   # mmcv 1: --auto-resume || kraken - ketos train --load MODEL_LAST.mlmodel --resize union
collective_timeout rank_busy_alone communication_stall || Paddle - export FLAGS_stop_check_timeout=7200   # seconds || PaddleOCR_training - smaller or rarer evaluation: Global.eval_batch_step=[0,100000] || Lightning - DDPStrategy(timeout=timedelta(hours=2)) || accelerate - --ddp_timeout 7200   # accelerate: InitProcessGroupKwargs(timeout=timedelta(hours=2)) || DeepSpeed - deepspeed.init_distributed(timeout=timedelta(hours=2)) || PyTorch -Lightning,accelerate,DeepSpeed,vLLM,SGLang init_process_group(timeout=timedelta(hours=2)); TORCH_NCCL_TRACE_BUFFER_SIZE=2000 names who is late
unused_parameters || PaddleOCR_training - Global.find_unused_parameters=True || Lightning - Trainer(strategy='ddp_find_unused_parameters_true') || accelerate - --ddp_find_unused_parameters True || PyTorch -Lightning,accelerate DistributedDataParallel(find_unused_parameters=True)
not_launched || Paddle - python -m paddle.distributed.launch --gpus 0,1 tools/train.py ... || PyTorch - torchrun --nproc_per_node 2 train.py ...
port_in_use || torchrun,accelerate,DeepSpeed - --master_port 29501   # torchrun: or --standalone; accelerate: --main_process_port || Paddle -PaddleOCR,PaddleX --master HOST:6171 or --start_port 6171 of paddle.distributed.launch || uvicorn,vLLM,SGLang - --port 8001 || gunicorn - gunicorn -b 0.0.0.0:8001 || Triton_server - --http-port 8010 --grpc-port 8011 --metrics-port 8012 || Ray - ray start --head --port 6380 --dashboard-port 8266; ray stop ends what was left over
gpu_id_invalid || Paddle - --gpus 0,1 with exactly the visible ones || torchrun - --nproc_per_node at most the number of GPUs
no_gpu_visible cpu_wheel_with_gpu || Paddle -PaddleOCR,PaddleX run on the CPU: -o Global.use_gpu=false with the CPU wheel
cpu_wheel_with_gpu runs_on_cpu || Paddle - pip install paddlepaddle-gpu of the CUDA version that nvidia-smi names || ONNX_Runtime - pip uninstall onnxruntime onnxruntime-gpu; pip install onnxruntime-gpu   # never both
runs_on_cpu || OpenVINO - docker run --device /dev/dri --group-add $(stat -c %g /dev/dri/renderD128), with intel-opencl-icd in the image; or device CPU || PyTorch -Paddle,ONNX_Runtime,OpenVINO pip uninstall torch torchvision; pip install torch torchvision --index-url https://download.pytorch.org/whl/cu124
gpu_kernel_fault || PyTorch,Paddle -vLLM,SGLang check labels and indices against the number of classes and the dictionary
stalled segmentation_fault || PyTorch,Paddle -vLLM,SGLang,PaddleX,gunicorn,uvicorn,Celery num_workers=0 shows whether the loader is to blame
stalled || SGLang - --watchdog-timeout 1200
label_out_of_range || kraken - ketos train --resize union || PaddleOCR_training - Global.character_dict_path: the dictionary that the labels were made with
illegal_instruction || Paddle - pip install paddlepaddle==2.5.2 or 3.x, where 2.6 dies by SIGILL (CPUs with AVX2 as well)
checkpoint_mismatch || PaddleOCR_training,PaddleOCR - Global.pretrained_model instead of Global.checkpoints when the head differs
dataset_too_small || PaddleOCR_training - Train.loader.batch_size_per_card smaller, Train.loader.drop_last=False
loader_worker_failed || Paddle -PaddleOCR,PaddleX Train.loader.num_workers=0 Eval.loader.num_workers=0   # to see the error
evaluation_hang || Paddle - Eval.loader.num_workers=0 Eval.loader.use_shared_memory=False
worker_timeout || gunicorn - gunicorn --timeout 300 (30 is its default); --preload only where no CUDA is used || uvicorn - uvicorn --timeout-keep-alive and the proxy's read time-out above the slowest request
server_overloaded || vLLM,SGLang - --max-num-seqs (vLLM) or --max-running-requests (SGLang) is what one server takes at once || Triton_server - dynamic_batching { default_queue_policy { max_queue_size: N } }; more instances
request_too_large || vLLM - --max-model-len above the longest prompt, or smaller images || OCRmyPDF - --max-image-mpixels 500
start_method || Celery - celery worker --pool threads (or solo), or load the model in worker_process_init || gunicorn - gunicorn without --preload: load the model in the worker (post_fork) || docTR - export DOCTR_MULTIPROCESSING_DISABLE=TRUE || vLLM - export VLLM_WORKER_MULTIPROC_METHOD=spawn, and the start below if __name__ == '__main__':
bad_configuration || PaddleOCR_training - ocrtune check CONFIG.yml EXAMPLE.yml || DeepSpeed - train_batch_size = micro batch x accumulation x ranks: set one of them to "auto"; ocrtune check CONFIG --nproc N
data_loading_bound || OpenMMLab - --cfg-options train_dataloader.num_workers=8 train_dataloader.persistent_workers=True || PaddleOCR_training - Train.loader.num_workers up to the free cores; RecConAug reads two more images a sample
)rows";

// A cause or a signature, ~ and what a line holds ("|": or), or both; and what it asks for. "!":
// the line itself says so much that what helps others does not help here.
constexpr std::string_view kLineFixes = R"rows(
gpu_busy~processhas|occupiedby ! end the process that holds the card (it is none of this run), or choose another card with CUDA_VISIBLE_DEVICES
port_in_use ! end the left-over process by its pid (ss -ltnp | grep PORT), then start again
~error802|systemnotyetinit ! systemctl status nvidia-fabricmanager on that host: its version must be the driver's; install the same, start it, restart the host
~stalefilehandle ! files were replaced or removed on the server while they were read: mount anew, restart from the last checkpoint; put new data into a new folder
~deviceside|srcindex|indexoutofrangeinself the same batch on the CPU names the index; tokens that were added need model.resize_token_embeddings(len(tokenizer))
~invalidprotobuf|gitlfs ! ls -l FILE: some 130 bytes are a pointer: git lfs pull, then build the image or copy the file anew
disk_full~100%/tmp|'/tmp/|workerspill|localdiskisfull ! remove what earlier runs left there (du -sh /tmp/* | sort -h; ocrmypdf.io.*, spilled objects), and point TMPDIR or the spill folder to a disk with room
disk_full~[rank du -sh on the node of the rank that failed: delete what is not of this run, then restart from the last whole checkpoint
~connectto172.17 ! on the host that announced the address: NCCL_SOCKET_IFNAME=INTERFACE of the network between the nodes, not docker0 (a profile script may set it)
kernel_link_down ! look at that port's cable, transceiver and switch (ibstat, mlxlink); leave the port or the host out and restart from the last checkpoint
made_nothing ! was all skipped or left empty? ocrmypdf --force-ocr in place of --skip-text where the pages hold a stamp's text layer
triton_batching~configurationspecifies ! dims in config.pbtxt as the model itself has them, or the model that was meant; and the dictionary of that model
server_watchdog~watchdogtimeout(limit ! long work in a thread or process of its own, so that the event loop answers; WatchdogSec above the longest request
~unexpectedlyrebooted|nodefailure the power, its supply and ipmitool sel list of that node: leave it out (scontrol update state=drain) and restart from the last checkpoint
~"nvrtc|libcublas|libcudnn|libnvrtc an image that holds them: nvidia/cuda:VERSION-cudnn-runtime in place of base or slim
userspace_oom_kill~tasks/actors|noderunninglow ! a bound on what the largest actor keeps (back pressure: ray.wait before more is submitted); memory= for it, fewer tasks at once
from_scratch ! name the trained weights (Global.pretrained_model, --resume, --weights) and export anew: what was exported was never trained
tesseract_encode ! train from a traineddata whose unicharset has these letters, or build a starter from the ground truth (make unicharset lists proto-model)
checkpoint_mismatch~',0.9 ! the dictionary that belongs to the model: --rec_char_dict_path (as many lines as the model has classes, less blank and space)
options_gone PROGRAM --help of the installed version names the option now; or the version that the command was written for
pickle_child ! a function of the module in place of the lambda or inner function that is handed to the process
no_compiler ! apt-get install gcc g++ python3-dev (Python.h), or the image that has them; without torch.compile and triton none is needed
watchtower_stop leave it out: label com.centurylinklabs.watchtower.enable=false, or a --schedule when no run is on
idle_kill the line names the rule that ended it: keep to it, or ask for a queue without it
code_signature codesign --force --sign - PROGRAM   # after each change of the file
slurm_refused sacctmgr show assoc user=$USER format=Account,Partition,QOS   # name one of these
no_linger loginctl enable-linger USER, or run it as a service of the system
ack_timeout smaller tasks (some pages, not a book), or consumer_timeout = 7200000 in rabbitmq.conf
wgpu_buffer smaller or narrower batches; a higher max_buffer_size in the limits that the device is asked for
lightning_monitor monitor= one of the keys that the message lists
triton_batching export with a dynamic first dimension, or max_batch_size: 0 with the whole shape in dims
no_program install the program that the line names, or put its folder into PATH
no_cuda_toolkit install the CUDA toolkit (nvcc) and export CUDA_HOME; vLLM: VLLM_USE_FLASHINFER_SAMPLER=0 compiles nothing
nfs_locks systemctl enable --now rpc-statd, or mount with vers=4; HF_HOME on a local disk
locale_codec export PYTHONUTF8=1, or open(PATH, encoding='utf-8'): the file is whole, the locale's codec reads it
cpu_stat a higher resources.limits.cpu (docker --cpus), and OMP_NUM_THREADS at most that limit
torch_mismatch the same command on every node except its rank
params_differ the same code and dictionary on every node: compare git rev-parse HEAD and sha256sum DICT
spawn_guard put what starts processes below if __name__ == '__main__': (or num_workers=0)
daemonic_children num_workers=0 in this process, or a worker that is no daemon (threads instead of prefork)
cuda_fork start children with spawn, and touch the GPU only in them
openmp_fork OMP_NUM_THREADS=1 before the fork, or start children with spawn
no_semaphores no multiprocessing here (no /dev/shm): use threads, or one process
no_gpu_runtime apt install nvidia-container-toolkit; nvidia-ctk runtime configure --runtime=docker
request_wait_limit a longer limit, or asynchronous requests; smaller documents
kernel_died dmesg -T | grep -i oom-kill; docker inspect NAME | grep OOMKilled
lmdb_forked open the LMDB environment in each worker (worker_init_fn), not before the fork
controller_not_delegated systemctl edit user@.service: Delegate=cpu cpuset io memory pids; or leave the flag out and use taskset inside
tesseract_language apt install tesseract-ocr-LANG, or LANG.traineddata into the tessdata folder; tesseract --list-langs says what is there
glibcxx a newer libstdc++ first in LD_LIBRARY_PATH: conda install -c conda-forge libstdcxx-ng
~requirecudnn pip install 'onnxruntime-gpu[cuda,cudnn]', or an image nvidia/cuda:VERSION-cudnn-runtime; list the session's providers at each start
library_conflict~unexpectedkeyword|cannotimportname|hasnoattribute|nomodulenamed|removedin the versions that the program was written for, by its requirements or its date; or the new call, by the changelog
openvino_no_device docker run --device /dev/dri --group-add $(stat -c %g /dev/dri/renderD128), with intel-opencl-icd in the image; or device CPU
model_version pip install -U onnxruntime, or export with a lower opset (onnx.version_converter)
kernel_io_error smartctl -a DEVICE; replace the disk, then restore from the copy
nccl_ib_completion ibstat; perfquery
kernel_nfs,stuck_in_storage nfsstat -m; is the server up? A hard mount goes on by itself when it answers again
kernel_lustre lfs check servers; mount the client anew after an eviction
kernel_ceph ceph -s on a monitor; umount -l and mount the client anew
triton_missing pip install triton   # Windows: triton-windows
one_cpu sbatch --cpus-per-task=16; taskset -cp PID
tls_block LD_PRELOAD=LIBRARY.so CMD
gpu_out_of_memory~evaluating smaller evaluation batches; results leave the card at once: eval_accumulation_steps=8, preprocess_logits_for_metrics, torch.no_grad()
manual_kill the line names who sent it: ask that user
kernel_oom_policy numactl --interleave=all CMD or --preferred=N in place of --membind; mbind and set_mempolicy in the program bind likewise
~libgl.|libgthread apt-get install libgl1 libglib2.0-0
~libgomp apt-get install libgomp1
~got88frompyobject pip install -U 'numpy>=2' wherever it runs   # a package was built against numpy 2
~numpy.core|numpy1|numpy2|got96frompyobject pip install 'numpy<2'   # for packages built against numpy 1
~mapfull lmdb.open(PATH, map_size=1 << 40)   # Linux: grows with what is written; Windows: what the disk has
~readersfull lmdb.open(PATH, max_readers=1024, lock=False) for reading
~drivernotloaded modprobe nvidia; nvidia-smi is to work on the host before any container
~ratelimit|toomanyrequests docker login, or a mirror of the registry; the limit is of an hour or some, of an address or an account
~gated|authorizedlist ask for access on the model's page and accept its licence, with the account that the token is of
~connectfullmesh export GLOO_SOCKET_IFNAME=INTERFACE on every node; its own name must not be 127.0.1.1 in /etc/hosts
~gaierror getent hosts NAME on every node; Kubernetes: a headless Service, and hostname and subdomain of the pods
~diskquotaexceeded quota -s; lfs quota -h FOLDER: is it the bytes or the number of files? Pack or delete small files, or ask for more
~permissiondenied:'/. HOME and the cache folders to a place that this user may write: a user without an entry in passwd has HOME=/
~407proxy HTTPS_PROXY=http://USER:PASSWORD@PROXY:PORT; for NTLM and Negotiate a local helper (px, cntlm)
~mdbcorrupted|pagenotfound mdb_stat -e FOLDER; copy or build the whole LMDB anew: no single sample is at fault
request_too_large~413 client_max_body_size 64m   # nginx
~unscalefp16 load the weights in float32 (no torch_dtype=float16, no .half()): fp16 AMP keeps them so; or bf16, which needs no scaler
segmentation_fault~libdnnl|onednn|mkldnn enable_mkldnn=False, or another version of the framework; then the page or size that it dies of
health_check_failed~deadlineexceeded|client.timeout timeoutSeconds and failureThreshold of the livenessProbe above the longest request, or the work in a thread or queue of its own
~uncorrectableecc nvidia-smi --gpu-reset -i N where nothing runs on it; leave the card out until nvidia-smi -q -d ECC,ROW_REMAPPER is clean
~noroutetohost|masternotready firewall-cmd --add-port=PORT/tcp on the master, and the ports after it; nc -zv MASTER PORT from every node
~grpc: grpc.max_receive_message_length
~encrypted qpdf --decrypt --password=PASSWORD IN.pdf OUT.pdf
~digitalsignature ocrmypdf --invalidate-digital-signatures
~alreadyhastext|taggedpdf ocrmypdf --skip-text   # --redo-ocr, --force-ocr
ppocr_line_error check the delimiter (tab) and the encoding (UTF-8)
kernel_oom_cpuset more nodes in cpuset.mems: docker run --cpuset-mems=0,1; systemctl set-property UNIT AllowedMemoryNodes=0-1
)rows";

// Causes, what to do first so that nothing is lost, what is not worth trying.
constexpr std::string_view kCareRows = R"rows(
storage_failure read_only_filesystem | stop writing there; copy what matters to another disk before fsck or a restart | another batch size, fewer workers, a restart of the run on the same disk
gpu_fault | nvidia-bug-report.sh before the machine restarts; the last checkpoint to another machine | another batch size or framework version
host_hardware_fault | take the machine out of service; do not trust what it saved since the first such line | reinstalling the framework
host_out_of_memory cgroup_out_of_memory numa_node_full userspace_oom_kill | keep the last checkpoint: the newest file may be cut short | another GPU, driver or CUDA version, NCCL_P2P_DISABLE=1: GPU memory has no part in it
gpu_out_of_memory gpu_busy | | more host memory or --shm-size; another CUDA version
shm_full | | more host memory, another GPU or driver
disk_full storage_limit_evicted | keep the last whole checkpoint: the newest file may be cut short | deleting that checkpoint to make room
loss_diverged | keep a checkpoint from before that step; later ones are worthless | training on: it does not come back
preempted_or_evicted host_restarted | copy checkpoints from the node's local disk to a lasting one | searching the program for the fault
collective_timeout communication_stall rank_busy_alone | py-spy dump --pid PID of every rank before the run is stopped | a longer time-out before it is known who did not come
stalled loader_timeout evaluation_hang | py-spy dump --pid PID before the run is stopped |
checkpoint_damaged | copy the file before anything is tried on it | another framework version: bytes are missing
worker_timeout | | more memory: nothing ran out
server_overloaded | | a restart of the server, more retries at once
start_method seccomp_refused | | a higher ulimit, fewer threads, another driver
illegal_instruction | | reinstalling the driver, more memory
openmp_duplicate_runtime | | KMP_DUPLICATE_LIB_OK=TRUE: it hides the fault, and results may be wrong
label_out_of_range shape_mismatch bad_training_data | | another driver or CUDA version, a smaller batch
missing_module library_conflict | | another GPU or driver, as long as the import fails
port_in_use rendezvous_failed | | NCCL variables: the ranks have not met yet
pcie_link_slow gpu_throttled cpu_throttled | | tuning batch sizes first: the hardware holds them all up
)rows";

// The key is the general words themselves: a change of a row elsewhere must be made here too.
// Behind the general words, each behind a double bar, an engine and its own; "-": nothing is to be
// done there. Podman's are Docker's under its name.
constexpr std::string_view kEngineRows = R"rows(
raise the limit: docker run --memory=64g | resources.limits.memory | sbatch --mem=64G || docker,podman raise the limit: docker run --memory=64g || kubernetes raise the limit: resources.limits.memory || slurm raise the limit: sbatch --mem=64G || lxc raise the limit: lxc config set NAME limits.memory 64GiB
docker run --shm-size=8g (or --ipc=host); Kubernetes: an emptyDir with medium: Memory || docker,podman docker run --shm-size=8g   # or --ipc=host || kubernetes an emptyDir with medium: Memory, mounted at /dev/shm || slurm,lxc -
docker run --pids-limit=-1 || podman docker run --pids-limit=-1 || kubernetes podPidsLimit of the kubelet's configuration || slurm - || lxc lxc config unset NAME limits.processes
kubectl describe pod NAME; docker inspect NAME || docker,podman docker inspect NAME; docker logs NAME || kubernetes kubectl describe pod NAME || slurm scontrol show job JOB || lxc lxc info NAME --show-log
create what is named, in the same namespace || docker,podman,slurm,lxc create what is named: a volume, network, secret or device
docker build --platform linux/amd64   # if it says exec format error || podman docker build --platform linux/amd64   # if it says exec format error
sacct -j JOB --format=State,ExitCode; kubectl describe pod NAME || slurm sacct -j JOB --format=State,ExitCode || kubernetes kubectl describe pod NAME
sacct -j JOB --format=State,ExitCode,Reason; kubectl describe pod NAME || slurm sacct -j JOB --format=State,ExitCode,Reason || kubernetes kubectl describe pod NAME
kubectl get pods -o wide, or squeue -j JOB -o '%T %r' || slurm squeue -j JOB -o '%T %r' || kubernetes kubectl get pods -o wide
kubectl describe pod NAME; squeue -j JOB -o %r; sinfo -o '%n %G %m' || slurm squeue -j JOB -o %r; sinfo -o '%n %G %m' || kubernetes kubectl describe pod NAME
kubectl describe pod NAME | sed -n '/^Events/,$p' || docker,podman docker events --since 1h --until 0s || slurm scontrol show job JOB || lxc lxc info NAME --show-log
kubectl describe pod NAME   # probe, delay and period; the time until the model is loaded || docker,podman docker inspect NAME --format '{{json .State.Health}}'
more nodes in cpuset.mems: docker run --cpuset-mems=0,1; systemctl set-property UNIT AllowedMemoryNodes=0-1 || docker,podman more nodes in cpuset.mems: docker run --cpuset-mems=0,1 || slurm sbatch --mem-bind=none, with CPUs of more nodes
docker pull IMAGE (or crictl pull IMAGE) on that node || docker,podman docker pull IMAGE || kubernetes crictl pull IMAGE   # on that node
imagePullSecrets, or docker login || docker,podman docker login || kubernetes imagePullSecrets
docker run --gpus all || podman docker run --device nvidia.com/gpu=all || kubernetes resources.limits: nvidia.com/gpu: 1 || slurm sbatch --gres=gpu:1 || lxc lxc config device add NAME gpu gpu
docker version; docker run --security-opt seccomp=unconfined IMAGE CMD   # once, to see || podman docker run --security-opt seccomp=unconfined IMAGE CMD   # once, to see || kubernetes securityContext.seccompProfile.type: Unconfined   # once, to see
)rows";

// Code, the two suspects (several of the second), for whom of them the command is worth its while
// although no line speaks for the other (what was seen leaves that open), and the command.
constexpr std::string_view kSteps = R"rows(
kernel_kill host_out_of_memory killed_by_other both dmesg -T | grep -iE 'oom-kill|killed process'
group_kill cgroup_out_of_memory host_out_of_memory others grep -rsE '^(max|oom|oom_kill) [1-9]' /sys/fs/cgroup --include='memory.[eo]*'
p2p_ladder nccl_p2p_broken nccl_init_hang,collective_timeout,communication_stall,nccl_error others ocrtune p2p
where_it_waits rank_busy_alone collective_timeout others py-spy dump --pid PID
kernel_storage storage_failure collective_timeout,loader_timeout others dmesg -T | grep -iE 'not responding|blocked for more|lustre|ceph'
collective_names rank_mismatch collective_timeout neither TORCH_DISTRIBUTED_DEBUG=DETAIL CMD
scheduler preempted_or_evicted terminated_from_outside,killed_by_other others sacct -j JOB --format=State,ExitCode,Reason; kubectl describe pod NAME
shm_space shm_full host_out_of_memory neither df -h /dev/shm
shm_space shm_full segmentation_fault others df -h /dev/shm
one_process loader_worker_failed host_out_of_memory first CMD with num_workers=0
one_process python_exception loader_worker_failed neither CMD with num_workers=0
peer_kernel host_out_of_memory peer_lost others ssh PEER dmesg -T | grep -iE 'oom-kill|killed process'
port_owner port_in_use rendezvous_failed others ss -ltnp | grep PORT
port_reach nccl_network rendezvous_failed others nc -zv MASTER PORT
card_health gpu_fault gpu_kernel_fault others dmesg -T | grep -i xid; nvidia-smi -q -d ECC,ROW_REMAPPER
who_is_pending not_scheduled rendezvous_failed others kubectl get pods -o wide, or squeue -j JOB -o '%T %r'
pod_events not_scheduled container_setup_failed,image_pull_failed first kubectl describe pod NAME | sed -n '/^Events/,$p'
host_cards no_gpu_visible container_setup_failed others nvidia-smi   # on the host
host_cards driver_mismatch container_setup_failed neither nvidia-smi   # on the host
module_version driver_mismatch no_gpu_visible both cat /proc/driver/nvidia/version; nvidia-smi
module_version driver_mismatch cuda_driver_too_old neither cat /proc/driver/nvidia/version; nvidia-smi
pull_by_hand access_refused image_pull_failed others crictl pull IMAGE
pull_by_hand access_refused remote_unreachable both curl -sSI URL
date_and_sync clock_wrong access_refused first date -u; timedatectl show -p NTPSynchronized
date_and_sync clock_wrong tls_failed both date -u; timedatectl show -p NTPSynchronized
small_request request_too_large remote_unreachable first curl -sS -F file=@SMALL_IMAGE URL
kernel_kill host_out_of_memory health_check_failed others dmesg -T | grep -iE 'oom-kill|killed process'
start_seconds health_check_failed stalled others curl --retry 99 --retry-connrefused -sS http://HOST:PORT/health   # with the check off
start_seconds health_check_failed time_limit neither curl --retry 99 --retry-connrefused -sS http://HOST:PORT/health   # with the check off
card_processes gpu_busy gpu_out_of_memory both nvidia-smi --query-compute-apps=pid,used_memory --format=csv
card_processes gpu_busy no_gpu_visible neither nvidia-smi --query-compute-apps=pid,used_memory --format=csv
load_trusted checkpoint_refused checkpoint_damaged first python -c '__import__("torch").load("FILE", weights_only=False)'   # a file you trust
given_shapes shape_mismatch checkpoint_mismatch neither CMD without the pretrained weights
given_shapes shape_mismatch bad_configuration first CMD with the model's default configuration
fresh_environment library_conflict bad_configuration both CMD in a new environment with the versions that the model's page names
event_log host_hardware_fault segmentation_fault first ipmitool sel elist && ras-mc-ctl --errors; journalctl -k -b -1 | grep -iE 'mce|edac'
event_log host_hardware_fault preempted_or_evicted others ipmitool sel elist && ras-mc-ctl --errors; journalctl -k -b -1 | grep -iE 'mce|edac'
)rows";

}  // namespace

const std::vector<Fix>& fix_table() {
  static const std::vector<Fix> kFixes = [] {
    std::vector<Fix> fixes;
    for (std::string_view row : rows_of(kLineFixes)) {
      const std::string_view of = take_column(row);
      // A cause or signature, and behind "~" words of the evidence: either or both.
      const std::string_view name = of.substr(0, of.find('~'));
      const std::string_view quotes = of.substr(std::min(name.size() + 1, of.size()));
      std::string causes = name.empty() ? "" : " " + std::string(name) + " ";
      std::ranges::replace(causes, ',', ' ');
      const bool alone = starts_with(row, "! ");
      fixes.push_back(
          {lasting(causes), lasting(quotes), 0, 0, lasting(row.substr(alone ? 2 : 0)), alone});
    }
    for (const std::string_view row : rows_of(kProgramFixes)) {
      const std::vector<std::string> parts = split_at(row, " || ");
      const char* causes = lasting(" " + parts[0] + " ");
      for (std::size_t i = 1; i < parts.size(); ++i) {
        std::string_view fix = parts[i];
        const std::uint32_t programs = programs_named(take_column(fix));
        // The second column is "-" and the programs that must not have written the log.
        const std::string_view without = take_column(fix).substr(1);
        fixes.push_back(
            {causes, "", programs, without.empty() ? 0 : programs_named(without), lasting(fix)});
      }
    }
    return fixes;
  }();
  return kFixes;
}

const std::vector<Care>& care_table() {
  static const std::vector<Care> kCare = [] {
    std::vector<Care> care;
    for (const std::string_view row : rows_of(kCareRows)) {
      const std::vector<std::string> columns = split(std::string(row), '|');
      const std::string causes = " " + columns[0];
      care.push_back({lasting(causes), lasting(trim(columns[1])), lasting(trim(columns[2]))});
    }
    return care;
  }();
  return kCare;
}

const std::vector<EngineWords>& engine_words() {
  static const std::vector<EngineWords> kWords = [] {
    std::vector<EngineWords> words;
    for (const std::string_view row : rows_of(kEngineRows)) {
      const std::vector<std::string> parts = split_at(row, " || ");
      const char* general = lasting(parts[0]);
      for (std::size_t i = 1; i < parts.size(); ++i) {
        std::string_view rest = parts[i];
        for (const std::string& engine : split(std::string(take_column(rest)), ',')) {
          std::string own(rest == "-" ? "" : rest);
          if (engine == "podman") replace_all(own, "docker", "podman");
          words.push_back({general, lasting(engine), lasting(own)});
        }
      }
    }
    return words;
  }();
  return kWords;
}

std::string_view engine_of(std::uint32_t programs) {
  const auto seen = [&](std::string_view names) { return (programs & programs_named(names)) != 0; };
  std::string_view found;
  for (const auto& [name, engine] : {std::pair<const char*, std::string_view>{"Podman", "podman"},
                                     {"Kubernetes", "kubernetes"},
                                     {"Slurm", "slurm"},
                                     {"LXC", "lxc"},
                                     {"Docker", "docker"}}) {
    // Podman pulls from docker.io, and a pod's events name the engine below it.
    if (!seen(name) || (engine == "docker" && seen("Podman,Kubernetes,LXC"))) continue;
    if (!found.empty()) return "";
    found = engine;
  }
  return found;
}

const char* words_for(const char* general, std::string_view engine) {
  const auto& rows = engine_words();
  const auto own = std::ranges::find_if(rows, [&](const EngineWords& row) {
    return row.engine == engine && std::string_view(row.general) == general;
  });
  return own == rows.end() ? general : own->own;
}

const std::vector<NextStep>& next_step_table() {
  static const std::vector<NextStep> kTable = [] {
    std::vector<NextStep> table;
    for (std::string_view row : rows_of(kSteps)) {
      const char* code = lasting(take_column(row));
      const char* first = find_cause(take_column(row)).name;
      const std::string others(take_column(row));
      const std::string_view open = take_column(row);
      const bool both = open == "both";
      for (const std::string& other : split(others, ',')) {
        table.push_back({code, first, find_cause(other).name, lasting(row), both || open == "first",
                         both || open == "others"});
      }
    }
    return table;
  }();
  return kTable;
}

}  // namespace ocrtune
