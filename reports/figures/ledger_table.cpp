// A row of the table has its bar as an SVG of its own. Colours are classes of the style sheet,
// which the legend uses too.
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/figures/bottleneck.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"

namespace ocrtune {
namespace {

constexpr double kBarWidth = 300, kBarHeight = 16;

struct Part {
  const char *phrase, *css;
};
constexpr std::array<Part, 4> kParts = {{{"compute", "part-compute"},
                                         {"data", "part-data"},
                                         {"all-reduce", "part-reduce"},
                                         {"wait", "part-wait"}}};

std::array<double, 4> shares_of(const Bottleneck& bottleneck) {
  const StepTimes& step = bottleneck.step;
  const double whole = bottleneck.step_seconds();
  return {step.compute_seconds / whole, step.data_seconds / whole, step.all_reduce_seconds / whole,
          step.wait_seconds / whole};
}

std::string bar(const Bottleneck& bottleneck) {
  const auto shares = shares_of(bottleneck);
  std::string words;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    words += fmt::format("{}{} {:.0f} %", i > 0 ? ", " : "", kParts[i].phrase, shares[i] * 100);
  }
  Svg svg(kBarWidth, kBarHeight, fmt::format(" aria-label=\"{}\"", words));
  double left = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double width = kBarWidth * shares[i];
    // Narrower parts cannot be seen, and below 30 pixels there is no room for a number.
    if (width > 0.2) {
      svg.rectangle(left, 0, width, kBarHeight, kParts[i].css,
                    fmt::format("{} {:.1f} %", kParts[i].phrase, shares[i] * 100));
    }
    if (width > 30) {
      svg.text(left + width / 2, 12, fmt::format("{:.0f} %", shares[i] * 100), "part-text",
               Svg::Anchor::middle);
    }
    left += width;
  }
  return svg.markup();
}

std::string legend() {
  std::string out;
  for (const Part& part : kParts) {
    out += fmt::format(
        "<span class=\"key\"><svg width=\"10\" height=\"10\" aria-hidden=\"true\"><rect "
        "width=\"10\" "
        "height=\"10\" class=\"{}\"/></svg> {}</span> ",
        part.css, say(part.phrase));
  }
  return "<p class=\"legend\">" + out + "</p>";
}

std::string ceiling_cell(double ceiling, double rate) {
  if (ceiling <= 0) return "–";
  const double gain = ceiling / rate - 1;
  return gain < 0.005 ? "0 %" : fmt::format("+{:.0f} %", gain * 100);
}

std::string role_html(const std::string& role, const SearchRequest& search) {
  if (role == "recommended") return say("recommended");
  if (role == "baseline") return say(baseline_phrase(search));
  if (role == "memory_half") return say("half of the memory");
  if (role == "cores_60_percent") return say("60 % of the cores");
  if (role == "seven") return say("at most 7");
  return html_text(role, 200);
}

// Steps are shorter than a second or compared as if they were: 288 ms, not 0.3 s.
Bilingual step_text(double seconds) {
  if (seconds >= 1) return duration_text(seconds);
  const std::string milliseconds = fmt::format("{:.3g}", 1e3 * seconds);
  return {milliseconds + " ms", milliseconds + " 毫秒"};
}

}  // namespace

std::string ledger_table(const std::vector<Bottleneck>& bottlenecks, const RunRecord& run) {
  if (bottlenecks.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const Bottleneck& bottleneck : bottlenecks) {
    const double rate = bottleneck.samples_per_second;
    rows.push_back({role_html(bottleneck.role, run.search), knobs_html(bottleneck.knobs),
                    bar(bottleneck), say_text(step_text(bottleneck.step_seconds())),
                    html_text(format_count(rate)),
                    ceiling_cell(bottleneck.ceiling_without_data, rate),
                    ceiling_cell(bottleneck.ceiling_without_all_reduce, rate),
                    ceiling_cell(bottleneck.ceiling_without_wait, rate)});
  }
  return legend() +
         table_html({"Setting of", "Setting", "Share of a step", "#step",
                     std::string("#") + rate_unit(run), "#if data were free",
                     "#if all-reduce were free", "#if no rank waited"},
                    rows, "ledger") +
         "<p class=\"note\">" +
         say("The last three columns are upper bounds: removing one bottleneck may reveal "
             "another.") +
         "</p>";
}

}  // namespace ocrtune
