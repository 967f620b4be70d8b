#include "reports/html/capacity_sheet.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "capacity/capacity_answer.h"
#include "reports/catalogue/plain_text.h"
#include "reports/console/kinds_text.h"
#include "reports/html/page_frame.h"
#include "reports/markup/page_markup.h"

namespace ocrtune {
namespace {

constexpr double kRoot90 = 1.645;  // deviations from the middle to either end of 90 %

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string interval_text(const Interval& rate, const std::string& unit) {
  return fmt::format("{} ({}-{}) {}/s", format_count(rate.median), format_count(rate.low),
                     format_count(rate.high), unit);
}

class Sheet {
 public:
  Sheet(const KindsPlan& plans, const YearPlan* year, const std::string& command_line,
        const std::string& date)
      : plans_(plans), plan_(plans.kinds.front().plan), year_(year), date_(date) {
    sheet_.command_line = command_line;
    sheet_.date = date;
  }

  CapacitySheet made() {
    const auto told = [](const std::string& text) { return Bilingual(text, chinese_of(text)); };
    sheet_.answer = told(plan_.answer);
    add_answer();
    if (demand().inference()) {
      add_load();
    } else {
      add_job();
    }
    add_measured();
    add_prices();
    for (const std::string& note : plan_.notes) sheet_.assumptions.push_back(told(note));
    add_gaps();
    add_next();
    if (demand().inference()) {
      watch_service();
    } else {
      watch_job();
    }
    watch_memory();
    note_queries();
    return std::move(sheet_);
  }

 private:
  const CapacityDemand& demand() const { return plan_.demand; }

  void add(const Bilingual& item, const Bilingual& value, const char* basis,
           const Bilingual& source, const std::string& date) {
    sheet_.rows.push_back({item, value, basis, source, date});
  }
  void given(const char* item, const Bilingual& value) {
    add(phrase(item), value, "given", phrase("the command line"), date_);
  }
  // A number that has a default: assumed, where the command line does not hold its flag.
  void given(const char* item, const Bilingual& value, const std::string& flag) {
    if (sheet_.command_line.find(flag) != std::string::npos) return given(item, value);
    add(phrase(item), value, "assumed", phrase("the default of {}", {flag}), "");
  }
  void assumed(const char* item, const Bilingual& value) {
    add(phrase(item), value, "assumed", Bilingual("docs/capacity.md"), "");
  }
  void measured(const char* item, const Bilingual& value) {
    add(phrase(item), value, "measured", Bilingual(plan_.source, chinese_of(plan_.source)),
        plan_.started.substr(0, 10));
  }
  void simulated(const char* item, const Bilingual& value) { simulated(phrase(item), value); }
  void simulated(const Bilingual& item, const Bilingual& value) {
    add(item, value, "simulated", Bilingual("ocrtune plan"), date_);
  }

  const CapacityRow* advised() const {
    for (const CapacityRow& row : plan_.rows) {
      if (row.machines == static_cast<int>(plan_.machines.high)) return &row;
    }
    return nullptr;
  }

  void add_answer() {
    if (plan_.refused) return;
    simulated("Machines, 95 % sure", fmt::format("{:.0f}", plan_.machines.high));
    if (const CapacityRow* one = advised()) {
      simulated("Probability with so many",
                one->probability > 0.999 ? "> 99.9 %" : percent(one->probability));
      if (one->latency_seconds > 0) {
        simulated("Latency at the percentile of the target",
                  milliseconds_text(one->latency_seconds) + " ms");
      }
      if (!demand().inference()) {
        simulated("Done, 95 % sure, within", format_duration(one->seconds.high));
      }
    }
    if (demand().inference()) {
      simulated("Machines that survive the loss of one", fmt::format("{}", plan_.spare_machines));
    }
  }

  void add_load() {
    const double lines = mean_requests(demand().lines_per_page);
    given("Load at the peak", rate_words(demand().requests_per_second / lines, asked_unit(plan_)));
    if (!demand().lines_per_page.empty()) given("Lines of a page", fmt::format("{:.3g}", lines));
    if (demand().slo) given("Latency target", slo_target(*demand().slo));
    given("Load balancer", std::string(demand().balancer == Balancer::random ? "random" : "turns"),
          "--balancer");
    if (demand().trace.empty()) {
      assumed("Arrivals within the peak", phrase("Poisson, at an even rate"));
    }
    if (year_ == nullptr) return;
    given("Growth a month", percent(year_->demand.growth), "--growth");
    given("Time with enough machines", percent(year_->demand.availability), "--availability");
    given("Time that a machine is up", percent(year_->demand.machine_availability),
          "--machine-availability");
    given("Warm-up of a machine", format_duration(year_->demand.warm_up_seconds), "--warm-up");
  }

  void add_job() {
    const Interruptions& stops = demand().interruptions;
    given("Images or pages", fmt::format("{:.0f} x {:g}", demand().samples, demand().epochs));
    given("Deadline", demand().deadline_time.empty() ? format_duration(demand().deadline_seconds)
                                                     : demand().deadline_time);
    if (!stops.expected()) return assumed("Interruptions", phrase("none"));
    given("Interruptions",
          stops.counted
              ? phrase("{} in {} of machines",
                       {fmt::format("{:g}", stops.seen), format_duration(stops.watched_seconds)})
              : phrase("one in {} of a machine", {format_duration(stops.watched_seconds)}));
    if (stops.restart_seconds > 0) given("Restart", format_duration(stops.restart_seconds));
    if (stops.checkpoint_every_seconds <= 0) return;
    given("Checkpoint every", format_duration(stops.checkpoint_every_seconds));
    given("Wait for a checkpoint", format_duration(stops.checkpoint_seconds));
  }

  void add_measured() {
    const char* const basis = plan_.extrapolated ? "extrapolated" : "measured";
    measured("Machine", plan_.machine.empty() ? phrase("unknown") : Bilingual(plan_.machine));
    measured("Setting", knobs_text(plan_.knobs));
    measured("Rate of one machine, 90 %", interval_text(plan_.machine_rate, plan_.unit));
    sheet_.rows.back().basis = basis;
    if (plan_.served_rate.median > 0) {
      const char* const item = "Rate within the latency target, 90 %";
      const std::string rate = interval_text(plan_.served_rate, plan_.unit);
      plan_.served_measured ? measured(item, rate) : simulated(item, rate);
    }
    if (plan_.peak_bytes > 0) measured("Memory of one machine", format_bytes(plan_.peak_bytes));
    assumed("Spread of machines and days", "±" + percent(plan_.errors.machines));
    if (plan_.errors.scaling > 0) {
      assumed("Error of scaling to another machine", "±" + percent(plan_.errors.scaling));
    }
  }

  void add_prices() {
    for (const KindPlan& kind : plans_.kinds) {
      if (!kind.plan.demand.cost_per_hour) continue;
      const std::string name = plans_.kinds.size() > 1 ? kind.name + ": " : "";
      given("Price of a machine an hour",
            name + fmt::format("{:.2f}", *kind.plan.demand.cost_per_hour));
      if (!kind.cost_per_million) continue;
      simulated(phrase("Cost of a million {}", {phrase(asked_unit(plan_))}),
                name + fmt::format("{:.3g}", *kind.cost_per_million));
    }
    if (!plans_.mix) return;
    const MachineMix& mix = *plans_.mix;
    simulated("Cheapest mix", fmt::format("{} {} + {} {}: {:.2f}", mix.first_machines, mix.first,
                                          mix.second_machines, mix.second, mix.cost_per_hour));
  }

  void gap(const char* english, const std::vector<Bilingual>& holes = {}) {
    sheet_.not_measured.push_back(phrase(english, holes));
  }

  void add_gaps() {
    gap("Other machines of this kind, and other days than {}.",
        {plan_.started.empty() ? phrase("that of the measurement")
                               : Bilingual(plan_.started.substr(0, 10))});
    if (!demand().inference()) {
      gap("Whether interruptions come together, as when a zone is taken back.");
      if (plan_.trains) gap("Storage under the writes of checkpoints by all machines.");
      return;
    }
    if (!demand().lines_per_page.empty()) gap("Finding the lines on a page.");
    gap("What the network and the load balancer add to each answer.");
    gap("Failures that take several machines at once: a rack, an image, a zone.");
  }

  // What the interval is made of, and what is left of it once the largest part is measured.
  void add_next() {
    struct Part {
      double deviation;
      double left;  // of its variance, after the advice
      const char* advice;
    };
    std::vector<Part> parts = {
        {plan_.errors.measurement, 0.25,
         "the measured rate: tune with four times the budget while nothing else runs"},
        {plan_.errors.machines, 0.25,
         "machines and days: tune on four machines of this kind and plan from each"},
        {plan_.errors.scaling, 0, "the scaled machine: tune on it"},
        {plan_.errors.load, 0.25, "the load: record a trace four times as long"},
        {plan_.errors.interruptions, 0.25,
         "interruptions: count them over four times the machine hours, or checkpoint more often"}};
    std::sort(parts.begin(), parts.end(),
              [](const Part& a, const Part& b) { return a.deviation > b.deviation; });
    double all = 0;
    for (const Part& part : parts) all += part.deviation * part.deviation;
    double now = all;
    for (const Part& part : parts) {
      if (part.deviation <= 0 || now <= 0.27 * all) break;
      const double before = now;
      now = std::max(0.0, now - (1 - part.left) * part.deviation * part.deviation);
      sheet_.next.push_back(
          phrase("{}: ±{} becomes ±{}", {phrase(part.advice), percent(kRoot90 * std::sqrt(before)),
                                         percent(kRoot90 * std::sqrt(now))}));
    }
  }

  void watch(const char* assumption, const std::string& query) {
    sheet_.watches.push_back({phrase(assumption), query});
  }

  void watch_service() {
    const double lines = mean_requests(demand().lines_per_page);
    const std::string arrivals = "sum(rate(http_requests_total[1m]))";
    watch("the load is at most the peak",
          fmt::format("{} > {:.4g}", arrivals, demand().requests_per_second / lines));
    if (!plan_.refused) {
      watch(
          "each machine gets no more than it carries",
          fmt::format("{} / sum(up{{job=\"ocr\"}}) > {:.4g}", arrivals, sure_rate(plan_) / lines));
      watch("enough machines are up",
            fmt::format("sum(up{{job=\"ocr\"}}) < {:.0f}", plan_.machines.high));
    }
    if (demand().slo) {
      watch("the latency target is met",
            fmt::format("histogram_quantile({:g}, sum by (le) "
                        "(rate(http_request_duration_seconds_bucket[5m]))) > {:g}",
                        demand().slo->percentile, demand().slo->seconds));
    }
    if (year_ == nullptr) return;
    watch("a machine is up as often as was taken",
          fmt::format("avg(avg_over_time(up{{job=\"ocr\"}}[30d])) < {:g}",
                      year_->demand.machine_availability));
    watch(
        "the load grows no faster",
        fmt::format("sum(rate(http_requests_total[7d])) / sum(rate(http_requests_total[7d] offset "
                    "28d)) > {:g}",
                    1 + year_->demand.growth));
  }

  void watch_job() {
    const Interruptions& stops = demand().interruptions;
    const double restart =
        stops.restart_seconds > 0 ? stops.restart_seconds : std::max(60.0, plan_.start_seconds);
    watch("the job goes on",
          fmt::format("time() - ocrtune_run_last_progress_timestamp_seconds > {:.0f}",
                      3 * restart + stops.checkpoint_seconds));
    watch("the job keeps its pace",
          fmt::format("avg_over_time(ocrtune_run_progress_lines_per_second[1h]) < {:.3g} * "
                      "quantile_over_time(0.5, ocrtune_run_progress_lines_per_second[1d])",
                      plan_.machine_rate.low / plan_.machine_rate.median));
    const double machines = plan_.trains && !plan_.refused ? plan_.machines.high : 1;
    const double daily = 86400 * machines * stops.per_second();
    watch("interruptions are no more frequent",
          fmt::format("increase(ocrtune_run_restarts_total[1d]) > {:.0f}",
                      std::ceil(daily + kRoot90 * std::sqrt(daily))));
  }

  void note_queries() {
    sheet_.query_note =
        demand().inference()
            ? phrase(
                  "http_requests_total, http_request_duration_seconds and job=\"ocr\" stand for "
                  "your server's own names; ocrtune_run_* come from ocrtune run --prometheus.")
            : phrase("ocrtune_run_* come from ocrtune run --prometheus.");
  }

  void watch_memory() {
    if (plan_.peak_bytes == 0) return;
    watch("memory stays as measured", fmt::format("ocrtune_run_memory_bytes > {:.0f}",
                                                  1.1 * static_cast<double>(plan_.peak_bytes)));
  }

  const KindsPlan& plans_;
  const CapacityPlan& plan_;
  const YearPlan* year_;
  std::string date_;
  CapacitySheet sheet_;
};

std::string list_html(const std::vector<Bilingual>& texts) {
  std::string html;
  for (const Bilingual& text : texts) html += "<li>" + say_text(text) + "</li>\n";
  return "<ul>" + html + "</ul>";
}

std::string list_section(const char* id, const char* title, const std::vector<Bilingual>& texts) {
  return texts.empty() ? "" : section_html(id, title, list_html(texts));
}

// Of a Markdown table: no bars and line ends.
std::string field(std::string text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

CapacitySheet capacity_sheet(const KindsPlan& plans, const YearPlan* year,
                             const std::string& command_line, const std::string& date) {
  return Sheet(plans, year, command_line, date).made();
}

std::string sheet_html(const CapacitySheet& sheet) {
  std::vector<std::vector<std::string>> rows, watches;
  for (const SheetRow& row : sheet.rows) {
    rows.push_back({say_text(row.item), say_text(row.value), say(row.basis), say_text(row.source),
                    "<time>" + html_text(row.date) + "</time>", ""});
  }
  for (const SheetWatch& watch : sheet.watches) {
    watches.push_back({say_text(watch.assumption),
                       "<code>" + html_text(plain_line(watch.query, 400)) + "</code>", ""});
  }
  PageFrame frame;
  frame.title = "ocrtune plan";
  frame.heading_html = say("Capacity plan to sign");
  frame.line_html = html_text(sheet.date) + " · <code>" +
                    html_text(plain_line(sheet.command_line, 400)) + "</code>";
  const std::string signature = table_html({"Name", "Role", "Date", "Signature"},
                                           {{"&nbsp;", "", "", ""}, {"&nbsp;", "", "", ""}});
  return framed(
      frame, section_html("answer", "Answer",
                          "<p class=\"verdict\">" + say_text(sheet.answer) + "</p>", "card") +
                 section_html("numbers", "Numbers",
                              table_html({"What", "Value", "Basis", "Source", "Date", "Owner"},
                                         rows, "compact")) +
                 list_section("assumptions", "Assumptions", sheet.assumptions) +
                 list_section("gaps", "Not measured", sheet.not_measured) +
                 list_section("next", "To halve the interval, measure", sheet.next) +
                 section_html(
                     "watch", "Alerts in production (Prometheus)",
                     table_html({"Assumption", "It is broken when", "Owner"}, watches, "compact") +
                         "<p class=\"note\">" + say_text(sheet.query_note) + "</p>") +
                 section_html("signatures", "Signatures", signature));
}

std::string sheet_markdown(const CapacitySheet& sheet, SheetLanguage language) {
  const auto in = [&](const Bilingual& text) {
    return field(language == SheetLanguage::chinese ? text.chinese : text.english);
  };
  const auto word = [&](const std::string& english) { return in(phrase(english)); };
  const auto heading = [&](const std::vector<const char*>& columns) {
    std::string names = "|", line = "|";
    for (const char* column : columns) {
      names += " " + word(column) + " |";
      line += "---|";
    }
    return names + "\n" + line + "\n";
  };
  std::string text = "# " + word("Capacity plan to sign") + "\n\n" + sheet.date + " · `" +
                     plain_line(sheet.command_line, 400) + "`\n\n**" + in(sheet.answer) + "**\n\n";
  text += heading({"What", "Value", "Basis", "Source", "Date", "Owner"});
  for (const SheetRow& row : sheet.rows) {
    text += fmt::format("| {} | {} | {} | {} | {} | |\n", in(row.item), in(row.value),
                        word(row.basis), in(row.source), row.date);
  }
  const auto list = [&](const char* title, const std::vector<Bilingual>& texts) {
    if (texts.empty()) return;
    text += "\n## " + word(title) + "\n\n";
    for (const Bilingual& one : texts) text += "- " + in(one) + "\n";
  };
  list("Assumptions", sheet.assumptions);
  list("Not measured", sheet.not_measured);
  list("To halve the interval, measure", sheet.next);
  text += "\n## " + word("Alerts in production (Prometheus)") + "\n\n" +
          heading({"Assumption", "It is broken when", "Owner"});
  for (const SheetWatch& watch : sheet.watches) {
    text += "| " + in(watch.assumption) + " | `" + field(watch.query) + "` | |\n";
  }
  return text + "\n" + in(sheet.query_note) + "\n\n## " + word("Signatures") + "\n\n" +
         heading({"Name", "Role", "Date", "Signature"}) + "| | | | |\n";
}

Table sheet_table(const CapacitySheet& sheet) {
  Table table({"section", "item", "value", "basis", "source", "date", "owner"});
  for (const SheetRow& row : sheet.rows) {
    table.add_row({std::string("number"), row.item.english, row.value.english, row.basis,
                   row.source.english, row.date, std::string()});
  }
  const auto list = [&](const char* section, const std::vector<Bilingual>& texts) {
    for (const Bilingual& text : texts) {
      table.add_row(
          {std::string(section), text.english, Cell(), Cell(), Cell(), Cell(), std::string()});
    }
  };
  list("assumption", sheet.assumptions);
  list("not_measured", sheet.not_measured);
  list("measure_next", sheet.next);
  for (const SheetWatch& watch : sheet.watches) {
    table.add_row({std::string("watch"), watch.assumption.english, watch.query, Cell(), Cell(),
                   Cell(), std::string()});
  }
  return table;
}

}  // namespace ocrtune
