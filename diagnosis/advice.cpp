// The order of a cause's fixes is their worth: the message's own cure, an import's package, rows of
// lines, rows of programs, the cause's own. Six are enough, and none is said twice. Numbers that
// the log printed of its configuration replace those of the table.
#include "diagnosis/advice.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/text.h"

namespace ocrtune {
namespace {

using Config = std::map<std::string, std::string>;

// One fix in the numbers of the printed configuration; "": the run has it already.
std::string fitted(const std::string& fix, const Config& config) {
  const auto number_of = [&](const char* key) -> std::optional<std::int64_t> {
    const auto found = config.find(key);
    const auto number = parse_integer(found == config.end() ? "" : found->second);
    return number ? std::optional(*number) : std::nullopt;
  };
  const auto has = [&](const char* part) { return fix.find(part) != std::string::npos; };
  const auto workers = number_of("num_workers"), batch = number_of("batch_size_per_card");
  if (has("Train.loader.num_workers=2") && workers) {
    // Without workers there is none to halve: the fix is left out.
    if (*workers <= 0) return "";
    return fmt::format("Train.loader.num_workers={} Eval.loader.num_workers=0   # it was {}",
                       *workers / 2, *workers);
  }
  if (has("batch_size_per_card") && has("halve") && batch) {
    std::vector<std::string> halves;  // none: no smaller batch
    if (*batch >= 2)
      halves.push_back(fmt::format("Train.loader.batch_size_per_card={}", *batch / 2));
    const std::int64_t first = number_of("first_bs").value_or(0);
    if (first >= 2) halves.push_back(fmt::format("Train.sampler.first_bs={}", first / 2));
    return join(halves, " ");
  }
  const auto shared = config.find("use_shared_memory");
  return has("use_shared_memory") && shared != config.end() && lower(shared->second) == "false"
             ? ""
             : fix;
}

// Does the fix begin with an option, "--max-model-len 8192", that the message's own cures name?
bool says_otherwise(std::string_view fix, std::string cures) {
  std::string option(fix.substr(0, fix.find_first_of(" =")));
  for (std::string* text : {&option, &cures}) std::replace(text->begin(), text->end(), '-', '_');
  return starts_with(option, "__") && cures.find(option.substr(2)) != std::string::npos;
}

// "MDB_READERS_FULL", "Readers full" -> "mdbreadersfull", "readersfull"
std::string bare(std::string_view text) {
  std::string out = lower(text);
  std::erase_if(out, [](char c) { return c == ' ' || c == '_' || c == '-'; });
  return out;
}

bool fits(const Fix& fix, const Cause& cause, const std::string& evidence) {
  const auto names = [&](std::string_view name) { return listed(fix.of, name); };
  const auto holds = [&](const std::string& words) { return evidence.find(words) != words.npos; };
  return (*fix.of == 0 || names(cause.row->name) || std::ranges::any_of(cause.signatures, names)) &&
         (*fix.quotes == 0 || std::ranges::any_of(split(fix.quotes, '|'), holds));
}

}  // namespace

std::string cure_in_message(const std::string& text) {
  static const re2::RE2 kBegins(
      R"((?:^|[.!;:,(] ?)((?:[Pp]lease|[Tt]ry|[Cc]onsider|You (?:can|should|may|need to)|[Dd]ecrease|[Ii]ncrease|[Rr]educe|[Ss]et|[Uu]se|[Ii]nstall|[Uu]pgrade|[Dd]owngrade|[Ss]pecify|[Pp]ass|[Ee]nable|[Dd]isable|To (?:fix|use|avoid|disable|enable)|`?pip install)\b)|, (run `\w))");
  static const re2::RE2 kHelps(R"(--[a-z]|\b[a-z]+_[a-z]\w*|pip install|[A-Z][A-Z0-9_]{3,}=|`\w)");
  static const re2::RE2 kVague(
      R"((?i)report|issue|stack ?trace|refer to|logs? |https?:|date -d|for (?:more )?(?:details|information|debugging)|NCCL_DEBUG|CUDA_LAUNCH_BLOCKING|TORCH_USE_CUDA_DSA|check (?:the|your|that|whether))");
  re2::StringPiece rest(text), verb, run;
  while (re2::RE2::FindAndConsume(&rest, kBegins, &verb, &run)) {
    if (verb.empty()) verb = run;
    const auto from = static_cast<std::size_t>(verb.data() - text.data());
    const std::size_t end = std::min(text.find(". ", from), text.size());
    std::string sentence = text.substr(from, end - from);
    while (!sentence.empty() && (sentence.back() == '.' || sentence.back() == ')')) {
      sentence.pop_back();
    }
    // A sentence helps only if it names something to type; "see the docs" and the like do not.
    if (re2::RE2::PartialMatch(sentence, kHelps) && !re2::RE2::PartialMatch(sentence, kVague)) {
      return sentence;
    }
  }
  return "";
}

std::uint32_t programs_of(const std::vector<LogScan>& logs) {
  std::uint32_t programs = 0;
  for (const LogScan& log : logs) programs |= log.programs;
  return programs;
}

// A server and a reader of pages save no checkpoints.
bool only_reads(std::uint32_t programs, const std::vector<LogScan>& logs) {
  static const std::uint32_t kReaders = programs_named(
      "PaddleOCR,PaddleX,vLLM,SGLang,Triton_server,gunicorn,uvicorn,Celery,OCRmyPDF,llama.cpp");
  static const std::uint32_t kTrainers =
      programs_named("PaddleOCR_training,Lightning,accelerate,DeepSpeed,OpenMMLab,torchrun,NCCL");
  const bool learns = std::ranges::any_of(logs, [](const LogScan& log) {
    const std::string line = lower(log.last_progress.text);
    return line.find("loss") != line.npos || line.find("epoch") != line.npos;
  });
  return (programs & kReaders) != 0 && (programs & kTrainers) == 0 && !learns;
}

void advise(Cause& cause, const std::vector<LogScan>& logs, bool slowed) {
  constexpr std::size_t kMost = 6;
  const auto printed =
      std::ranges::find_if_not(logs, [](const LogScan& log) { return log.config.empty(); });
  const Config config = printed == logs.end() ? Config() : printed->config;
  const std::uint32_t programs = programs_of(logs);
  const bool reads = only_reads(programs, logs);
  const auto out_of_place = [&](std::string_view words) {
    return reads && words.find("checkpoint") != words.npos;
  };
  const auto add = [&](std::string fix) {
    const bool known = std::ranges::find(cause.fixes, fix) != cause.fixes.end();
    const bool helps = !fix.empty() && !known && !out_of_place(fix);
    if (helps && cause.fixes.size() < kMost) cause.fixes.push_back(std::move(fix));
  };
  const std::string_view engine = engine_of(programs);
  cause.fixes.clear();
  cause.confirm = words_for(cause.row->confirm, engine);
  static const re2::RE2 kModule(R"(No module named '?(\w+))");
  // "`np.trapz` was removed in the NumPy 2.4 release"; else whose name or argument it is.
  static const re2::RE2 kGone(
      "unexpected keyword|has no attribute|cannot import name|No module named|removed "
      "(?:in|from|since|as of)");
  static const re2::RE2 kRemoved(
      R"(removed (?:in|from|since|as of) (?:the )?([A-Za-z]\w*) v?(\d[\d.]*\d))");
  static const re2::RE2 kLacking(
      R"((?:cannot import name .* from|AttributeError: module|No module named) '(\w+))");
  std::string cures, evidence, module, version;
  for (const EvidenceLine& line : cause.evidence) {
    const std::string cure = cure_in_message(line.text);
    cures += cure;
    evidence += bare(line.text + " " + line.raised.place) + "\n";
    if (!cure.empty()) add("as the message says: " + cure);
    const bool missing = cause.row == &find_cause("missing_module");
    if (missing && re2::RE2::PartialMatch(line.text, kModule, &module))
      add(fmt::format("pip install {}   # its package may have another name", module));
    if (cause.row != &find_cause("library_conflict") || !re2::RE2::PartialMatch(line.text, kGone))
      continue;
    if (re2::RE2::PartialMatch(line.text, kRemoved, &module, &version)) {
      add(fmt::format("pip install '{}<{}'   # or the call that newer ones have", lower(module),
                      version));
    } else if (re2::RE2::PartialMatch(line.text, kLacking, &module) ||
               !(module = line.raised.library).empty()) {
      add(fmt::format(
          "pip install '{0}==VERSION': the last one before the change, by the changelog of {0}",
          module));
    }
  }
  if (slowed && cause.row == &find_cause("time_limit"))
    add("mend what slowed the run, which is named below, before the limit is raised");
  bool alone = false;
  for (const Fix& fix : fix_table()) {  // those of lines come first
    const bool written =
        fix.programs == 0 || ((programs & fix.programs) != 0 && (programs & fix.without) == 0);
    if (!written || (alone && fix.programs != 0) || !fits(fix, cause, evidence) ||
        says_otherwise(fix.words, cures)) {
      continue;
    }
    alone = alone || fix.alone;
    add(fitted(words_for(fix.words, engine), config));
  }
  for (const char* fix : cause.row->fixes) {
    if (!alone) add(fitted(words_for(fix, engine), config));
  }
  for (const Care& row : care_table()) {
    if (!listed(row.causes, cause.row->name)) continue;
    if (!alone && !out_of_place(row.first)) cause.first = row.first;
    if (!out_of_place(row.not_worth)) cause.not_worth = row.not_worth;
  }
}

// The first suspect is compared with every other row of the table that names it. Words of the
// engine are put in before commands are compared, so that none is proposed twice.
std::vector<NextStep> next_steps(const std::vector<Cause>& causes,
                                 const std::vector<LogScan>& logs) {
  // Guesses: above it a command is not worth its while, and below kStillSuspect no rival.
  constexpr double kSettled = 0.93, kStillSuspect = 0.12;
  constexpr std::size_t kMaxSteps = 3;
  std::vector<NextStep> steps;
  if (causes.empty() || causes[0].confidence >= kSettled) return steps;
  const std::string_view first = causes[0].row->name;
  const auto suspect = [&](std::string_view name) {
    return std::any_of(causes.begin() + 1, causes.end(), [&](const Cause& cause) {
      return cause.row->name == name && cause.confidence >= kStillSuspect;
    });
  };
  const bool kernel_given =
      std::ranges::any_of(logs, [](const LogScan& log) { return log.kind == SourceKind::kernel; });
  const std::string_view engine = engine_of(programs_of(logs));
  for (NextStep step : next_step_table()) {
    step.command = words_for(step.command, engine);
    const bool between = (first == step.first && (step.open_for_first || suspect(step.second))) ||
                         (first == step.second && (step.open_for_second || suspect(step.first)));
    const bool given = (kernel_given && starts_with(step.command, "dmesg")) ||
                       std::ranges::any_of(steps, [&](const NextStep& one) {
                         return one.command == std::string_view(step.command);
                       });
    if (between && !given && steps.size() < kMaxSteps) steps.push_back(step);
  }
  return steps;
}

}  // namespace ocrtune
