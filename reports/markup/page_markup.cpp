#include "reports/markup/page_markup.h"

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"

namespace ocrtune {

std::string section_html(const std::string& id, const std::string& title, const std::string& html) {
  return fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", id, say(title), html);
}

std::string table_html(const std::vector<std::string>& headings,
                       const std::vector<std::vector<std::string>>& html_rows,
                       const std::string& css) {
  std::string out = fmt::format("<div class=\"wide\"><table class=\"{}\"><thead><tr>", css);
  std::vector<bool> number;
  for (const std::string& heading : headings) {
    number.push_back(starts_with(heading, "#"));
    out += fmt::format("<th scope=\"col\"{}>{}</th>", number.back() ? " class=\"n\"" : "",
                       say(number.back() ? heading.substr(1) : heading));
  }
  out += "</tr></thead><tbody>\n";
  for (const auto& row : html_rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += fmt::format("<td{}>{}</td>", number.at(i) ? " class=\"n\"" : "", row[i]);
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string fact_html(const std::string& label_phrase, const std::string& value_html,
                      const std::string& note_html) {
  const std::string value = value_html.empty() ? "" : "<b>" + value_html + "</b> ";
  return fmt::format("<div class=\"fact\"><dt>{}</dt><dd>{}{}</dd></div>\n", say(label_phrase), value,
                     note_html);
}

std::string figure_html(const std::string& caption_html, const std::string& picture_html,
                        const std::string& css) {
  return fmt::format("<figure class=\"{}\"><figcaption>{}</figcaption>{}</figure>\n", css,
                     caption_html, picture_html);
}

std::string copy_block(const std::string& label_phrase, const std::string& id,
                       const std::string& text) {
  return fmt::format(
      "<div class=\"copy\"><div class=\"bar\"><span>{}</span>"
      "<button type=\"button\" data-copy=\"{}\">{}</button></div>"
      "<pre id=\"{}\" dir=\"ltr\">{}</pre></div>\n",
      say(label_phrase), id, say("Copy"), id, html_text(text));
}

std::string knobs_html(const Knobs& knobs) {
  return fmt::format("<code>{}</code>", html_text(plain_line(knobs_text(knobs)), 400));
}

std::string knobs_filter(const Knobs& knobs) {
  return fmt::format(" data-filter=\"{}\"", html_text(plain_line(knobs_text(knobs))));
}

std::string machine_text(const std::string& text) {
  return fmt::format("<bdi>{}</bdi>", html_text(text, 4096));
}

}  // namespace ocrtune
