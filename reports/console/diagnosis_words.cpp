// Both tables have a row for each code that diagnosis/ may give; a missing row ends the program.
// diagnosis_words_test.cpp asks for every step, so that none is missing in a release.
#include "reports/console/diagnosis_words.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "reports/catalogue/cause_words.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {
namespace {

constexpr int kMaxText = 160;  // columns

// {0} who, {1} the cause's name, {2} a line or an operation, {3} a duration.
struct StoryWords {
  StoryCode code;
  const char* english;
  const char* chinese;
};

constexpr StoryWords kStory[] = {
    {StoryCode::failed, "{0} failed first, with {1}: {2}", "{0} 最先失败，原因 {1}：{2}"},
    {StoryCode::died, "{0} was the first that was seen to end: {2}", "{0} 是最先被发现结束的：{2}"},
    {StoryCode::reported, "{0} reports {1}: {2}", "{0} 报告 {1}：{2}"},
    {StoryCode::busy, "{0} was busy alone: {2}", "{0} 独自忙于：{2}"},
    {StoryCode::silent, "{0} did not give up; its last line: {2}",
     "{0} 没有放弃等待，最后一行：{2}"},
    {StoryCode::waited, "{0} waited{3} in {2} and gave up", "{0} 在{2}中等待{3}后放弃"},
    {StoryCode::lost_peer, "{0} lost the connection to another rank",
     "{0} 与另一个 rank 的连接断开"},
    {StoryCode::never_met, "{0} did not find all other ranks at the start",
     "{0} 启动时没有等到其他所有 rank"},
    {StoryCode::stopped, "{2} stopped {0} with SIGTERM", "{2} 用 SIGTERM 停止了 {0}"},
    {StoryCode::ended, "the run ended: {2}", "运行结束：{2}"},
};

struct StepWords {
  std::string_view code;
  const char* first;
  const char* second;
  const char* first_chinese;
  const char* second_chinese;
};

constexpr StepWords kSteps[] = {
    {"kernel_kill", "a line names a process of this run", "no line does",
     "有一行提到本次运行的进程", "没有这样的行"},
    {"group_kill", "oom and oom_kill are above 0", "oom_kill is above 0, oom and max are 0",
     "oom 与 oom_kill 均大于 0", "oom_kill 大于 0，而 oom 与 max 为 0"},
    {"p2p_ladder", "a pair of GPUs fails", "all pairs pass", "有一对 GPU 未通过",
     "所有 GPU 对都通过"},
    {"where_it_waits", "the rank that did not give up evaluates, saves or reads",
     "all ranks stand in a collective", "没有放弃的 rank 正在评估、保存或读取",
     "所有 rank 都停在集合通信中"},
    {"kernel_storage", "a file server or disk did not answer at that time", "nothing at that time",
     "当时文件服务器或磁盘没有响应", "当时没有记录"},
    {"collective_names", "ranks call different collectives", "all call the same one",
     "各 rank 调用的集合通信不同", "各 rank 调用的相同"},
    {"scheduler", "the state is PREEMPTED, NODE_FAIL or Evicted", "the scheduler stopped nothing",
     "状态为 PREEMPTED、NODE_FAIL 或 Evicted", "调度器没有停止任何任务"},
    {"shm_space", "it is full while the run lasts", "it has room", "运行期间已满", "仍有空间"},
    {"one_process", "the error comes with its own traceback", "it runs, or is killed itself",
     "错误带着自己的回溯出现", "能够运行，或自身被终止"},
    {"peer_kernel", "a line names a rank of this run", "no line does", "有一行提到本次运行的 rank",
     "没有这样的行"},
    {"port_owner", "another process listens on the port", "nobody does", "该端口被其他进程监听",
     "没有进程监听"},
    {"port_reach", "the port cannot be reached", "it can", "端口无法连通", "端口可以连通"},
    {"card_health", "an Xid or an uncorrected error at that time", "neither",
     "当时有 Xid 或不可纠正的错误", "两者都没有"},
    {"who_is_pending", "a pod or job is still pending", "all of them run or ran",
     "有 Pod 或作业仍在排队", "全部在运行或已运行过"},
    {"pod_events", "the last event is FailedScheduling", "the last event is another failure",
     "最后的事件是 FailedScheduling", "最后的事件是另一种失败"},
    {"host_cards", "it fails there too", "it lists the cards", "在主机上同样失败", "能列出 GPU"},
    {"module_version", "the two name different versions", "the same version, or no module",
     "两处版本不同", "版本相同，或没有内核模块"},
    {"pull_by_hand", "unauthorized, denied, 401 or 403", "another error",
     "unauthorized、denied、401 或 403", "另一种错误"},
    {"date_and_sync", "the date is wrong or not synchronised", "the date is right",
     "日期不对或没有同步", "日期正确"},
    {"small_request", "the small one passes", "it fails in the same way", "小文件可以通过",
     "同样失败"},
    {"start_seconds", "it answers, but later than the check allows", "it never answers",
     "能响应，但晚于检查允许的时间", "始终没有响应"},
    {"card_processes", "another process holds the card", "only this run's processes do",
     "GPU 被其他进程占用", "只有本次运行的进程"},
    {"load_trusted", "it loads", "it fails too", "可以加载", "同样失败"},
    {"given_shapes", "it fails in the same way", "it runs", "同样失败", "可以运行"},
    {"fresh_environment", "it runs there", "it fails in the same way", "在新环境中可以运行",
     "同样失败"},
    {"event_log", "an uncorrected error at that time", "no such error", "当时有不可纠正的错误",
     "没有这样的错误"},
};

std::string clock_text(double when) {
  // Times are seconds into the year (diagnosis/cause.h): the day is left out.
  const auto seconds = static_cast<long>(when) % 86400;
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

// 14 columns: the time, "after" it where only an earlier line is dated, or blanks.
std::string time_text(const StoryEvent& event, bool chinese) {
  if (!event.when) return std::string(14, ' ');
  const std::string clock = clock_text(*event.when);
  if (event.exact) return clock + std::string(6, ' ');
  return chinese ? clock + " 之后 " : "after " + clock;
}

std::string who_text(const StoryEvent& event, bool chinese) {
  if (event.ranks.empty()) {
    if (!event.place.empty()) return event.place;
    return chinese ? "其他 rank" : "the other ranks";
  }
  std::vector<std::string> ranks;
  for (std::size_t i = 0; i < event.ranks.size();) {  // in order; three in a row are a range
    std::size_t end = i + 1;
    while (end < event.ranks.size() && event.ranks[end] == event.ranks[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    ranks.push_back(end - i < 3 ? std::to_string(event.ranks[i])
                                : fmt::format("{}-{}", event.ranks[i], event.ranks[end - 1]));
    i = end;
  }
  if (chinese) return "rank " + join(ranks, "、");
  return (event.ranks.size() == 1 ? "rank " : "ranks ") + join(ranks, ", ");
}

// Chinese has no blank between two of its own characters.
std::string without_inner_blanks(const std::string& line) {
  const auto wide = [&](std::size_t i) { return i < line.size() && (line[i] & 0x80) != 0; };
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != ' ' || i == 0 || !wide(i - 1) || !wide(i + 1)) out += line[i];
  }
  return out;
}

}  // namespace

std::string story_line(const StoryEvent& event, bool chinese) {
  std::string text = cut_to_width(event.text, kMaxText);
  if (event.code == StoryCode::waited && text.empty()) text = chinese ? "集合通信" : "a collective";
  const bool stopped = event.code == StoryCode::stopped;
  if (stopped && event.cause == kLauncher) text = chinese ? "启动器" : "the launcher";
  if (event.code == StoryCode::waited && chinese && !event.text.empty()) text = " " + text + " ";
  // PyTorch begins its lines with "[rank3]: "; who_text() has said the rank.
  if (const std::size_t mark = text.find("]: "); starts_with(text, "[rank") && mark < 12) {
    text.erase(0, mark + 3);
  }
  if (event.code == StoryCode::ended || event.code == StoryCode::died) {
    text = chinese ? chinese_of(text) : text;
  }
  if (!event.raised_at.empty()) text += " [" + event.raised_at + "]";
  const Bilingual waited = event.seconds ? duration_text(*event.seconds) : Bilingual();
  std::string duration = event.seconds ? " " + (chinese ? waited.chinese : waited.english) : "";
  if (chinese && event.seconds) duration += " ";
  for (const StoryWords& words : kStory) {
    if (words.code != event.code) continue;
    const char* form = chinese ? words.chinese : words.english;
    if (stopped && text.empty()) form = chinese ? "{0} 被 SIGTERM 停止" : "SIGTERM stopped {0}";
    const std::string line = fmt::format(fmt::runtime(form), who_text(event, chinese),
                                         spoken_cause(event.cause, chinese), text, duration);
    return time_text(event, chinese) + "  " + (stopped ? without_inner_blanks(line) : line);
  }
  OCRTUNE_CHECK(false);
  return "";
}

std::string spoken_cause(const std::string& cause, bool chinese) {
  if (chinese) return cause_name(cause).chinese;
  std::string words = cause;
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

StepOutcomes step_outcomes(const NextStep& step, bool chinese) {
  for (const StepWords& words : kSteps) {
    if (words.code != step.code) continue;
    return chinese ? StepOutcomes{words.first_chinese, words.second_chinese}
                   : StepOutcomes{words.first, words.second};
  }
  OCRTUNE_CHECK(false);
  return {};
}

}  // namespace ocrtune
