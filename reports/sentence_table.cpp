// Sentences that lower floors compose: English with holes where values stand, and their Chinese.
// What is not here is shown in English in both languages.
#include "reports/phrases.h"

namespace ocrtune {

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Phrase>& sentence_table() {
  static const std::vector<Phrase> kTable = {
      {"TIE OF {}", "{} 个并列"},
      // tuner/recommend.cpp, tuner/explain.cpp
      {"Launch with {}: {} samples/s.", "使用 {} 启动：{} 样本/秒。"},
      {"No setting was run; allow a longer budget.", "没有运行任何设置；请给予更长的预算。"},
      {"No setting was measured: the budget ended first.", "没有测量任何设置：预算已先用完。"},
      {"No setting ran: every trial was out of memory.", "没有设置能运行：每次试验都内存不足。"},
      {"No setting works: {} ended with {}: {}.", "没有可用的设置：{} 以 {} 结束：{}。"},
      {"No setting works: {} ended with {}.", "没有可用的设置：{} 以 {} 结束。"},
      {"Every setting that works leaves less memory free than asked; the fastest is {}. Lower the "
       "margin or raise the limit.",
       "所有可用设置的剩余内存都少于要求；其中最快的是 {}。请降低余量或提高上限。"},
      {"95 %: within {} % of the best in the declared space; {} tie",
       "95 %：与声明空间中最佳值的差距不超过 {} %；{} 个并列"},
      {"95 %: within {} % of the best in the declared space",
       "95 %：与声明空间中最佳值的差距不超过 {} %"},
      {"best of {} of {} settings that were run; {} tie; no claim about the others",
       "已运行的 {} 个（共 {} 个）设置中最佳；{} 个并列；对其余设置不作断言"},
      {"best of {} of {} settings that were run; no claim about the others",
       "已运行的 {} 个（共 {} 个）设置中最佳；对其余设置不作断言"},
      {"Ran {} times: {} samples/s ({} to {}).", "运行 {} 次：{} 样本/秒（{} 至 {}）。"},
      {"Ran {} time: {} samples/s ({} to {}).", "运行 {} 次：{} 样本/秒（{} 至 {}）。"},
      {"{} times the current setting ({} to {}).", "为当前设置的 {} 倍（{} 至 {}）。"},
      {"Peak memory {} of {}: {} stay free (at least {} asked).",
       "峰值内存 {}，上限 {}：剩余 {}（要求至少 {}）。"},
      {"Peak memory {}; no limit is known.", "峰值内存 {}；上限未知。"},
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
      {"not run", "未运行"},
      {"predicted {}, not run", "预测{}，未运行"},
      {"Too noisy to tell {} from {} in this budget (repeats differ by {}); about {} more would "
       "settle it.",
       "干扰太大，在此预算内无法区分 {} 与 {}（重复测量相差 {}）；再用约 {} 可以判定。"},
      {"Next best: {} could be up to {} (not run); stopping is fine.",
       "下一步最值得试：{} 可能{}（未运行）；停止也可以。"},
      {"{} more on {} would halve its interval; stopping is fine.",
       "再用 {} 测量 {} 可使其区间减半；停止也可以。"},
      // tuner/audit.cpp
      {"ties", "并列"},
      {"ties ({} %)", "并列（{} %）"},
      {"better by {} % ({} %)", "更好，快 {} %（{} %）"},
      {"costs {} % ({} %)", "损失 {} %（{} %）"},
      {"is what is recommended", "即推荐设置"},
      {"fails: {}", "失败：{}"},
      {"does not fit: {}", "放不下：{}"},
      {"not run: the budget ended before it", "未运行：预算已先用完"},
      // Reasons of failures.
      {"out of memory: {} of {}", "内存不足：{}，上限 {}"},
      // Phases.
      {"baseline", "基线"},
      {"ladder", "阶梯"},
      {"model", "模型"},
      {"race", "决赛"},
      {"rule", "规则"},
      {"sweep", "扫描"},
      {"verify", "验证"},
      {"budget", "预算"},
      // tuner/comparison.cpp
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
