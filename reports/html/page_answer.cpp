// Words come from the same functions as the terminal's (catalogue/headline.h, verdict.h), so that
// page and terminal say the same. What only the page has: badges' meanings, tables and cures.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "diagnosis/advice.h"
#include "reports/catalogue/cause_words.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/export/deployment.h"
#include "reports/figures/figures.h"
#include "reports/html/page_sections.h"
#include "reports/markup/page_markup.h"
#include "tuner/verdict/explain.h"
#include "tuner/verdict/held_back.h"
#include "tuner/verdict/settings.h"
#include "tuner/verdict/trial_cause.h"

namespace ocrtune {
namespace {

// Settings and reasons of one kind of failure that are listed; the rest is counted.
constexpr std::size_t kMaxListed = 8;

std::string badges_html(const RunRecord& run) {
  std::string out;
  for (const Badge& badge : badges(run)) {
    out += fmt::format("<span class=\"badge {}\"{}>{}</span>", tone_class(badge.tone),
                       say_attribute("title", badge.meaning), say_sentence(badge.text));
  }
  return "<p class=\"badges\">" + out + "</p>\n";
}

// What keeps the answer from being certain, and what would make it so. A badge says its meaning
// here once more: a phone shows no titles.
std::string doubts_html(const RunRecord& run) {
  const TuneResult& result = run.result;
  std::vector<std::string> items;
  for (const Badge& badge : badges(run)) {
    if (badge.tone != Tone::warning) continue;
    items.push_back(fmt::format("<b class=\"warning\">{}</b> {}", say_sentence(badge.text),
                                say_sentence(badge.meaning)));
  }
  if (!result.inconclusive.empty()) items.push_back(say(result.inconclusive));
  if (is_disturbed(run)) {
    for (const std::string& warning : run.machine.warnings) {
      items.push_back(say_sentence(plain_line(warning)));
    }
  }
  if (!result.advice.empty()) {
    items.push_back(fmt::format("<b>{}</b> {}", say("Next"), say(result.advice)));
  }
  if (items.empty()) return "";
  return fmt::format("<div class=\"doubts\"><h3>{}</h3><ul><li>{}</li></ul></div>\n",
                     say("What is not sure"), join(items, "</li><li>"));
}

std::string rate_heading(const RunRecord& run) { return std::string("#") + rate_unit(run); }

std::string env_lines(const Recommendation& recommended) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : recommended.env) {
    if (is_variable_name(name)) lines.push_back("export " + name + "=" + shell_quote(value));
  }
  return join(lines, "\n");
}

std::string rate_fact(const RunRecord& run) {
  const Interval& rate = run.result.recommendation.samples_per_second;
  return fact_html("Expected rate",
                   html_text(format_count(rate.median)) + " " + say(rate_unit(run)),
                   say("95 % interval {} to {}",
                       {html_text(format_count(rate.low)), html_text(format_count(rate.high))}));
}

std::string gain_fact(const RunRecord& run) {
  const TuneResult& result = run.result;
  const SettingSummary& baseline = result.baseline;
  const bool guessed = run.search.baseline_guessed();
  const std::string whose = say(baseline_phrase(run.search));
  const std::string title = std::string("Gain over ") + baseline_phrase(run.search);
  if (result.settings.size() < 2) return "";  // compared with nothing
  if (baseline.knobs == result.recommendation.knobs) {
    return fact_html(title, say("none"), say("nothing is clearly faster than {}", {whose}));
  }
  if (baseline.samples_per_second.median > 0) {
    const char* note = guessed
                           ? "{} to {}; no --baseline was given, so this is compared with {}, at {}"
                           : "{} to {}; yours is {} at {}";
    return fact_html(
        title, fmt::format("{:.2f}×", result.gain.median),
        say(note, {fmt::format("{:.2f}×", result.gain.low),
                   fmt::format("{:.2f}×", result.gain.high), knobs_html(baseline.knobs),
                   html_text(format_count(baseline.samples_per_second.median))}));
  }
  if (baseline.trials == 0) {
    return fact_html(title, say("unknown"), say("{} was not measured", {whose}));
  }
  return fact_html(title, say("unknown"),
                   say("{}, {}, does not run: {}", {whose, knobs_html(baseline.knobs),
                                                    "<bdi>" + say(baseline.reason) + "</bdi>"}));
}

std::string gpus_fact(const RunRecord& run) {
  const std::vector<std::string> gpus = used_gpus(run);
  if (gpus.empty()) return "";
  return fact_html("GPUs", fmt::format("{}", gpus.size()),
                   say_sentence(plain_line(gpus_text(run), 1000)));
}

std::string resource_fact(const char* title, const Resource& resource) {
  const bool counted =
      resource.kind == ResourceKind::tasks || resource.kind == ResourceKind::open_files;
  const auto amount = [&](std::uint64_t value) {
    return html_text(counted ? fmt::format("{}", value) : format_bytes(value));
  };
  const std::string peak = amount(resource.peak);
  if (resource.limit == 0) return fact_html(title, peak, say("limit unknown"));
  const double used = static_cast<double>(resource.peak) / static_cast<double>(resource.limit);
  std::string of =
      say("of {}, {} used", {amount(resource.limit), format_percent(std::min(1.0, used))});
  if (resource.possible > resource.peak) {
    of = say("{}, up to {} possible between readings", {of, amount(resource.possible)});
  }
  return fact_html(title, peak, of);
}

std::string memory_fact(const RunRecord& run) {
  std::string facts;
  for (const Resource& resource : run.result.verdict.safety.resources) {
    const char* const titles[] = {
        "Peak memory", run.job.on_gpus() ? "Peak memory of the fullest GPU" : "Peak GPU memory",
        "Processes and threads", "Open files of a process"};
    if (resource.peak > 0)
      facts += resource_fact(titles[static_cast<int>(resource.kind)], resource);
  }
  return facts;
}

// What the figures above do not say.
std::string remark_facts(const RunRecord& run) {
  const TuneResult& result = run.result;
  const Bilingual recipe = recipe_note(run);
  std::string facts =
      recipe.english.empty() ? "" : fact_html("Training recipe", "", say_text(recipe));
  for (const Bilingual& note : malloc_notes(run)) facts += fact_html("Note", "", say_text(note));
  const auto add = [&](const char* label, const Reason& reason) {
    if (!reason.empty()) facts += fact_html(label, "", say(reason));
  };
  facts += held_back_facts(result.held_back);
  add("Certainty", result.certificate);
  for (const Reason& reason : further_reasons(result.recommendation)) add("Note", reason);
  for (const InertKnob& knob : result.inert) add("Note", inert_reason(knob));
  return facts;
}

std::string ties_list(const RunRecord& run) {
  const TuneResult& result = run.result;
  if (result.ties.size() < 2) return "";
  std::vector<std::vector<std::string>> rows;
  for (const SettingSummary& tie : result.ties) {
    const bool chosen = tie.knobs == result.recommendation.knobs;
    rows.push_back({knobs_html(tie.knobs) + (chosen ? " " + say("(chosen)") : ""),
                    html_text(rate_text(tie.samples_per_second)),
                    html_text(format_bytes(tie.peak_bytes))});
  }
  return fmt::format("<details><summary>{}</summary>{}</details>\n",
                     say("{} settings cannot be told apart by these trials",
                         {fmt::format("{}", result.ties.size())}),
                     table_html({"Setting", rate_heading(run), "#peak memory"}, rows));
}

std::string neighbours_table(const std::vector<Neighbour>& neighbours, const char* heading) {
  std::vector<std::vector<std::string>> rows;
  for (const Neighbour& neighbour : neighbours) {
    rows.push_back({knobs_html(neighbour.knobs), say(neighbour.reason)});
  }
  return table_html({"Setting", heading}, rows);
}

std::string close_list(const TuneResult& result) {
  if (result.close.empty()) return "";
  return fmt::format("<details><summary>{}</summary>{}</details>\n",
                     say("Close alternatives: {}", {fmt::format("{}", result.close.size())}),
                     neighbours_table(result.close, "How far"));
}

// Whether the reason says it already.
bool is_in_reason(const Trial& trial, const std::string& line) {
  // Evidence from a log begins with this mark, a reason that quotes the line does not.
  constexpr std::string_view kLog = "log: ";
  return trial.reason.find(starts_with(line, kLog) ? line.substr(kLog.size()) : line) !=
         std::string::npos;
}

// What one group of trials ended with: the reasons and evidence of its trials, each said once.
std::string group_items(const FailureGroup& group) {
  std::vector<std::string> items;
  const auto add = [&](const std::string& html) {
    if (items.size() < kMaxListed && std::find(items.begin(), items.end(), html) == items.end()) {
      items.push_back(html);
    }
  };
  for (const Trial* trial : group.trials) {
    add("<bdi>" + say_sentence(plain_line(trial->reason, 1000)) + "</bdi>");
    for (const std::string& line : trial->evidence) {
      if (is_in_reason(*trial, line)) continue;
      add("<span class=\"evidence\">" + machine_text(plain_line(line, 1000)) + "</span>");
    }
  }
  return "<ul><li>" + join(items, "</li><li>") + "</li></ul>";
}

std::string group_settings(const FailureGroup& group) {
  std::vector<std::string> settings;
  for (const Knobs& knobs : failed_settings(group)) settings.push_back(knobs_html(knobs));
  const std::size_t shown = std::min(settings.size(), kMaxListed);
  std::string out = join({settings.begin(), settings.begin() + static_cast<long>(shown)}, ", ");
  if (shown < settings.size()) {
    out += " " + say("and {} more in failures.csv", {fmt::format("{}", settings.size() - shown)});
  }
  return "<p>" + out + "</p>";
}

// What the group's failures mean and how they are cured, from the table of causes.
std::string fixes_html(const FailureGroup& group, std::string_view engine) {
  const CauseRow* row = cause_row_of(*group.trials[0]);
  if (row == nullptr) return "";
  std::string fixes;
  for (const char* general : row->fixes) {
    const std::string_view fix = words_for(general, engine);
    if (!fix.empty()) fixes += "<li>" + say_sentence(fix) + "</li>";
  }
  return fmt::format("<p><b>{}</b> {} {}</p><ul class=\"fixes\">{}</ul><p>{} <code>{}</code></p>",
                     say("What to do"), "<code>" + say_text(cause_name(row->name)) + "</code>",
                     say_text({meaning_of(*row, false), meaning_of(*row, true)}), fixes,
                     say("To be sure:"), say_sentence(words_for(row->confirm, engine)));
}

std::string group_html(const FailureGroup& group, std::string_view engine) {
  const bool excluded = is_excluded(group.outcome);
  return fmt::format(
      "<div class=\"failure{}\"><h3>{}{} <small>{}</small></h3>{}{}{}</div>\n",
      excluded ? " excluded" : "", say(outcome_reason(group.outcome)),
      group.cause.empty() ? "" : " (" + say_text(cause_name(group.cause)) + ")",
      say("{} {0:trial|trials}, {}",
          {fmt::format("{}", group.trials.size()), say_text(duration_text(group.seconds))}),
      group_items(group), group_settings(group), excluded ? "" : fixes_html(group, engine));
}

}  // namespace

std::string held_back_facts(const std::vector<HeldBack>& causes) {
  std::string facts;
  for (const HeldBack& held : causes) {
    facts += fact_html("What holds it back", "", say(held_back_reason(held)));
  }
  return facts;
}

std::string answer_section(const RunRecord& run) {
  const TuneResult& result = run.result;
  const Bilingual sentence = headline(run);
  const Answer answer = run.result.verdict.answer;
  const std::string css = std::string("card ") + tone_class(answer_tone(answer));
  std::string html = "<p class=\"verdict\">" + say_text(sentence) + "</p>" + badges_html(run);
  if (!result.found) {
    html += doubts_html(run);
    const std::string facts = held_back_facts(result.held_back);
    if (!facts.empty()) html += "<dl class=\"facts\">" + facts + "</dl>\n";
    return section_html("answer", "Answer", html, css);
  }
  html += rate_bars(run) + latency_bars(run);
  const Recommendation& recommended = result.recommendation;
  html += fmt::format("<p class=\"launch\"><span class=\"label\">{}</span> <code>{}</code></p>",
                      say(is_recommendation(result.verdict) ? "Launch with" : "Leading"),
                      html_text(plain_line(launch_knobs(result)), 400));
  std::string blocks;
  if (!recommended.command.empty()) {
    const char* const of_paddle =
        recommended.knobs.threads > 1
            ? "The same for PaddleOCR (not measured; a second thread can halve its speed)"
            : "The same for PaddleOCR (not measured)";
    blocks += copy_block(run.job.command().empty() && !run.job.infers() ? of_paddle : "Command",
                         "command", recommended.command);
  }
  const std::string on_hosts = run_on_hosts_line(run);
  if (!on_hosts.empty()) blocks += copy_block("On all hosts, from here", "hosts", on_hosts);
  if (!recommended.env.empty()) blocks += copy_block("Environment", "env", env_lines(recommended));
  const std::string facts =
      rate_fact(run) + gain_fact(run) + memory_fact(run) + gpus_fact(run) + remark_facts(run);
  html += fmt::format("<div class=\"blocks\">{}</div>{}<dl class=\"facts\">{}</dl>\n", blocks,
                      doubts_html(run), facts);
  return section_html("answer", "Answer", html + ties_list(run) + close_list(result), css);
}

std::string rejected_section(const TuneResult& result) {
  if (result.rejected.empty()) return "";
  return section_html("dont", "Slower or unsafe alternatives",
                      neighbours_table(result.rejected, "Why not"));
}

std::string rules_section(const RunRecord& run) {
  const TuneResult& result = run.result;
  if (result.rules.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const RuleVerdict& rule : result.rules) {
    const bool measured = rule.setting.samples_per_second.median > 0;
    rows.push_back({say(rule.text), rule.setting.trials > 0 ? knobs_html(rule.setting.knobs) : "–",
                    measured ? html_text(rate_text(rule.setting.samples_per_second)) : "–",
                    say(rule.verdict)});
  }
  return section_html(
      "rules", "Rules of thumb, measured",
      table_html({"Rule", "Its best setting here", rate_heading(run), "Verdict"}, rows));
}

std::string failures_section(const RunRecord& run) {
  std::string failed, excluded;
  const std::string engine = run.machine.container.value_or("");
  for (const FailureGroup& group : failure_groups(run)) {
    (is_excluded(group.outcome) ? excluded : failed) += group_html(group, engine);
  }
  if (failed.empty() && excluded.empty()) return "";
  if (!excluded.empty()) {
    excluded = "<h3 class=\"apart\">" + say("Not possible here or not finished: no failures") +
               "</h3>\n" + excluded;
  }
  return section_html("failures",
                      failed.empty() ? "Settings that were left out" : "Failures by cause",
                      failed + excluded);
}

}  // namespace ocrtune
