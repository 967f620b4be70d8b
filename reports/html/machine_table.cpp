// What probes/ and bench/ say of the machine and of failures, in Chinese; holes stand for values.
// What is not here is shown in English in both languages.
#include "reports/catalogue/phrases.h"

namespace ocrtune {

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Phrase>& machine_table() {
  static const std::vector<Phrase> kTable = {
      // Where facts come from.
      {"this machine", "本机"},
      {"online CPUs", "在线 CPU"},
      {"affinity", "CPU 亲和性"},
      {"hwloc, this machine", "hwloc，本机"},
      {"not measured: --quick", "未测量：--quick"},
      {"not measured: a saved tree is not this machine", "未测量：保存的目录不是本机"},
      {"not measured: the topology is not of this machine", "未测量：该拓扑不属于本机"},
      {"no mark of a container found", "未发现容器的迹象"},
      {"the CPU's hypervisor flag", "CPU 的虚拟化标志"},
      {"no hypervisor flag", "没有虚拟化标志"},
      {"virtual machine", "虚拟机"},
      {"{} is not there (usual in virtual machines)", "{} 不存在（虚拟机中常见）"},
      {"{} is not there", "{} 不存在"},
      {"{} is not there, so no GPU can be asked", "{} 不存在，因此无法查询 GPU"},
      {"measured: multiply-add on {} CPUs together over a CPU second of the fastest",
       "实测：{} 个 CPU 同时做乘加的速度，与最快 CPU 每秒 CPU 时间之比"},
      {"measured: triad with non-temporal stores over {}, on the plateau",
       "实测：在 {} 上用非临时存储做 triad，带宽已稳定"},
      {"measured: triad with non-temporal stores over {}; larger arrays might be slower (memory or "
       "time ended it)",
       "实测：在 {} 上用非临时存储做 triad；更大的数组可能更慢（因内存或时间而止）"},
      {"allowed CPUs", "允许的 CPU"},
      {"cpuset of {}", "{} 的 cpuset"},
      {"unlimited", "不限"},
      {"ulimit stack", "栈大小（ulimit）"},
      {"ulimit core file", "核心转储文件（ulimit）"},
      {"ulimit processes", "进程数（ulimit）"},
      {"ulimit open files", "打开的文件数（ulimit）"},
      {"ulimit locked memory", "锁定内存（ulimit）"},
      {"ulimit address space", "地址空间（ulimit）"},
      {"{}; others used {} CPUs meanwhile", "{}；期间其他程序占用了 {} 个 CPU"},
      {"{}; threads waited {} for a CPU", "{}；线程等待 CPU 的时间占 {}"},
      // GPUs.
      {"unknown: {}", "未知：{}"},
      {"no GPU: no NVIDIA driver ({})", "没有 GPU：没有 NVIDIA 驱动（{}）"},
      {"no GPU: no NVIDIA driver", "没有 GPU：没有 NVIDIA 驱动"},
      {"there is no GPU, so there is no P2P", "没有 GPU，因此没有 P2P"},
      {"one GPU has no peer", "只有一个 GPU，没有对端"},
      {"the driver does not allow P2P: NCCL uses shared memory by itself, and NCCL_P2P_DISABLE=1 "
       "changes nothing",
       "驱动不允许 P2P：NCCL 会自行使用共享内存，设置 NCCL_P2P_DISABLE=1 没有作用"},
      {"P2P works: copies, kernels and collectives were all checked",
       "P2P 可用：拷贝、内核握手与集合通信均已检验"},
      {"P2P was not checked all the way: a driver's yes is no proof",
       "P2P 未做完整检验：驱动的肯定答复不是证据"},
      {"the driver offers P2P, and it does not work", "驱动提供 P2P，但实际不可用"},
      {"P2P works in some tries and fails in others: treat it as broken",
       "P2P 时好时坏：请当作已损坏处理"},
      {"P2P works at first and fails under lasting load", "P2P 起初可用，持续负载下失败"},
      {"P2P works up to distance {} and fails beyond it", "P2P 在距离 {} 以内可用，更远则失败"},
      {"P2P works, and shared memory is faster at this workload's sizes",
       "P2P 可用，但在此负载的数据量下共享内存更快"},
      {"NCCL fails with P2P off as well: the cause lies elsewhere",
       "关闭 P2P 后 NCCL 仍失败：原因在别处"},
      {"NCCL's shared memory fails, not P2P", "失败的是 NCCL 的共享内存，而不是 P2P"},
      {"the driver allows P2P", "驱动允许 P2P"},
      {"the driver does not allow P2P", "驱动不允许 P2P"},
      {"whether the driver allows P2P is unknown", "驱动是否允许 P2P 未知"},
      {"the GPUs are joined by NVLink", "GPU 之间有 NVLink"},
      {"PCIe distance {}", "PCIe 距离 {}"},
      {"copy between the GPUs", "GPU 之间的拷贝"},
      {"handshake of two kernels", "两个内核的握手"},
      {"lasting load (soak)", "持续负载"},
      {"nothing was run on the GPUs: {}", "没有在 GPU 上运行任何程序：{}"},
      {"driver {} claims P2P that RTX 40 cards do not have; {} or newer says no by itself",
       "驱动 {} 声称支持 RTX 40 系列并不具备的 P2P；{} 或更新的版本会如实报告"},
      {"in a virtual machine the host decides on P2P: ask for a passthrough set-up",
       "在虚拟机中由宿主机决定 P2P：请申请直通配置"},
      {"PCIe access control (ACS): no bridge could be read, which needs root",
       "PCIe 访问控制（ACS）：无法读取网桥，需要 root 权限"},
      {"NCCL_* variables do not cover copies that a framework makes itself in one process",
       "NCCL_* 变量不影响框架在同一进程内自行做的拷贝"},
      // Thread variables.
      {"{} starts {} {1:thread|threads} in each process{}", "{} 在每个进程中启动 {} 个线程{}"},
      {"{} never has more than {} {1:thread|threads} in a process",
       "{} 在一个进程中不超过 {} 个线程"},
      {"not a thread count: {} ignores it", "不是线程数：{} 会忽略它"},
      {"limits the instructions that {} uses", "限制 {} 使用的指令集"},
      {"binds OpenMP threads to places", "把 OpenMP 线程绑定到位置"},
      {"names the places of OpenMP threads", "指定 OpenMP 线程的位置"},
      {"how idle OpenMP threads wait", "空闲 OpenMP 线程的等待方式"},
      {"a Paddle flag", "Paddle 的标志"},
      // Warnings and unknowns.
      {"/dev/shm has only {}: loader workers and NCCL die of 'Bus error' when it is full; start "
       "the container with --shm-size=8g or --ipc=host",
       "/dev/shm 只有 {}：写满后数据加载进程和 NCCL 会因“Bus error”退出；请用 --shm-size=8g 或 "
       "--ipc=host 启动容器"},
      {"/dev/shm has {}: start the container with --shm-size=8g",
       "/dev/shm 只有 {}：请用 --shm-size=8g 启动容器"},
      {"vm.overcommit_memory is 2: allocations fail long before the memory is full",
       "vm.overcommit_memory 为 2：内存远未用满时分配就会失败"},
      {"{} are swapped out already: measurements here will spread",
       "已有 {} 被换出：此处的测量会有较大离散"},
      {"tasks waited for {} during {} % of the last 10 s: the machine is busy, and figures "
       "measured now come out low",
       "过去 10 秒中有 {1} % 的时间任务在等待 {0}：机器繁忙，此时测得的数值偏低"},
      {"memory.oom.group of control group {} is 1: when memory runs out, the kernel kills every "
       "process in it, ocrtune included, and nothing restarts the run; leave a margin below the "
       "limit (--memory-limit), or set it to 0 (kubelet: singleProcessOOMKill: true)",
       "控制组 {} 的 memory.oom.group 为 1：内存耗尽时内核会杀死其中所有进程，包括 ocrtune，"
       "此后无法自动重启；请在上限之下留出余量（--memory-limit），或将其设为 0（kubelet："
       "singleProcessOOMKill: true）"},
      {"CPUs {} are isolated from the scheduler and left out", "CPU {} 被调度器隔离，未使用"},
      {"{} CPUs are usable by the rules, but only {} cores' worth of work is done at once: SMT "
       "siblings, a hidden quota, throttling or other load",
       "按规则有 {} 个 CPU 可用，但同时只完成相当于 {} "
       "个核心的工作：超线程、隐藏的配额、限频或其他负载"},
      {"during the measurement threads waited {} of the time for a CPU: other load or a quota",
       "测量期间线程有 {} 的时间在等待 CPU：其他负载或配额"},
      {"memory limit: no cgroup with the memory controller is visible",
       "内存上限：看不到带内存控制器的 cgroup"},
      {"memory limit: cgroups above the visible root cannot be read",
       "内存上限：无法读取可见根以上的 cgroup"},
      {"CPU quota: no cgroup with the cpu controller is visible",
       "CPU 配额：看不到带 CPU 控制器的 cgroup"},
      {"CPU quota: cgroups above the visible root cannot be read; measured effective cores show a "
       "quota set there",
       "CPU 配额：无法读取可见根以上的 cgroup；实测的有效核心数会反映其中的配额"},
      {"pressure (PSI): /proc/pressure cannot be read", "压力（PSI）：无法读取 /proc/pressure"},
      {"frequency governor: {}", "调频策略：{}"},
      {"GPUs: {}", "GPU：{}"},
      // Why trials fail (bench/).
      {"{} {0:rank|ranks} x {} {1:thread|threads} need {} {2:CPU|CPUs} of the {} allowed ({}): "
       "binding=none lets ranks share CPUs",
       "{} 个进程 × {} 个线程需要 {} 个 CPU，允许 {} 个（{}）：binding=none 可让进程共享 CPU"},
      {"the kernel's out-of-memory killer struck ({})", "被内核的内存不足处理程序终止（{}）"},
      {"stopped at {} of a limit of {}", "在 {} 处停止，上限为 {}"},
      {"stopped: the machine had {} of memory left, {} of it used by the trial",
       "已停止：机器只剩 {} 内存，其中试验占用 {}"},
      {"the memory peak is not sure: {} were read, {} are possible between readings",
       "内存峰值不确定：读到 {}，两次读取之间可能达到 {}"},
      {"no measurement within {}: {} {1:interval|intervals} measured, {} needed",
       "{} 内没有得到测量结果：测得 {} 段，需要 {} 段"},
      {"out of memory: {}", "内存不足：{}"},
      {"hung: {}", "卡死：{}"},
      {"timed out: {}", "超时：{}"},
      {"crashed: {}", "崩溃：{}"},
      {"wrong result: {}", "结果错误：{}"},
      {"the budget ended during this trial", "试验进行中预算用完"},
      {"the command: {}", "命令：{}"},
  };
  return kTable;
}

}  // namespace ocrtune
