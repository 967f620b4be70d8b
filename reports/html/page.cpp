// Puts the page together: frame, sections, embedded data and script. A section of which the run
// tells nothing is an empty string, and its jump mark is left out by the frame.
#include "reports/html/page.h"

#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/extra_reports.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/figures/bottleneck.h"
#include "reports/figures/figures.h"
#include "reports/html/page_frame.h"
#include "reports/html/page_json.h"
#include "reports/html/page_parts.h"
#include "reports/html/page_sections.h"
#include "reports/markup/page_markup.h"
#include "tuner/verdict/comparison.h"

namespace ocrtune {
namespace {

PageFrame frame_of(const RunRecord& run, const std::string& language) {
  PageFrame frame;
  frame.language = language;
  frame.title = fmt::format("{} - ocrtune {}", subject(run).english, plain_line(run.id, 100));
  frame.heading_html =
      say("{} on {}", {say_text(subject(run)), machine_text(plain_line(run.machine.host, 200))});
  frame.line_html = say(
      "run {}, {}, {} {2:trial|trials} in {}",
      {"<code>" + html_text(plain_line(run.id, 100)) + "</code>", html_text(date_text(run.started)),
       fmt::format("{}", run.trials.size()), say_text(duration_text(run.result.seconds))});
  frame.marks = {{"comparison", "Comparison"},
                 {"latency", "Latency"},
                 {"answer", "Answer"},
                 {"texts", "Texts"},
                 {"dont", "Avoid"},
                 {"rules", "Rules"},
                 {"envelope", "Envelope"},
                 {"memory", "Memory"},
                 {"search", "Search"},
                 {"scaling", "Scaling"},
                 {"bottlenecks", "Bottlenecks"},
                 {"p2p", "P2P"},
                 {"hosts", "Hosts"},
                 {"trials", "All trials"},
                 {"failures", "Failures"},
                 {"machine", "Machine"},
                 {"reproduce", "Reproduce"}};
  for (const ExtraReports& extra : extra_reports()) {
    for (const DocumentRow& row : extra.documents) {
      // page_html() puts sections of extras behind the comparison, and so are their marks.
      frame.marks.insert(frame.marks.begin() + 1, row.mark);
    }
  }
  return frame;
}

struct Section {
  const char *id, *title;
  std::string html;
};

// Figures of the knobs that were varied; with `count`, how many.
std::string scaling_figures(const RunRecord& run, int& count) {
  std::string figures;
  for (const KnobRow& row : knob_table()) {
    const std::string figure = row.number == nullptr ? "" : scaling_figure(run, row.name);
    count += figure.empty() ? 0 : 1;
    figures += figure;
  }
  if (figures.empty()) return "";
  std::string words;
  for (const FittedTerm& term : run.result.terms) words += "<li>" + say(term.words) + "</li>";
  if (!words.empty()) words = "<ul>" + words + "</ul>";
  return "<div class=\"figures\">" + figures + "</div>" + words;
}

std::string bottleneck_section(const RunRecord& run) {
  const std::string table = ledger_table(bottlenecks(run), run);
  return table.empty() ? "" : section_html("bottlenecks", "Where a step's time goes", table);
}

std::string search_story(const RunRecord& run) {
  const std::string figure = story_figure(run);
  if (figure.empty()) return "";
  const TuneResult& result = run.result;
  const std::string words =
      "<p>" +
      say("Stopped: {}. {} of {} {2:setting|settings} of the space {1:was|were} run.",
          {say_sentence(plain_line(result.stop_reason)), fmt::format("{}", result.settings.size()),
           fmt::format("{}", result.space_points)}) +
      "</p>";
  return figure + words;
}

// Sections of one figure each, as many side by side as leave no row half empty.
std::string figures_html(const RunRecord& run) {
  int scalings = 0;
  const std::string scaling = scaling_figures(run, scalings);
  std::vector<Section> sections = {{"envelope", "Safe envelope", map_figure(run)},
                                   {"memory", "Speed against memory", pareto_figure(run)},
                                   {"search", "Search story", search_story(run)}};
  if (scalings == 1) sections.push_back({"scaling", "Scaling", scaling});
  std::erase_if(sections, [](const Section& section) { return section.html.empty(); });
  // Three sections stand in one row, two or four in pairs.
  const char* const css = sections.size() == 3 ? "of-three" : "of-two";
  std::string html;
  for (const Section& section : sections) {
    html += section_html(section.id, section.title, section.html, css);
  }
  html = "<div class=\"beside\">" + html + "</div>\n";
  return scalings > 1 ? html + section_html("scaling", "Scaling", scaling) : html;
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
  for (const auto& [name, version] : run.versions) {
    rows.push_back({machine_text(name), machine_text(version)});
  }
  const TuneResult& result = run.result;
  rows.push_back({say("Seed"), fmt::format("{}", run.search.seed)});
  rows.push_back({say("Search ended by"),
                  say_sentence(plain_line(result.stop_reason.empty() ? run.stop_reason
                                                                     : result.stop_reason))});
  rows.push_back({say("Spread between repeats"),
                  result.noise_measured ? html_text(format_percent(result.noise))
                                        : say("not measured (each setting ran once)")});
  rows.push_back(
      {say("Windows discarded for other load"), fmt::format("{}", result.discarded_samples)});
  return section_html(
      "reproduce", "Reproduce",
      copy_block("Command line", "command-line", plain_line(run.command_line)) +
          details_html("Versions, seed and noise", table_html({"What", "Value"}, rows, "facts")));
}

}  // namespace

std::string page_html(const RunRecord& run, const PageOptions& options) {
  // What was asked for with this page comes first.
  std::string body;
  const PageDocuments& documents = options.documents;
  if (options.earlier != nullptr) body += comparison_section(compare_runs(*options.earlier, run));
  body += documents.extras;
  const std::optional<LatencyDocument> measured =
      documents.latency ? documents.latency : latency_of(run);
  if (measured) body += latency_section(*measured);
  body += answer_section(run);
  body += texts_section(run);
  // Where nothing works, why is what the reader came for.
  const std::string failures = failures_section(run);
  if (!run.result.found) body += failures;
  body += "<div class=\"pair\">" + rejected_section(run.result) + rules_section(run) + "</div>\n";
  body += figures_html(run);
  body += bottleneck_section(run);
  body += p2p_section(run, documents.peers ? &*documents.peers : nullptr);
  body += hosts_section(run);
  body += trials_section(run);
  if (run.result.found) body += failures;
  body += machine_section(run);
  body += reproduce_section(run);
  PageFrame frame = frame_of(run, options.language);
  frame.refresh_seconds = options.refresh_seconds;
  return framed(frame, body, page_json(run), page_part("trials.js"));
}

}  // namespace ocrtune
