#include "reports/export/run_index.h"

#include <fmt/format.h>

#include "reports/catalogue/plain_text.h"

namespace ocrtune {

std::string run_index_html(const std::vector<IndexRow>& rows) {
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>ocrtune runs</title>\n"
      "<style>:root{color-scheme:light dark}body{font:15px system-ui,sans-serif;margin:2rem}"
      "table{border-collapse:collapse}th,td{text-align:left;vertical-align:top;"
      "padding:.4rem .8rem;border-bottom:1px solid #8884}</style></head>\n<body>\n";
  text += fmt::format("<h1>{} run{}</h1>\n<table>\n", rows.size(), rows.size() == 1 ? "" : "s");
  text +=
      "<thead><tr><th>Run</th><th>Measured</th><th>Verdict</th><th>Rate</th><th>Started</th></tr>"
      "</thead>\n<tbody>\n";
  for (const IndexRow& row : rows) {
    const std::string label = html_text(row.name.empty() ? row.id : row.name);
    const std::string run =
        row.link.empty() ? label : fmt::format("<a href=\"{}\">{}</a>", html_text(row.link), label);
    text += fmt::format(
        "<tr><td>{}{}</td><td>{}</td><td><b>{}</b><br>{}</td><td>{}</td><td>{}</td></tr>\n", run,
        row.name.empty() ? "" : "<br><small>" + html_text(row.id) + "</small>",
        html_text(row.subject), html_text(row.verdict), html_text(row.answer), html_text(row.rate),
        html_text(row.started));
  }
  return text + "</tbody></table>\n</body></html>\n";
}

}  // namespace ocrtune
