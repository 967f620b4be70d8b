// Lines of Python, Rust, C++ and the C library: what any program says when it fails.
#include "diagnosis/signatures/signatures.h"

namespace ocrtune {

std::vector<SignatureRow> program_signatures();

namespace {

std::vector<SignatureRow> resource_rows() {
  return {
      {"enfile", "too_many_open_files", Role::primary, 0.93,
       R"((?i)too many open files|打开的文件过多|\[Errno 2[34]\]|EMFILE\b|inotify (?:instance|watch) limit|ENFILE\b|os error 24\b)"},
      {"enospc_shm", "shm_full", Role::primary, 0.93,
       R"(use (?:the )?'--shm-size' flag to control the shared memory|(?:/dev/shm|/torch_|/paddle_|nccl-|shm).{0,80}[Nn]o space left on device|[Nn]o space left on device.{0,60}(?:/dev/shm|/torch_|/paddle_|nccl-|shm_))"},
      {"enospc", "disk_full", Role::primary, 0.9,
       R"([Nn]o space left on device|设备上没有空间|\[Errno 28\]|ENOSPC\b|os error 28\b|There is not enough space on the disk|WinError 112\]|磁盘空间不足|disk (?:is )?full)"},
      {"df_shm", "shm_full", Role::symptom, 0.5, R"(\d 100% /dev/shm$)"},
      {"df_full", "disk_full", Role::symptom, 0.45,
       R"(\d 100% /(?:home|data|mnt|scratch|var|tmp|opt|srv|output|ckpt|workspace|root|lustre|nfs)(?:/\S*)?$|\d 100% /$)"},
      {"edquot", "disk_full", Role::primary, 0.92,
       R"([Dd]isk quota exceeded|\[Errno 122\]|EDQUOT\b|os error 122\b)"},
      {"efbig", "disk_full", Role::primary, 0.6, R"(File size limit exceeded|\[Errno 27\])"},
      {"torch_write_short", "disk_full", Role::symptom, 0.6,
       R"(write error: wrote \d+ blocks instead of|PytorchStreamWriter failed writing file|unexpected pos \d+ vs \d+|\[enforce fail at inline_container)"},
      {"enomem", "host_allocation_failed", Role::primary, 0.88,
       R"(\[Errno 12\]|[Cc]annot allocate memory|无法分配内存|(?:[^存]|^)内存(?:不足|溢出)|主机内存不足|os error 12\b|ENOMEM\b|Not enough storage is available|not enough memory resources)"},
      {"pinned_memory", "host_allocation_failed", Role::primary, 0.8,
       R"((?:cudaHostAlloc|cudaMallocHost|pinned (?:host )?memory).{0,60}(?:failed|out of memory|Cannot))"},
      {"paging_file", "host_allocation_failed", Role::primary, 0.96,
       R"([Tt]he paging file is too small|WinError 1455|页面文件太小)"},
      {"numpy_alloc", "host_allocation_failed", Role::primary, 0.92,
       R"(Unable to allocate [\d.]+ [KMGT]?i?B for an array|numpy\.core\._exceptions\.\S*MemoryError)"},
      {"python_memory_error", "host_allocation_failed", Role::symptom, 0.85,
       R"(^(?:\S+ )?MemoryError\b)"},
      {"bad_alloc", "host_allocation_failed", Role::primary, 0.9,
       R"(std::bad_alloc|: bad allocation$|memory allocation of \d+ bytes failed|Insufficient memory.*Failed to allocate \d+ bytes|OutOfMemoryError: Failed to allocate|Failed to allocate \d+ bytes in function 'OutOfMemoryError')"},
      {"mkl_memory", "host_allocation_failed", Role::primary, 0.75,
       R"(MKL ERROR: Cannot allocate|OpenBLAS.*(?:Memory allocation still failed|too many memory regions))"},
      {"mkl_library", "library_conflict", Role::primary, 0.9,
       R"(Intel (?:oneAPI )?MKL FATAL ERROR)"},
      // Not a limit (EAGAIN) but a filter of system calls (EPERM).
      {"thread_refused", "seccomp_refused", Role::primary, 0.95,
       R"(pthread_create.{0,80}(?:Operation not permitted|EPERM|error code: 1\b)|(?:clone3?|fork|vfork|thread).{0,60}(?:Operation not permitted|EPERM\b)|(?:Operation not permitted|EPERM\b).{0,60}(?:pthread_create|clone3?\b|starting thread)|PermissionError: \[Errno 1\].{0,80}(?:unshare|clone|io_uring|perf_event|userfaultfd|shmget|mbind|set_mempolicy)|(?:mbind|set_mempolicy|move_pages|get_mempolicy|io_uring_setup|io_setup|perf_event_open)\b.{0,40}Operation not permitted|seccomp.{0,60}(?:den|block|violat|kill))"},
      {"thread_limit", "process_limit", Role::primary,
       0.92, R"(can't start new thread|pthread_create failed.{0,80}(?:Resource temporarily|EAGAIN|error code: 11\b)|pthread_create failed$|pthread_create failed: |fork: 重试: 资源暂时不可用|资源暂时不可用|Thread creation failed|[Rr]esource temporarily unavailable.*(?:thread|fork|clone)|(?:fork|clone|thread).{0,60}[Rr]esource temporarily unavailable|BlockingIOError: \[Errno 11\]|libgomp: Thread creation failed|fork: retry|cannot fork|Cannot create (?:a )?thread|std::system_error'?\s*what\(\): *Resource temporarily|failed to spawn thread|unable to create (?:new )?native thread)"},
      {"omp_resource", "process_limit", Role::primary, 0.93,
       R"(OMP: Error #(?:34|35|179|14)\b|OMP: System error #(?:11|12)\b|unable to allocate necessary resources for OMP thread)"},
      {"registry_import", "library_conflict", Role::primary, 0.85,
       R"(Failed to import `\w+\.registry` make sure)"},
      {"omp_duplicate", "openmp_duplicate_runtime", Role::primary, 0.95,
       R"(OMP: Error #15\b|already initialized\.?.*(?:iomp|omp)|multiple copies of the OpenMP runtime)"},
      {"load_in_hundreds", "thread_oversubscription", Role::note, 0.35,
       R"(load average: \d{3,}\.)"},
      {"omp_affinity", "thread_oversubscription", Role::note, 0.2,
       R"(OMP: Warning #(?:72|181|205|213|216|234|250)\b)"},
      {"mkl_threading", "library_conflict", Role::primary, 0.85,
       R"(mkl-service \+ Intel\(R\) MKL: MKL_THREADING_LAYER=|MKL_THREADING_LAYER=INTEL is incompatible)"},
      {"eio", "storage_failure", Role::primary, 0.88,
       R"(unable to lock file, errno|No locks available|\[Errno 5\]|[Ii]nput/output error|[Ss]tale (?:NFS )?file handle|os error 116\b|os error 121\b|\[Errno 116\]|[Tt]ransport endpoint is not connected|Remote I/O error|disk I/O error|os error 5\b|SQLITE_IOERR)"},
      {"erofs", "read_only_filesystem", Role::primary, 0.88,
       R"([Rr]ead-only file system|os error 30\b|\[Errno 30\])"},
      {"eacces", "permission_denied", Role::primary, 0.85,
       R"(PermissionError: \[(?:Errno (?:1|13)|WinError 5)\]|: [Pp]ermission denied(?: \(os error 13\))?["' |]*$|permission denied while |os error 13\b|/dev/\S+.{0,20}: Permission denied|Permission denied: '?/|权限不够|\bEACCES\b|Operation not permitted$)"},
      {"memlock", "host_allocation_failed", Role::primary, 0.85,
       R"(ibv_(?:reg_mr|create_\w+)\w*.*(?:Cannot allocate memory|errno 12)|RLIMIT_MEMLOCK|memlock limit|max locked memory)"},
      {"lmdb", "missing_file", Role::primary, 0.7,
       R"(lmdb\.Error: \S+: (?:No such file|Device or resource))"},
      {"lmdb_damaged", "bad_training_data", Role::primary, 0.85,
       R"(Corrupted image for \d|lmdb\.(?:CorruptedError|PageNotFoundError|PanicError|VersionMismatchError)|lmdb\.InvalidError: .{0,60}(?:MDB_INVALID|not an LMDB)|MDB_(?:CORRUPTED|PAGE_NOTFOUND|INVALID|PANIC|VERSION_MISMATCH))"},
      {"shard_damaged", "bad_training_data", Role::primary, 0.85,
       R"((?:corrupted|truncated) record at \d|Parquet magic bytes not found|ArrowInvalid: .*(?:[Cc]orrupt|truncated|not an Arrow file|[Ee]xpected to read))"},
      {"lmdb_limit", "lmdb_limit", Role::primary, 0.95,
       R"(lmdb\.(?:MapFullError|ReadersFullError|DbsFullError|TxnFullError)|MDB_(?:MAP_FULL|READERS_FULL|DBS_FULL|TXN_FULL))"},
      {"lmdb_forked", "start_method", Role::primary, 0.93,
       R"(BadRslotError|MDB_BAD_RSLOT|(?i:lmdb).{0,80}(?:already open in this process|opened in a (?:parent|different) process))"},
  };
}

std::vector<SignatureRow> program_rows() {
  return {
      {"no_such_file", "missing_file", Role::primary, 0.8,
       R"(FileNotFoundError|\[Errno 2\] No such file|系统找不到指定的|NotADirectoryError|IsADirectoryError|NotFound, message: "No such file|os error 2\b|(?i:label_file|dict|config)\S* .*not (?:exist|found)|Error: .*\bnot find \S+\.\w|(?:unable to|cannot|could not) find '/)"},
      {"tesseract_config", "missing_file", Role::primary, 0.85, R"(read_params_file: Can't open)"},
      {"c_no_such_file", "missing_file", Role::symptom, 0.55,
       R"(: [Nn]o such file or directory|没有那个文件或目录|AssertionError: .*(?:does not exist|doesn't exist|not exist)|(?:path|file|folder|directory) \S+ (?:does not|doesn't|not) exist)"},
      {"no_module", "missing_module", Role::primary, 0.9,
       R"(pipeline handler: \w+ is not locally available|no library called "|ModuleNotFoundError|No module named|ImportError: cannot import name|DLL load failed)"},
      {"triton_missing", "missing_module", Role::primary, 0.92,
       R"(Cannot find a working triton installation|[Tt]riton is not (?:installed|available))"},
      {"numpy_scalar", "library_conflict", Role::primary, 0.88,
       R"(only (?:0-dimensional|length-1|size-1) arrays can be converted to Python scalars)"},
      {"windows_library", "library_conflict", Role::symptom, 0.6,
       R"(\[WinError (?:126|193|1114)\])"},
      // A library lacks a function: another of that name, of another version, was loaded before.
      {"windows_procedure", "library_conflict", Role::primary, 0.95,
       R"(\[WinError 127\]|procedure entry point .* could not be located)"},
      {"numpy_abi", "library_conflict", Role::primary, 0.9,
       R"(numpy\.core\.multiarray failed to import|module compiled against (?:ABI|API) version|numpy\.(?:dtype|ndarray) size changed|A module that was compiled using NumPy 1\.x cannot be run in|has no attribute 'sctypes'|was removed in the NumPy 2)"},
      {"module_attribute", "library_conflict", Role::primary, 0.75,
       R"(AttributeError: (?:partially initialized )?module '\S+' has no attribute)"},
      // The class is written with its module: one of an extension, older or newer than its caller.
      {"native_attribute", "library_conflict", Role::symptom, 0.6,
       R"('\w+(?:\.\w+)+' object has no attribute ')"},
      {"version_mismatch", "library_conflict", Role::primary, 0.85,
       R"(No matching distribution found for|java\.lang\.UnsatisfiedLinkError|does not match the version \S+ was compiled with|compiled with different CUDA major versions|operator torchvision::\w+ does not exist|CUDAMismatchException|VersionConflict|is required for a normal functioning of this module|unsupported pickle protocol|has no attribute '(?:ANTIALIAS|getsize)'|module 'numpy' has no attribute|CUDA_HOME (?:environment variable is not set|does not exist)|requires a different Python|unsupported operand type\(s\) for \|: 'type'|(?:was|were) compiled (?:with|for|against) .{0,60}\b(?:but|while)\b .{0,60}(?:found|installed|runtime|loaded|is))"},
      {"glibcxx", "library_conflict", Role::primary, 0.92,
       R"(version `(?:GLIBCXX|CXXABI)_\S+' not found)"},
      {"glibc", "library_conflict", Role::primary, 0.92,
       R"(version `(?:GLIBC|GOMP)_\S+' not found|undefined symbol: |symbol lookup error|ImportError: lib\S+: cannot open shared object|error while loading shared libraries)"},
      {"protobuf", "library_conflict", Role::primary, 0.9,
       R"(Descriptors cannot (?:not )?be created directly|TypeError: Descriptors cannot|google\.protobuf.*has no attribute)"},
      {"tls_block", "library_conflict", Role::primary, 0.9,
       R"(cannot allocate memory in static TLS block)"},
      {"argparse", "bad_configuration",
       Role::primary, 0.9, R"(error: (?:unrecognized arguments|the following arguments are required|argument \S+: (?:invalid|expected|not allowed))|error: (?:unexpected argument|a value is required)|There are not enough slots available|detected an attempt to run as root|No slot '\d+' specified on host|Hostfile is not formatted|Unable to find hostfile|is not in the \S+ registry|Missing key \S+\s*full_key)"},
      {"config_library", "bad_configuration", Role::primary, 0.85,
       R"(omegaconf\.errors\.\w+|Config(?:Attribute|Key)Error|InterpolationKeyError|hydra\.errors\.\w+|TOMLDecodeError|configparser\.\w+Error|Missing mandatory value|invalid choice: |[Uu]nknown (?:config|option|key) |unexpected key in config|Check batch related parameters|environment variable \S+ (?:is )?not set)"},
      // The line after it says of what.
      {"config_validation", "bad_configuration", Role::symptom, 0.7,
       R"(validation errors? for \w*(?:Config|Settings|Args|Arguments))"},
      {"yaml_error", "bad_configuration", Role::primary, 0.92,
       R"(yaml\.(?:scanner|parser|constructor|composer|reader)\.\w*Error|while (?:scanning|parsing) a (?:block|flow|simple|quoted)|mapping values are not allowed here)"},
      {"json_error", "bad_configuration", Role::symptom, 0.6,
       R"(json\.decoder\.JSONDecodeError|JSONDecodeError)"},
      {"config_key", "bad_configuration", Role::primary, 0.7,
       R"(^(?:\S+ )?KeyError: '?(?:Global|Train|Eval|Architecture|Optimizer|Loss|PostProcess|Metric|dataset|loader|sampler|transforms|name|character_dict_path|label_file_list|data_dir|batch_size_per_card)'?|AssertionError: (?:.*only support|.*not support|.*must be|the key))"},
  };
}

// Labels, shapes, checkpoints, images and losses.
std::vector<SignatureRow> label_rows() {
  return {
      {"label_decode", "label_out_of_range", Role::primary, 0.75,
       R"(self\.character\[\w+\]|KrakenEncodeException)"},
      {"label_character", "label_out_of_range", Role::symptom, 0.62,
       R"((?i)(?:character|symbol|token|label)s? .{0,40}(?:not (?:found )?in|outside(?: of)?|missing (?:in|from)) (?:the )?(?:dict\w*|char(?:acter)? ?(?:set|list|dict)|charset|vocab\w*|alphabet|label ?map)|out[- ]of[- ]vocabulary|(?:charset|dictionary|vocabulary|alphabet) .{0,40}(?:mismatch|does not match|differs))"},
      {"label_key", "label_out_of_range", Role::symptom, 0.62,
       R"(KeyError: '(?:[^\x00-\x7F]{1,8}|[^\w']|\w)'$|ValueError: '(?:[^\x00-\x7F]{1,8}|[^\w']|\w)' is not in list|ValueError: substring not found)"},
      {"label_key_number", "label_out_of_range", Role::symptom, 0.42, R"(KeyError: \d+$)"},
      {"label_frame", "label_out_of_range", Role::symptom, 0.45,
       R"(\s{4}\S.*(?:id2char|idx2char|char2idx|char2id|char_to_id|id_to_char|idx_to_char|label2id|self\.dict|self\.character|char_dict|char_map|charset|alphabet)\w*\[)"},
      {"rust_label", "label_out_of_range", Role::symptom, 0.6,
       R"(panicked at \S*(?:encode|vocab|charset|dict|label|alphabet|tokeni[sz]e)\w*(?:/\w+)*\.rs)"},
      {"shapes", "shape_mismatch", Role::primary, 0.8,
       R"(Got invalid dimensions for input|updates tensor should have shape|mat1 and mat2 shapes cannot be multiplied|[Ss]izes of tensors must match|size of tensor a \(\d+\) must match|stack expects each tensor to be equal size|could not broadcast input array|operands could not be broadcast|expected input\[.*\] to have \d+ channels|Expected (?:more than 1 value per channel|all tensors to be on the same device)|expected scalar type \w+ but found|Input type \(.*\) and (?:weight|bias) type|is invalid for input of size|to_shape was called on a dynamic shape|Kernel size can't be greater than actual input|Broadcast dimension mismatch|all the input array dimensions .* must match|inhomogeneous shape|model (?:input|output) \(shape=.*\) and the tensor \(shape=.*\) are incompatible)"},
      {"missing_argument", "bad_configuration", Role::symptom, 0.6,
       R"(TypeError: .*(?:got an unexpected keyword argument|missing \d+ required (?:positional|keyword)))"},
      {"checkpoint_shapes", "checkpoint_mismatch", Role::primary, 0.88,
       R"(expected \d+ variables, but received \d+ variables during loading|size mismatch for \S+: copying a param|Error\(s\) in loading state_dict|Missing key\(s\) in state_dict|Unexpected key\(s\) in state_dict|does not match.*(?:checkpoint|state_dict|pretrained))"},
      {"checkpoint_refused", "checkpoint_refused", Role::primary, 0.94,
       R"(Weights only load failed|WeightsUnpickler error|_get_wo_message|was not an allowed global by default|allow_pickle=False|upgrade torch to at least v2\.6)"},
      {"checksum", "checkpoint_damaged",
       Role::primary, 0.8, R"((?i)(?-i:Mismatch between allocated memory size and expected size of serialized engine|Deserialize header failed)|(?:sha256|sha1|md5|checksum|hash) ?(?:sum)? ?(?:mismatch|does not match|did not match|verification failed)|DO NOT MATCH THE HASHES)"},
      {"checkpoint_damaged", "checkpoint_damaged", Role::primary, 0.9,
       R"(PytorchStreamReader failed (?:reading|locating)|UnpicklingError|invalid load key|Ran out of input|pickle data was truncated|failed finding central directory|BadZipFile|corrupt(?:ed)? checkpoint|invalid magic (?:characters|number)|SafetensorError: Error while deserializ|unexpected EOF, expected \d+ more bytes|tarfile\.ReadError|zlib\.error|BadGzipFile|LZMAError|truncated file: eof = |[Ff]ile signature not found|Compressed file ended before the end-of-stream)"},
      {"image_decode", "bad_training_data", Role::symptom, 0.55,
       R"(Assertion failed \(ssize\.width > 0|cannot identify image file|image file is truncated|imread_?\(.{0,200}can't open/read file|Corrupt JPEG data|UnidentifiedImageError|libpng error|Premature end of JPEG|cv2\.error: .*!_src\.empty\(\)|\(-215:Assertion failed\) !\w*(?:src|img|ssize)\.empty)"},
      {"label_line", "bad_training_data", Role::symptom, 0.6,
       R"((?i)label (?:file|line)\b.{0,80}(?:no tab|malformed|cannot be parsed|wrong (?:format|delimiter|number)))"},
      {"unicode_decode", "bad_training_data", Role::symptom, 0.5,
       R"(UnicodeDecodeError: '\S+' codec can't decode)"},
      {"no_samples", "dataset_too_small", Role::primary, 0.85,
       R"(num_samples should be a positive integer value, but got num_samples=0)"},
      {"iterator_end", "dataset_too_small", Role::symptom, 0.3,
       R"(ZeroDivisionError: .*modulo by zero|len\(\w*dataloader\)\s*==? ?0|Train dataset has no)"},
      {"finalizer_leftovers", "process_failed", Role::consequence, 0.1,
       R"(OSError: \[Errno (?:16|39)\] (?:Device or resource busy: '\.nfs|Directory not empty: '.*/pymp-))"},
      {"loss_nan", "loss_diverged", Role::primary, 0.75,
       R"re((?i)loss(?:: |=|:| = |': | )(?:nan|inf)(?:\b|xxx)|non-finite loss|Function '\S+' returned nan values|NaN or Inf found in|probability tensor contains either|found (?:nan|inf) or (?:nan|inf)|There are (?:NAN|INF) or (?:NAN|INF)|numerics: .*(?:NaN|Inf)|Monitored metric \S+ = -?(?:nan|inf))re"},
      {"loss_is_nan", "loss_diverged", Role::primary, 0.75,
       R"((?i)loss\b.{0,40} (?:is|are|was|became) (?:nan|inf|infinite)\b)"},
      {"loss_scale_floor", "loss_diverged", Role::primary, 0.7,
       R"((?i:minimum loss scale reached|loss is probably exploding)|Current loss scale already at minimum|loss scale.*(?:0\.0*1?\b.*minimum)|Loss scaler reducing loss scale to (?:0|1e-))"},
      {"cuda_fork", "start_method", Role::primary, 0.95,
       R"(Cannot re-initialize (?:CUDA|XPU|NPU|HIP) in forked subprocess|Forked process detected.{0,60}CUDA|cannot use (?:CUDA|the GPU) (?:in|after) (?:a )?fork)"},
      {"spawn_guard", "start_method", Role::primary, 0.95,
       R"(An attempt has been made to start a new process before the|proper idiom\s+in the main module|freeze_support\(\))"},
      {"daemonic_children", "start_method", Role::primary, 0.95,
       R"(daemonic processes are not allowed to have children)"},
      {"openmp_fork", "start_method", Role::primary, 0.9,
       R"(Terminating: fork\(\) called from a process already using GNU OpenMP|forking a process while a parallel region is active|OMP: Error #13\b.*fork|objc\[\d+\]: .*fork\(\)|may have been in progress in another thread when fork\(\) was called)"},
      {"no_semaphores", "start_method", Role::primary, 0.93,
       R"(\[Errno 38\] Function not implemented|lacks a functioning sem_open|No module named '_multiprocessing'|sem_open.{0,40}(?:not implemented|Permission denied|No such file))"},
      {"pickle_child", "start_method", Role::symptom, 0.6,
       R"((?:Can't|cannot) pickle (?:local object|<function <lambda>|'\S+' object|_thread))"},
      {"cuda_start", "bad_configuration", Role::symptom, 0.5,
       R"(CUDA error\(3\), initialization error|cudaErrorInitializationError)"},
  };
}

// What the words of an error say where no program's own row knows it. Weak, so that rows win.
std::vector<SignatureRow> word_rows() {
  return {
      {"words_memory", "host_allocation_failed", Role::symptom, 0.48,
       R"((?:Error|ERROR|Exception|FATAL|panicked)\b.{0,160}(?i:failed to allocate|allocation (?:of \S+ )?failed|insufficient memory|not enough memory|out of memory))"},
      {"words_missing", "missing_file", Role::symptom, 0.48,
       R"((?:Error|ERROR|Exception|FATAL|panicked)\b.{0,160}(?i:(?:file|folder|directory|path|model|checkpoint|weights|font|dictionary)\b.{0,60}(?:not found|not be found|not exist|is missing)|(?:unable to|could not|cannot|can't|failed to) (?:find|open|locate) |opening data file ))"},
      {"words_damaged", "checkpoint_damaged", Role::symptom, 0.48,
       R"((?:Error|ERROR|Exception|FATAL|panicked)\b.{0,160}(?i:(?:is|are|was|file|data|header) (?:corrupt|truncated|damaged)|corrupted (?:record|data|block|page|file)|unexpected end of (?:file|data|stream)|(?:bad|invalid) magic|checksum mismatch|crc mismatch|failed to deserialize))"},
      {"words_setting", "bad_configuration", Role::symptom, 0.48,
       R"((?:Error|ERROR|Exception|FATAL|panicked)\b.{0,160}(?i:mutually exclusive|(?:unknown|unrecogni[sz]ed) argument|please (?:pass|set|specify) |is not equal to \w+_|greater than the derived |requires --|should be a positive|(?:unknown|unrecogni[sz]ed|invalid|unsupported) (?:option|flag|parameter|setting|config\w*|model type|architecture|value for)|must be (?:set|specified|one of|divisible)|is not (?:divisible|a valid)))"},
      {"words_time", "time_limit", Role::symptom, 0.48,
       R"((?i)(?:time limit|wall ?time|wall ?clock time|run ?time limit).{0,30}(?:exceeded|reached|expired)|Job failed: execution took longer than|Build timed out|AirflowTaskTimeout|(?:Soft)?TimeLimitExceeded|[Hh]ard time limit \(|(?:exceeded|reached|over) .{0,20}(?:time limit|wall ?time|wall ?clock time|maximum execution time))"},
  };
}

// Ends that come without Python's help, and the generic words of all.
std::vector<SignatureRow> crash_rows() {
  return {
      {"faulthandler_segv", "segmentation_fault", Role::primary, 0.75,
       R"(Fatal Python error: Segmentation fault|Windows fatal exception: access violation)"},
      {"faulthandler_bus", "shm_full", Role::primary, 0.65, R"(Fatal Python error: Bus error)"},
      {"faulthandler_abort", "aborted", Role::symptom, 0.5, R"(Fatal Python error: Aborted)"},
      {"faulthandler_illegal", "illegal_instruction", Role::primary, 0.93,
       R"(Fatal Python error: Illegal instruction)"},
      {"heap_corruption", "segmentation_fault", Role::primary, 0.75,
       R"(double free or corruption|free\(\): (?:invalid (?:pointer|size|next)|double free detected)|malloc\(\): (?:memory corruption|corrupted|invalid|unaligned|unsorted)|corrupted (?:size vs\. prev_size|double-linked list)|munmap_chunk\(\): invalid pointer|\*\*\* stack smashing detected)"},
      {"rust_panic", "native_exception", Role::generic, 0.6,
       R"(thread '[^']*' (?:\(\d+\) )?panicked at|^panicked at |has overflowed its stack|called `(?:Result|Option)::unwrap\(\)` on)"},
      {"rust_libtorch", "cuda_library_missing", Role::primary, 0.75,
       R"((?:Torch\("|tch-rs|torch-sys).*(?:cannot open|not found|mismatch)|libtorch\S*: cannot open shared object|Cannot find a libtorch install)"},
      {"cpp_terminate", "native_exception", Role::generic, 0.55,
       R"(terminate called after throwing an instance of '([^']*)'|terminate called (?:without an active|recursively)|libc\+\+abi: terminating|pure virtual method called)"},
      {"glog_fatal", "native_exception", Role::generic, 0.4, R"(Check failed: )"},
      {"recursion", "python_exception", Role::generic, 0.5, R"(RecursionError|SystemError: )"},
      {"traceback", "python_exception", Role::generic, 0.3,
       R"(Traceback \(most recent call last\))"},
      {"exception_line", "python_exception", Role::generic, 0.45,
       R"(^(?:\[?rank ?\d+\]?: ?|\(\S+ pid=\d+\) )?(?:(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|NotMet)\b(?:: |$)|[a-z_][\w.]*\.\w*error: ))"},
      {"paddle_error_summary", "python_exception", Role::generic, 0.3,
       R"(^Error Message Summary:|\[Hint: |EnforceNotMet|PreconditionNotMetError|InvalidArgumentError|FatalError:|ExternalError:|UnimplementedError|UnavailableError)"},
      {"finish_words", "unknown", Role::finish, 0.05,
       R"((?i)(?:completed|finished|ended|exit(?:ed|s)) successfully|successfully (?:completed|finished)|(?:training|job|run|batch|evaluation|pipeline) (?:is |has |was )?(?:completed?|finished)[.!]?(?:\s*$| in \d| after \d|, (?:results?|outputs?) written)|\b(?:all|everything|training|job) done[.!]?\s*$|\bmarking task as success\b|\bdone, 0 failed\b|saved? (?:the )?final (?:model|checkpoint)|final (?:model|checkpoint) saved|\bdone in [\d.]+|^(?:[\d:.,TZ -]{5,32} )?finished in \d|^\d+ (?:pages?|files?|images?|documents?) (?:done|processed|finished|converted)[.!]?$|^Output file is (?:a PDF|okay)|\b(?:indexing|ocr|task|upload) done\b.{0,40}\btask done\b|^saved (?:predictions|results|outputs?|report) to \S|^=+ (?:\d+ (?:passed|skipped|deselected|xfailed|xpassed|warnings?)(?:, )?)+ in [\d.]+s|\b\d+(?: of |/)\d+ (?:\w+ )?(?:done|ok|finished|processed|converted), 0 failed|(?i:\b(?:finished|done|completed?|ok)\b.{0,80}\b(?:failed[=: ]+0|(?:0|no) (?:failed|failures|errors?))\b)|\b(?:done: |finished: |completed: )\d+ (?:\w+ )?ok\b|训练(?:完成|结束)|正常结束|全部完成|任务完成)"},
      // In the words of what started the run.
      {"finish_exit", "unknown", Role::finish, 0.05,
       R"(\bexit (?:status|code)[ :=]+0$|\bExit code 0$|\bexit 0$|\bfinished\b.{0,40} exit(?:ed with)? (?:status|code)[ :=]+0\b|exited with return code 0\b|\.service: (?:Deactivated successfully|Succeeded)|status=0/SUCCESS|exit status 0; expected|\bJobState=COMPLETED\b|completed with exit code 0$|\b0/1 +Completed\b|^\d+(?:_\d+)? .*\bCOMPLETED +0:0\b)"},
      // Of a document about a whole run, wherever it stands there.
      {"finish_state", "unknown", Role::finish, 0.05,
       R"(^Status: +Succeeded\b|[Pp]hase"?: +"?Succeeded\b)"},
      {"finish_trainer", "unknown", Role::finish, 0.05,
       R"(raining (?:complete|finished|done)|^\[after training is done\]|^\{'train_runtime': |best metric, |max_(?:epochs|steps)=|^Moving best model )"},
      {"paddle_26", "library_conflict", Role::note, 0.05,
       R"((?i)paddlepaddle(?:[-_]gpu)?\s*(?:==|-|\s)\s*2\.6\.|train with paddle 2\.6\.|paddle(?:paddle)? ?version:? ?2\.6\.)"},
      {"cpu_has_avx2", "illegal_instruction", Role::note, 0.05,
       R"((?:[Ff]lags|features).*\bavx2\b)"},
      {"batches_of_rank", "rank_mismatch", Role::note, 0.05,
       R"((?i)train dataloader has (\d+) iters|(?:batches|steps|iterations) per (?:epoch|rank)[ :=]+(\d+)|(?:len\(\w*loader\)|\bnum_batches)[ :=]+(\d+))"},
      {"resident_memory", "memory_leak", Role::note, 0.05,
       R"((?:[ (\[]rss=|[ (\[]RSS=|rss: |RSS: |"rss": )(\d+(?:\.\d+)?) ?[MG]i?B\b)"},
      {"exit_code", "process_failed", Role::generic, 0.3,
       R"(exited with code [1-9]|status=[1-9]\d*/FAILURE|[Ff]ailed with result 'exit-code'|exit status [1-9])"},
      {"error_word", "unknown", Role::generic, 0.2,
       R"((?:^|[\s\[])(?:ERROR|FATAL|CRITICAL|SEVERE)\b|^(?i:fatal|error)[: ]|\bFATAL ERROR\b|core dumped)"},
  };
}

}  // namespace

std::vector<SignatureRow> program_signatures() {
  std::vector<SignatureRow> rows;
  for (auto& part : {resource_rows(), program_rows(), label_rows(), word_rows(), crash_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace ocrtune
