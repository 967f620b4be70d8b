// The classes are those of reports/page/report.css; the attributes data-copy, data-label and
// data-setting are read by report.js, the style sheet and trials.js.
#include "reports/markup/page_markup.h"

#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {

std::string section_html(const std::string& id, const std::string& title, const std::string& html,
                         const std::string& css) {
  return titled_section(id, say(title), html, css);
}

std::string titled_section(const std::string& id, const std::string& title_html,
                           const std::string& html, const std::string& css) {
  // Readers who cannot see the page hear the section's title as the name of its tables.
  const std::string name = fmt::format("<table aria-labelledby=\"{}-title\"", id);
  std::string body;
  std::size_t from = 0;
  // 6 is the length of "<table".
  for (std::size_t at; (at = html.find("<table", from)) != std::string::npos; from = at + 6) {
    body += html.substr(from, at - from) + name;
  }
  return fmt::format("<section id=\"{0}\"{1}><h2 id=\"{0}-title\">{2}</h2>\n{3}</section>\n", id,
                     css.empty() ? "" : " class=\"" + css + "\"", title_html,
                     body + html.substr(from));
}

std::string date_text(const std::string& utc) {
  if (utc.size() != 20 || utc[10] != 'T' || utc[19] != 'Z') return plain_line(utc, 100);
  return utc.substr(0, 10) + " " + utc.substr(11, 5) + " UTC";
}

std::string table_html(const std::vector<std::string>& headings,
                       const std::vector<std::vector<std::string>>& html_rows,
                       const std::string& css) {
  std::string out = fmt::format("<div class=\"wide\"><table class=\"{}\"><thead><tr>", css);
  std::vector<std::string> cells;  // the beginning of each column's
  for (const std::string& heading : headings) {
    const bool number = starts_with(heading, "#");
    const std::string css_class = number ? " class=\"n\"" : "";
    const std::string words = number ? heading.substr(1) : heading;
    out += fmt::format("<th scope=\"col\"{}>{}</th>", css_class, say(words));
    cells.push_back("<td" + css_class + (words.empty() ? "" : say_attribute("data-label", words)) +
                    ">");
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : html_rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) out += cells.at(i) + row[i] + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string details_html(const std::string& summary_phrase, const std::string& html) {
  return fmt::format("<details><summary>{}</summary>{}</details>\n", say(summary_phrase), html);
}

std::string fact_html(const std::string& label_phrase, const std::string& value_html,
                      const std::string& note_html) {
  const std::string value =
      value_html.empty() ? "" : "<b>" + value_html + (note_html.empty() ? "</b>" : "</b>, ");
  return fmt::format("<div class=\"fact\"><dt>{}</dt><dd>{}{}</dd></div>\n", say(label_phrase),
                     value, note_html);
}

std::string figure_html(const std::string& caption_html, const std::string& picture_html,
                        const std::string& css) {
  return fmt::format("<figure class=\"{}\"><figcaption>{}</figcaption>{}</figure>\n", css,
                     caption_html, picture_html);
}

std::string copy_block(const std::string& label_phrase, const std::string& id,
                       const std::string& text) {
  // The one word that the reader has to replace.
  constexpr std::string_view kPlaceholder = "CONFIG.yml";
  std::string shown = html_text(text);
  if (const std::size_t at = shown.find(kPlaceholder); at != std::string::npos) {
    shown.replace(at, kPlaceholder.size(),
                  fmt::format("<mark{}>{}</mark>", say_attribute("title", "put your own file here"),
                              kPlaceholder));
  }
  return fmt::format(
      "<div class=\"copy\"><div class=\"bar\"><span>{}</span>"
      "<button type=\"button\" data-copy=\"{}\">{}</button></div>"
      "<pre id=\"{}\" dir=\"ltr\">{}</pre></div>\n",
      say(label_phrase), id, say("Copy"), id, shown);
}

std::string knobs_html(const Knobs& knobs) {
  return fmt::format("<code>{}</code>", html_text(plain_line(knobs_text(knobs)), 400));
}

std::string knobs_filter(const Knobs& knobs) {
  return fmt::format(" data-setting=\"{}\"", html_text(plain_line(knobs_text(knobs))));
}

std::string sentence_html(const std::string& sentence) {
  return "<bdi>" + say_sentence(plain_line(sentence)) + "</bdi>";
}

std::string machine_text(const std::string& text) {
  return fmt::format("<bdi>{}</bdi>", html_text(text, 4096));
}

}  // namespace ocrtune
