#include "reports/html/page.h"

#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/figures/ledger_table.h"
#include "reports/figures/map_figure.h"
#include "reports/figures/run_figures.h"
#include "reports/figures/scaling_figure.h"
#include "reports/html/page_answer.h"
#include "reports/html/page_capacity.h"
#include "reports/html/page_comparison.h"
#include "reports/html/page_json.h"
#include "reports/html/page_machine.h"
#include "reports/html/page_p2p.h"
#include "reports/html/page_parts.h"
#include "reports/markup/page_markup.h"
#include "tuner/verdict/bottleneck.h"
#include "tuner/verdict/comparison.h"

namespace ocrtune {
namespace {

std::string head_html(const RunRecord& run, const PageOptions& options) {
  return fmt::format(
      "<!DOCTYPE html>\n<html class=\"no-script\" lang=\"{}\" data-language=\"{}\">\n<head>\n<meta "
      "charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} - ocrtune {}</title>\n<style>\n{}</style>\n</head>\n",
      options.language == "zh" ? "zh" : "en", options.language == "zh" ? "zh" : options.language,
      html_text(subject(run).english, 200), html_text(plain_line(run.id, 100)),
      page_part("report.css"));
}

// "2026-11-21T08:00:00Z" as people write it; other texts as they are.
std::string date_text(const std::string& utc) {
  if (utc.size() != 20 || utc[10] != 'T' || utc[19] != 'Z') return plain_line(utc, 100);
  return utc.substr(0, 10) + " " + utc.substr(11, 5) + " UTC";
}

std::string banner_html(const RunRecord& run) {
  return fmt::format(
      "<header><div class=\"title\"><h1>{}</h1><p>{}</p></div>"
      "<div class=\"switches script\">"
      "<button type=\"button\" id=\"language\" lang=\"zh\">中文</button>"
      "<button type=\"button\" id=\"theme\">{}</button></div></header>\n",
      say("{} on {}", {say_text(subject(run)), machine_text(plain_line(run.machine.host, 200))}),
      say("run {}, {}, {} trials in {}",
          {"<code>" + html_text(plain_line(run.id, 100)) + "</code>",
           html_text(date_text(run.started)), fmt::format("{}", run.trials.size()),
           html_text(format_duration(run.result.seconds))}),
      say("Dark"));
}

// Jump marks to the sections that this page has.
std::string contents_html(const std::string& body) {
  struct Mark {
    const char *id, *phrase;
  };
  constexpr Mark kMarks[] = {{"answer", "Answer"},
                             {"dont", "Do not launch"},
                             {"rules", "Rules"},
                             {"envelope", "Envelope"},
                             {"memory", "Memory"},
                             {"scaling", "Scaling"},
                             {"bottlenecks", "Bottlenecks"},
                             {"search", "Search"},
                             {"latency", "Latency"},
                             {"capacity", "Capacity"},
                             {"p2p", "P2P"},
                             {"machine", "Machine"},
                             {"comparison", "Comparison"},
                             {"trials", "All trials"},
                             {"failures", "Failures"},
                             {"reproduce", "Reproduce"}};
  std::string links;
  for (const Mark& mark : kMarks) {
    if (body.find(fmt::format("<section id=\"{}\"", mark.id)) == std::string::npos) continue;
    links += fmt::format("<a href=\"#{}\">{}</a>", mark.id, say(mark.phrase));
  }
  return fmt::format("<nav{}>{}</nav>\n", say_attribute("aria-label", "Sections"), links);
}

std::string envelope_section(const RunRecord& run) {
  const std::string map = map_figure(run);
  return map.empty() ? "" : section_html("envelope", "Safe envelope", map);
}

std::string scaling_section(const RunRecord& run) {
  std::string figures;
  for (const KnobRow& row : knob_table()) {
    if (row.number != nullptr) figures += scaling_figure(run, row.name);
  }
  if (figures.empty()) return "";
  std::string words;
  for (const FittedTerm& term : run.result.terms) {
    words += "<li>" + say(term.words) + "</li>";
  }
  if (!words.empty()) words = "<ul>" + words + "</ul>";
  return section_html("scaling", "Scaling", "<div class=\"figures\">" + figures + "</div>" + words);
}

std::string memory_section(const RunRecord& run) {
  const std::string figure = pareto_figure(run);
  return figure.empty() ? "" : section_html("memory", "Speed against memory", figure);
}

std::string bottleneck_section(const RunRecord& run) {
  const std::string table = ledger_table(bottlenecks(run));
  return table.empty() ? "" : section_html("bottlenecks", "Where a step's time goes", table);
}

std::string search_section(const RunRecord& run) {
  const std::string figure = story_figure(run);
  if (figure.empty()) return "";
  const TuneResult& result = run.result;
  const std::string words =
      "<p>" +
      say("Stopped: {}. {} of {} settings of the space were run.",
          {say_sentence(plain_line(result.stop_reason)), fmt::format("{}", result.settings.size()),
           fmt::format("{}", result.space_points)}) +
      "</p>";
  return section_html("search", "Search story", figure + words);
}

std::string trials_section(const RunRecord& run) {
  if (run.trials.empty()) return "";
  return section_html(
      "trials", "All trials",
      fmt::format(
          "<noscript><p>{}</p></noscript><div class=\"script\" id=\"trials-table\"></div>\n",
          say("This table needs script; trials.csv has the same rows.")));
}

std::string reproduce_section(const RunRecord& run) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back(
      {say("Command line"), "<code>" + html_text(plain_line(run.command_line)) + "</code>"});
  for (const auto& [name, version] : run.versions) {
    rows.push_back({machine_text(name), machine_text(version)});
  }
  const TuneResult& result = run.result;
  rows.push_back({say("Seed"), fmt::format("{}", run.options.seed)});
  rows.push_back({say("Search ended by"),
                  say_sentence(plain_line(result.stop_reason.empty() ? run.stop_reason
                                                                     : result.stop_reason))});
  rows.push_back({say("Spread between repeats"),
                  result.noise_measured ? html_text(format_percent(result.noise))
                                        : say("not measured (each setting ran once)")});
  rows.push_back(
      {say("Windows discarded for other load"), fmt::format("{}", result.discarded_samples)});
  return section_html("reproduce", "Reproduce", table_html({"What", "Value"}, rows, "facts"));
}

}  // namespace

std::string page_html(const RunRecord& run, const PageOptions& options) {
  std::string body = answer_section(run);
  // Where nothing works, why is what the reader came for.
  const std::string failures = failures_section(run);
  if (!run.result.found) body += failures;
  body += "<div class=\"pair\">" + rejected_section(run.result) + rules_section(run.result) +
          "</div>\n";
  body += "<div class=\"pair\">" + envelope_section(run) + memory_section(run) + "</div>\n";
  body += scaling_section(run);
  body += bottleneck_section(run) + search_section(run);
  const PageDocuments& documents = options.documents;
  if (documents.latency) body += latency_section(*documents.latency);
  if (documents.capacity) body += capacity_section(*documents.capacity);
  body += p2p_section(run, documents.peers ? &*documents.peers : nullptr);
  body += machine_section(run);
  if (options.earlier != nullptr) body += comparison_section(compare_runs(*options.earlier, run));
  body += trials_section(run);
  if (run.result.found) body += failures;
  body += reproduce_section(run);
  std::string page = head_html(run, options) + "<body>\n" + banner_html(run) + contents_html(body) +
                     "<main>\n" + body + "</main>\n";
  page += fmt::format("<script type=\"application/json\" id=\"run\">{}</script>\n", page_json(run));
  page += fmt::format("<script>{}</script>\n<script>{}</script>\n", page_part("report.js"),
                      page_part("trials.js"));
  page += "</body>\n</html>\n";
  return page;
}

}  // namespace ocrtune
