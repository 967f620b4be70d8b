#include "diagnosis/advice.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"
#include "diagnosis/consequences.h"

namespace ocrtune {
namespace {

using Config = std::map<std::string, std::string>;

constexpr const char* kWorkers = "Train.loader.num_workers";
constexpr const char* kBatch = "Train.loader.batch_size_per_card";
constexpr const char* kFirstBatch = "Train.sampler.first_bs";
constexpr const char* kShared = "Train.loader.use_shared_memory";

std::optional<std::int64_t> number_of(const Config& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end()) return std::nullopt;
  const auto number = parse_integer(found->second);
  return number ? std::optional<std::int64_t>(*number) : std::nullopt;
}

// "Train.loader.batch_size_per_card=32 Train.sampler.first_bs=32"; empty: no smaller batch.
std::string half_batch(const Config& config) {
  std::string text;
  for (const char* key : {kBatch, kFirstBatch}) {
    const auto batch = number_of(config, key);
    if (!batch || *batch < 2) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, *batch / 2);
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> printed_config(const std::vector<LogScan>& logs) {
  for (const LogScan& log : logs) {
    if (!log.config.empty()) return log.config;
  }
  return {};
}

namespace {

// One fix in the numbers of the printed configuration; "": the run has it already.
std::string fitted(const char* fix, const Config& config) {
  const std::string_view text = fix;
  const auto workers = number_of(config, kWorkers);
  if (workers && text.find("Train.loader.num_workers=2") != std::string_view::npos) {
    if (*workers <= 0) return "";
    return fmt::format("{}={} Eval.loader.num_workers=0   # it was {}", kWorkers, *workers / 2,
                       *workers);
  }
  const bool halves =
      text.find(kBatch) != std::string_view::npos &&
      (text.find("halve") != std::string_view::npos || text.find("减半") != std::string_view::npos);
  if (halves && number_of(config, kBatch)) return half_batch(config);
  const auto shared = config.find(kShared);
  if (text.find(kShared) != std::string_view::npos && shared != config.end() &&
      lower(shared->second) == "false") {
    return "";
  }
  return fix;
}

// Does the fix begin with an option, "--max-model-len 8192", that the message's own cures name?
bool says_otherwise(std::string_view fix, std::string cures) {
  std::string option(fix.substr(0, fix.find_first_of(" =")));
  for (std::string* text : {&option, &cures}) std::replace(text->begin(), text->end(), '-', '_');
  return starts_with(option, "__") && cures.find(option.substr(2)) != std::string::npos;
}

}  // namespace

std::string cure_in_message(const std::string& text) {
  static const re2::RE2 kBegins(
      R"((?:^|[.!;:,(] ?)((?:[Pp]lease|[Tt]ry|[Cc]onsider|You (?:can|should|may|need to)|[Dd]ecrease|[Ii]ncrease|[Rr]educe|[Ss]et|[Uu]se|[Ii]nstall|[Uu]pgrade|[Dd]owngrade|[Ss]pecify|[Pp]ass|[Ee]nable|[Dd]isable|To (?:fix|use|avoid|disable|enable)|`?pip install)\b))");
  static const re2::RE2 kHelps(R"(--[a-z]|\b[a-z]+_[a-z]\w*|pip install|[A-Z][A-Z0-9_]{3,}=|`\w)");
  static const re2::RE2 kVague(
      R"((?i)report|issue|stack ?trace|refer to|logs? |https?:|date -d|for (?:more )?(?:details|information|debugging)|NCCL_DEBUG|CUDA_LAUNCH_BLOCKING|TORCH_USE_CUDA_DSA|check (?:the|your|that|whether))");
  re2::StringPiece rest(text), verb;
  while (re2::RE2::FindAndConsume(&rest, kBegins, &verb)) {
    const auto from = static_cast<std::size_t>(verb.data() - text.data());
    const std::size_t end = std::min(text.find(". ", from), text.size());
    std::string sentence = text.substr(from, end - from);
    while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == ')')) {
      sentence.pop_back();
    }
    if (re2::RE2::PartialMatch(sentence, kHelps) && !re2::RE2::PartialMatch(sentence, kVague)) {
      return sentence;
    }
  }
  return "";
}

void advise(Cause& cause, const std::vector<LogScan>& logs) {
  constexpr std::size_t kMost = 6;
  const Config config = printed_config(logs);
  std::uint32_t programs = 0;
  for (const LogScan& log : logs) programs |= log.programs;
  const auto add = [&](std::string fix) {
    const bool known = std::find(cause.fixes.begin(), cause.fixes.end(), fix) != cause.fixes.end();
    if (!fix.empty() && !known && cause.fixes.size() < kMost) cause.fixes.push_back(std::move(fix));
  };
  cause.fixes.clear();
  std::string cures;
  for (const EvidenceLine& line : cause.evidence) {
    const std::string cure = cure_in_message(line.text);
    cures += cure;
    if (!cure.empty()) add("as the message says: " + cure);
  }
  for (const LineCure& cure : line_cures()) {
    const auto& own = cause.signatures;
    if (std::find(own.begin(), own.end(), cure.signature) != own.end()) add(cure.fix);
  }
  for (const ProgramFix& row : program_fixes()) {
    const bool written = (programs & row.programs) != 0 && (programs & row.without) == 0;
    if (written && listed(row.causes, cause.row->name) && !says_otherwise(row.fix, cures))
      add(fitted(row.fix, config));
  }
  for (const char* fix : cause.row->fixes) add(fitted(fix, config));
  for (const Care& row : care_table()) {
    if (!listed(row.causes, cause.row->name)) continue;
    cause.first = row.first;
    cause.not_worth = row.not_worth;
  }
}

}  // namespace ocrtune
