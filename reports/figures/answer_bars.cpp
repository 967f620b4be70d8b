// Bars are HTML elements whose left edge and width are shares of the axis in percent, so that
// they follow the width of the page. A setting under several names is one row.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/phrases.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/catalogue/verdict.h"
#include "reports/figures/figures.h"
#include "reports/markup/page_markup.h"
#include "reports/markup/svg.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {
namespace {

// One setting under all the names that it goes by.
struct Candidate {
  Knobs knobs;
  Interval rate;
  std::vector<std::string> names_html;
  bool chosen = false;
};

class Candidates {
 public:
  explicit Candidates(const RunRecord& run) : result_(run.result) {
    const Recommendation& recommended = result_.recommendation;
    const bool open = result_.verdict.answer == Answer::inconclusive;
    add(result_.baseline.knobs, result_.baseline.samples_per_second,
        say(baseline_phrase(run.search)));
    if (result_.found) {
      add(recommended.knobs, recommended.samples_per_second, say(open ? "leading" : "recommended"));
    }
    for (const RuleVerdict& rule : result_.rules) {
      add(rule.setting.knobs, rule.setting.samples_per_second, say(rule.text));
    }
    // What an open answer leaves open, and what a start that stays was compared with.
    if (open || rows_.size() < 2) add_fastest_other();
    for (Candidate& row : rows_) row.chosen = result_.found && row.knobs == recommended.knobs;
  }

  const std::vector<Candidate>& rows() const { return rows_; }

 private:
  void add(const Knobs& knobs, const Interval& rate, const std::string& name_html) {
    if (rate.median <= 0) return;
    const auto known = find(knobs);
    if (known == rows_.end()) {
      rows_.push_back({knobs, rate, {name_html}});
    } else {
      known->names_html.push_back(name_html);
    }
  }
  std::vector<Candidate>::iterator find(const Knobs& knobs) {
    return std::find_if(rows_.begin(), rows_.end(),
                        [&](const Candidate& row) { return row.knobs == knobs; });
  }
  void add_fastest_other() {
    const SettingSummary* fastest = nullptr;
    for (const SettingSummary& setting : result_.settings) {
      const double rate = setting.samples_per_second.median;
      if (rate <= 0 || find(setting.knobs) != rows_.end()) continue;
      if (fastest == nullptr || rate > fastest->samples_per_second.median) fastest = &setting;
    }
    if (fastest != nullptr) {
      add(fastest->knobs, fastest->samples_per_second, say("fastest of the others"));
    }
  }

  const TuneResult& result_;
  std::vector<Candidate> rows_;
};

std::string percent_of(double value, double whole) {
  return fmt::format("{:.2f}%", 100 * std::clamp(value / whole, 0.0, 1.0));
}

// A strip of the track from `low` to `high` of an axis that begins at zero.
std::string strip(const char* css, double low, double high, double end) {
  return fmt::format("<i class=\"{}\" style=\"left:{};width:{}\"></i>", css, percent_of(low, end),
                     percent_of(high - low, end));
}

std::string row_html(const Candidate& row, const std::string& strips, const std::string& value) {
  return fmt::format(
      "<div class=\"bar-row{}\"><div class=\"bar-name\">{} {}</div>"
      "<div class=\"bar-track\" aria-hidden=\"true\">{}</div><div class=\"bar-value\">{}</div>"
      "</div>",
      row.chosen ? " chosen-bar" : "", join(row.names_html, ", "), knobs_html(row.knobs), strips,
      value);
}

std::string axis_html(double end, const std::string& unit_html) {
  std::string ticks;
  for (const double tick : round_ticks(0, end, 5)) {
    if (tick > end) continue;
    ticks += fmt::format("<span{} style=\"left:{}\">{:g}</span>",
                         tick > 0.95 * end ? " class=\"at-end\"" : "", percent_of(tick, end), tick);
  }
  return fmt::format(
      "<div class=\"bar-row bar-axis\" aria-hidden=\"true\"><div></div><div class=\"bar-ticks\">{}"
      "</div><div class=\"bar-value\">{}</div></div>",
      ticks, unit_html);
}

std::string figure(const char* css, const std::string& caption_html, const std::string& rows) {
  return figure_html(caption_html, fmt::format("<div class=\"bars {}\">{}</div>", css, rows));
}

const ServiceFacts* service_of(const RunRecord& run, const Knobs& knobs) {
  for (auto trial = run.trials.rbegin(); trial != run.trials.rend(); ++trial) {
    if (trial->ok() && trial->knobs == knobs && trial->service.in_flight > 0) {
      return &trial->service;
    }
  }
  return nullptr;
}

}  // namespace

std::string rate_bars(const RunRecord& run) {
  const Candidates candidates(run);
  const std::vector<Candidate>& rows = candidates.rows();
  if (rows.size() < 2) return "";
  double end = 0;
  for (const Candidate& row : rows) end = std::max({end, row.rate.median, row.rate.high});
  // The longest bar stays clear of the edge.
  end *= 1.02;
  std::string html;
  for (const Candidate& row : rows) {
    const bool gained = row.chosen && run.result.verdict.answer == Answer::use &&
                        row.knobs != run.result.baseline.knobs && run.result.gain.median > 0;
    const std::string times = gained ? fmt::format(" <b>{:.2f}×</b>", run.result.gain.median) : "";
    html += row_html(row,
                     strip("bar", 0, row.rate.median, end) +
                         strip("bar-interval", row.rate.low, row.rate.high, end),
                     html_text(rate_text(row.rate)) + times);
  }
  // An open answer has its bars in another colour.
  const char* const css =
      run.result.verdict.answer == Answer::inconclusive ? "open-bars" : "rate-bars";
  return figure(css, say("Rate of each setting, with its 95 % interval"),
                html + axis_html(end, say(rate_unit(run))));
}

std::string latency_bars(const RunRecord& run) {
  const Candidates candidates(run);
  std::vector<std::pair<const Candidate*, const ServiceFacts*>> rows;
  double end = 0;
  for (const Candidate& row : candidates.rows()) {
    const ServiceFacts* service = service_of(run, row.knobs);
    if (service == nullptr || service->p99_seconds <= 0) continue;
    rows.emplace_back(&row, service);
    end = std::max(end, service->p99_seconds);
  }
  if (rows.empty()) return "";
  const auto slo = parse_slo(run.job.slo());
  const double target = slo ? slo->seconds : 0;
  end = 1.02 * std::max(end, target);
  std::string html;
  for (const auto& [row, service] : rows) {
    std::string strips = strip("bar", service->p50_seconds, service->p99_seconds, end);
    if (service->alone_seconds > 0) {
      strips += strip("bar-alone", service->alone_seconds, service->alone_seconds, end);
    }
    if (target > 0) strips += strip("bar-target", target, target, end);
    html += row_html(
        *row, strips,
        say("p50 {} ms, p99 {} ms, {} in flight",
            {milliseconds_text(service->p50_seconds), milliseconds_text(service->p99_seconds),
             fmt::format("{}", service->in_flight)}));
  }
  return figure(
      "latency-bars",
      say(target > 0 ? "Latency with as many requests in flight as bring the highest rate, from "
                       "p50 to p99; dot: one request alone; red: the target"
                     : "Latency with as many requests in flight as bring the highest rate, from "
                       "p50 to p99; dot: one request alone"),
      html + axis_html(1000 * end, "ms"));
}

}  // namespace ocrtune
