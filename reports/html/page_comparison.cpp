// The comparison itself is made in tuner/verdict/comparison.h; the page shows up to 40 settings,
// the terminal up to 10.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/html/page_sections.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"
#include "reports/markup/table.h"

namespace ocrtune {
namespace {

constexpr std::size_t kMaxShown = 40;
constexpr std::size_t kMaxPrinted = 10;

const char* change_word(Change change) {
  // In the order of Change.
  constexpr const char* kNames[] = {"faster", "slower", "alike", "cannot be told"};
  return kNames[static_cast<int>(change)];
}

const char* change_arrow(Change change) {
  return change == Change::faster ? "▲ " : change == Change::slower ? "▼ " : "";
}

// The rates of a setting above each other: earlier in grey, with their intervals.
std::string bars(const SettingChange& change, double fastest) {
  constexpr double kWidth = 180, kHeight = 22;
  Svg svg(kWidth, kHeight,
          say_attribute("aria-label", "before {}, after {}",
                        {rate_text(change.before), rate_text(change.after)}));
  // All rows have one scale, so that bars of different settings can be compared.
  const Scale at{0, std::max(fastest, 1e-9), 0, kWidth - 4, false};
  double top = 1;
  for (const auto& [rate, css] :
       {std::pair{change.before, "part-wait"}, {change.after, "part-compute"}}) {
    svg.rectangle(0, top, at.at(rate.median), 8, css);
    svg.line(at.at(rate.low), top + 4, at.at(rate.high), top + 4, "whisker");
    top += 11;
  }
  return svg.markup();
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
  std::string body =
      "<p class=\"verdict\">" + say(comparison.verdict) + "</p><p>" +
      say("Earlier run: {}", {"<code>" + html_text(comparison.before_id, 100) + "</code>"}) +
      "</p>";
  std::string differences;
  if (!comparison.differences.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const Difference& difference : comparison.differences) {
      rows.push_back({say_sentence(plain_line(difference.what)),
                      machine_text(plain_line(difference.before)),
                      machine_text(plain_line(difference.after))});
    }
    differences = table_html({"What differs", "Earlier", "This run"}, rows, "facts");
  }
  std::vector<std::vector<std::string>> rows;
  double fastest = 0;
  for (const SettingChange& change : comparison.settings) {
    fastest = std::max({fastest, change.before.high, change.after.high});
  }
  for (std::size_t i = 0; i < std::min(comparison.settings.size(), kMaxShown); ++i) {
    const SettingChange& change = comparison.settings[i];
    rows.push_back({knobs_html(change.knobs), bars(change, fastest),
                    html_text(rate_text(change.before)), html_text(rate_text(change.after)),
                    html_text(ratio_text(change.ratio)), html_text(p_text(change)),
                    change_arrow(change.change) + say(change_word(change.change))});
  }
  if (!rows.empty()) {
    body += table_html(
        {"Setting", "Before and after", "#Earlier", "#This run", "#Ratio", "#p", "Change"}, rows);
    body +=
        "<p class=\"note\">" +
        say("p: of a difference between trials by chance, adjusted for the number of settings; * "
            "fewer than 4 trials, which decide nothing. Alike: less than 2 % apart.") +
        "</p>";
  }
  return section_html("comparison", "Compared with an earlier run", body + differences);
}

std::string comparison_text(const RunComparison& comparison) {
  constexpr int kWhole = 100000;  // columns
  std::string out = fmt::format("{} -> {}\n{}\n", plain_line(comparison.before_id),
                                plain_line(comparison.after_id), sentence(comparison.verdict));
  if (!comparison.differences.empty()) {
    Table table({"differs", "earlier", "this run"});
    for (const Difference& difference : comparison.differences) {
      table.add_row({difference.what, difference.before, difference.after});
    }
    out += "\n" + console_table(table, kWhole);
  }
  if (comparison.settings.empty()) return out;
  Table table({"setting", "earlier", "this run", "ratio", "p", "change"});
  for (std::size_t i = 0; i < std::min(comparison.settings.size(), kMaxPrinted); ++i) {
    const SettingChange& change = comparison.settings[i];
    table.add_row({knobs_text(change.knobs), rate_text(change.before), rate_text(change.after),
                   ratio_text(change.ratio), p_text(change),
                   std::string(change_word(change.change))});
  }
  out += "\n" + console_table(table, kWhole);
  if (comparison.settings.size() > kMaxPrinted) {
    out +=
        fmt::format("and {} more; --html shows them\n", comparison.settings.size() - kMaxPrinted);
  }
  return out;
}

}  // namespace ocrtune
