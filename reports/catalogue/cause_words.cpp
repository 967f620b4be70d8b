// What each cause is called and means in Chinese; the English is in diagnosis/causes*.cpp.
#include "reports/catalogue/cause_words.h"

#include <string_view>

#include "diagnosis/causes.h"

namespace ocrtune {
namespace {

struct Row {
  std::string_view cause;
  const char* name;
  const char* meaning;  // "": a word that trials use for themselves
};

// diagnosis_words_test.cpp holds that each cause of cause_table() has a row here.
constexpr Row kRows[] = {
    {"host_out_of_memory", "主机内存不足",
     "进程收到 SIGKILL，这正是内核 OOM killer "
     "发出的信号：主机（或容器）内存已用完。受害的通常是数据加载进程，与显存无关。"},
    {"cgroup_out_of_memory", "容器内存不足",
     "达到了容器、Pod、作业或单元的内存上限，内核终止了其中一个进程；主机本身可能仍有空闲内存。"},
    {"numa_node_full", "NUMA 节点内存用尽",
     "进程被内存策略或 cpuset 限制在某些 NUMA "
     "节点上，这些节点的内存已用尽，内核终止了进程，而其他节点可能仍有空闲内存。"},
    {"userspace_oom_kill", "内存守护程序终止",
     "内存将尽时，用户态的内存守护程序（systemd-"
     "oomd、earlyoom、nohang）终止了进程；内核计数器不会显示。"},
    {"host_allocation_failed", "内存分配失败",
     "系统拒绝了一次内存分配（ENOMEM）：上限、超额分配策略或内存本身已用尽。"},
    {"memory_leak", "内存泄漏", "每步的工作量不变而内存持续增长，运行迟早会达到上限。"},
    {"gpu_out_of_memory", "显存不足", "显存被本进程或同一张卡上的其他进程用完。"},
    {"shm_full", "共享内存已满",
     "/dev/shm 已满，而数据加载进程与 NCCL 通过它交换缓冲区；容器默认只有 64 MiB。"},
    {"too_many_open_files", "打开的文件过多",
     "达到了打开文件数的上限：数据加载进程过多，或文件描述符泄漏。"},
    {"disk_full", "磁盘已满", "写文件（多为检查点或日志）时磁盘或配额已满。"},
    {"process_limit", "进程数达到上限",
     "系统拒绝创建新的线程或进程：达到了用户或容器的进程数上限。"},
    {"storage_failure", "存储故障", "读写时存储出错或没有响应：磁盘故障，或网络文件系统断开。"},
    {"killed_by_other", "被其他程序终止",
     "进程收到 SIGKILL，但没有迹象表明内存用尽：可能来自其他程序、人、容器运行时或批处理系统。"},
    {"terminated_from_outside", "被外部终止",
     "进程被要求停止（SIGTERM）：启动器因另一个 rank "
     "失败而发出，或来自批处理系统、容器运行时、关机或人。"},
    {"preempted_or_evicted", "被抢占或驱逐", "调度器收回了机器（抢占、驱逐或节点故障）。"},
    {"storage_limit_evicted", "超出存储限额",
     "Pod 写入节点本地磁盘的数据超过了上限或磁盘容量而被驱逐：检查点、缓存、日志和 emptyDir "
     "卷都计算在内，与内存无关。"},
    {"time_limit", "达到时间上限", "达到了作业的时间上限。"},
    {"terminal_hangup", "终端断开", "终端或 ssh 连接关闭，运行随之结束（SIGHUP）。"},
    {"interrupted_by_user", "被用户中断", "有人按了 Ctrl-C（SIGINT）。"},
    {"communication_stall", "通信停滞",
     "所有 rank 都还在，但不再有步骤完成：某个集合通信永远不结束，或其他 rank 都在等某一个。"},
    {"stalled", "停滞", "进程还在，但不再有步骤完成：它在等锁、数据加载进程或存储，或在空转。"},
    {"start_method", "子进程启动方式不当",
     "子进程的创建方式是程序或系统所不能承受的：spawn 时主模块没有保护、由守护 worker "
     "创建，或在使用 "
     "CUDA、OpenMP、LMDB 之后 fork。"},
    {"seccomp_refused", "系统调用被过滤器拒绝",
     "容器的系统调用过滤器（seccomp）返回 EPERM：没有达到任何上限，而是调用本身不被允许。"},
    {"read_only_filesystem", "文件系统只读",
     "要写入的文件系统以只读方式挂载：由挂载选项决定，或因磁盘出错被内核重新挂载为只读。"},
    {"lmdb_limit", "达到 LMDB 上限",
     "达到了打开 LMDB 时设定的上限：map_size、读者数或命名数据库数，与磁盘无关。"},
    {"store_full", "存储已满",
     "存放结果或消息的存储（Redis）已达上限并拒绝写入，与机器的内存无关。"},
    {"engine_plan_mismatch", "TensorRT 引擎不匹配",
     "TensorRT 引擎只能在构建它的版本与同类 GPU 上运行。"},
    {"worker_timeout", "worker 超时",
     "某个请求（或加载模型）的时间超过了服务器的等待时间，服务器放弃了该请求或终止了自己的 "
     "worker。之后的 "
     "SIGABRT 或 SIGKILL 来自服务器，与内存无关。"},
    {"server_overloaded", "服务器满载",
     "服务器的位置已占满而拒绝请求（429、队列已满）：客户端的在途请求多于服务器的槽位。服务器并未"
     "宕机。"},
    {"host_restarted", "机器重启", "运行期间机器重新启动：重启、内核崩溃或断电。"},
    {"pcie_link_slow", "PCIe 链路过慢", "显卡的 PCIe 链路比其能力更窄或更慢：复制数据要慢很多倍。"},
    {"gpu_throttled", "GPU 降频", "GPU 因温度或功率上限而降低频率。"},
    {"cpu_throttled", "CPU 降频", "CPU 因温度而降低频率。"},
    {"throughput_fell", "速率下降",
     "每步工作量不变而速率在运行中下降：过热、页缓存不再能掩盖的存储、内存交换或邻居的负载。"},
    {"runs_on_cpu", "在 CPU 上运行",
     "程序本应使用 GPU 却无法使用，改用 CPU 继续，耗时会是十倍以上，但仍可能正常结束。"},
    {"learnt_nothing", "没有学到任何东西",
     "运行到达终点却没有学到任何东西：准确率一直为 0，或损失停留在起点。"},
    {"pages_left_out", "页面被略过",
     "有些页面没有文字：每页所需的时间或大小超过程序对单页的限制，于是被略过。程序仍正常结束。"},
    {"learning_rate_zero", "学习率为零",
     "每一步打印的学习率都是 0 "
     "或小到打印不出：几乎没有学到任何东西。学习率计划已经结束，多半是从超过"
     "其最后一轮的检查点继续训练。"},
    {"nccl_error", "NCCL 错误",
     "NCCL 自身报错。单行文本很少说明是哪种资源出错，NCCL_DEBUG 的 WARN 行会说明。"},
    {"nccl_p2p_broken", "P2P 不可用",
     "GPU 之间的直接复制在这里失败或卡住（驱动、IOMMU 或 PCIe 访问控制）。"},
    {"nccl_network", "NCCL 网络故障",
     "NCCL 无法建立或保持网络连接：网卡选错、防火墙或 InfiniBand 故障。"},
    {"nccl_init_hang", "NCCL 初始化卡死",
     "日志停在 NCCL 开始连接各 rank 处：缺少某个 rank、网卡选错，或 GPU 之间的复制卡住。"},
    {"nccl_version_mismatch", "NCCL 版本不一致",
     "各 rank 之间，或框架与所装库之间，NCCL 或 CUDA 版本不同。"},
    {"duplicate_gpu", "GPU 重复分配", "两个 rank 分到同一张 GPU，NCCL 拒绝这样做。"},
    {"collective_timeout", "集合通信超时",
     "某个 rank 等待其他 rank 的时间超过了时限：另一个 rank "
     "已死、卡住、批次数不同，或在独自工作（评估与检查点只在 rank 0 上进行）。"},
    {"rank_busy_alone", "某个 rank 独自忙碌",
     "某个 rank 独自工作（评估、检查点、建立索引或缓存）的时间，超过了其他 rank "
     "在集合通信中允许等待的时限。"},
    {"peer_lost", "与其他 rank 失去连接", "与另一个 rank 的连接因其结束而断开；本进程只是见证者。"},
    {"rendezvous_failed", "rank 未能会合",
     "各 rank 启动时没有会合：某个没有启动，地址或端口错误或被阻断，或节点数不一致。"},
    {"port_in_use", "端口被占用", "端口已被占用，往往是之前运行遗留的进程。"},
    {"rank_mismatch", "rank 设定不一致",
     "各 rank 所做的不一致：批次数、模型、集合通信的顺序、world size 或 rank 编号。"},
    {"unused_parameters", "有未使用的参数", "有参数没有参与损失的计算，梯度规约会一直等待它。"},
    {"not_launched", "未用启动器启动", "脚本需要启动器提供的变量，却被直接启动。"},
    {"no_gpu_visible", "看不到 GPU",
     "程序需要 GPU 却看不到：没有驱动、容器没有权限，或 CUDA_VISIBLE_DEVICES 为空。"},
    {"gpu_id_invalid", "GPU 编号无效",
     "请求的 GPU 编号不在可见范围内；编号从 CUDA_VISIBLE_DEVICES 之内数起。"},
    {"cuda_driver_too_old", "CUDA 驱动过旧", "驱动比框架所用的 CUDA 版本旧。"},
    {"gpu_arch_unsupported", "不支持此 GPU 架构", "框架没有适用于这一代 GPU 的代码。"},
    {"cuda_library_missing", "缺少 CUDA 库", "无法加载 CUDA、cuDNN 或 NCCL 库。"},
    {"cuda_library_error", "CUDA 库出错",
     "cuDNN 或 cuBLAS 出错：多为版本与框架或显卡不符，或在库内用尽了显存。"},
    {"host_hardware_fault", "主机硬件故障",
     "主机的内存或处理器有故障：内核遇到不可纠正的错误，并终止了使用该内存页的进程。"},
    {"gpu_fault", "GPU 故障",
     "GPU 或其链路故障：Xid 事件、不可纠正的显存错误，或显卡从总线上掉线。"},
    {"gpu_kernel_fault", "GPU 内核出错",
     "GPU 上的内核访问了不属于它的内存或断言失败；该进程此后的一切都会失败。"},
    {"label_out_of_range", "标签超出范围",
     "标签或索引超出类别范围，或文本含有字典中没有的字符：字典、头部大小与标签不匹配。"},
    {"illegal_instruction", "非法指令",
     "程序遇到本 CPU 或虚拟机没有的指令（AVX、AVX-512、AMX），或构建有误而产生的指令：Paddle 2.6 "
     "在有 AVX2 的 CPU 上也会如此退出。"},
    {"segmentation_fault", "段错误",
     "进程访问了不属于它的内存（SIGSEGV）：本机代码有错，或两个库不匹配。"},
    {"aborted", "程序自行终止", "本机代码中的检查失败后，程序自行终止（SIGABRT）。"},
    {"openmp_duplicate_runtime", "OpenMP 运行时重复", "一个进程中加载了两个 OpenMP 运行时。"},
    {"onednn_unsupported", "oneDNN 不支持",
     "oneDNN（MKL-DNN）遇到该版本 Paddle 无法用它运行的算子或属性（已知于 CPU 上的 3.3.0 与 "
     "3.3.1）。"},
    {"cpu_wheel_with_gpu", "框架为 CPU 版本", "配置要求 GPU，但安装的是框架的 CPU 版本。"},
    {"missing_file", "缺少文件", "运行所需的文件或目录不存在（或不在本节点上）。"},
    {"permission_denied", "权限不足", "运行的用户无权读写某个文件或设备。"},
    {"missing_module", "缺少 Python 包", "缺少某个 Python 包或程序，或其版本没有所需的名称。"},
    {"library_conflict", "库冲突",
     "已安装的包与程序互不相配：缺少共享库或版本，或新版本不再有所用的名称或参数。"},
    {"bad_configuration", "配置有误", "配置或命令行有误：未知的键、选项或语法错误。"},
    {"dataset_too_small", "数据集过小", "按 rank 划分后，样本数少于一个 batch。"},
    {"bad_training_data", "训练数据损坏",
     "样本或文档无法读取、解码或不允许改动；训练时会被悄悄换成别的样本。"},
    {"checkpoint_mismatch", "检查点不匹配", "保存的权重与模型不符：结构、字典或版本不同。"},
    {"checkpoint_damaged", "检查点损坏",
     "保存的文件被截断或格式不对：保存或下载中断，或磁盘已满。"},
    {"loader_worker_failed", "数据加载进程失败", "数据加载进程因异常结束，异常文本在途中丢失。"},
    {"loader_timeout", "数据加载超时",
     "训练进程一直没有等到一个 batch：数据加载进程已死、卡住或太慢。"},
    {"evaluation_hang", "评估卡死", "日志停在评估开始处：其数据加载进程互相等待。"},
    {"loss_diverged", "损失发散", "损失变为 nan 或无穷：此后的训练没有意义。"},
    {"gpu_busy", "GPU 被占用",
     "另一个进程占用了 GPU：占用显存，或独占整张卡（独占模式、等待复位）。"},
    {"driver_mismatch", "驱动组件版本不一致",
     "GPU 驱动的用户态部分与已加载的内核模块版本不同，多发生在软件包更新之后。"},
    {"checkpoint_refused", "检查点被拒绝加载",
     "文件完好，但被加载程序拒绝：其中含有 Python 对象，新版本（torch "
     "2.6、numpy）默认不加载这类对象。"},
    {"shape_mismatch", "张量形状不符",
     "同一运算中的张量形状、类型或设备不一致：输入尺寸、模型与 batch 不匹配。"},
    {"remote_unreachable", "服务器无法访问",
     "无法访问运行所需的服务器（模型仓库、对象存储、镜像仓库、数据库）：没有路由、代理或防火墙阻挡"
     "、域名无法解析，或服务器已停机。"},
    {"host_unreachable", "主机无法访问",
     "运行中的一台主机已无法访问：正在重启或被收回、网络中断，或已停止、过载。"},
    {"access_refused", "凭证被拒绝",
     "服务器拒绝了本次运行的凭证：令牌或会话已过期、未登录、无权访问该对象、许可证问题，或请求过多"
     "。"},
    {"clock_wrong", "时钟不准",
     "本机时钟不准，因此证书、令牌和签名被视为尚未生效或已过期而遭拒绝。"},
    {"tls_failed", "证书验证失败",
     "无法验证服务器的证书：证书已过期，或由本机不认识的机构（如代理）签发。"},
    {"image_pull_failed", "镜像拉取失败",
     "无法拉取容器镜像：名称或标签不存在、镜像仓库要求登录，或无法访问。"},
    {"container_setup_failed", "容器无法启动",
     "容器无法启动：其描述中的 Secret、ConfigMap、卷、设备或命令不存在，或镜像属于另一种 CPU "
     "架构。"},
    {"not_scheduled", "未获调度",
     "调度器找不到可用的位置：没有节点具备作业要求的 GPU、CPU 或内存，或配额已用完。"},
    {"health_check_failed", "健康检查失败",
     "健康检查失败，容器被重启：常见原因是模型加载时间超过探针的等待时间，或请求阻塞了检查。"},
    {"request_too_large", "请求过大",
     "页面、请求、消息或缓冲区超过了程序、服务器、代理或设备允许的大小。"},
    {"data_loading_bound", "受数据加载限制", "每步有很大一部分时间在等数据。"},
    {"thread_oversubscription", "线程过多",
     "计算线程多于核心或容器的 CPU 上限：线程把时间花在等待上。"},
    {"narrow_cpu_mask", "CPU 掩码过窄",
     "进程可用的 CPU 少于其作业或机器所有：掩码或 cpuset "
     "限制了它，所有线程和数据加载进程共用这几个 CPU。"},
    {"python_exception", "Python 异常", "程序因 ocrtune 表中没有的异常而结束。"},
    {"native_exception", "本机代码异常",
     "非 Python 程序（C++、Rust、Go、Java、JavaScript）因表中没有的异常或 panic 而结束。"},
    {"process_failed", "进程失败", "某个进程以错误码结束；现有的行没有说明原因。"},
    {"unknown", "原因不明", "现有的行表明有什么失败了，但不符合任何已知原因。"},
    // Of trials alone (trial/, tuner/).
    {"binding", "CPU 绑定", ""},
    {"budget", "预算", ""},
    {"data", "数据", ""},
    {"ended", "提前结束", ""},
    {"interrupted", "被中断", ""},
    {"malloc", "内存分配器", ""},
    {"predicted", "按预测", ""},
    {"protocol", "协议", ""},
    {"resources", "资源", ""},
    {"cgroup", "容器", ""},
    {"error", "错误", ""},
    {"exit", "退出", ""},
    {"gpus", "GPU 数量", ""},
    {"gpu", "GPU", ""},
    {"numa_node", "NUMA 节点", ""},
    {"host", "主机", ""},
    {"left_running", "程序转入后台", ""},
    {"limit", "上限", ""},
    {"no_metric", "没有速度读数", ""},
    {"server", "是一个服务", ""},
    {"p2p", "P2P", ""},
    {"peer", "其他 rank", ""},
    {"placement", "进程位置", ""},
    {"process", "进程", ""},
    {"reference", "与参考结果不符", ""},
    {"service", "服务", ""},
    {"setting", "配置", ""},
    {"setup", "准备命令", ""},
    {"shm", "共享内存", ""},
    {"signal", "信号", ""},
    {"silence", "没有输出", ""},
    {"trial_dir", "试验目录", ""},
};

const Row* row_of(std::string_view cause) {
  for (const Row& row : kRows) {
    if (row.cause == cause) return &row;
  }
  return nullptr;
}

}  // namespace

Bilingual cause_name(const std::string& cause) {
  const Row* row = row_of(cause);
  return row == nullptr ? Bilingual(cause) : Bilingual(cause, row->name);
}

std::string meaning_of(const CauseRow& cause, bool chinese) {
  const Row* row = chinese ? row_of(cause.name) : nullptr;
  return row == nullptr ? cause.meaning : row->meaning;
}

}  // namespace ocrtune
