// The security policy forbids every load: style, scripts and data stand in the file itself.
// report.js takes the class "no-script" away, which hides what needs script.
#include "reports/html/page_frame.h"

#include <fmt/format.h>

#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/html/page_parts.h"

namespace ocrtune {
namespace {

std::string contents_html(const PageFrame& frame, const std::string& body) {
  std::string links;
  for (const auto& [id, phrase] : frame.marks) {
    // Sections are known by the beginning that titled_section() gives them.
    if (body.find(fmt::format("<section id=\"{}\"", id)) == std::string::npos) continue;
    links += fmt::format("<a href=\"#{}\">{}</a>", id, say(phrase));
  }
  if (links.empty()) return "";
  return fmt::format("<nav{}>{}</nav>\n", say_attribute("aria-label", "Sections"), links);
}

}  // namespace

std::string framed(const PageFrame& frame, const std::string& sections_html,
                   const std::string& data_json, std::string_view script) {
  const std::string data = data_json.empty() ? ""
                                             : "<script type=\"application/json\" id=\"run\">" +
                                                   data_json + "</script>\n";
  return fmt::format(
             "<!DOCTYPE html>\n<html class=\"no-script\" lang=\"{}\" data-language=\"{}\"{}>\n"
             "<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
             "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n"
             "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
             frame.language == "zh" ? "zh" : "en", frame.language,
             frame.refresh_seconds > 0
                 ? fmt::format(" data-refresh-seconds=\"{}\"", frame.refresh_seconds)
                 : "",
             html_text(frame.title, 300), page_part("report.css")) +
         fmt::format(
             "<header><div class=\"title\"><h1>{}</h1><p>{}</p></div>"
             "<div class=\"switches script\">"
             "<button type=\"button\" id=\"language\" lang=\"zh\">中文</button>"
             "<button type=\"button\" id=\"theme\">{}</button></div></header>\n",
             frame.heading_html, frame.line_html, say("Dark")) +
         contents_html(frame, sections_html) + "<main>\n" + sections_html + "</main>\n" + data +
         fmt::format("<script>{}</script>\n", page_part("report.js")) +
         (script.empty() ? "" : fmt::format("<script>{}</script>\n", script)) +
         "</body>\n</html>\n";
}

}  // namespace ocrtune
