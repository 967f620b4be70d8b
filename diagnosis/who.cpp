// One table of patterns for all kinds. Lines of the deciding cause are asked in the order of their
// weight; what stands nearby (a model that did not load, who holds a card) was kept by the scan as
// notes.
#include "diagnosis/who.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <re2/re2.h>

#include "base/tables/rows.h"
#include "base/text.h"
#include "diagnosis/advice.h"
#include "diagnosis/context/line_origin.h"

namespace ocrtune {
namespace {

// A kind and what names one; rows of the same kind in the order of their worth.
constexpr std::string_view kNames = R"rows(
GPU \(PCI:(?:0000:)?([0-9A-Fa-f:.]{5,})\)
GPU \bGPU ?(\d{1,2})(?:[:,.)]| has| is| at|$)
GPU \bGPU (?:PCI:)?(?:0000)?(?:0000:)([0-9A-Fa-f]{2}:\d\d)
GPU \bcuda:(\d{1,2})\b
GPU ^(\d{1,2}), .* (?:W|MHz|%),
process \bProcess (\d+) has [\d.]+ [GM]iB memory in use
process \bkill -\S+ (\d+)$
process (?i:\bpid\(?s?\)?)[ =:']{1,3}(\d+)
process \bKill(?:ed|ing) process (\d+)
process [a-z]\w*\[(\d{2,})\]:[ ]
worker \b((?:Fork|Spawn)?PoolWorker-\d+|Worker_TP\d+|(?:Vllm)?Worker TP\d+|EngineCore_\w+)\b
worker \bray::(\w+)
user (\w+) : TTY=
model (?:\bmodel|failed to load|ensemble) '([\w.-]+)'
model ([\w.-]+\.(?:onnx|plan|engine|trt|pdmodel|pdiparams|safetensors|gguf|pth?|ckpt|mlmodel|traineddata))\b
pod \bpod[/ ]\"?([a-z0-9][a-z0-9.-]{4,}-[a-z0-9]+)
container \b[Cc]ontainer ([a-z][\w-]*)\b (?:failed|was using|exceeded)
host \b[Nn]odes? (?:failure on )?([a-z][a-z0-9-]*\d)\b
host \bON ([a-z][\w-]*) CANCELLED
host \bip=(\d+\.\d+\.\d+\.\d+)
interface \b((?:mlx\d|ib|eth|en[ospx]|bond)\w*): Link
file ^\[([\w.-]+\.(?:pdf|tiff?|png|jpe?g|djvu))\]
file ([\w./-]+\.(?:txt|jsonl?|ya?ml|pbtxt|tar|arrow|parquet|lmdb|mdb|pdf|tiff?))\b
)rows";

// The scan's notes that name somebody near the line that decided.
constexpr std::string_view kNear = " model_not_loaded ";
constexpr std::int64_t kNearLines = 12;

void keep(std::vector<Named>& who, const Named& one) {
  constexpr std::size_t kMost = 4;
  const bool known = std::ranges::any_of(who, [&](const Named& other) {
    return other.name == one.name || (other.kind == one.kind && one.kind != "GPU");
  });
  if (!one.name.empty() && !known && who.size() < kMost) who.push_back(one);
}

// What every rank meets alike: the same program, environment and settings.
constexpr std::string_view kOfAll =
    " loss_diverged missing_module library_conflict bad_configuration checkpoint_mismatch "
    "checkpoint_refused cuda_driver_too_old gpu_arch_unsupported not_launched learnt_nothing ";

constexpr std::string_view kOfFiles =
    " bad_training_data missing_file permission_denied storage_failure label_out_of_range "
    "read_only_filesystem checkpoint_damaged ";

bool told_by_many(const CauseRanker& ranker, const CauseRow& cause) {
  std::optional<int> one;
  return std::ranges::any_of(ranker.clues(), [&](const Clue& clue) {
    if (clue.cause != &cause || !clue.rank) return false;
    return one ? *one != *clue.rank : (one = clue.rank, false);
  });
}

// The process that printed the most memory of its own.
std::string largest_in(const std::vector<LogScan>& logs) {
  double most = 0;
  std::string who;
  for (const Seen& one : seen(logs, " resident_memory ")) {
    const double last = parse_number(one.finding->subjects.back()).value_or(0);
    if (last > most && !one.finding->actor.empty()) most = last, who = one.finding->actor;
  }
  return who;
}

const Finding* finding_at(const std::vector<LogScan>& logs, const EvidenceLine& line) {
  for (const LogScan& log : logs) {
    if (log.file != line.file) continue;
    for (const Finding& finding : log.findings) {
      if (finding.first.number == line.line || finding.last.number == line.line) return &finding;
    }
  }
  return nullptr;
}

// Asks the story, the clue that decided, its lines and what stands near them, in this order.
class Asker {
 public:
  Asker(const std::vector<LogScan>& logs, const CauseRanker& ranker, const CauseRow& row)
      : logs_(logs), ranker_(ranker), cause_(row.name), clue_(ranker.decisive(row)) {
    alike_ = listed(kOfAll, cause_) && told_by_many(ranker, row);
  }

  void ask_story(const std::vector<StoryEvent>& story);
  void ask_lists();
  void ask_lines(const std::vector<EvidenceLine>& lines);
  void ask_neighbours();
  std::vector<Named> answer() { return std::move(who_); }

 private:
  void add(const Named& one) {
    if (one.kind != "rank" || !alike_) keep(who_, one);
  }
  void add_line(const std::string& text);
  bool is(std::string_view causes) const { return listed(causes, cause_); }

  const std::vector<LogScan>& logs_;
  const CauseRanker& ranker_;
  std::string_view cause_;
  const Clue* clue_;
  bool alike_ = false;  // all ranks met it
  std::vector<Named> who_;
};

void Asker::add_line(const std::string& text) {
  add({"host", owner_of_address(logs_, text)});
  for (const Named& one : named_in(text)) {
    if (one.kind != "file" || is(kOfFiles)) add(one);
  }
  const std::string host(origin_of(text).host);
  if (host.find('.') == host.npos) add({"host", host});
}

void Asker::ask_story(const std::vector<StoryEvent>& story) {
  for (const StoryEvent& event : story) {
    const bool acts = event.code == StoryCode::failed || event.code == StoryCode::died ||
                      event.code == StoryCode::busy || event.code == StoryCode::silent;
    if (!acts || event.ranks.size() > 2) continue;
    for (const int rank : event.ranks) add({"rank", std::to_string(rank)});
    if (event.code == StoryCode::died) add({"worker", event.place});
    break;
  }
  if (clue_ != nullptr && clue_->rank && story.empty()) {
    add({"rank", std::to_string(*clue_->rank)});
  }
}

// Who holds what was wanted, who grew, who schedules.
void Asker::ask_lists() {
  static const std::uint32_t kSlurm = programs_named("Slurm");
  if (is(" port_in_use gpu_busy gpu_out_of_memory userspace_oom_kill ")) {
    add({"process", holder_in(logs_)});
  }
  if (who_.empty() &&
      is(" userspace_oom_kill memory_leak host_out_of_memory cgroup_out_of_memory ")) {
    add({"worker", largest_in(logs_)});
  }
  if (is(" preempted_or_evicted time_limit ") && (programs_of(logs_) & kSlurm) != 0) {
    add({"scheduler", "Slurm"});
  }
}

void Asker::ask_lines(const std::vector<EvidenceLine>& lines) {
  for (const Seen& near : seen(logs_, kNear)) {  // a server's name of the model, before its file's
    const Finding& other = *near.finding;
    const bool here = std::ranges::any_of(lines, [&](const EvidenceLine& line) {
      return logs_[static_cast<std::size_t>(near.file)].file == line.file &&
             std::abs(other.first.number - line.line) <= kNearLines;
    });
    if (here) add({"model", other.captures[0]});
  }
  if (clue_ != nullptr) {
    add_line(clue_->line.text);
    add({"worker", clue_->actor});
  }
  for (const EvidenceLine& line : lines) {
    if (line.line == 0) continue;
    add_line(line.text);
    const Finding* finding = finding_at(logs_, line);
    const std::string actor = finding == nullptr ? "" : finding->actor;
    if (starts_with(actor, "GPU ")) {
      add_line(actor);
    } else {
      add({"worker", actor});
    }
  }
}

// What stands right beside the clue, or follows from it in a process with a name.
void Asker::ask_neighbours() {
  constexpr std::int64_t kBeside = 3;  // lines
  if (is(" engine_plan_mismatch checkpoint_damaged runs_on_cpu ")) {
    for (const Seen& named : seen(logs_, " model_file "))
      add({"model", named.finding->captures[0]});
  }
  if (clue_ == nullptr || clue_->file < 0) return;
  for (const Clue& other : ranker_.clues()) {
    const bool beside = other.file == clue_->file && other.cause != clue_->cause &&
                        std::abs(other.line.line - clue_->line.line) <= kBeside;
    if (beside) add_line(other.line.text);
    if (other.explained && tier(clue_->role) == 4) add({"worker", other.actor});
  }
  add({"pod", logs_[static_cast<std::size_t>(clue_->file)].described});
}

}  // namespace

std::vector<Named> named_in(std::string_view line) {
  using Row = std::pair<std::string, std::unique_ptr<re2::RE2>>;
  static const std::vector<Row> kRows = [] {
    std::vector<Row> rows;
    for (std::string_view row : rows_of(kNames)) {
      std::string kind(take_column(row));
      rows.emplace_back(std::move(kind), std::make_unique<re2::RE2>(row));
    }
    return rows;
  }();
  std::vector<Named> who;
  for (const auto& [kind, pattern] : kRows) {
    std::string name;
    if (!re2::RE2::PartialMatch(line, *pattern, &name)) continue;
    const bool of_a_bus = kind == "GPU" && name.find(':') != name.npos;
    keep(who, {kind, of_a_bus ? "0000:" + lower(name) : name});
  }
  return who;
}

std::string owner_of_address(const std::vector<LogScan>& logs, std::string_view line) {
  static const re2::RE2 kPeer(R"((?:Connect to|peer|from) (\d+\.\d+\.\d+\.\d+)<)");
  std::string address;
  if (!re2::RE2::PartialMatch(line, kPeer, &address)) return "";
  for (const Seen& one : seen(logs, " nccl_address ")) {
    const auto& told = one.finding->subjects;
    if (std::ranges::find(told, address) == told.end()) continue;
    return std::string(origin_of(one.finding->first.text).host);
  }
  return "";
}

std::string holder_in(const std::vector<LogScan>& logs) {
  for (const Seen& one : seen(logs, " holds_it ")) {
    for (const std::string& pid : one.finding->captures) {
      const bool own = std::ranges::any_of(logs, [&](const LogScan& log) {
        return std::ranges::find(log.children, pid, &Child::pid) != log.children.end();
      });
      if (!pid.empty() && !own) return pid;
    }
  }
  return "";
}

bool ends_all(std::string_view cause) {
  return listed(" interrupted_by_user terminated_from_outside terminal_hangup start_method ",
                cause);
}

std::vector<Named> who_failed(const std::vector<LogScan>& logs, const CauseRanker& ranker,
                              const Cause& first, const std::vector<StoryEvent>& story) {
  const std::string_view cause = first.row->name;
  if (cause == "start_method") return {{"process", "that started the others (their parent)"}};
  if (ends_all(cause)) return {};
  Asker asker(logs, ranker, *first.row);
  asker.ask_story(story);
  asker.ask_lists();
  asker.ask_lines(first.evidence);
  asker.ask_neighbours();
  return asker.answer();
}

}  // namespace ocrtune
