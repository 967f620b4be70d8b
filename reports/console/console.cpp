#include "reports/console/console.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/plural.h"
#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/console/tone_code.h"
#include "reports/export/deployment.h"
#include "trial/logs/event_reader.h"
#include "trial/observe/gpu_places.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/service/slo.h"
#include "tuner/verdict/explain.h"
#include "tuner/verdict/held_back.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

constexpr int kMaxSummaryLines = 30;
constexpr int kLabelWidth = 9;
constexpr int kMaxLines = 6;  // of one label; our own sentences are shorter

// Collects lines; label in the margin, text wrapped at the width.
class Lines {
 public:
  Lines(int width, bool colour) : width_(std::max(width, 60)), colour_(colour) {}

  void add(const std::string& label, const std::string& text, Tone tone = Tone::neutral) {
    std::string line;
    const char* at = label.c_str();
    const int columns = width_ - kLabelWidth;
    for (const std::string& word :
         split(cut_to_width(plain_line(text), kMaxLines * columns), ' ')) {
      if (!line.empty() && display_width(line + " " + word) > columns) {
        push(at, line, tone);
        at = "";
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    push(at, cut_to_width(line, columns), tone);
  }
  // Never cut: for what people copy.
  void whole(const std::string& label, const std::string& text) {
    push(label, plain_line(text, 65536), Tone::neutral);
  }
  void marked(const std::string& label, const std::string& text, const std::vector<Badge>& badges) {
    std::string line = paint(plain_line(text), "\x1b[1m");
    for (const Badge& badge : badges) line += "  " + paint(badge.text, tone_code(badge.tone));
    lines_.push_back(margin(label) + line);
  }
  void blank() { lines_.emplace_back(); }
  int count() const { return static_cast<int>(lines_.size()); }
  std::string text() const { return join(lines_, "\n") + "\n"; }

 private:
  std::string paint(const std::string& text, const char* code) const {
    return colour_ ? code + text + "\x1b[0m" : text;
  }
  std::string margin(const std::string& label) const {
    const std::string cell = fmt::format("{:<{}}", label, kLabelWidth);
    return colour_ && !label.empty() ? "\x1b[2m" + cell + "\x1b[0m" : cell;
  }
  void push(const std::string& label, const std::string& text, Tone tone) {
    lines_.push_back(margin(label) + (tone == Tone::neutral ? text : paint(text, tone_code(tone))));
  }

  int width_;
  bool colour_;
  std::vector<std::string> lines_;
};

void add_head(Lines& lines, const RunRecord& run) {
  const TuneResult& result = run.result;
  lines.add("verdict", headline(run).english, answer_tone(run.result.verdict.answer));
  lines.add("measured", subject(run).english);
  lines.add("run",
            fmt::format("{} on {}: {} in {}{}", run.id, run.machine.host,
                        how_many(run.trials.size(), "trial"), format_duration(result.seconds),
                        run.state == "done" ? "" : ", " + run.state));
  if (run.state == "died") {
    lines.add("", "its process is gone; go on with: ocrtune tune --resume " + run.id,
              Tone::warning);
  }
}

std::string environment_text(const Recommendation& recommended) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : recommended.env)
    parts.push_back(name + "=" + shell_quote(value));
  return join(parts, " ");
}

// What the interval rests on.
std::string rate_basis(const RunRecord& run) {
  if (run.result.verdict.beside_load) return "95 % interval, beside other load";
  for (const SettingSummary& setting : run.result.settings) {
    if (setting.knobs != run.result.recommendation.knobs || !setting.modelled) continue;
    return "95 %, beside other load: run again when quiet";
  }
  return "95 % interval";
}

// Of the last trial on several hosts, the one that the others wait for; empty: none.
std::string slow_host(const RunRecord& run) {
  for (auto trial = run.trials.rbegin(); trial != run.trials.rend(); ++trial) {
    if (!trial->ok() || nodes_of(trial->knobs) < 2) continue;
    const SlowHost& slow = trial->slow_host;
    if (slow.name.empty()) return "";
    return fmt::format("{}: {}; costs the others {} of it", slow.name, slow.words,
                       format_percent(slow.cost_share));
  }
  return "";
}

void add_memory(Lines& lines, const RunRecord& run) {
  const double free = free_share(run);
  const Resource& memory = main_resource(run);
  std::string memory_line =
      free < 0
          ? fmt::format("peak {}, limit unknown", format_bytes(memory.peak))
          : fmt::format("peak {} of {}{}, {} used", format_bytes(memory.peak),
                        format_bytes(memory.limit), run.job.on_gpus() ? " on the fullest GPU" : "",
                        format_percent(1 - free));
  if (const std::string possible = possible_text(memory); !possible.empty()) {
    memory_line += "; " + possible;
  }
  lines.add("memory", memory_line);
  const Resource* gpu = run.result.verdict.safety.find(ResourceKind::gpu_memory);
  if (gpu != nullptr && gpu != &memory && gpu->peak > 0) {
    lines.add("GPU memory", fmt::format("peak {} of {} on the fullest GPU", format_bytes(gpu->peak),
                                        format_bytes(gpu->limit)));
  }
  const auto add_count = [&](const char* label, ResourceKind kind) {
    const Resource* count = run.result.verdict.safety.find(kind);
    if (count == nullptr) return;
    lines.add(label, fmt::format("at most {} of {}", count->peak, count->limit));
  };
  add_count("tasks", ResourceKind::tasks);
  add_count("open files", ResourceKind::open_files);
}

void add_answer(Lines& lines, const RunRecord& run) {
  const TuneResult& result = run.result;
  const Recommendation& recommended = result.recommendation;
  lines.marked(result.verdict.answer != Answer::inconclusive ? "launch" : "leading",
               launch_knobs(result), badges(run));
  if (!recommended.env.empty()) lines.whole("env", environment_text(recommended));
  if (!recommended.command.empty()) lines.whole("command", recommended.command);
  const std::string on_hosts = run_on_hosts_line(run);
  if (!on_hosts.empty()) lines.whole("on hosts", on_hosts);
  if (const std::string slow = slow_host(run); !slow.empty()) lines.whole("slow host", slow);
  if (const std::string note = engine_note(run).english; !note.empty()) {
    lines.add("", "(" + note + ")");
  }
  if (run.job.on_gpus()) lines.whole("gpus", gpus_text(run));
  lines.add("rate", fmt::format("{} {}, {}", rate_text(recommended.samples_per_second),
                                rate_unit(run), rate_basis(run)));
  if (!result.inconclusive.empty()) lines.add("open", sentence(result.inconclusive));
  if (!run.job.slo().empty()) {
    const auto slo = parse_slo(run.job.slo());
    if (slo) lines.add("target", slo_target(*slo));
  }
  // A lone setting is compared with nothing.
  if (result.baseline.trials > 0 && result.settings.size() > 1) {
    const char* whose = baseline_phrase(run.search);
    const bool none = result.baseline.knobs == recommended.knobs;
    lines.add("gain", none ? fmt::format("none: nothing is clearly faster than {}", whose)
                      : result.baseline.samples_per_second.median > 0
                          ? fmt::format("{} of {}, {}: {}", gain_text(result.gain), whose,
                                        knobs_text(result.baseline.knobs),
                                        rate_text(result.baseline.samples_per_second))
                          : fmt::format("{}, {}, does not run: {}", whose,
                                        knobs_text(result.baseline.knobs),
                                        sentence(result.baseline.reason)));
  }
  for (const HeldBack& held : result.held_back) {
    lines.add("why", sentence(held_back_reason(held)));
  }
  for (const InertKnob& knob : result.inert) lines.add("inert", sentence(inert_reason(knob)));
  add_memory(lines, run);
  for (const Bilingual& note : malloc_notes(run)) lines.add("malloc", note.english);
  const std::string recipe = recipe_note(run).english;
  if (!recipe.empty()) lines.add("recipe", recipe);
  if (!result.certificate.empty()) lines.add("bound", sentence(result.certificate));
  std::vector<std::string> ties;
  for (const SettingSummary& tie : result.ties) {
    if (tie.knobs != recommended.knobs) ties.push_back(knobs_text(tie.knobs));
  }
  if (!ties.empty()) lines.add("ties", join(ties, "; "));
  for (const Reason& reason : further_reasons(recommended)) {
    lines.add(
        reason.is(ReasonCode::gpus_unused) || reason.is(ReasonCode::gpus_idle) ? "GPUs" : "note",
        sentence(reason));
  }
}

void add_failures(Lines& lines, const RunRecord& run, int most) {
  const auto groups = failure_groups(run);
  for (std::size_t i = 0; i < groups.size() && static_cast<int>(i) < most; ++i) {
    const FailureGroup& group = groups[i];
    const Trial& last = *group.trials.back();
    const bool excluded = is_excluded(group.outcome);
    lines.add(excluded ? "excluded" : "failed",
              fmt::format("{}x {}{}: {}: {}", group.trials.size(),
                          sentence(outcome_reason(group.outcome)),
                          group.cause.empty() ? "" : " (" + group.cause + ")",
                          knobs_text(last.knobs), last.reason),
              excluded ? Tone::neutral : Tone::bad);
  }
}

void add_rules(Lines& lines, const TuneResult& result) {
  if (result.rules.empty()) return;
  lines.blank();
  bool first = true;
  for (const RuleVerdict& rule : result.rules) {
    lines.add(first ? "rules" : "",
              fmt::format("{}: {}", sentence(rule.text), sentence(rule.verdict)));
    first = false;
  }
}

void add_neighbours(Lines& lines, const char* label, const std::vector<Neighbour>& neighbours,
                    int most) {
  for (std::size_t i = 0; i < neighbours.size() && static_cast<int>(i) < most; ++i) {
    const Neighbour& neighbour = neighbours[i];
    lines.add(i == 0 ? label : "",
              fmt::format("{}: {}", knobs_text(neighbour.knobs), sentence(neighbour.reason)));
  }
}

std::string noise_text(const RunRecord& run) {
  const TuneResult& result = run.result;
  const std::size_t windows = count_samples(run);
  const std::string noise = result.noise_measured
                                ? format_percent(result.noise) + " between repeats"
                                : "not measured: each setting ran once";
  if (windows == 0) return noise;
  return fmt::format("{}; {} of {} discarded for other load", noise, result.discarded_samples,
                     how_many(windows, "window"));
}

}  // namespace

std::string console_summary(const RunRecord& run, int width, bool colour) {
  const TuneResult& result = run.result;
  Lines lines(width, colour);
  add_head(lines, run);
  if (result.found) {
    add_answer(lines, run);
    add_rules(lines, result);
    lines.blank();
    std::vector<Neighbour> similar = result.close;
    std::erase_if(similar,
                  [](const Neighbour& one) { return !one.reason.is(ReasonCode::within_noise); });
    std::vector<Neighbour> open = result.close;
    std::erase_if(open,
                  [](const Neighbour& one) { return one.reason.is(ReasonCode::within_noise); });
    add_neighbours(lines, "similar", similar, 3);
    add_neighbours(lines, "open", open, 3);
    // Two lines are kept for noise and advice, three for failures.
    add_neighbours(lines, "avoid", result.rejected,
                   std::max(kMaxSummaryLines - lines.count() - 5, 1));
    add_failures(lines, run, std::min(3, kMaxSummaryLines - lines.count() - 2));
  } else {
    lines.marked("answer", "", badges(run));
    add_failures(lines, run, kMaxSummaryLines - lines.count() - 8);
    add_rules(lines, result);
  }
  if (result.found) lines.add("noise", noise_text(run));
  if (!result.advice.empty()) lines.add("next", sentence(result.advice));
  return lines.text();
}

}  // namespace ocrtune
