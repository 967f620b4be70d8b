#include "reports/html/supervised_page.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/plain_text.h"
#include "reports/html/page_parts.h"
#include "reports/markup/svg.h"

namespace ocrtune {
namespace {

constexpr double kPictureWidth = 720, kHeight = 200;
constexpr double kLeft = 80, kRight = 12, kTop = 12, kBottom = 30;

std::string cell(const std::string& text) { return "<td>" + html_text(plain_line(text)) + "</td>"; }

std::string code(const std::string& text) {
  return "<code>" + html_text(plain_line(text)) + "</code>";
}

std::string state_text(const SuperviseEnd& end) {
  switch (end.state) {
    case SuperviseState::done:
      return end.attempts.size() > 1
                 ? fmt::format("It ended well, at attempt {}.", end.attempts.size())
                 : "It ended well.";
    case SuperviseState::gave_up:
      return "Gave up: " + end.reason + ".";
    case SuperviseState::interrupted:
      return "Interrupted.";
  }
  return "";
}

std::string places_text(const AttemptSummary& attempt) {
  std::vector<std::string> texts;
  for (const auto& [rank, cpus] : attempt.places) {
    texts.push_back(fmt::format("rank {}: {}", rank, cpus));
  }
  return texts.empty() ? "not bound" : join(texts, "; ");
}

// Memory over time of one attempt, from 0 to a little above its peak.
std::string memory_figure(const AttemptSummary& attempt, int number) {
  const auto& points = attempt.memory;
  if (points.size() < 2) return "";
  double highest = 0;
  for (const TracePoint& point : points) highest = std::max(highest, point.value);
  Svg svg(kPictureWidth, kHeight, fmt::format(" aria-label=\"Memory of attempt {}\"", number));
  const Scale time{0, std::max(points.back().seconds, 1.0), kLeft, kPictureWidth - kLeft - kRight,
                   false};
  const Scale bytes{0, std::max(highest, 1.0) * 1.05, kHeight - kBottom,
                    -(kHeight - kBottom - kTop), false};
  for (const double tick : round_ticks(0, highest, 4)) {
    svg.line(kLeft, bytes.at(tick), kPictureWidth - kRight, bytes.at(tick), "grid");
    svg.text(kLeft - 6, bytes.at(tick) + 4, format_bytes(static_cast<std::uint64_t>(tick)), "tick",
             Svg::Anchor::end);
  }
  for (const double tick : round_ticks(0, points.back().seconds, 6)) {
    svg.text(time.at(tick), kHeight - 10, html_text(format_duration(tick)), "tick",
             Svg::Anchor::middle);
  }
  std::string path;
  for (const TracePoint& point : points) {
    fmt::format_to(std::back_inserter(path), "{}{:.4g} {:.4g}", path.empty() ? "M" : "L",
                   time.at(point.seconds), bytes.at(point.value));
  }
  svg.path(path, "curve");
  return fmt::format("<h3>Memory of attempt {}</h3><figure>{}</figure>\n", number, svg.markup());
}

std::string attempts_section(const SuperviseEnd& end) {
  std::string rows, figures, warnings;
  int number = 0;
  for (const AttemptSummary& attempt : end.attempts) {
    ++number;
    rows += fmt::format("<tr><td>{}</td>", number) + cell(attempt.ending) +
            cell(format_duration(attempt.seconds)) + cell(format_bytes(attempt.peak_bytes)) +
            cell(fmt::format("{}", attempt.progress_lines)) + cell(places_text(attempt)) +
            cell(attempt.cause.empty()
                     ? ""
                     : fmt::format("{} ({})", attempt.cause, format_percent(attempt.confidence))) +
            cell(attempt.change) + "</tr>\n<tr><td></td><td colspan=\"7\">" +
            code(shell_join(attempt.command)) + "</td></tr>\n";
    figures += memory_figure(attempt, number);
    for (const std::string& warning : attempt.warnings) {
      warnings +=
          fmt::format("<li>attempt {}, after {}</li>\n", number, html_text(plain_line(warning)));
    }
  }
  if (!warnings.empty()) {
    warnings = "<section id=\"warnings\"><h2>Warnings</h2><ul>" + warnings + "</ul></section>\n";
  }
  return "<section id=\"attempts\"><h2>Attempts</h2><table><tr><th>#</th><th>End</th><th>Ran for"
         "</th><th>Peak memory</th><th>Steps told of</th><th>CPUs</th><th>Cause</th><th>Next</th>"
         "</tr>\n" +
         rows + "</table></section>\n" + warnings + "<section id=\"memory\">" + figures +
         "</section>\n";
}

std::string diagnosis_section(const Diagnosis& diagnosis) {
  if (!diagnosis.failed) return "";
  std::string html = "<section id=\"diagnosis\"><h2>What went wrong last</h2>\n";
  for (const Cause& cause : diagnosis.causes) {
    if (cause.confidence < kMinConfidence) continue;
    html += fmt::format("<h3>{} ({})</h3><p>{}</p><ul>\n", cause.row->name,
                        format_percent(cause.confidence), html_text(cause.row->meaning));
    for (const EvidenceLine& line : cause.evidence) {
      const std::string place =
          line.line > 0 ? fmt::format("{}:{}", line.file, line.line) : line.file;
      html += "<li>" + code(place) + " " + html_text(plain_line(line.text)) + "</li>\n";
    }
    html += "</ul><p>To confirm: " + code(cause.row->confirm) + "</p><ul>\n";
    for (const std::string& fix : cause.fixes) html += "<li>" + code(fix) + "</li>\n";
    html += "</ul>\n";
  }
  for (const std::string& note : diagnosis.notes) {
    html += "<p>" + html_text(plain_line(note)) + "</p>\n";
  }
  return html + "</section>\n";
}

}  // namespace

std::string supervised_html(const SuperviseOptions& options, const SuperviseEnd& end,
                            const std::string& ended) {
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\" data-language=\"en\">\n<head>\n<meta "
             "charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
             "initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
             "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<meta "
             "name=\"color-scheme\" content=\"light dark\">\n<title>ocrtune run</title>\n<style>\n"
             "{}</style>\n</head>\n<body>\n<header><div class=\"title\"><h1>{}</h1><p>{}, {} "
             "warning{}; logs, traces and journal: {}</p></div></header>\n<main>\n",
             page_part("report.css"), html_text(plain_line(state_text(end))),
             html_text(plain_line(ended)), end.warnings, end.warnings == 1 ? "" : "s",
             code(options.run_directory)) +
         attempts_section(end) + diagnosis_section(end.diagnosis) + "</main>\n</body>\n</html>\n";
}

}  // namespace ocrtune
