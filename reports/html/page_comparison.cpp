#include "reports/html/page_comparison.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/table.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxShown = 40;
constexpr std::size_t kMaxPrinted = 10;

const char* change_word(Change change) {
  switch (change) {
    case Change::faster:
      return "faster";
    case Change::slower:
      return "slower";
    case Change::undecided:
      return "cannot be told";
    case Change::alike:
      break;
  }
  return "alike";
}

const char* change_arrow(Change change) {
  return change == Change::faster ? "▲ " : change == Change::slower ? "▼ " : "";
}

std::string ratio_text(const Interval& ratio) {
  return fmt::format("{:.2f} ({:.2f}..{:.2f})", ratio.median, ratio.low, ratio.high);
}

std::string p_text(const SettingChange& change) {
  return fmt::format("{}{}", change.p < 0.001 ? "< 0.001" : fmt::format("{:.3f}", change.p),
                     change.from_trials ? "" : " *");
}

}  // namespace

std::string comparison_section(const RunComparison& comparison) {
  std::string body = "<p>" + say(comparison.verdict) + "</p>";
  if (!comparison.differences.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const Difference& difference : comparison.differences) {
      rows.push_back({say_sentence(plain_line(difference.what)),
                      machine_text(plain_line(difference.before)),
                      machine_text(plain_line(difference.after))});
    }
    body += table_html({"What differs", "Earlier", "This run"}, rows, "facts");
  }
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < std::min(comparison.settings.size(), kMaxShown); ++i) {
    const SettingChange& change = comparison.settings[i];
    rows.push_back({knobs_html(change.knobs), html_text(rate_text(change.before)),
                    html_text(rate_text(change.after)), html_text(ratio_text(change.ratio)),
                    html_text(p_text(change)),
                    change_arrow(change.change) + say(change_word(change.change))});
  }
  if (!rows.empty()) {
    body += table_html({"Setting", "#Earlier", "#This run", "#Ratio", "#p", "Change"}, rows);
    body += "<p class=\"note\">" +
            say("Rates in samples/s. p: of a difference between trials by chance, adjusted for the "
                "number of settings; * fewer than 4 trials, which decide nothing. Alike: less than "
                "2 % apart.") +
            "</p>";
  }
  return section_html(
      "comparison", "Compared with an earlier run",
      "<p>" +
          say("Earlier run: {}", {"<code>" + html_text(comparison.before_id, 100) + "</code>"}) +
          "</p>" + body);
}

std::string comparison_text(const RunComparison& comparison, int width) {
  std::string out = fmt::format("{} -> {}\n{}\n", plain_line(comparison.before_id),
                                plain_line(comparison.after_id), sentence(comparison.verdict));
  if (!comparison.differences.empty()) {
    Table table({"differs", "earlier", "this run"});
    for (const Difference& difference : comparison.differences) {
      table.add_row({difference.what, difference.before, difference.after});
    }
    out += "\n" + console_table(table, width);
  }
  if (comparison.settings.empty()) return out;
  Table table({"setting", "earlier", "this run", "ratio", "p", "change"});
  for (std::size_t i = 0; i < std::min(comparison.settings.size(), kMaxPrinted); ++i) {
    const SettingChange& change = comparison.settings[i];
    table.add_row({knobs_text(change.knobs), rate_text(change.before), rate_text(change.after),
                   ratio_text(change.ratio), p_text(change),
                   std::string(change_word(change.change))});
  }
  out += "\n" + console_table(table, width);
  if (comparison.settings.size() > kMaxPrinted) {
    out +=
        fmt::format("and {} more; --html shows them\n", comparison.settings.size() - kMaxPrinted);
  }
  return out;
}

}  // namespace ocrtune
