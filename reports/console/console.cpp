// `ocrtune show --all`: head, answer, rules, alternatives, failures and noise. The answer's own
// lines are never dropped; the lists behind it get what it leaves of kMaxSummaryLines.
#include "reports/console/console.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/console/label_lines.h"
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
constexpr int kMaxLines = 6;  // of one label at 60 columns and more; our own sentences are shorter
// The width of a label is that of kLabelColumns in label_lines.cpp.
constexpr int kUsualWidth = 60, kLabelWidth = 9;  // columns

void add_head(LabelLines& lines, const RunRecord& run) {
  const TuneResult& result = run.result;
  lines.add("verdict", headline(run), answer_tone(run.result.verdict.answer));
  lines.add("measured", subject(run));
  const Bilingual trials = phrase(
      "{} on {}: {} {2:trial|trials} in {}",
      {run.id, run.machine.host, std::to_string(run.trials.size()), duration_text(result.seconds)});
  lines.add("run", run.state == "done" ? trials : phrase("{}, {}", {trials, phrase(run.state)}));
  if (run.state == "died") {
    lines.add("", phrase("its process is gone; go on with: ocrtune tune --resume {}", {run.id}),
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
Bilingual rate_basis(const RunRecord& run) {
  if (run.result.verdict.beside_load) return phrase("95 % interval, beside other load");
  for (const SettingSummary& setting : run.result.settings) {
    // The rate of a modelled setting rests on disturbed windows alone.
    if (setting.knobs != run.result.recommendation.knobs || !setting.modelled) continue;
    return phrase("95 %, beside other load: run again when quiet");
  }
  return phrase("95 % interval");
}

// Of the last trial on several hosts, the one that the others wait for; empty: none.
Bilingual slow_host(const RunRecord& run) {
  for (auto trial = run.trials.rbegin(); trial != run.trials.rend(); ++trial) {
    // The last trial on several hosts saw them as they are now, so the search begins at the end.
    if (!trial->ok() || nodes_of(trial->knobs) < 2) continue;
    const SlowHost& slow = trial->slow_host;
    if (slow.name.empty()) return {};
    return phrase("{}: {}; costs the others {} of it",
                  {slow.name, slow.words, format_percent(slow.cost_share)});
  }
  return {};
}

void add_memory(LabelLines& lines, const RunRecord& run) {
  const double free = free_share(run);
  const Resource& memory = main_resource(run);
  const std::string peak = format_bytes(memory.peak), limit = format_bytes(memory.limit);
  Bilingual used = free < 0 ? phrase("peak {}, limit unknown", {peak})
                   : run.job.on_gpus()
                       ? phrase("peak {} of {} on the fullest GPU, {} used",
                                {peak, limit, format_percent(1 - free)})
                       : phrase("peak {} of {}, {} used", {peak, limit, format_percent(1 - free)});
  if (memory.peak == 0) {
    const Reason unseen = reason<ReasonCode::memory_not_measured>();
    used = {sentence(unseen), sentence(unseen, Language::chinese)};
  } else if (memory.possible > memory.peak) {
    used = phrase("{}; up to {} possible between readings", {used, format_bytes(memory.possible)});
  }
  lines.add("memory", used);
  const Resource* gpu = run.result.verdict.safety.find(ResourceKind::gpu_memory);
  if (gpu != nullptr && gpu != &memory && gpu->peak > 0) {
    const std::string most = format_bytes(gpu->peak);
    lines.add("GPU memory", gpu->limit == 0 ? phrase("peak {}, limit unknown", {most})
                                            : phrase("peak {} of {} on the fullest GPU",
                                                     {most, format_bytes(gpu->limit)}));
  }
  const auto add_count = [&](const char* label, ResourceKind kind) {
    const Resource* count = run.result.verdict.safety.find(kind);
    if (count == nullptr) return;
    lines.add(label, phrase("at most {} of {}",
                            {std::to_string(count->peak), std::to_string(count->limit)}));
  };
  add_count("tasks", ResourceKind::tasks);
  add_count("open files", ResourceKind::open_files);
}

// Nothing where a lone setting is compared with nothing.
Bilingual gain_words(const RunRecord& run) {
  const TuneResult& result = run.result;
  const SettingSummary& baseline = result.baseline;
  if (baseline.trials == 0 || result.settings.size() < 2) return {};
  const Bilingual whose = phrase(baseline_phrase(run.search));
  if (baseline.knobs == result.recommendation.knobs) {
    return phrase("none: nothing is clearly faster than {}", {whose});
  }
  if (baseline.samples_per_second.median > 0) {
    return phrase("{} of {}, {}: {}", {gain_text(result.gain), whose, knobs_text(baseline.knobs),
                                       rate_text(baseline.samples_per_second)});
  }
  return phrase("{}, {}, does not run: {}",
                {whose,
                 knobs_text(baseline.knobs),
                 {sentence(baseline.reason), sentence(baseline.reason, Language::chinese)}});
}

void add_causes(LabelLines& lines, const TuneResult& result) {
  for (const HeldBack& held : result.held_back) {
    lines.add("why", sentence(held_back_reason(held), lines.language()));
  }
}

void add_answer(LabelLines& lines, const RunRecord& run) {
  const TuneResult& result = run.result;
  const Recommendation& recommended = result.recommendation;
  const Language language = lines.language();
  lines.marked(is_recommendation(result.verdict) ? "launch" : "leading", launch_knobs(result),
               badges(run));
  if (!recommended.env.empty()) lines.whole("env", environment_text(recommended));
  if (!recommended.command.empty()) lines.whole("command", recommended.command);
  const std::string on_hosts = run_on_hosts_line(run);
  if (!on_hosts.empty()) lines.whole("on hosts", on_hosts);
  if (const Bilingual slow = slow_host(run); !slow.english.empty()) {
    lines.whole("slow host", in(slow, language));
  }
  if (const std::string note = in(engine_note(run), language); !note.empty()) {
    lines.add("", "(" + note + ")");
  }
  if (run.job.on_gpus()) lines.whole("gpus", said(gpus_text(run), language));
  lines.add("rate", phrase("{} {}, {}", {rate_text(recommended.samples_per_second),
                                         phrase(rate_unit(run)), rate_basis(run)}));
  lines.add("open", sentence(result.inconclusive, language));
  if (!run.job.slo().empty()) {
    const auto slo = parse_slo(run.job.slo());
    if (slo) lines.add("target", sentence(slo_reason(*slo), language));
  }
  lines.add("gain", gain_words(run));
  add_causes(lines, result);
  for (const InertKnob& knob : result.inert)
    lines.add("inert", sentence(inert_reason(knob), language));
  add_memory(lines, run);
  for (const Bilingual& note : malloc_notes(run)) lines.add("malloc", note);
  lines.add("recipe", recipe_note(run));
  lines.add("bound", sentence(result.certificate, language));
  std::vector<std::string> ties;
  for (const SettingSummary& tie : result.ties) {
    if (tie.knobs != recommended.knobs) ties.push_back(knobs_text(tie.knobs));
  }
  if (!ties.empty()) lines.add("ties", join(ties, "; "));
  for (const Reason& reason : further_reasons(recommended)) {
    if (reason.is(ReasonCode::memory_not_measured)) continue;  // the line of memory says it
    lines.add(tells_of_gpus(reason) ? "GPUs" : "note", sentence(reason, language));
  }
}

void add_failures(LabelLines& lines, const RunRecord& run, int most) {
  const Language language = lines.language();
  const auto groups = failure_groups(run);
  for (std::size_t i = 0; i < groups.size() && static_cast<int>(i) < most; ++i) {
    const FailureGroup& group = groups[i];
    const Trial& last = *group.trials.back();
    const bool excluded = is_excluded(group.outcome);
    lines.add(excluded ? "excluded" : "failed",
              fmt::format("{}x {}{}: {}: {}", group.trials.size(),
                          sentence(outcome_reason(group.outcome), language),
                          group.cause.empty() ? "" : " (" + group.cause + ")",
                          in(failed_settings_text(group), language), said(last.reason, language)),
              excluded ? Tone::neutral : Tone::bad);
  }
}

void add_rules(LabelLines& lines, const TuneResult& result) {
  if (result.rules.empty()) return;
  lines.blank();
  bool first = true;
  for (const RuleVerdict& rule : result.rules) {
    lines.add(first ? "rules" : "", fmt::format("{}: {}", sentence(rule.text, lines.language()),
                                                sentence(rule.verdict, lines.language())));
    first = false;
  }
}

void add_neighbours(LabelLines& lines, const char* label, const std::vector<Neighbour>& neighbours,
                    int most) {
  for (std::size_t i = 0; i < neighbours.size() && static_cast<int>(i) < most; ++i) {
    const Neighbour& neighbour = neighbours[i];
    lines.add(i == 0 ? label : "", fmt::format("{}: {}", knobs_text(neighbour.knobs),
                                               sentence(neighbour.reason, lines.language())));
  }
}

Bilingual noise_words(const RunRecord& run) {
  const TuneResult& result = run.result;
  const std::size_t windows = count_samples(run);
  const Bilingual noise = result.noise_measured
                              ? phrase("{} between repeats", {format_percent(result.noise)})
                              : phrase("not measured: each setting ran once");
  if (windows == 0) return noise;
  return phrase("{}; {} of {} {2:window|windows} discarded for other load",
                {noise, std::to_string(result.discarded_samples), std::to_string(windows)});
}

}  // namespace

std::string console_summary(const RunRecord& run, int width, bool colour, Language language) {
  const TuneResult& result = run.result;
  LabelLines lines(width, colour, language,
                   kMaxLines * (std::max(width, kUsualWidth) - kLabelWidth));
  add_head(lines, run);
  if (result.found) {
    add_answer(lines, run);
    add_rules(lines, result);
    lines.blank();
    // What was measured about as fast is similar; what the noise does not tell apart is open.
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
    add_causes(lines, result);
    // Eight lines are left for rules and advice.
    add_failures(lines, run, kMaxSummaryLines - lines.count() - 8);
    add_rules(lines, result);
  }
  if (result.found) lines.add("noise", noise_words(run));
  lines.add("next", sentence(result.advice, language));
  return lines.text();
}

}  // namespace ocrtune
