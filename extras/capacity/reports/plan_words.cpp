// Sentences are put together from phrases with holes, each of which has its Chinese in
// plan_table.cpp. Both languages are made at once, as a document is shown in either.
#include "extras/capacity/reports/plan_words.h"

#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "reports/catalogue/reasons.h"

namespace ocrtune {
namespace {

std::string whole(double value) { return fmt::format("{:.0f}", value); }

Bilingual unit_words(const std::string& unit) { return phrase(unit); }

Bilingual slo_words(const LatencySlo& slo) {
  const Reason reason = slo_reason(slo);
  return {sentence(reason), sentence(reason, Language::chinese)};
}

Bilingual kind_words(const CapacityPlan& plan) {
  return plan.node.kind.empty() ? phrase("this kind") : phrase("the kind of {}", {plan.node.kind});
}

// " (95 % sure; 71 would do with 54 %)": how sure the count is, and what the median would need,
// where the count is not rounded up for spares and zones.
Bilingual certainty(const CapacityPlan& plan, bool with_spares = false) {
  if (plan.node.proof == SloProof::unproved) {
    return phrase(" (the rate was not proved at full length)");
  }
  const CapacityRow* wanted = plan.row(plan.machines.high);
  const CapacityRow* middle = plan.row(plan.machines.median);
  if (wanted == nullptr || middle == nullptr) return {};
  const double sure = 0.5 * (1 + plan.demand.confidence);
  if (wanted->probability < sure - 0.01) {
    return phrase(" ({} % sure: measurements back no more machines)",
                  {whole(100 * wanted->probability)});
  }
  if (middle == wanted || with_spares) return phrase(" ({} % sure)", {whole(100 * sure)});
  return phrase(
      " ({} % sure; {} would do with {} %)",
      {whole(100 * sure), grouped(plan.machines.median), whole(100 * middle->probability)});
}

// What the whole answer rests on, where that is less than it seems.
Bilingual caveats(const CapacityPlan& plan) {
  Bilingual text;
  const auto add = [&](const char* english) {
    const Bilingual one = phrase(english);
    text = {text.english + one.english, text.chinese + one.chinese};
  };
  if (!plan.demand.lines_per_page.empty()) add(", for recognition alone");
  if (plan.node.inconclusive) add(", from an inconclusive run");
  if (plan.node.beside_load) add(", beside the load that was there");
  if (plan.extrapolated) add(" [EXTRAPOLATED]");
  return text;
}

Bilingual load_words(const CapacityPlan& plan) {
  const CapacityDemand& demand = plan.demand;
  const double lines = mean_requests(demand.lines_per_page);
  Bilingual rate = rate_words(demand.requests_per_second / lines, asked_unit(plan));
  if (!demand.lines_per_page.empty()) {
    rate = phrase("{} ({} {1:line image|line images} each)", {rate, fmt::format("{:.3g}", lines)});
  }
  if (demand.users > 0) {
    rate = phrase("{} ({} {1:user who thinks|users who think} {} between answers)",
                  {rate, grouped(demand.users), duration_text(demand.think_seconds)});
  } else if (!demand.trace.empty()) {
    rate = demand.peak_time.empty()
               ? phrase("{} (the busiest minute of the trace, {} in)",
                        {rate, duration_text(demand.busiest_seconds)})
               : phrase("{} (the busiest minute of the trace, at {})", {rate, demand.peak_time});
  } else if (demand.daily_requests > 0 && demand.peak_factor == 1) {
    rate = phrase("{} ({} a day, taken as even)", {rate, grouped(demand.daily_requests)});
  } else if (demand.daily_requests > 0) {
    rate = phrase(
        "{} (the peak of {} a day at {} times the mean)",
        {rate, grouped(demand.daily_requests), fmt::format("{:.3g}", demand.peak_factor.value)});
  }
  return demand.slo ? phrase("{} with {}", {rate, slo_words(*demand.slo)}) : rate;
}

// What to buy, now and for the year.
Bilingual year_words(const YearPlan& year, const Bilingual& kind) {
  const FleetSize& now = year.rows.front().fleet;
  const FleetSize& last = largest_month(year).fleet;
  const int zones = year.demand.zones;
  const std::string months = fmt::format("{}", year.rows.back().month);
  const Bilingual made_of =
      zones > 1 ? phrase("{} in each of {} zones, of which one may be lost",
                         {fmt::format("{}", last.each_zone), fmt::format("{}", zones)})
                : phrase("{} + {} {1:spare|spares} for {} %",
                         {fmt::format("{}", last.machines), fmt::format("{}", last.spares),
                          fmt::format("{:g}", 100 * year.demand.availability)});
  if (now.bought == last.bought) {
    return phrase("Buy {} {0:machine|machines} of {}, which {0:lasts|last} {} months ({}),",
                  {fmt::format("{}", now.bought), kind, months, made_of});
  }
  return phrase(
      "Buy {} {0:machine|machines} of {} now; {} last {} months ({}),",
      {fmt::format("{}", now.bought), kind, fmt::format("{}", last.bought), months, made_of});
}

// When too few machines are too few: " at the 14:00 peak (13:00 to 16:00)".
Bilingual peak_words(const CapacityPlan& plan, int count) {
  const CapacityDemand& demand = plan.demand;
  if (demand.peak_time.empty()) {
    return !demand.trace.empty()                            ? phrase(" in the trace")
           : demand.daily_requests > 0 && demand.users <= 0 ? phrase(" at the peak hour")
                                                            : Bilingual();
  }
  const Interval& each = demand.slo ? plan.served_rate : plan.machine_rate;
  const std::string times =
      demand.profile.parts.empty()
          ? ""
          : times_above(demand.profile, count * each.median / mean_requests(demand.lines_per_page));
  if (times.empty()) return phrase(" at the {} peak", {demand.peak_time});
  return phrase(" at the {} peak ({})", {demand.peak_time, times});
}

// What happens with one machine fewer than the median machine would need.
void add_fewer(const CapacityPlan& plan, std::vector<Bilingual>& answer) {
  // One below the median: the count to buy has a margin, and one below that may still do.
  const CapacityRow* row = plan.row(plan.machines.median - 1);
  if (row == nullptr) return;
  const std::string count = grouped(row->machines);
  if (!plan.demand.inference()) {
    answer.push_back(std::isfinite(row->seconds.median)
                         ? phrase("{} {0:machine|machines} would take {}.",
                                  {count, duration_text(row->seconds.median)})
                         : phrase("{} {0:machine|machines} would not end.", {count}));
    return;
  }
  const std::string busy = whole(100 * row->busy_share);
  if (plan.demand.slo && row->latency_seconds > 0 &&
      row->latency_seconds <= plan.demand.slo->seconds) {  // by the measured rate, but not surely
    answer.push_back(
        phrase("{} {0:machine is|machines are} enough{} with {} % probability only.",
               {count, peak_words(plan, row->machines), whole(100 * row->probability)}));
    return;
  }
  const Bilingual why =
      plan.demand.slo && row->latency_seconds <= 0  // measured, not simulated
          ? phrase("the load is {} % of what they serve in time", {busy})
          : !plan.demand.slo || !std::isfinite(row->latency_seconds)
                ? phrase("at {} % load the queue would grow without bound", {busy})
                : phrase("p{} would be {} ms",
                         {fmt::format("{:g}", 100 * plan.demand.slo->percentile),
                          milliseconds_text(row->latency_seconds)});
  answer.push_back(phrase("{} {0:machine is|machines are} not enough{}: {}.",
                          {count, peak_words(plan, row->machines), why}));
}

void add_cost(const FleetPlan& fleet, std::vector<Bilingual>& answer) {
  const CapacityPlan& plan = fleet.plan();
  const CapacityRow* row = plan.row(plan.machines.high);
  if (row == nullptr || !row->cost_per_hour) return;
  const auto money = [](double value) { return fmt::format("{:.2f}", value); };
  const double each = plan.demand.cost_per_hour.value_or(0);
  if (fleet.year) {
    answer.push_back(phrase("Cost: {} an hour now, {} in {} months.",
                            {money(each * fleet.year->rows.front().fleet.bought),
                             money(each * fleet.year->rows.back().fleet.bought),
                             fmt::format("{}", fleet.year->rows.back().month)}));
  } else if (row->cost) {
    answer.push_back(
        phrase("Cost: {} an hour, {} in all.", {money(*row->cost_per_hour), money(*row->cost)}));
  } else {
    answer.push_back(phrase("Cost: {} an hour, {} with the spare one.",
                            {money(*row->cost_per_hour), money(each * plan.spare_machines)}));
  }
}

Bilingual work_words(const CapacityPlan& plan) {
  const CapacityDemand& demand = plan.demand;
  const std::string all = grouped(demand.samples * demand.epochs);
  const char* const known = plan.node.work ? "train {} images" : "process {} images";
  if (plan.trains && demand.epochs == 1) return phrase(known, {all});
  if (plan.trains) {
    return phrase("train {} images ({} epochs)", {all, fmt::format("{:g}", demand.epochs)});
  }
  if (demand.lines_per_page.empty()) {
    return phrase("read {} {}", {all, unit_words(asked_unit(plan))});
  }
  const double lines = mean_requests(demand.lines_per_page);
  return phrase("read {} pages ({} {1:line image|line images} each)",
                {all, fmt::format("{:.3g}", lines)});
}

Bilingual time_words(double seconds) {
  return std::isfinite(seconds) ? duration_text(seconds) : phrase("no end in sight");
}

Bilingual job_sentence(const CapacityPlan& plan, const CapacityRow* row) {
  const CapacityDemand& demand = plan.demand;
  Bilingual took;
  if (row != nullptr) {
    const Bilingual middle = time_words(row->seconds.median), low = time_words(row->seconds.low),
                    high = time_words(row->seconds.high);
    took =
        low.english == high.english ? middle : phrase("about {} ({} to {})", {middle, low, high});
  }
  if (demand.asks_time()) {
    return phrase("One machine of {} needs {} to {}{}.",
                  {kind_words(plan), took, work_words(plan), caveats(plan)});
  }
  if (row != nullptr) took = phrase(": {}", {took});
  const Bilingual span = duration_text(demand.deadline_seconds);
  const Bilingual due = demand.deadline_time.empty()
                            ? phrase("within {}", {span})
                            : phrase("by {}, in {}", {demand.deadline_time, span});
  return phrase("You need {} {0:machine|machines} of {} to {} {}{}{}{}.",
                {grouped(plan.machines.high), kind_words(plan), work_words(plan), due,
                 certainty(plan), took, caveats(plan)});
}

std::vector<Bilingual> job_answer(const CapacityPlan& plan) {
  const CapacityDemand& demand = plan.demand;
  const CapacityRow* row = plan.row(plan.machines.high);
  std::vector<Bilingual> answer = {job_sentence(plan, row)};
  if (row == nullptr) return answer;
  if (demand.interruptions.expected()) {
    answer.push_back(
        phrase("About {} {0:interruption is|interruptions are} expected; {} % of the time is lost.",
               {row->interruptions < 100 ? fmt::format("{:.2g}", row->interruptions)
                                         : grouped(row->interruptions),
                whole(100 * row->lost_share)}));
  }
  if (row->tail_seconds >= 1 && plan.machines.high > 1) {
    answer.push_back(
        phrase("The last machine ends {} after the mean one.", {duration_text(row->tail_seconds)}));
  }
  return answer;
}

Bilingual refusal_words(const CapacityPlan& plan) {
  const std::string needed = grouped(plan.needed_machines), most = grouped(plan.valid_range.high);
  const Bilingual range = range_words(plan.valid_range);
  const CapacityDemand& demand = plan.demand;
  switch (plan.refusal) {
    case PlanRefusal::too_slow_alone:
      return phrase(
          "no measured setting meets {} on any number of machines: with {} one {} alone takes up "
          "to {} ms, {} ms too long; measure a smaller batch or more threads a process",
          {slo_words(*demand.slo), knobs_text(plan.node.knobs),
           demand.lines_per_page.empty() ? phrase("request") : phrase("page"),
           milliseconds_text(plan.alone_seconds),
           milliseconds_text(std::max(0.0, plan.alone_seconds - demand.slo->seconds))});
    case PlanRefusal::load_too_large:
      return phrase("the load needs about {} machines and the measurements back {}: {}",
                    {needed, most, range});
    case PlanRefusal::job_too_large:
      return phrase("the job needs at least {} machines and the measurements back {}: {}",
                    {needed, most, range});
    case PlanRefusal::interrupted:
      return phrase(
          "{} {0:machine|machines} would be done in time but for interruptions: checkpoint more "
          "often (--checkpoint-every), restart faster, or take machines that are interrupted less",
          {needed});
    case PlanRefusal::not_verified:
      return phrase(
          "one machine needs {} and {} is asked: at least {} machines with perfect scaling, which "
          "is not verified: measurements back {} ({}); measure more process counts (--nproc "
          "1,2,4,8) or a second node",
          {duration_text(demand.total_samples() / plan.machine_rate.median),
           duration_text(demand.deadline_seconds), needed, most, range});
    case PlanRefusal::unfit:
      return Bilingual(plan.unfit);
    case PlanRefusal::none:
      break;
  }
  return {};
}

void add_interruptions(const CapacityPlan& plan, std::vector<Bilingual>& notes) {
  const Interruptions& stops = plan.demand.interruptions;
  if (!stops.expected()) {
    notes.push_back(
        phrase("no interruptions are expected (--interruptions 8h: one every 8 hours of a "
               "machine)"));
    return;
  }
  const Bilingual seen =
      stops.counted ? phrase("{} seen in {} of machines", {fmt::format("{:g}", stops.seen),
                                                           duration_text(stops.watched_seconds)})
                    : phrase("one every {} of a machine", {duration_text(stops.watched_seconds)});
  notes.push_back(phrase(plan.trains && !plan.demand.inference()
                             ? "interruptions: {}, at any time alike; each stops the whole training"
                             : "interruptions: {}, at any time alike; each stops one machine",
                         {seen}));
  if (stops.restart_seconds <= 0) {
    notes.push_back(
        plan.node.start_seconds <= 0
            ? phrase("no start was measured: a restart is taken to take no time (--restart)")
            : phrase("a restart takes {}, as the start of its trials did; waiting for another "
                     "machine comes on top (--restart)",
                     {duration_text(plan.node.start_seconds)}));
  }
  if (stops.checkpoint_every_seconds <= 0) {
    notes.push_back(
        plan.trains ? phrase("no --checkpoint-every was given: what is interrupted starts from the "
                             "beginning")
                    : phrase("results are kept as they come; what is lost is under a second"));
    return;
  }
  // Young 1974: the loss to checkpoints and the loss between them are least together.
  const double rate = stops.per_second() * (plan.trains ? std::max(1.0, plan.machines.high) : 1);
  const double best = rate > 0 ? std::sqrt(2 * stops.checkpoint_seconds / rate) : 0;
  if (best > 0) {
    notes.push_back(
        phrase("a checkpoint about every {} would lose least time", {duration_text(best)}));
  }
}

void add_service(const CapacityPlan& plan, std::vector<Bilingual>& notes) {
  const CapacityDemand& demand = plan.demand;
  const NodeMeasurement& node = plan.node;
  notes.push_back(
      demand.balancer == Balancer::random
          ? phrase("machines share nothing but a load balancer that sends each request to any of "
                   "them (--balancer turns: to one after the other)")
          : phrase("machines share nothing but a load balancer that sends requests to one after "
                   "the other"));
  if (demand.users > 0) {
    notes.push_back(phrase(
        "all users work at once; a user who waits for an answer asks for nothing else meanwhile"));
  }
  if (!demand.slo) {
    notes.push_back(
        phrase("no --slo was given: the count keeps up with the load and names no latency target"));
    return;
  }
  if (node.proof != SloProof::none) return;
  if (node.request_seconds_known) {
    notes.push_back(
        phrase("one machine answers up to {} {0:request|requests} at once, as slowly as its closed "
               "load did; the fewer are in service, the nearer each is to its time alone",
               {fmt::format("{}", node.servers)}));
  }
  if (!node.service_spread_known) {
    notes.push_back(phrase("the spread of service times was not measured; {} % is assumed",
                           {whole(100 * kAssumedSpread)}));
  }
  if (!node.batch_cost_known) {
    notes.push_back(
        phrase("only one batch size was measured: a part-filled batch is taken to last as long as "
               "a full one"));
  }
}

void add_measurement(const CapacityPlan& plan, std::vector<Bilingual>& notes) {
  const NodeMeasurement& node = plan.node;
  if (node.disturbed) {
    notes.push_back(
        phrase("the measurement was disturbed by other load (NOISY HOST): tune again when the "
               "machine is idle to narrow this plan"));
  }
  if (node.proof == SloProof::proved) {
    notes.push_back(phrase("the rate of one machine is the one that was proved at full length"));
  } else if (node.capped) {
    notes.push_back(
        phrase("the rate of one machine is that of its closed load: the higher one that seemed to "
               "meet the target is above what it can do"));
  } else if (node.proof == SloProof::unproved) {
    notes.push_back(phrase(
        "the rate of one machine was not proved at full length: tune with a longer --budget"));
  }
  if (node.may_be_higher) {
    notes.push_back(
        phrase("the time was too short to try a higher rate on one machine: fewer machines may do; "
               "tune with a longer --budget"));
  }
  if (!node.work && node.table.empty()) {
    notes.push_back(phrase(plan.trains
                               ? "the run does not say whether its program trains or reads: its "
                                 "machines are taken to wait for each other, as in training"
                               : "the run does not say whether its program trains or reads: "
                                 "reading is assumed"));
  } else if (!node.work) {
    notes.push_back(phrase(plan.trains
                               ? "the table does not say what it measured: batches are taken as "
                                 "steps of a training"
                               : "the table does not say what it measured: reading is assumed"));
  }
  if (!node.scaled) return;
  const ScaledFrom& scaled = *node.scaled;
  constexpr const char* kMeasured =
      "its cores were measured {} times as fast, and that holds for this work within 10 %";
  const Bilingual speed = scaled.core_factor > 0
                              ? phrase(kMeasured, {fmt::format("{:.2f}", scaled.core_factor)})
                              : phrase("the speed of its cores is taken as equal within 20 %");
  notes.push_back(
      phrase("EXTRAPOLATED to a machine that was only probed: {} {0:process|processes} instead of "
             "{}, rate times {}; {}",
             {fmt::format("{}", node.knobs.nproc), fmt::format("{}", scaled.processes),
              fmt::format("{:.3g}", scaled.rate_factor), speed}));
}

}  // namespace

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

Bilingual rate_words(double per_second, const std::string& unit) {
  const Bilingual of = unit_words(unit);
  if (per_second >= 1000) return phrase("{} {}/s", {grouped(per_second), of});
  if (per_second >= 10) return phrase("{} {}/s", {fmt::format("{:.4g}", per_second), of});
  if (per_second * 60 >= 10) {
    return phrase("{} {}/min", {fmt::format("{:.4g}", per_second * 60), of});
  }
  return phrase("{} {}/h", {fmt::format("{:.4g}", per_second * 3600), of});
}

Bilingual source_words(const NodeMeasurement& node) {
  return node.run.empty() ? phrase("table {}", {node.table}) : phrase("run {}", {node.run});
}

Bilingual range_words(const ValidRange& range) {
  switch (range.reason) {
    case RangeReason::even_balancer:
      return phrase("one machine was measured, and an even load balancer is assumed");
    case RangeReason::independent:
      return phrase("one machine was measured; storage and network that feed so many were not");
    case RangeReason::few_counts:
      return phrase("fewer than four process counts were measured, so no extrapolation was tested");
    case RangeReason::back_tests_failed:
      return phrase("extrapolations failed their back-test");
    case RangeReason::back_tests_held:
      break;
  }
  return phrase("extrapolations held in back-tests up to {} times",
                {fmt::format("{:.3g}", range.factor)});
}

Bilingual kind_answer(const CapacityPlan& plan) {
  if (plan.refused()) return phrase("No answer: {}.", {refusal_words(plan)});
  if (!plan.demand.inference()) return job_answer(plan).front();
  return phrase("You need {} {0:machine|machines} of {} for {}{}{}.",
                {grouped(plan.machines.high), kind_words(plan), load_words(plan), certainty(plan),
                 caveats(plan)});
}

std::vector<Bilingual> plan_answer(const FleetPlan& fleet) {
  const CapacityPlan& plan = fleet.plan();
  if (plan.refused()) return {kind_answer(plan)};
  std::vector<Bilingual> answer;
  if (!plan.demand.inference()) {
    answer = job_answer(plan);
    add_fewer(plan, answer);
  } else if (fleet.year) {
    answer = {phrase("{} for {}{}{}.", {year_words(*fleet.year, kind_words(plan)), load_words(plan),
                                        certainty(plan, true), caveats(plan)})};
    add_fewer(plan, answer);
  } else {
    answer = {kind_answer(plan)};
    add_fewer(plan, answer);
    answer.push_back(
        phrase("{} {0:machine|machines} survive the loss of one.", {grouped(plan.spare_machines)}));
  }
  add_cost(fleet, answer);
  const KindPlan& first = fleet.kinds.front();
  if (fleet.kinds.size() > 1 && first.cost_per_hour) {
    answer.push_back(phrase(
        "Cheapest of {} kinds: {} of {} at {} an hour, {} for a million {}.",
        {fmt::format("{}", fleet.kinds.size()), grouped(plan.machines.high), first.name,
         fmt::format("{:.2f}", *first.cost_per_hour),
         fmt::format("{:.3g}", first.cost_per_million.value_or(0)), unit_words(asked_unit(plan))}));
  }
  if (fleet.mix) {
    const MachineMix& mix = *fleet.mix;
    answer.push_back(phrase(
        "Cheaper still, as a mix: {} of {} with {} of {} at {} an hour, {} for a million {}.",
        {fmt::format("{}", mix.first_machines), mix.first, fmt::format("{}", mix.second_machines),
         mix.second, fmt::format("{:.2f}", mix.cost_per_hour),
         fmt::format("{:.3g}", mix.cost_per_million), unit_words(asked_unit(plan))}));
  }
  if (fleet.back_test) answer.push_back(store_test_words(*fleet.back_test));
  return answer;
}

std::vector<Bilingual> plan_assumptions(const FleetPlan& fleet) {
  const CapacityPlan& plan = fleet.plan();
  std::vector<Bilingual> notes;
  add_measurement(plan, notes);
  if (plan.chosen) {
    const ChosenSetting& chosen = *plan.chosen;
    notes.push_back(
        chosen.fastest_rate > 0
            ? phrase("{} serves {} {}/s in time, the fastest setting {} {}",
                     {knobs_text(plan.node.knobs), format_count(chosen.rate), unit_words(plan.unit),
                      knobs_text(chosen.fastest), format_count(chosen.fastest_rate)})
            : phrase("the fastest setting {} cannot meet {} at any rate",
                     {knobs_text(chosen.fastest), slo_words(*plan.demand.slo)}));
  }
  if (plan.demand.inference()) add_service(plan, notes);
  notes.push_back(
      phrase("machines of one kind are taken to differ by {} % in speed, and days by {} %",
             {whole(100 * kMachineSpread), whole(100 * kDaySpread)}));
  if (!plan.demand.lines_per_page.empty()) {
    notes.push_back(
        phrase("pages: recognition of their lines alone was measured; finding the lines on a page "
               "comes on top, in time and in machines"));
  } else if (plan.demand.pages) {
    notes.push_back(
        phrase("each of the {} that were measured is taken as a page", {unit_words(plan.unit)}));
  }
  if (!plan.demand.inference()) {
    if (!plan.trains) {
      notes.push_back(
          phrase("each machine reads a shard of its own, pages taken at random; none waits for "
                 "another"));
    }
    add_interruptions(plan, notes);
  }
  if (plan.demand.inference() && !plan.refused() && !plan.demand.profile.parts.empty() &&
      !fleet.autoscale) {
    notes.push_back(
        phrase("no autoscaling rule: the quietest minute takes as many machines as the "
               "busiest"));
  }
  if (plan.one_node_trains) {
    notes.push_back(
        phrase("one node was measured: several are taken to lose between nothing and what its own "
               "processes lose to each other"));
  }
  notes.push_back(phrase("valid for up to {} {0:machine|machines}: {}",
                         {grouped(plan.valid_range.high), range_words(plan.valid_range)}));
  return notes;
}

Bilingual store_test_words(const std::vector<StoreBackTest>& tests) {
  const StoreBackTestSummary summary = summary_of(tests);
  if (summary.tests == 0) {
    return phrase(
        "No two stored runs of this machine measured the same setting, and none measured four "
        "process counts.");
  }
  return phrase(
      "{} of {} {1:prediction|predictions} from stored runs held within the 90 % interval; the "
      "error is {} % in the middle and {} % at the 90th percentile.",
      {fmt::format("{}", summary.held), fmt::format("{}", summary.tests),
       fmt::format("{:.1f}", 100 * summary.median_error),
       fmt::format("{:.1f}", 100 * summary.p90_error)});
}

}  // namespace ocrtune
