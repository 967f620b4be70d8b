// What is asked for, else all that are installed, is asked whether it reads this file: each
// framework in a process of its own (ask_frameworks). What cannot read is left out with its reason,
// and only where nothing is left is it an error. Options of a framework are tried where they are
// named: for the recognisers that were looked at its defaults were best (bench/RESULTS.md,
// "Engines of a recogniser").
#include "cli/tune/reading_engines.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "core/infer/recognizer.h"
#include "core/onnx/onnx_recognizer.h"
#include "trial/workloads/engine_infer/framework_answer.h"
#include "trial/workloads/engine_infer/line_answers.h"
#include "trial/workloads/engine_infer/line_list.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {
namespace {

constexpr const char* kBackend = "backend";
constexpr std::size_t kRoundedBy = 64;  // lines, whose ranges int8 is made by; a guess

bool names_framework(const std::vector<std::string>& backends) {
  return std::any_of(backends.begin(), backends.end(),
                     [](const std::string& backend) { return find_framework(backend) != nullptr; });
}

// Frameworks take an ONNX file with its own weights, on the CPUs.
const char* why_built_in_alone(const Job& job) {
  if (!job.command().empty() || !job.url().empty()) return "it is a command or server of yours";
  if (job.on_gpus()) return "on GPUs the built-in engine reads alone";
  if (!names_onnx_file(job.model())) return "a framework reads with --model FILE.onnx";
  if (!job.requests().checkpoint.empty())
    return "a framework reads with the weights of the ONNX file";
  return nullptr;
}

std::string named(const FrameworkAnswer& answer) {
  return fmt::format("{} {}", answer.framework->backend, answer.version);
}

// The backends that can read; the others are noted.
std::vector<std::string> usable(const std::vector<std::string>& wanted, bool asked,
                                TuneFlags& flags) {
  const Job& job = flags.job;
  std::vector<const FrameworkRow*> frameworks;  // each once, whatever its options
  std::vector<std::string> kept, here, missing;
  for (const std::string& backend : wanted) {
    const FrameworkRow* row = find_framework(backend);
    if (row != nullptr) {
      if (std::ranges::find(frameworks, row) == frameworks.end()) frameworks.push_back(row);
    } else if (flags.inference.refusal.empty()) {
      kept.push_back(backend);
      if (here.empty()) here.emplace_back("ocrtune");
    }
  }
  if (!flags.inference.refusal.empty()) {
    flags.notes.push_back("ocrtune is left out: " + flags.inference.refusal);
  }
  for (const FrameworkAnswer& answer :
       ask_frameworks(frameworks, job.model(), job.height(), job.width())) {
    const FrameworkRow& row = *answer.framework;
    // What was not asked for and is not installed is only proposed, all in one note.
    if (answer.missing && !asked) {
      missing.push_back(fmt::format("{} (pip install {})", row.backend, row.package));
    } else if (!answer.refusal.empty()) {
      flags.notes.push_back(fmt::format("{} is left out: {}", row.backend, answer.refusal));
    } else {
      std::ranges::copy_if(wanted, std::back_inserter(kept), [&](const std::string& backend) {
        return find_framework(backend) == &row;
      });
      here.push_back(named(answer));
    }
  }
  if (!missing.empty()) flags.notes.push_back("engines not installed: " + join(missing, ", "));
  if (kept.size() > 1 && names_framework(kept)) {
    flags.notes.push_back("engines that read the lines: " + join(here, ", "));
  }
  return kept;
}

// Gains count from the engine that --baseline names, so it has to read.
Status check_present(const TuneFlags& flags, const std::vector<std::string>& wanted,
                     const std::vector<std::string>& kept) {
  for (const std::string& backend : wanted) {
    const bool reads = std::ranges::find(kept, backend) != kept.end();
    const bool named = std::ranges::count(words(flags.baseline), "backend=" + backend) > 0;
    if (reads || !named) continue;
    return Error{ErrorKind::unsupported,
                 fmt::format("--baseline {}: {}", flags.baseline, join(flags.notes, "; "))};
  }
  return Status();
}

}  // namespace

Result<std::vector<std::string>> backends_of_engines(const std::string& engines) {
  std::vector<std::string> backends;
  std::vector<std::string> known = {"ocrtune"};
  for (const FrameworkRow& row : framework_table()) {
    if (known.back() != row.engine) known.emplace_back(row.engine);
  }
  for (const std::string& typed : split(engines, ',')) {
    const std::size_t before = backends.size();
    const std::size_t plus = std::min(typed.find('+'), typed.size());
    const std::string engine = typed.substr(0, plus), options = typed.substr(plus);
    if (engine == "ocrtune" || engine == "built-in") {
      backends.push_back(RecognizerOptions().backend);
    }
    for (const FrameworkRow& row : framework_table()) {
      if (engine != row.engine && engine != row.backend) continue;
      const bool each = options == "+all";
      backends.push_back(row.backend + (each ? std::string() : options));
      if (!each || *row.options == '\0') continue;
      for (const std::string& one : split(row.options, '|')) {
        backends.push_back(fmt::format("{}+{}", row.backend, one));
      }
    }
    if (backends.size() > before) continue;
    return Error{ErrorKind::usage,
                 fmt::format("--engine {}: not one of {}", engine, join(known, ", "))};
  }
  return backends;
}

Status choose_engines(TuneFlags& flags) {
  const Job& job = flags.job;
  SearchRequest& search = flags.search;
  if (!job.infers()) return Status();
  const std::string& engines = flags.typed.engine;
  const bool asked = engines != kBuiltInEngine;
  const auto listed = search.axes.find(kBackend);
  if (asked && listed != search.axes.end()) {
    return Error{ErrorKind::usage, "--engine and --backend set the same knob: leave one out"};
  }
  std::vector<std::string> wanted;
  if (asked) wanted = OCRTUNE_TRY(backends_of_engines(engines));
  if (listed != search.axes.end()) wanted = listed->second;
  for (const std::string& backend : wanted) OCRTUNE_TRY(check_framework_options(backend));
  const char* alone = why_built_in_alone(job);
  if (alone != nullptr && asked) {
    return Error{ErrorKind::usage, fmt::format("--engine {}: {}", engines, alone)};
  }
  if (alone != nullptr || (!wanted.empty() && !names_framework(wanted))) {
    if (asked) search.axes[kBackend] = wanted;
    return Status();
  }
  // Offered unasked only for lines of the user's own, and not under a latency target.
  const bool compared = !job.requests().place.empty() && job.slo().empty();
  const bool offered = wanted.empty();
  if (offered && !compared && flags.inference.refusal.empty()) return Status();
  if (offered) {
    wanted = {RecognizerOptions().backend};
    for (const FrameworkRow& row : framework_table()) wanted.emplace_back(row.backend);
  }
  const auto kept = usable(wanted, !offered, flags);
  if (kept.empty()) {
    return Error{ErrorKind::unsupported,
                 "no engine here reads " + job.model() + ": " + join(flags.notes, "; ")};
  }
  search.axes[kBackend] = kept;
  return check_present(flags, wanted, kept);
}

Status make_int8_file(TuneFlags& flags) {
  const std::string& model = flags.job.model();
  const std::string file = int8_file(model);
  const auto& axes = flags.search.axes;
  const auto precisions = axes.find("precision"), backends = axes.find(kBackend);
  if (!flags.job.infers() || precisions == axes.end() || backends == axes.end() ||
      std::ranges::count(precisions->second, "int8") == 0 || path_exists(file)) {
    return Status();
  }
  std::vector<std::string> names;
  for (const std::string& backend : backends->second) {
    const FrameworkRow* row = find_framework(backend);
    if (row != nullptr && computes_in(*row, "int8")) names.push_back(backend);
  }
  if (names.empty()) return Status();
  const std::string whose = "int8 of " + join(names, ", ");
  const std::string& place = flags.job.requests().place;
  if (place.empty()) {
    flags.notes.push_back(whose + " is left out: it is made from lines of yours (--data)");
    return Status();
  }
  if (flags.dry_run) {
    flags.notes.push_back(
        fmt::format("{} is not in this plan: {} is made when it runs", whose, file));
    return Status();
  }
  if (engine_parts() == nullptr) return engine_elsewhere();
  std::vector<std::string> lines = spread_lines(OCRTUNE_TRY(read_line_list(place))).paths;
  const std::size_t all = lines.size();
  lines.resize(std::min(kRoundedBy, all));
  RecognizerOptions reader;
  reader.model = model;
  reader.backend = "onnxruntime";  // whose tool makes it, for the others too
  reader.height = flags.job.height();
  reader.width = kWidestLine;
  const Status made = engine_parts()->quantize(reader, lines, file);
  flags.notes.push_back(
      made ? fmt::format("{}: made {} from {} of the {} lines", whose, file, lines.size(), all)
           : fmt::format("{} is left out: {}", whose, made.error().what));
  return Status();
}

}  // namespace ocrtune
