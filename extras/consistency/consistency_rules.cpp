// The table of what may differ between nodes, and what a difference does.
#include "extras/consistency/consistency.h"

namespace ocrtune {
namespace {

constexpr const char* kShapes =
    "the ranks build different models: the all-reduce adds up tensors that do not belong together, "
    "or hangs on different sizes";
constexpr const char* kSteps =
    "each rank applies another update to the same averaged gradient: their weights drift apart "
    "from "
    "the first step";
constexpr const char* kBatch =
    "gradients are averaged as if all batches were of one size, and a rank runs out of batches "
    "before the others, who then wait until the time-out";
constexpr const char* kLabels =
    "a class number means another character on each rank: they pull the shared weights in "
    "different directions";
constexpr const char* kImages =
    "the ranks train on differently prepared images; the model learns a mixture that inference "
    "never shows it";
constexpr const char* kPace = "no effect on the result; the slowest rank sets the pace of all";
constexpr const char* kLocal = "none: a matter of each node";
constexpr const char* kMeeting =
    "the ranks wait for one another at different places and never start";
constexpr const char* kTransport =
    "the two ends of a connection choose different ways to talk: NCCL hangs or fails at the start";
constexpr const char* kVersion =
    "different builds may speak different protocols (a hang at the start) or round differently";
constexpr const char* kOwnBuild =
    "a program built for the other instructions dies with 'Illegal instruction', or is slower here";
constexpr const char* kRank = "two processes claim the same rank: the rendezvous hangs or refuses";

}  // namespace

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<ConsistencyRule>& consistency_rules() {
  static const std::vector<ConsistencyRule> kRules = {
      {"x-*", Demand::local, "none: holds anchors for other keys"},
      {"Global.save_model_dir", Demand::local, kLocal},
      {"Global.save_inference_dir", Demand::local, kLocal},
      {"Global.save_res_path", Demand::local, kLocal},
      {"Global.infer_img", Demand::local, kLocal},
      {"Global.use_visualdl", Demand::local, kLocal},
      {"Global.vdl_writer*", Demand::local, kLocal},
      {"Global.print_batch_step", Demand::local, kLocal},
      {"Global.log_smooth_window", Demand::local, kLocal},
      {"Global.print_mem_info", Demand::local, kLocal},
      {"Global.cal_metric_during_train", Demand::local, kPace},
      {"Global.debug", Demand::local, kLocal},
      {"Global.log_ranks", Demand::local, kLocal},
      {"Global.rank", Demand::different, kRank},
      {"Global.node_rank", Demand::different, kRank},
      {"Global.local_rank", Demand::local, kLocal},
      {"Global.device*", Demand::local, kLocal},
      {"Global.gpu_id", Demand::local, kLocal},
      {"rank", Demand::different, kRank},
      {"node_rank", Demand::different, kRank},
      {"machine_rank", Demand::different, kRank},
      {"local_rank", Demand::local, kLocal},
      {"device", Demand::local, kLocal},
      {"devices*", Demand::local, kLocal},
      {"gpu_ids*", Demand::local, kLocal},
      {"output_dir", Demand::local, kLocal},
      {"log_dir", Demand::local, kLocal},
      {"Global.distributed", Demand::local, "none: PaddleOCR sets it itself"},
      {"Global.use_gpu", Demand::equal,
       "GPU ranks start NCCL, CPU ranks gloo: they wait for one another and never start"},
      {"Global.use_xpu", Demand::equal, kMeeting},
      {"Global.use_npu", Demand::equal, kMeeting},
      {"Global.seed", Demand::equal,
       "ranks start from different random states: samples are shuffled differently, so some are "
       "seen twice and others never, and a run cannot be repeated"},
      {"Global.epoch_num", Demand::equal,
       "a rank that is done earlier leaves; the others wait for it in the all-reduce until the "
       "time-out, and the learning rate schedules differ"},
      {"Global.eval_batch_*", Demand::equal,
       "ranks pause for evaluation at different steps; the others wait for them"},
      {"Global.save_epoch_step", Demand::local, kLocal},
      {"Global.use_amp", Demand::equal,
       "ranks send gradients of different precision and scale: sums are wrong or the all-reduce "
       "fails"},
      {"Global.amp_*", Demand::equal, "ranks scale and round gradients differently"},
      {"Global.scale_loss", Demand::equal, "gradients of different scale are averaged"},
      {"Global.use_dynamic_loss_scaling", Demand::equal,
       "gradients of different scale are averaged"},
      {"Global.use_sync_bn", Demand::equal,
       "some ranks wait for statistics that the others never send: a hang"},
      {"Global.find_unused_parameters", Demand::equal,
       "ranks reduce a different list of gradients: a hang"},
      {"Global.checkpoints", Demand::same_files,
       "ranks continue from different weights and optimiser states"},
      {"Global.pretrained_model", Demand::same_files, "ranks start from different weights"},
      {"Global.character_dict_path", Demand::same_files, kLabels},
      {"*character_dict_path", Demand::same_files, kLabels},
      {"Global.character_type", Demand::equal, kLabels},
      {"Global.use_space_char", Demand::equal, kLabels},
      {"*max_text_length", Demand::equal,
       "long labels are dropped on some ranks only, and decoders differ in size"},
      {"Optimizer.*", Demand::equal, kSteps},
      {"*learning_rate", Demand::equal, kSteps},
      {"lr", Demand::equal, kSteps},
      {"Architecture.*", Demand::equal, kShapes},
      {"Loss.*", Demand::equal, "the ranks minimise different losses; the average serves none"},
      {"PostProcess.*", Demand::equal, "figures of evaluation mean different things"},
      {"Metric.*", Demand::equal, "figures of evaluation mean different things"},
      {"Train.dataset.label_file_list*", Demand::same_files,
       "ranks cut different lists into shares: samples are used twice or never, and different "
       "numbers of batches end in a hang"},
      {"Train.dataset.data_dir", Demand::local,
       "none, if the images behind it are the same on all nodes"},
      {"Train.dataset.ratio_list*", Demand::equal,
       "ranks use different parts of the data and different numbers of batches"},
      {"Train.dataset.transforms*", Demand::equal, kImages},
      {"Train.dataset.*", Demand::equal, kImages},
      {"Eval.loader.*", Demand::local, "none on training: rank 0 evaluates alone"},
      {"Train.sampler.*", Demand::equal, kBatch},
      {"Train.loader.batch_size_per_card", Demand::equal, kBatch},
      {"*batch_size*", Demand::equal, kBatch},
      {"Train.loader.drop_last", Demand::equal,
       "ranks do a different number of steps in an epoch: the last one hangs"},
      {"Train.loader.shuffle", Demand::equal, "ranks draw their samples in different orders"},
      {"*.loader.num_workers", Demand::local, kPace},
      {"*.loader.use_shared_memory", Demand::local, kPace},
      {"*.loader.*", Demand::equal, "the loaders of the ranks behave differently"},
      {"Eval.dataset.label_file_list*", Demand::same_files,
       "evaluation figures depend on which node is rank 0"},
      {"Eval.dataset.data_dir", Demand::local, kLocal},
      {"Eval.*", Demand::equal, "evaluation figures depend on which node is rank 0"},
      {"env.RANK", Demand::different, kRank},
      {"env.PADDLE_TRAINER_ID", Demand::different, kRank},
      {"env.PADDLE_GLOBAL_RANK", Demand::different, kRank},
      {"env.PADDLE_RANK", Demand::different, kRank},
      {"env.NODE_RANK", Demand::different, kRank},
      {"env.GROUP_RANK", Demand::different, kRank},
      {"env.SLURM_PROCID", Demand::different, kRank},
      {"env.SLURM_NODEID", Demand::local, kLocal},
      {"env.LOCAL_RANK", Demand::local, kLocal},
      {"env.PADDLE_LOCAL_RANK", Demand::local, kLocal},
      {"env.PADDLE_RANK_IN_NODE", Demand::local, kLocal},
      {"env.PADDLE_CURRENT_ENDPOINT", Demand::different, kRank},
      {"env.FLAGS_selected_*", Demand::local, kLocal},
      {"env.CUDA_VISIBLE_DEVICES", Demand::local, kLocal},
      {"env.NCCL_SOCKET_IFNAME", Demand::local, kLocal},
      {"env.GLOO_SOCKET_IFNAME", Demand::local, kLocal},
      {"env.NCCL_IB_HCA", Demand::local, kLocal},
      {"env.NCCL_TOPO_FILE", Demand::local, kLocal},
      {"env.NCCL_DEBUG*", Demand::local, kLocal},
      {"env.NCCL_*", Demand::equal, kTransport},
      {"env.WORLD_SIZE", Demand::equal, kMeeting},
      {"env.MASTER_*", Demand::equal, kMeeting},
      {"env.PADDLE_MASTER", Demand::equal, kMeeting},
      {"env.PADDLE_TRAINERS_NUM", Demand::equal, kMeeting},
      {"env.PADDLE_NNODES", Demand::equal, kMeeting},
      {"env.PADDLE_GLOBAL_SIZE", Demand::equal, kMeeting},
      {"env.PADDLE_TRAINER_ENDPOINTS", Demand::equal, kMeeting},
      {"env.PADDLE_DISTRI_BACKEND", Demand::equal, kMeeting},
      {"env.FLAGS_stop_check_timeout", Demand::equal,
       "ranks give up on one another at different times"},
      {"env.FLAGS_*", Demand::equal, "the framework behaves differently on each node"},
      {"env.OMP_NUM_THREADS", Demand::equal,
       "ranks compute at different speeds; the slowest sets the pace of all"},
      {"env.OMP_*", Demand::equal, kPace},
      {"env.KMP_*", Demand::equal, kPace},
      {"env.MKL_*", Demand::equal, kPace},
      {"env.PYTHONHASHSEED", Demand::equal, "runs cannot be repeated"},
      {"env.*", Demand::local, kLocal},
      {"version.paddle*", Demand::equal, kVersion},
      {"version.torch*", Demand::equal, kVersion},
      {"version.nvidia-*", Demand::equal, kVersion},
      {"version.*nccl*", Demand::equal, kVersion},
      {"version.*cuda*", Demand::equal, kVersion},
      {"version.*cudnn*", Demand::equal, kVersion},
      {"version.numpy", Demand::equal, "images and augmentations may differ between the nodes"},
      {"version.opencv*", Demand::equal, "images and augmentations may differ between the nodes"},
      {"version.albu*", Demand::equal, "augmentations may differ between the nodes"},
      {"version.*", Demand::local, "mostly none: not a package that training depends on"},
      {"host.kernel", Demand::local, "none on the result; drivers and schedulers of another age"},
      {"host.os", Demand::local, "none on the result; libraries of another age"},
      {"host.cpu", Demand::local, kPace},
      {"host.governor", Demand::local, kPace},
      {"host.transparent_hugepages", Demand::local, kPace},
      {"host.numa_nodes", Demand::local, kPace},
      {"host.virtual_machine", Demand::local, kPace},
      {"host.container", Demand::local, "paths, limits and libraries may differ inside"},
      {"host.swap", Demand::local, "where there is swap, a run that is too large slows down first"},
      {"host.usable_cpus", Demand::equal,
       "the same number of processes and threads is too many for the smallest host, which sets the "
       "pace of all"},
      {"host.cores", Demand::local, kPace},
      {"host.isa", Demand::equal, kOwnBuild},
      {"host.memory", Demand::equal,
       "what fits on the largest host is killed for want of memory on the smallest"},
      {"host.shm", Demand::equal,
       "loader workers die with 'Bus error' on the host that has too little of /dev/shm"},
      {"host.gpus", Demand::equal,
       "a rank without a GPU of its own fails at the start; a slower GPU sets the pace of all"},
      {"host.interfaces", Demand::equal,
       "other names need other NCCL_SOCKET_IFNAME; a smaller MTU or speed holds up all"},
      {"host.ulimit.*", Demand::equal, "a limit of one host alone ends what the others bear"},
      {"*", Demand::equal, "the ranks run with different settings"},
  };
  return kRules;
}

std::optional<std::string> default_of(const std::string& key) {
  static const std::map<std::string, std::string> kDefaults = {
      {"Global.seed", "1024"},
      {"Global.use_amp", "false"},
      {"Global.amp_level", "O2"},
      {"Global.amp_dtype", "float16"},
      {"Global.scale_loss", "1"},
      {"Global.use_dynamic_loss_scaling", "false"},
      {"Global.use_sync_bn", "false"},
      {"Global.find_unused_parameters", "false"},
      {"Global.cal_metric_during_train", "false"},
      {"Global.use_space_char", "false"},
      {"Global.use_xpu", "false"},
      {"Global.use_npu", "false"},
      {"Global.use_mlu", "false"},
      {"Global.to_static", "false"},
      {"Optimizer.lr.warmup_epoch", "0"},
      {"Train.loader.use_shared_memory", "true"},
      {"Eval.loader.use_shared_memory", "true"},
  };
  const auto found = kDefaults.find(key);
  return found == kDefaults.end() ? std::nullopt : std::optional<std::string>(found->second);
}

}  // namespace ocrtune
