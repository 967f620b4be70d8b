// The document in HTML, both languages in one page; tables and lists come from reports/markup.
#include "extras/capacity/reports/plan_writers.h"
#include "reports/catalogue/plain_text.h"
#include "reports/html/page_frame.h"
#include "reports/markup/page_markup.h"

namespace ocrtune {
namespace {

std::string list_html(const std::vector<Bilingual>& texts) {
  std::string html;
  for (const Bilingual& text : texts) html += "<li>" + say_text(text) + "</li>\n";
  return "<ul>" + html + "</ul>";
}

std::string list_section(const char* id, const char* title, const std::vector<Bilingual>& texts) {
  return texts.empty() ? "" : section_html(id, title, list_html(texts));
}

std::string answer_html(const PlanDocument& document) {
  std::string html;
  for (const std::string& badge : document.badges) {
    html += "<span class=\"badge warning\">" + say(badge) + "</span> ";
  }
  if (!html.empty()) html = "<p class=\"badges-inline\">" + html + "</p>";
  for (std::size_t i = 0; i < document.answer.size(); ++i) {
    html += i == 0   ? "<p class=\"verdict\">" + say_text(document.answer[i]) + "</p>\n<p>"
            : i == 1 ? say_text(document.answer[i])
                     : " " + say_text(document.answer[i]);
  }
  return html + (document.answer.empty() ? "" : "</p>\n");
}

std::string tables_html(const PlanDocument& document) {
  std::string html;
  for (const PlanTable& table : document.tables) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& cells : table.rows) {
      rows.emplace_back();
      for (const Bilingual& cell : cells) rows.back().push_back(say_text(cell));
    }
    html += "<h3>" + say(table.title) + "</h3>" + table_html(table.headings, rows, "compact");
  }
  return html;
}

// All of it, with numbers, alerts and signatures.
std::string plan_sheet_sections(const PlanDocument& document) {
  std::vector<std::vector<std::string>> numbers, watches;
  for (const PlanNumber& number : document.numbers) {
    numbers.push_back({say_text(number.item), say_text(number.value), say(number.basis),
                       say_text(number.source), "<time>" + html_text(number.date) + "</time>", ""});
  }
  for (const PlanWatch& watch : document.watches) {
    watches.push_back({say_text(watch.assumption),
                       "<code>" + html_text(plain_line(watch.query(), 400)) + "</code>", ""});
  }
  const std::string signature = table_html({"Name", "Role", "Date", "Signature"},
                                           {{"&nbsp;", "", "", ""}, {"&nbsp;", "", "", ""}});
  const std::string tables = tables_html(document);
  return section_html("answer", "Answer", answer_html(document), "card") +
         (tables.empty() ? "" : section_html("capacity", "Capacity", tables)) +
         section_html("numbers", "Numbers",
                      table_html({"What", "Value", "Basis", "Source", "Date", "Owner"}, numbers,
                                 "compact")) +
         list_section("assumptions", "Assumptions", document.assumptions) +
         list_section("gaps", "Not measured", document.gaps) +
         list_section("next", "To halve the interval, measure", document.next) +
         section_html("watch", "Alerts in production (Prometheus)",
                      table_html({"Assumption", "It is broken when", "Owner"}, watches, "compact") +
                          "<p class=\"note\">" + say_text(document.query_note) + "</p>") +
         section_html("signatures", "Signatures", signature);
}

}  // namespace

std::string plan_section(const PlanDocument& document) {
  std::string html = answer_html(document) + tables_html(document);
  if (!document.assumptions.empty()) {
    html += "<h3>" + say("Assumptions") + "</h3>" + list_html(document.assumptions);
  }
  return section_html("capacity", "Capacity", html);
}

std::string plan_page(const PlanDocument& document) {
  PageFrame frame;
  frame.title = "ocrtune plan";
  frame.heading_html = say("Capacity plan to sign");
  frame.line_html = html_text(document.date) + " · <code>" +
                    html_text(plain_line(document.command_line, 400)) + "</code>";
  return framed(frame, plan_sheet_sections(document));
}

}  // namespace ocrtune
