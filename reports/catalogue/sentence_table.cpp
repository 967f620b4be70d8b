// Sentences that lower floors still compose: English with holes where values stand, and their
// Chinese. Reasons have theirs in tuner_reasons.h.
// What is not here is shown in English in both languages.
#include "reports/catalogue/phrases.h"

namespace ocrtune {

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Phrase>& sentence_table() {
  static const std::vector<Phrase> kTable = {
      {"TIE OF {}", "{} 个并列"},
      // reports/catalogue/verdict.cpp, trial/observe/gpu_places.cpp
      {"{} process on each of {}", "每个 GPU 上 {} 个进程：{}"},
      {"{} processes on each of {}", "每个 GPU 上 {} 个进程：{}"},
      {"{} process on {}", "{} 个进程，在 {} 上"},
      {"{} processes on {}", "{} 个进程，在 {} 上"},
      {"{} processes, in turn, on {}", "{} 个进程，轮流分配到 {}"},
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
      // Why a search stops.
      {"no setting works", "没有可用的配置"},
      {"no neighbour is better", "没有更好的相邻配置"},
      {"no neighbour is better, and the leaders are raced", "没有更好的相邻配置，领先者已决出胜负"},
      {"every admitted setting tried", "所有可运行的配置都已试过"},
      {"every setting tried", "所有配置都已试过"},
      {"improvement under 0.02 %", "预期提升小于 0.02 %"},
      {"probability that anything untried is 3 % better is under 5 %",
       "未试过的配置快 3 % 以上的概率低于 5 %"},
      {"one setting is left", "只剩一个配置"},
      {"all settings tried and the leaders raced", "所有配置都已试过，领先者已决出胜负"},
      {"{}, and the leaders raced", "{}，领先者已决出胜负"},
      {"interrupted", "被中断"},
      {"died", "进程已消失"},
      // Capacity and latency (capacity/capacity_answer.cpp, capacity.cpp, slo_search.cpp).
      {"No answer: {}.", "没有结论：{}。"},
      {"You need {} machine of this kind for {}. {}", "需要 {} 台同类机器来处理 {}。{}"},
      {"You need {} machines of this kind for {}. {}", "需要 {} 台同类机器来处理 {}。{}"},
      {"You need {} machine of this kind to {}: about {} ({} to {}).",
       "需要 {} 台同类机器，{}：约 {}（{} 至 {}）。"},
      {"You need {} machine of this kind to {}: about {} ({} to {}). {}",
       "需要 {} 台同类机器，{}：约 {}（{} 至 {}）。{}"},
      {"You need {} machines of this kind to {}: about {} ({} to {}).",
       "需要 {} 台同类机器，{}：约 {}（{} 至 {}）。"},
      {"You need {} machines of this kind to {}: about {} ({} to {}). {}",
       "需要 {} 台同类机器，{}：约 {}（{} 至 {}）。{}"},
      {"train {} images ({} epochs) within {}", "在 {2} 内训练 {0} 张图像（{1} 轮）"},
      {"train {} images ({} epochs) by {}, in {}", "在 {2}（{3} 后）之前训练 {0} 张图像（{1} 轮）"},
      {"train {} images within {}", "在 {1} 内训练 {0} 张图像"},
      {"train {} images by {}, in {}", "在 {1}（{2} 后）之前训练 {0} 张图像"},
      {"read {} pages ({} line images each) within {}",
       "在 {2} 内识别 {0} 页（每页 {1} 个文本行图像）"},
      {"read {} pages ({} line images each) by {}, in {}",
       "在 {2}（{3} 后）之前识别 {0} 页（每页 {1} 个文本行图像）"},
      {"read {} line images within {}", "在 {1} 内识别 {0} 个文本行图像"},
      {"read {} line images by {}, in {}", "在 {1}（{2} 后）之前识别 {0} 个文本行图像"},
      {"About {} interruptions are expected; {} % of the time is lost.",
       "预计约 {} 次中断；损失 {} % 的时间。"},
      {"About {} interruptions are expected; {} % of the time is lost. {}",
       "预计约 {} 次中断；损失 {} % 的时间。{}"},
      {"{} machine would take {}. {}", "{} 台则需 {}。{}"},
      {"{} machines would take {}. {}", "{} 台则需 {}。{}"},
      {"{} machine would take {}.", "{} 台则需 {}。"},
      {"{} machines would take {}.", "{} 台则需 {}。"},
      {"Cost: {} an hour, {} in all.", "费用：每小时 {}，共 {}。"},
      {"more than can be waited for", "无法等到的时间"},
      {"no interruptions are expected (--interruptions 8h: one every 8 hours of a machine)",
       "假设没有中断（--interruptions 8h：每台机器每 8 小时一次）"},
      {"interruptions: {}, at any time alike; each stops the whole training",
       "中断：{}，任何时刻机会均等；每次都使整个训练停止"},
      {"interruptions: {}, at any time alike; each stops one machine",
       "中断：{}，任何时刻机会均等；每次使一台机器停止"},
      {"one every {} of a machine", "每台机器每 {} 一次"},
      {"{} seen in {} of machines", "在 {1} 的机器时间内见到 {0} 次"},
      {"a restart takes {}, as the start of its trials did; waiting for another machine comes on "
       "top "
       "(--restart)",
       "重启需 {}，与试验的启动相同；等待另一台机器的时间另计（--restart）"},
      {"the measurement was disturbed by other load (NOISY HOST): tune again when the machine is "
       "idle "
       "to narrow this plan",
       "测量受到其他负载的干扰（NOISY HOST）：请在机器空闲时重新调优，以缩小本规划的区间"},
      {"the rate of one machine is the one that was proved at full length",
       "单台机器的速率取完整时长证实的速率"},
      {"the rate of one machine was not proved at full length: tune with a longer --budget",
       "单台机器的速率未经完整时长证实：请用更长的 --budget 调优"},
      {"pages: recognition of their lines alone was measured; finding the lines on a page comes on "
       "top, in time and in machines",
       "页面：只测量了其文本行的识别；在页面上检测文本行所需的时间和机器另计"},
      {"no start was measured: a restart is taken to take no time (--restart)",
       "未测量启动时间：假设重启不需要时间（--restart）"},
      {"results are kept as they come; what is lost is under a second",
       "结果随时保存；损失不到一秒"},
      {"no --checkpoint-every was given: what is interrupted starts from the beginning",
       "未给出 --checkpoint-every：被中断的工作从头开始"},
      {"a checkpoint about every {} would lose least time", "约每 {} 写一次检查点，损失的时间最少"},
      {"{} machine would be done in time and interruptions keep them from it: checkpoint more "
       "often "
       "(--checkpoint-every), restart faster, or take machines that are interrupted less",
       "{} 台本可按时完成，但被中断所阻：请更频繁地写检查点（--checkpoint-every）、更快地重启，"
       "或选用中断较少的机器"},
      {"{} machines would be done in time and interruptions keep them from it: checkpoint more "
       "often (--checkpoint-every), restart faster, or take machines that are interrupted less",
       "{} 台本可按时完成，但被中断所阻：请更频繁地写检查点（--checkpoint-every）、更快地重启，"
       "或选用中断较少的机器"},
      {"the job needs at least {} machines and the measurements back {}: {}",
       "该作业至少需要 {} 台机器，而测量只支持 {} 台：{}"},
      {"one machine was measured", "只测量了一台机器"},
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
      {"undecided: {} is too short to prove a rate that keeps p{} under {} ({} requests/s looked "
       "fine, with {} ms); try --budget {}",
       "尚无定论：{} 太短，无法证实任何速率能使 p{} 低于 {}（{} 请求/秒时看似可行，为 {} "
       "毫秒）；请用 --budget {} 再试"},
      {"undecided: {} is too short to prove a rate that keeps p{} under {}; try --budget {}",
       "尚无定论：{} 太短，无法证实任何速率能使 p{} 低于 {}；请用 --budget {} 再试"},
      {"no rate was proved to keep p{} under {} before the {} ended the search",
       "在搜索因{2}结束之前，没有证实任何速率能使 p{0} 低于 {1}"},
      {"no rate keeps p{} under {}: one request at a time already takes {} ms at p{}, {} ms too "
       "long ({} "
       "times the target)",
       "没有速率能使 p{} 低于 {}：逐个请求时 p{3} 已需 {2} 毫秒，超出 {4} 毫秒（目标的 {5} 倍）"},
      {"no rate worth serving keeps p{} under {}: one request alone takes {} ms at p{}, which "
       "leaves no "
       "time to wait for another",
       "没有值得提供服务的速率能使 p{} 低于 {}：单个请求 p{3} 需 {2} 毫秒，没有时间等待其他请求"},
      {"one machine was measured; a load balancer for more than 100 was not",
       "只测量了一台机器；未测量过超过 100 台的负载均衡"},
      {"machines share nothing but a load balancer that sends each request to any of them "
       "(--balancer turns: to one after the other)",
       "机器之间只共享负载均衡器，请求随机发往任一台（--balancer turns：轮流发送）"},
      {"machines share nothing but a load balancer that sends requests to one after the other",
       "机器之间只共享负载均衡器，请求轮流发往各台"},
      {"machines of one kind are taken to differ by {} % in speed, and days by {} %",
       "假设同类机器之间的速度相差 {} %，不同日期之间相差 {} %"},
      {"Over a year: {}+{} machines now and {}+{} in {} months at {} % a month.",
       "一年之内：现在 {}+{} 台，{4} 个月后 {2}+{3} 台（每月 {5} %）。"},
      {"The spare ones are for {} % of the time with enough machines, each up for {} %.",
       "备用机使 {} % 的时间内机器足够（每台可用率 {} %）。"},
      {"Fixed for the last month: {} machine hours a year, cost {}.",
       "按最后一个月固定配置：每年 {} 机器小时，费用 {}。"},
      {"Fixed for the last month: {} machine hours a year.",
       "按最后一个月固定配置：每年 {} 机器小时。"},
      {"Scaled by the minute, {} ahead: {} machine hours a year, cost {}.",
       "按分钟伸缩（提前 {} 启动）：每年 {} 机器小时，费用 {}。"},
      {"Scaled by the minute, {} ahead: {} machine hours a year.",
       "按分钟伸缩（提前 {} 启动）：每年 {} 机器小时。"},
      {"Machines from each time on, without the spare ones: {}.",
       "各时刻起所需机器数（不含备用机）：{}。"},
      {"{} of {} predictions from stored runs held within their {} % interval; their error is {} % "
       "in the middle and {} % at the {}th percentile.",
       "已存运行的 {1} 个预测中有 {0} 个落在 {2} % 区间内；误差中位数 {3} %，第 {5} 百分位 {4} "
       "%。"},
      {"No two stored runs of this machine measured the same setting, and none measured four "
       "process counts.",
       "没有两次已存运行在本机测量过同一配置，也没有运行测量过四种进程数。"},
      {"no --slo was given: the count keeps up with the load and names no latency target",
       "未给出 --slo：机器数能跟上负载，但不保证延迟"},
      {"the spread of service times was not measured; {} % is assumed",
       "未测量服务时间的离散度；假设为 {} %"},
      {"only one batch size was measured: a part-filled batch is taken to last as long as a full "
       "one",
       "只测量了一种 batch size：假设未装满的批与装满的用时相同"},
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
      // diagnosis/advice.cpp
      {"Train.loader.num_workers={} Eval.loader.num_workers=0   # it was {}",
       "Train.loader.num_workers={} Eval.loader.num_workers=0   # 原为 {}"},
      // Reasons of failures.
      {"out of memory: {} of {}", "内存不足：{}，上限 {}"},
      {"does {} change anything here?", "{} 在此是否有影响？"},
      {"budget", "预算"},
      // tuner/verdict/comparison.cpp
      {"host", "主机"},
      {"processor", "处理器"},
      {"kernel", "内核"},
      {"usable CPUs", "可用 CPU"},
      {"memory limit", "内存上限"},
      {"command", "命令"},
      {"image width", "图像宽度"},
      // Last, since their first hole would take in whole sentences.
      {"{} requests/s with p{} under {}", "{} 请求/秒，且 p{} 低于 {}"},
      {"{} requests/s", "{} 请求/秒"},
  };
  return kTable;
}

}  // namespace ocrtune
