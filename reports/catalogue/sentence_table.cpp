// Sentences that lower floors compose: English with holes where values stand, and their Chinese.
// What is not here is shown in English in both languages.
#include "reports/catalogue/phrases.h"

namespace ocrtune {

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Phrase>& sentence_table() {
  static const std::vector<Phrase> kTable = {
      {"TIE OF {}", "{} 个并列"},
      // tuner/verdict/recommend.cpp, tuner/verdict/explain.cpp
      {"Launch with {}: {} samples/s.", "使用 {} 启动：{} 样本/秒。"},
      {"No setting was run; allow a longer budget.", "没有运行任何设置；请给予更长的预算。"},
      {"Interrupted before the first trial ended; go on with: ocrtune tune --resume {}.",
       "在第一次试验结束前被中断；可用 ocrtune tune --resume {} 继续。"},
      {"No setting was measured: the budget ended first.", "没有测量任何设置：预算已先用完。"},
      {"No setting ran: every trial was out of memory.", "没有设置能运行：每次试验都内存不足。"},
      {"No setting works: {} ended with {}: {}.", "没有可用的设置：{} 以 {} 结束：{}。"},
      {"No setting works: {} ended with {}.", "没有可用的设置：{} 以 {} 结束。"},
      {"Every setting that works leaves less memory free than asked; the fastest is {}. Lower the "
       "margin or raise the limit.",
       "所有可用设置的剩余内存都少于要求；其中最快的是 {}。请降低余量或提高上限。"},
      {"95 %: no setting of the declared space is more than {} % better; {} tie",
       "95 %：搜索空间内没有任何设置能再好 {} % 以上；{} 个并列"},
      {"95 %: no setting of the declared space is more than {} % better",
       "95 %：搜索空间内没有任何设置能再好 {} % 以上"},
      {"best of {} of {} settings that were run; {} tie; no claim about the others",
       "已运行的 {} 个（共 {} 个）设置中最佳；{} 个并列；对其余设置不作断言"},
      {"best of {} of {} settings that were run; no claim about the others",
       "已运行的 {} 个（共 {} 个）设置中最佳；对其余设置不作断言"},
      {"Ran {} times: {} samples/s ({} to {}).", "运行 {} 次：{} 样本/秒（{} 至 {}）。"},
      {"Ran {} time: {} samples/s ({} to {}).", "运行 {} 次：{} 样本/秒（{} 至 {}）。"},
      {"{} times the baseline ({} to {}).", "为基准设置的 {} 倍（{} 至 {}）。"},
      {"Peak memory {} of {}: {} stay free (at least {} asked).",
       "峰值内存 {}，上限 {}：剩余 {}（要求至少 {}）。"},
      {"Peak memory {}; no limit is known.", "峰值内存 {}；上限未知。"},
      {"{} process on each of {}", "每个 GPU 上 {} 个进程：{}"},
      {"{} processes on each of {}", "每个 GPU 上 {} 个进程：{}"},
      {"{} process on {}", "{} 个进程，在 {} 上"},
      {"{} processes on {}", "{} 个进程，在 {} 上"},
      {"{} processes, in turn, on {}", "{} 个进程，轮流分配到 {}"},
      {"Its memory could not be measured.", "无法测量其内存。"},
      {"{} settings tie; this one needs the least memory, then the fewest processes.",
       "{} 个设置并列；此设置所需内存最少，其次进程最少。"},
      {"{} slower, within the noise", "慢 {}，在噪声范围内"},
      {"{} faster, within the noise", "快 {}，在噪声范围内"},
      {"{} slower", "慢 {}"},
      {"{} faster", "快 {}"},
      {"as fast", "同样快"},
      {"more than 100 times slower", "慢 100 倍以上"},
      {"ties, more memory", "并列，但占用更多内存"},
      {"ties, more processes", "并列，但进程更多"},
      {"ties, more threads", "并列，但线程更多"},
      {"ties, more loaders", "并列，但加载进程更多"},
      {"ties, a larger batch", "并列，但批更大"},
      {"not run", "未运行"},
      {"predicted {}, not run", "预测{}，未运行"},
      {"Too noisy to tell {} from {} in this budget (repeats differ by {}); about {} more would "
       "settle it.",
       "干扰太大，在此预算内无法区分 {} 与 {}（重复测量相差 {}）；再用约 {} 可以判定。"},
      {"Not run, and too few trials tell how fast it is: {}; a longer budget would.",
       "尚未运行，且试验太少，无法判断其速度：{}；更长的预算可以判断。"},
      {"GPUs without work: {} while {} processes shared the rest; start each process through "
       "'ocrtune "
       "rank-exec --gpu auto --', or name the GPUs in the command.",
       "没有工作的 GPU：{}，而 {} 个进程挤在其余 GPU 上；请用 'ocrtune rank-exec --gpu auto --' "
       "启动每个进程，或在命令中写明 GPU。"},
      {"GPUs without work: {}; start each process through 'ocrtune rank-exec --gpu auto --', or "
       "name "
       "the GPUs in the command.",
       "没有工作的 GPU：{}；请用 'ocrtune rank-exec --gpu auto --' 启动每个进程，或在命令中写明 "
       "GPU。"},
      {"GPUs without work: {}; the command used none of them.",
       "没有工作的 GPU：{}；该命令一个也没有使用。"},
      {"Next best: {} could be up to {} (not run); stopping is fine.",
       "下一步最值得试：{} 可能{}（未运行）；可以就此停止。"},
      {"Not conclusive: {} could be up to {} (not run); a longer budget would tell.",
       "尚无定论：{} 可能{}（未运行）；更长的预算可以判断。"},
      {"{} more on {} would halve its interval; stopping is fine.",
       "再用 {} 测量 {} 可使其区间减半；可以就此停止。"},
      {"{} more on {} would halve its interval.", "再用 {} 测量 {} 可使其区间减半。"},
      // tuner/verdict/audit.cpp
      {"ties", "并列"},
      {"ties ({} %)", "并列（{} %）"},
      {"better by {} % ({} %)", "更好，快 {} %（{} %）"},
      {"costs {} % ({} %)", "损失 {} %（{} %）"},
      {"is what is recommended", "即推荐设置"},
      {"fails: {}", "失败：{}"},
      {"does not fit: {}", "放不下：{}"},
      {"not run: the budget ended before it", "未运行：预算已先用完"},
      {"{}, but takes other programs' CPU share", "{}，但会占用其他程序的 CPU 份额"},
      {"as many processes as half of the memory in GB: {}", "进程数为内存 GB 数的一半：{}"},
      {"processes on 60 % of the physical cores: {}", "进程数为物理核心数的 60 %：{}"},
      {"about {} processes at most", "至多约 {} 个进程"},
      {"half of the memory in GB: {}", "内存 GB 数的一半：{}"},
      {"60 % of the physical cores: {}", "物理核心数的 60 %：{}"},
      {"at most about {}", "至多约 {}"},
      // tuner/verdict/explain.cpp, possible.cpp, recommend.cpp
      {"left out: other programs were running, and it takes their CPU share",
       "未采用：当时有其他程序在运行，此设置会占用它们的 CPU 份额"},
      {"Only {} gave a rate, 1 of {} settings: there is nothing to compare it with.",
       "只有 {} 测得速度，即 {} 个配置中的 1 个：没有可比较的对象。"},
      {"Other programs disturbed the trials: {} may be faster than {}, {} times ({} to {}) on free "
       "CPUs. CPU time a sample: {} and {}. Run again when the machine is quieter, or with a "
       "longer "
       "budget.",
       "其他程序干扰了试验：{} 可能比 {} 更快，在空闲 CPU 上约为 {} 倍（{} 至 {}）。每个样本的 CPU "
       "时间：{} 与 {}。请在机器较空闲时重新运行，或使用更长的预算。"},
      {"Other programs disturbed the trials: {} may be faster than {}, {} times ({} to {}) on free "
       "CPUs. Run again when the machine is quieter, or with a longer budget.",
       "其他程序干扰了试验：{} 可能比 {} 更快，在空闲 CPU 上约为 {} 倍（{} 至 "
       "{}）。请在机器较空闲时重新运行，或使用更长的预算。"},
      {"Other programs were running: {} settings with more threads than CPUs left out, for what "
       "they "
       "gain then is the others' share.",
       "当时有其他程序在运行：线程数多于 CPU 数的 {} "
       "个设置未采用，因为它们多得的只是其他程序的份额。"},
      {"Other programs were running: {} setting with more threads than CPUs left out, for what "
       "they "
       "gain then is the others' share.",
       "当时有其他程序在运行：线程数多于 CPU 数的 {} "
       "个设置未采用，因为它们多得的只是其他程序的份额。"},
      {"No setting may be launched; the lightest is {}.", "没有可以启动的设置；最轻的一个{}。"},
      // tuner/models/safety.cpp
      {"failed when it was run", "运行时失败"},
      {"fails above {} processes here", "此机器上超过 {} 个进程会失败"},
      {"ran out of memory", "内存不足"},
      {"needs no less than {}, which ran out of memory", "所需不少于 {}，而后者内存不足"},
      {"ran out of GPU memory", "显存不足"},
      {"needs no less than {}, which ran out of GPU memory", "所需不少于 {}，而后者显存不足"},
      {"ran out of memory of one process", "单个进程的内存达到上限"},
      {"needs no less than {}, which ran out of memory of one process",
       "所需不少于 {}，而后者单个进程的内存达到上限"},
      {"ran out of shared memory", "共享内存不足"},
      {"needs no less than {}, which ran out of shared memory",
       "所需不少于 {}，而后者共享内存不足"},
      {"ran out of processes or descriptors", "进程数或文件描述符达到上限"},
      {"needs no less than {}, which ran out of processes or descriptors",
       "所需不少于 {}，而后者进程数或文件描述符达到上限"},
      {"ran out of samples", "数据集的样本不足"},
      {"needs no less than {}, which ran out of samples", "所需不少于 {}，而后者数据集的样本不足"},
      {"its memory is not known before a lighter setting has run",
       "在更轻的设置运行之前，其内存需求未知"},
      {"predicted peak {} (up to {}) of {} usable", "预测峰值 {}（最多 {}），可用 {}"},
      {"predicted peak up to {}, more than {} times what has run; the memory limit is not known",
       "预测峰值最多 {}，超过已运行设置的 {} 倍；内存上限未知"},
      // tuner/models/speed_model.cpp
      {"{} % of a step does not speed up with threads", "每步有 {} % 不随线程数加快"},
      {"each further process slows the others by {} %", "每多一个进程，其余进程变慢 {} %"},
      {"past about {} processes each added one costs", "超过约 {} 个进程后，每增加一个都会变慢"},
      {"starting a step costs as much as {} samples", "启动一步的开销相当于 {} 个样本"},
      {"loading a sample takes {} % of computing it on one thread",
       "加载一个样本的时间是单线程计算它的 {} %"},
      {"it scales as on {} cores", "其扩展性相当于 {} 个核心"},
      // Why a search stops.
      {"no setting works", "没有可用的设置"},
      {"no neighbour is better", "没有更好的相邻设置"},
      {"no neighbour is better, and the leaders are raced", "没有更好的相邻设置，领先者已决出胜负"},
      {"every admitted setting tried", "所有可运行的设置都已试过"},
      {"every setting tried", "所有设置都已试过"},
      {"improvement under 0.02 %", "预期提升小于 0.02 %"},
      {"probability that anything untried is 3 % better is under 5 %",
       "未试过的设置快 3 % 以上的概率低于 5 %"},
      {"one setting is left", "只剩一个设置"},
      {"all settings tried and the leaders raced", "所有设置都已试过，领先者已决出胜负"},
      {"{}, and the leaders raced", "{}，领先者已决出胜负"},
      {"interrupted", "被中断"},
      {"died", "进程已消失"},
      // Capacity and latency (capacity/capacity_answer.cpp, capacity.cpp, slo_search.cpp).
      {"No answer: {}.", "没有结论：{}。"},
      {"You need {} machine of this kind for {}. {}", "需要 {} 台同类机器来处理 {}。{}"},
      {"You need {} machines of this kind for {}. {}", "需要 {} 台同类机器来处理 {}。{}"},
      {"You need {} machine of this kind to train {} images ({} epochs) within {}: about {} ({} to "
       "{}).",
       "需要 {} 台同类机器，可在 {3} 内训练 {1} 张图像（{2} 轮）：约 {4}（{5} 至 {6}）。"},
      {"You need {} machines of this kind to train {} images ({} epochs) within {}: about {} ({} "
       "to "
       "{}). {} would take {}.",
       "需要 {} 台同类机器，可在 {3} 内训练 {1} 张图像（{2} 轮）：约 {4}（{5} 至 {6}）。{7} 则需 "
       "{8}。"},
      {"{} ({} % sure; {} would do with {} %)", "{}（把握为 {} %；{} 台的把握为 {} %）"},
      {"{} line images/s with p{} under {}", "{} 文本行图像/秒，且 p{} 低于 {}"},
      {"{} line images/s", "{} 文本行图像/秒"},
      {"{} pages/s ({} line images each) with p{} under {}",
       "{} 页/秒（每页 {} 个文本行图像），且 p{} 低于 {}"},
      {"{} machine is not enough: {}", "{} 台不够：{}"},
      {"{} machines are not enough: {}", "{} 台不够：{}"},
      {"{} machine is not enough at the {} peak ({} to {}): {}",
       "{} 台在 {} 的高峰（{} 至 {}）不够：{}"},
      {"{} machines are not enough at the {} peak ({} to {}): {}",
       "{} 台在 {} 的高峰（{} 至 {}）不够：{}"},
      {"at {} % load the queue would grow without bound. {}",
       "负载为其能力的 {} %，队列会无限增长。{}"},
      {"the load is {} % of what they serve in time. {}", "负载为其按时处理能力的 {} %。{}"},
      {"p{} would be {} ms. {}", "p{} 将为 {} 毫秒。{}"},
      {"{} machines survive the loss of one.", "{} 台可承受损失一台。"},
      {"{} machines survive the loss of one. Cost: {} an hour, {} with the spare one.",
       "{} 台可承受损失一台。费用：每小时 {}，含备用机为 {}。"},
      {"No setting was proved to keep p{} under {}; one request alone takes {} ms with {}, so a "
       "longer "
       "--trial-time may prove a rate.",
       "没有证实任何设置能使 p{} 低于 {}；单个请求用时 {} 毫秒（{}），更长的 --trial-time "
       "或可证实某个速率。"},
      {"no rate was proved to keep p{} under {} before the {} ended the search",
       "在搜索因{2}结束之前，没有证实任何速率能使 p{0} 低于 {1}"},
      {"no rate keeps p{} under {}: one request at a time already takes {} ms at p{}, {} ms too "
       "long ({} "
       "times the promise)",
       "没有速率能使 p{} 低于 {}：逐个请求时 p{3} 已需 {2} 毫秒，超出 {4} 毫秒（承诺的 {5} 倍）"},
      {"no rate worth serving keeps p{} under {}: one request alone takes {} ms at p{}, which "
       "leaves no "
       "time to wait for another",
       "没有值得提供服务的速率能使 p{} 低于 {}：单个请求 p{3} 需 {2} 毫秒，没有时间等待其他请求"},
      {"one machine was measured; a load balancer for more than 100 was not",
       "只测量了一台机器；未测量过超过 100 台的负载均衡"},
      {"machines share nothing but a load balancer that divides evenly",
       "机器之间只共享均匀分配的负载均衡器"},
      {"no --slo was given: the count keeps up with the load and promises no latency",
       "未给出 --slo：机器数能跟上负载，但不承诺延迟"},
      {"the spread of service times was not measured; {} % is assumed",
       "未测量服务时间的离散度；假设为 {} %"},
      {"only one batch size was measured: a part-filled batch is taken to last as long as a full "
       "one",
       "只测量了一种批大小：假设未装满的批与装满的用时相同"},
      {"one node was measured: several are taken to lose between nothing and what its own "
       "processes "
       "lose to each other",
       "只测量了一台机器：假设多台机器的损失介于零与单机内各进程之间的损失"},
      {"fewer than four process counts were measured, so no extrapolation was tested",
       "测量的进程数少于四种，因此没有检验过外推"},
      {"extrapolations held in back-tests up to {} times", "回测表明外推在 {} 倍以内成立"},
      {"extrapolations failed their back-test", "外推未通过回测"},
      {"p{} under {} holds up to {} requests/s and is not proved at {}/s (the {} ended the search "
       "early)",
       "p{} 低于 {}：最高可达 {} 请求/秒，在 {}/秒 时未能证实（{}使搜索提前结束）"},
      {"p{} under {} holds up to {} requests/s and is not proved at {}/s",
       "p{} 低于 {}：最高可达 {} 请求/秒，在 {}/秒 时未能证实"},
      {"p{} under {} holds up to {} requests/s (the {} ended the search early)",
       "p{} 低于 {}：最高可达 {} 请求/秒（{}使搜索提前结束）"},
      {"p{} under {} holds up to {} requests/s", "p{} 低于 {}：最高可达 {} 请求/秒"},
      {"kept", "守住"},
      {"broken", "未守住"},
      {"undecided", "未定"},
      // Reasons of failures.
      {"out of memory: {} of {}", "内存不足：{}，上限 {}"},
      // Phases.
      {"baseline", "基线"},
      {"ladder", "阶梯"},
      {"model", "模型"},
      {"race", "决赛"},
      {"proof", "证明"},
      {"rule", "规则"},
      {"sweep", "扫描"},
      {"verify", "验证"},
      {"budget", "预算"},
      // tuner/verdict/comparison.cpp
      {"The recommended setting is faster by {} %. {}", "推荐设置快了 {} %。{}"},
      {"The recommended setting is slower by {} %. {}", "推荐设置慢了 {} %。{}"},
      {"The recommended settings cannot be told apart. {}", "两次的推荐设置无法区分快慢。{}"},
      {"One of the runs has no recommendation. {}", "其中一次运行没有推荐设置。{}"},
      {"Of {} settings in both runs {} became faster and {} slower. {}",
       "两次都运行的 {} 个设置中，{} 个变快，{} 个变慢。{}"},
      {"Over all of them the rate is {} times the earlier one ({} to {}). The machines differ.",
       "总体速度为较早运行的 {} 倍（{} 至 {}）。机器不同。"},
      {"Over all of them the rate is {} times the earlier one ({} to {}).",
       "总体速度为较早运行的 {} 倍（{} 至 {}）。"},
      {"Of {} settings in both runs {} became faster and {} slower.",
       "两次都运行的 {} 个设置中，{} 个变快，{} 个变慢。"},
      {"host", "主机"},
      {"processor", "处理器"},
      {"kernel", "内核"},
      {"usable CPUs", "可用 CPU"},
      {"memory limit", "内存上限"},
      {"command", "命令"},
      {"image width", "图像宽度"},
  };
  return kTable;
}

}  // namespace ocrtune
