// The page's sections in the order of a reader's questions: how it ended, what went wrong,
// warnings, attempts, memory. All texts of commands and logs pass through escapes.
#include "extras/supervise/reports/supervised_page.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/cause_words.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/html/page_frame.h"
#include "reports/html/page_sections.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"

namespace ocrtune {
namespace {

constexpr double kPictureWidth = 440, kPictureHeight = 200;
constexpr double kPictureLeft = 66, kPictureRight = 12, kPictureTop = 12, kPictureBottom = 30;

std::string code(const std::string& text) {
  return "<code>" + html_text(plain_line(text)) + "</code>";
}

std::string state_html(const SuperviseEnd& end) {
  switch (end.state) {
    case SuperviseState::done:
      return end.attempts.size() > 1 ? say("The run ended well, at attempt {}.",
                                           {fmt::format("{}", end.attempts.size())})
                                     : say("The run ended well.");
    case SuperviseState::gave_up:
      return say("Gave up: {}.", {sentence_html(end.reason)});
    case SuperviseState::interrupted:
      return say("Interrupted.");
  }
  return "";
}

std::string answer_html(const SuperviseOptions& options, const SuperviseEnd& end) {
  const bool well = end.state == SuperviseState::done;
  std::uint64_t peak = 0;
  for (const AttemptSummary& attempt : end.attempts) peak = std::max(peak, attempt.peak_bytes);
  std::string html = "<p class=\"verdict\">" + state_html(end) + "</p>";
  if (!end.attempts.empty()) {
    html += "<div class=\"blocks\">" +
            copy_block("Command", "command", shell_join(end.attempts.back().command)) + "</div>";
  }
  html += "<dl class=\"facts\">" + fact_html("Attempts", fmt::format("{}", end.attempts.size())) +
          fact_html("Peak memory", html_text(format_bytes(peak)),
                    options.memory_limit_bytes == 0
                        ? ""
                        : say("of {}", {html_text(format_bytes(options.memory_limit_bytes))})) +
          fact_html("Warnings", fmt::format("{}", end.warnings)) +
          (end.attempts.empty() ? "" : held_back_facts(end.attempts.back().held)) +
          fact_html("Logs, traces and journal", "", code(options.run_directory)) + "</dl>";
  return section_html("answer", "Answer", html, well ? "card good" : "card bad");
}

std::string places_html(const AttemptSummary& attempt) {
  std::vector<std::string> texts;
  for (const auto& [rank, cpus] : attempt.places) {
    texts.push_back(fmt::format("rank {}: {}", rank, cpus));
  }
  return texts.empty() ? say("not bound") : html_text(plain_line(join(texts, "; ")));
}

// Memory over time of one attempt, from 0 to a little above its peak. Two points show nothing.
std::string memory_figure(const AttemptSummary& attempt, int number) {
  const auto& points = attempt.memory;
  if (points.size() < 3) return "";
  double highest = 0;
  for (const TracePoint& point : points) highest = std::max(highest, point.value);
  const double end = std::max(points.back().seconds, 1.0);
  const std::string peak = format_bytes(static_cast<std::uint64_t>(highest));
  Svg svg(kPictureWidth, kPictureHeight,
          say_attribute("aria-label", "Memory of attempt {}: up to {} in {}",
                        {fmt::format("{}", number), peak, duration_text(end)}));
  const Scale time{0, end, kPictureLeft, kPictureWidth - kPictureLeft - kPictureRight, false};
  const Scale bytes{0, std::max(highest, 1.0) * 1.05, kPictureHeight - kPictureBottom,
                    -(kPictureHeight - kPictureBottom - kPictureTop), false};
  const double unit = highest < 2.0 * (1 << 30) ? 1 << 20 : 1 << 30;  // for round numbers
  for (const double tick : round_ticks(0, highest / unit, 4)) {
    const double y = bytes.at(tick * unit);
    svg.line(kPictureLeft, y, kPictureWidth - kPictureRight, y, "grid");
    svg.text(kPictureLeft - 6, y + 4, fmt::format("{:g} {}", tick, unit > 1 << 20 ? "GiB" : "MiB"),
             "tick", Svg::Anchor::end);
  }
  for (const double tick : round_ticks(0, end, 5)) {
    svg.text(time.at(tick), kPictureHeight - 10,
             tick > 0 ? say_text(duration_text(tick), "tspan") : "0", "tick", Svg::Anchor::middle);
  }
  std::string path;
  for (const TracePoint& point : points) {
    fmt::format_to(std::back_inserter(path), "{}{:.4g} {:.4g}", path.empty() ? "M" : "L",
                   time.at(point.seconds), bytes.at(point.value));
  }
  svg.path(path, "curve");
  return figure_html(
      say("Attempt {}: memory of all its processes over time", {fmt::format("{}", number)}),
      svg.markup());
}

std::string attempts_section(const SuperviseEnd& end) {
  std::vector<std::vector<std::string>> rows;
  std::string figures, commands;
  int number = 0;
  for (const AttemptSummary& attempt : end.attempts) {
    ++number;
    const std::string cause = attempt.cause.empty()
                                  ? ""
                                  : fmt::format("{} ({})", say_text(cause_name(attempt.cause)),
                                                format_percent(attempt.confidence));
    rows.push_back({fmt::format("{}", number), sentence_html(attempt.ending),
                    say_text(duration_text(attempt.seconds)),
                    html_text(format_bytes(attempt.peak_bytes)),
                    fmt::format("{}", attempt.progress_lines), places_html(attempt), cause,
                    sentence_html(attempt.change)});
    commands += fmt::format("<li value=\"{}\">{}</li>", number, code(shell_join(attempt.command)));
    figures += memory_figure(attempt, number);
  }
  const std::string table = table_html(
      {"#Attempt", "End", "#Ran for", "#Peak memory", "#Steps seen", "CPUs", "Cause", "Next"},
      rows);
  std::string html =
      section_html("attempts", "Attempts",
                   table + details_html("Commands of the attempts", "<ol>" + commands + "</ol>"));
  if (!figures.empty()) {
    html += section_html("memory", "Memory", "<div class=\"figures\">" + figures + "</div>");
  }
  return html;
}

std::string warnings_section(const SuperviseEnd& end) {
  std::string warnings;
  int number = 0;
  for (const AttemptSummary& attempt : end.attempts) {
    ++number;
    for (const std::string& warning : attempt.warnings) {
      warnings += "<li>" +
                  say("attempt {}, after {}", {fmt::format("{}", number), sentence_html(warning)}) +
                  "</li>\n";
    }
  }
  return warnings.empty() ? "" : section_html("warnings", "Warnings", "<ul>" + warnings + "</ul>");
}

std::string diagnosis_section(const Diagnosis& diagnosis) {
  if (!diagnosis.failed) return "";
  std::string html;
  for (const Cause& cause : diagnosis.causes) {
    if (cause.confidence < kMinConfidence) continue;
    html += fmt::format("<div class=\"failure\"><h3>{} ({})</h3><p>{}</p><ul>\n",
                        say_text(cause_name(cause.row->name)), format_percent(cause.confidence),
                        say_text({meaning_of(*cause.row, false), meaning_of(*cause.row, true)}));
    for (const EvidenceLine& line : cause.evidence) {
      const std::string place =
          line.line > 0 ? fmt::format("{}:{}", line.file, line.line) : line.file;
      html += "<li>" + code(place) + " " + machine_text(plain_line(line.text)) + "</li>\n";
    }
    html += "</ul><p>" + say("To be sure:") + " <code>" + sentence_html(cause.confirm) +
            "</code></p><ul>\n";
    for (const std::string& fix : cause.fixes) html += "<li>" + sentence_html(fix) + "</li>\n";
    html += "</ul></div>\n";
  }
  for (const std::string& note : diagnosis.notes) html += "<p>" + sentence_html(note) + "</p>\n";
  return section_html("diagnosis", "What went wrong last", html);
}

}  // namespace

std::string supervised_html(const SuperviseOptions& options, const SuperviseEnd& end,
                            const std::string& ended) {
  PageFrame frame;
  frame.title = "ocrtune run";
  const std::string command =
      end.attempts.empty() ? "ocrtune run" : shell_join(end.attempts.front().command);
  frame.heading_html =
      say("Supervised run of {}", {html_text(cut_to_width(plain_line(command), 70))});
  frame.line_html = html_text(plain_line(ended));
  frame.marks = {{"answer", "Answer"},
                 {"diagnosis", "What went wrong last"},
                 {"attempts", "Attempts"},
                 {"warnings", "Warnings"},
                 {"memory", "Memory"}};
  return framed(frame, answer_html(options, end) + diagnosis_section(end.diagnosis) +
                           warnings_section(end) + attempts_section(end));
}

}  // namespace ocrtune
