// The row of the extra `supervise`.
#include "cli/extras.h"
#include "extras/supervise/commands/run_command.h"
#include "reports/catalogue/extra_reports.h"
#include "reports/catalogue/phrases.h"

namespace ocrtune {
namespace {

// Phrases of the page of a supervised run.
// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Phrase>& supervise_table() {
  static const std::vector<Phrase> kTable = {
      {"Supervised run of {}", "托管运行：{}"},
      {"The run ended well, at attempt {}.", "运行在第 {} 次尝试时正常结束。"},
      {"The run ended well.", "运行正常结束。"},
      {"Gave up: {}.", "已放弃：{}。"},
      {"Interrupted.", "已中断。"},
      {"Logs, traces and journal", "日志、轨迹与记录"},
      {"not bound", "未绑定"},
      {"Memory of attempt {}: up to {} in {}", "第 {} 次尝试的内存：最高 {}，历时 {}"},
      {"Attempt {}: memory of all its processes over time",
       "第 {} 次尝试：全部进程的内存随时间变化"},
      {"Ran for", "运行时间"},
      {"Steps seen", "已见步数"},
      {"Commands of the attempts", "各次尝试的命令"},
      {"What went wrong last", "最后一次的故障"},
      {"Launch a command, watch it, and bring it back after a failure",
       "启动命令并监视，失败后自动恢复"},
      {"Launch with the recommendation of this run, such as last",
       "用此运行的推荐配置启动，例如 last"},
      {"Fill a placeholder: --set nproc=4", "填充占位符：--set nproc=4"},
      {"File, prefix or folder that the command saves its state to",
       "命令保存状态的文件、前缀或目录"},
      {"Append this once there is a checkpoint, such as '--resume {checkpoint}'",
       "有检查点后追加此参数，例如 '--resume {checkpoint}'"},
      {"Give up after N attempts in a row that get no further", "连续 N 次没有进展则放弃"},
      {"Restart after this time without output: 30m", "超过此时间无输出则重启：30m"},
      {"Restart after this time without a step, if that is 20 times longer than usual: 10m",
       "超过此时间没有新的一步且为平常的 20 倍时重启：10m"},
      {"Bind the ranks: compact, spread or numa, with --set nproc=N --set threads=T",
       "绑定各 rank：compact、spread 或 numa，配合 --set nproc=N --set threads=T"},
      {"Forecast memory for a run of this length, such as 48h", "按此时长预测内存，例如 48h"},
      {"Read these logs too, or folders of them: the launcher's log/",
       "同时读取这些日志或其目录：启动器的 log/"},
      {"Keep step rate, memory and restarts in this .prom file, for Prometheus's node_exporter",
       "将步速、内存和重启次数写入此 .prom 文件，供 Prometheus 的 node_exporter 读取"},
      {"Write logs, traces and the journal to this folder", "将日志、跟踪和日志簿写到此目录"},
      {"Wait this time for a host that is away, such as in a reboot",
       "主机离线（例如重启）时等待的时间"},
      {"Stop it before it takes more: 48G", "超过此内存之前停止：48G"},
      {"Wait before a restart; doubles each time", "重启前的等待时间；每次加倍"},
      {"Time to save its state before it is killed", "强制结束之前留给它保存状态的时间"},
      {"Stored run, such as last, or command to launch; may hold {nproc}, {batch}, ...",
       "已存的运行，例如 last，或要启动的命令；可含 {nproc}、{batch} 等占位符"},
      {"Exit code: 0 it ended well, 1 gave up, 130 interrupted.",
       "退出码：0 正常结束，1 已放弃，130 被中断。"},
      {"warn after 1m, never restart", "1m 后警告，从不重启"},
      {"'Global.checkpoints={checkpoint}' for PaddleOCR's tools/train.py",
       "PaddleOCR 的 tools/train.py 为 'Global.checkpoints={checkpoint}'"},
      {"a new one beside the store", "存储文件旁的新目录"},
  };
  return kTable;
}

}  // namespace

Extra supervise_extra() {
  return {
      {{"export",
        {"run", kLaunch, "Launch a command, watch it, and bring it back after a failure",
         "ocrtune run --from last --checkpoint output/rec/latest --logs log -- \\\n"
         "  python -m paddle.distributed.launch --nproc_per_node {nproc} tools/train.py -c x.yml",
         "Exit code: 0 it ended well, 1 gave up, 130 interrupted.", declare_run}}}};
}

ExtraReports supervise_reports() { return {supervise_table, {}}; }

}  // namespace ocrtune
