// Trials become settings, settings a choice, and the choice a result with its reasons.
// settle_trials() is what a list of runs needs; judge_trials() adds the reasons that ask the
// search.
#include "tuner/verdict/recommend.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/stats.h"
#include "base/text.h"
#include "trial/observe/thread_use.h"
#include "trial/observe/undisturbed_rate.h"
#include "trial/workloads/command/command_fill.h"
#include "tuner/models/learning.h"
#include "tuner/recommendation.h"
#include "tuner/search/search.h"
#include "tuner/space/default_space.h"
#include "tuner/verdict/beside_load.h"
#include "tuner/verdict/choice.h"
#include "tuner/verdict/explain.h"
#include "tuner/verdict/growth.h"
#include "tuner/verdict/held_back.h"
#include "tuner/verdict/hosts_needed.h"
#include "tuner/verdict/importance.h"
#include "tuner/verdict/pareto.h"
#include "tuner/verdict/possible.h"
#include "tuner/verdict/rehearsal.h"
#include "tuner/verdict/settings.h"
#include "tuner/verdict/soak.h"
#include "tuner/verdict/text_claim.h"
#include "tuner/verdict/verdict.h"

namespace ocrtune {
namespace {

const Setting* best_obeying(const RuleSetting& rule, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {  // best first
    if (setting.works() && setting.summary.knobs.nproc == rule.knobs.nproc) return &setting;
  }
  return nullptr;
}

Number percent(double fraction) { return decimal(100 * fraction, 0); }

Reason loss_reason(const Interval& loss) {
  if (loss.low <= 0 && loss.high >= 0) {
    return reason<ReasonCode::rule_ties>(percent(-loss.low), percent(loss.high));
  }
  if (loss.high < 0) {
    return reason<ReasonCode::rule_better>(percent(-loss.median), percent(-loss.high),
                                           percent(-loss.low));
  }
  return reason<ReasonCode::rule_costs>(percent(loss.median), percent(loss.low),
                                        percent(loss.high));
}

// For each rule the best measured setting with the rule's process count; if none was run, the
// verdict says why (it would not fit, it crashed, the budget ended).
std::vector<RuleVerdict> audit_rules(const std::vector<RuleSetting>& rules,
                                     const std::vector<Setting>& settings, const Setting& chosen,
                                     const Search& search) {
  std::vector<RuleVerdict> verdicts;
  for (const RuleSetting& rule : rules) {
    RuleVerdict verdict;
    verdict.name = rule.name;
    verdict.text = rule.text;
    verdict.setting.knobs = rule.knobs;
    const Setting* obeying = best_obeying(rule, settings);
    if (obeying != nullptr) {
      verdict.setting = obeying->summary;
      const Interval ratio = ratio_interval(*obeying, chosen);
      verdict.loss = {1 - ratio.median, 1 - ratio.high, 1 - ratio.low};
      const bool same = obeying->summary.knobs == chosen.summary.knobs;
      verdict.verdict =
          same ? reason<ReasonCode::rule_is_recommended>() : loss_reason(verdict.loss);
      if (obeying->crowds_out) {
        verdict.verdict = reason<ReasonCode::rule_crowds_out>(verdict.verdict);
      }
      if (same) verdict.loss = {};
    } else if (const Setting* failed = find_setting(settings, rule.knobs); failed != nullptr) {
      verdict.setting = failed->summary;
      verdict.verdict = reason<ReasonCode::rule_fails>(failed->summary.reason.empty()
                                                           ? outcome_reason(failed->summary.outcome)
                                                           : failed->summary.reason);
    } else {
      verdict.setting.outcome = Outcome::skipped;
      const Prediction prediction = search.predict(rule.knobs);
      verdict.setting.reason = prediction.reason;
      verdict.verdict = prediction.admitted
                            ? reason<ReasonCode::rule_not_run>()
                            : reason<ReasonCode::rule_does_not_fit>(prediction.reason);
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

// The speed model's terms that the run can have seen: of a knob that ran at three values or more,
// and within what was run. Others are the model's prior.
std::vector<FittedTerm> seen_terms(const std::vector<FittedTerm>& terms,
                                   const std::vector<Setting>& settings, int cpus) {
  std::set<int> nprocs, threads, batches, workers;
  for (const Setting& setting : settings) {
    if (!setting.works()) continue;
    const Knobs& knobs = setting.summary.knobs;
    nprocs.insert(knobs.nproc);
    threads.insert(knobs.threads);
    batches.insert(knobs.batch);
    workers.insert(knobs.workers);
  }
  constexpr std::size_t kFewest = 3;
  const auto seen = [&](const FittedTerm& term) {
    switch (term.words.code) {
      case ReasonCode::term_serial_share:
        return threads.size() >= kFewest;
      case ReasonCode::term_contention:
        return nprocs.size() >= kFewest;
      case ReasonCode::term_turning_point:
        return nprocs.size() >= kFewest && term.value <= *nprocs.rbegin();
      case ReasonCode::term_step_cost:
        return batches.size() >= kFewest;
      case ReasonCode::term_loading:
        return workers.size() >= kFewest;
      case ReasonCode::term_cores:
        return nprocs.size() >= kFewest && (cpus <= 0 || term.value <= cpus);
      default:
        return false;
    }
  };
  std::vector<FittedTerm> kept;
  std::copy_if(terms.begin(), terms.end(), std::back_inserter(kept), seen);
  return kept;
}

Reason certificate(const Space& space, double gain, const Choice& verdict, int tried) {
  if (space.size() == 1) return {};  // there is nothing that it could be compared with
  Reason ties;
  if (verdict.ties.size() > 1) {
    ties = reason<ReasonCode::number_of_ties>(counted(verdict.ties.size()));
  }
  if (gain < 0) return reason<ReasonCode::best_of_run>(counted(tried), counted(space.size()), ties);
  return reason<ReasonCode::certified>(counted(percent_of_gain(gain)), ties);
}

// The search predicts for an idle machine. Where its word on the best setting is far above the rate
// that is told of it, the others are told beside the same load.
double told_share(const Search& search, const Setting& best) {
  const double told = best.summary.samples_per_second.median;
  const double predicted = search.predict(best.summary.knobs).samples_per_second.median;
  return told > 0 && predicted > kMostChange * told ? told / predicted : 1;
}

std::vector<PredictedSetting> predict_untried(const Space& space, const Search& search,
                                              const std::vector<Setting>& settings) {
  std::set<Knobs> tried;
  for (const Setting& setting : settings) tried.insert(setting.summary.knobs);
  const double share = settings.empty() ? 1 : told_share(search, settings.front());
  std::vector<PredictedSetting> predicted;
  for (const Knobs& knobs : space.points()) {
    if (tried.contains(knobs)) continue;
    const Prediction prediction = search.predict(knobs);
    const double bytes = prediction.memory.known ? prediction.memory.bytes : 0;
    const Interval& rate = prediction.samples_per_second;
    predicted.push_back({knobs,
                         {share * rate.median, share * rate.low, share * rate.high},
                         static_cast<std::uint64_t>(bytes),
                         prediction.admitted,
                         prediction.reason});
  }
  return predicted;
}

void count_outcomes(TuneResult& result, const std::vector<Trial>& trials) {
  double seconds = 0;
  for (const Trial& trial : trials) {
    ++result.outcomes[std::string(outcome_name(trial.outcome))];
    seconds += trial.seconds;
    for (const Sample& sample : trial.samples) result.discarded_samples += sample.clean() ? 0 : 1;
  }
  result.trials = static_cast<int>(trials.size());
  if (result.seconds <= 0) result.seconds = seconds;
}

// Nothing was run: because nothing may be, as the lightest setting has it, or for want of time.
Reason nothing_run(const Space& space, const Search& search, const RecommendOptions& options) {
  if (options.stop_reason == "interrupted" || options.stop_reason == "died") {
    return reason<ReasonCode::interrupted_before_first>(options.run_id);
  }
  double min_bytes = 0;
  Reason why;
  for (const Knobs& knobs : space.points()) {
    const Prediction prediction = search.predict(knobs);
    if (prediction.admitted) return reason<ReasonCode::nothing_run>();
    if (why.empty() || prediction.memory.bytes < min_bytes) {
      min_bytes = prediction.memory.bytes;
      why = reason<ReasonCode::nothing_may_launch>(knobs_text(knobs), prediction.reason);
    }
  }
  return why;
}

// The first trial of the commonest way to fail.
const Trial& typical_failure(const std::vector<Trial>& trials) {
  std::map<std::pair<Outcome, std::string>, int> counts;
  for (const Trial& trial : trials) counts[{trial.outcome, trial.cause}] += trial.ok() ? 0 : 1;
  const auto count = [&](const Trial& trial) { return counts.at({trial.outcome, trial.cause}); };
  return *std::max_element(trials.begin(), trials.end(),
                           [&](const Trial& a, const Trial& b) { return count(a) < count(b); });
}

Reason no_answer(const std::vector<Setting>& settings, const std::vector<Trial>& trials,
                 const Objective& objective) {
  for (const Setting& setting : settings) {
    if (!setting.works()) continue;
    const SettingSummary& best = setting.summary;
    const std::string knobs = knobs_text(best.knobs);
    const Reason broken =
        broken_constraint(objective, best.samples_per_second.median, best.step_seconds,
                          static_cast<double>(best.peak_bytes));
    if (!broken.empty()) return reason<ReasonCode::constraints_not_met>(knobs, broken);
    return best.peak_bytes == 0 ? reason<ReasonCode::memory_not_measured>()
                                : reason<ReasonCode::margin_not_met>(knobs);
  }
  const Trial& failure = typical_failure(trials);
  const Reason outcome = outcome_reason(failure.outcome);
  if (failure.reason.empty()) {
    return reason<ReasonCode::none_works_unexplained>(knobs_text(failure.knobs), outcome);
  }
  return reason<ReasonCode::none_works>(knobs_text(failure.knobs), outcome,
                                        verbatim(failure.reason));
}

Reason worth(const Recommendation& chosen, const Objective& objective) {
  const Number rate{chosen.samples_per_second.median, objective.rate};
  switch (objective.goal) {
    case Goal::latency:
      return reason<ReasonCode::worth_latency>(counted(objective.percentile),
                                               in_seconds(chosen.step_seconds), rate);
    case Goal::memory:
      return reason<ReasonCode::worth_memory>(in_bytes(static_cast<double>(chosen.peak_bytes)),
                                              rate);
    default:
      return reason<ReasonCode::worth_rate>(rate);
  }
}

void recommend_chosen(TuneResult& result, const Choice& verdict, const RecommendOptions& options) {
  const SettingSummary& summary = verdict.chosen->summary;
  Recommendation& recommendation = result.recommendation;
  recommendation.knobs = summary.knobs;
  recommendation.env = knob_environment(summary.knobs);
  recommendation.samples_per_second = summary.samples_per_second;
  recommendation.peak_bytes = summary.peak_bytes;
  recommendation.step_seconds = summary.step_seconds;
  recommendation.limit_bytes = verdict.limit_bytes;
  recommendation.reasons = reasons_for(verdict);
  if (verdict.beyond_recipe != nullptr) {
    const Setting& beyond = *verdict.beyond_recipe;
    const Interval ratio = ratio_interval(beyond, *verdict.chosen);
    const std::int64_t batch = global_batch(beyond.summary.knobs);
    const std::int64_t present = global_batch(summary.knobs);
    auto worth = proved_worth(options.learning, present, batch, ratio);
    if (!worth) worth = worth_by_noise(options.learning, present, batch, ratio);
    result.beyond_recipe = {beyond.summary.knobs, ratio, batch, worth};
  }
  for (const Setting* tie : verdict.ties) result.ties.push_back(tie->summary);
  if (verdict.baseline == verdict.chosen) {
    result.gain = {1, 1, 1};
    if (verdict.contender != nullptr) {
      result.contender = {verdict.contender->summary.knobs,
                          told_ratio(*verdict.contender, *verdict.baseline)};
    }
  } else if (verdict.baseline != nullptr) {
    result.gain = told_ratio(*verdict.chosen, *verdict.baseline);
  }
}

Reason idle_gpus(const std::vector<GpuShare>& gpus) {
  std::vector<std::string> idle;
  int processes = 0;
  for (const GpuShare& gpu : gpus) {
    if (!gpu.worked) idle.push_back(std::to_string(gpu.index));
    processes += gpu.processes;
  }
  if (idle.empty()) return {};
  if (idle.size() == gpus.size()) return reason<ReasonCode::gpus_unused>(join(idle, ", "));
  return reason<ReasonCode::gpus_idle>(join(idle, ", "), counted(processes));
}

// What the latest trial of these knobs found of GPUs without work (the latest in which the driver
// answered), of the requests in flight, and what the server said of itself.
void add_trial_facts(const std::vector<Trial>& trials, const Knobs& knobs,
                     std::vector<Reason>& reasons) {
  const auto of_knobs = [&](const Trial& trial) { return trial.ok() && trial.knobs == knobs; };
  const auto latest = std::find_if(trials.rbegin(), trials.rend(), of_knobs);
  if (latest == trials.rend()) return;
  const auto answered = std::find_if(latest, trials.rend(), [&](const Trial& trial) {
    return of_knobs(trial) && !trial.gpus.empty();
  });
  if (answered != trials.rend()) {
    const Reason idle = idle_gpus(answered->gpus);
    if (!idle.empty()) reasons.push_back(idle);
  }
  const ServiceFacts& service = latest->service;
  if (service.in_flight > 0) {
    reasons.push_back(reason<ReasonCode::answers_in_flight>(
        as_rate(latest->samples_per_second), counted(service.in_flight),
        in_seconds(service.p50_seconds), in_seconds(service.p99_seconds)));
  }
  if (!service.server.empty()) {
    reasons.push_back(reason<ReasonCode::server_reports>(service.server));
  }
  for (const Reason& said : text_reasons(latest->same)) reasons.push_back(said);
}

// What was seen of its threads and of its knobs. `cpus`: in the baseline's reach.
void tell_threads(TuneResult& result, int cpus) {
  std::vector<Reason>& reasons = result.recommendation.reasons;
  for (const InertKnob& knob : result.inert) reasons.push_back(inert_reason(knob));
  if (result.baseline.knobs == result.recommendation.knobs) return;
  const Reason crowded = crowding(result.baseline.threads, cpus);
  if (!crowded.empty()) reasons.push_back(reason<ReasonCode::baseline_is>(crowded));
}

// The settings that ran, and the choice among them.
struct Chosen {
  double noise = 0;
  std::uint64_t rehearsed_bytes = 0;  // of weigh_rehearsals()
  std::vector<Setting> settings;
  Choice verdict;  // points into `settings`
};

// `freed`: where these trials are as measured, the choice among the same ones freed of other load.
// It holds what the rates as measured do not show: what a sample costs, and so which batches cost
// nothing.
Chosen choose_among(const Search& search, const std::vector<Trial>& trials,
                    const RecommendOptions& options, const Chosen* freed = nullptr) {
  Chosen chosen;
  chosen.noise = repeat_noise(trials, options.expected_noise, options.objective);
  if (freed != nullptr) chosen.noise = std::max(chosen.noise, measured_noise(trials));
  chosen.settings = settings_of(trials, chosen.noise, options.objective, options.another_hour);
  for (Setting& setting : chosen.settings) {
    if (freed != nullptr) continue;  // the forecast speaks of free CPUs
    setting.forecast = search.predict(setting.summary.knobs).objective_value.median;
  }
  chosen.rehearsed_bytes = weigh_rehearsals(options.rehearsals, chosen.settings);
  weigh_soaks(options.soaks, chosen.settings);
  if (options.baseline) weigh_texts(trials, *options.baseline, options.max_change, chosen.settings);
  int crowding = 0;
  if (freed == nullptr) {
    mark_untaken_batches(chosen.settings, options.baseline);
    crowding = mark_crowding(chosen.settings, trials, options.cpus);
  } else {
    for (Setting& setting : chosen.settings) {
      const Setting* same = find_setting(freed->settings, setting.summary.knobs);
      if (same != nullptr) setting.steps_as = same->steps_as;
    }
  }
  chosen.verdict = choose(chosen.settings, options, chosen.noise);
  chosen.verdict.crowding = crowding;
  return chosen;
}

// Whether the rates that are freed of other load put these two in the same order.
bool same_order(const Chosen& freed, const Knobs& first, const Setting* behind) {
  const Setting* a = find_setting(freed.settings, first);
  const Setting* b =
      behind == nullptr ? nullptr : find_setting(freed.settings, behind->summary.knobs);
  return a != nullptr && b != nullptr && ratio_interval(*a, *b).low > 1;
}

// Other load leaves the freed rates open: rates as they were measured may say more.
bool open_for_load(const Reason& inconclusive, const RecommendOptions& options) {
  return options.objective.goal == Goal::throughput &&
         (inconclusive.is(ReasonCode::rival_may_be_faster) ||
          inconclusive.is(ReasonCode::too_few_turns) ||
          inconclusive.is(ReasonCode::no_quiet_window));
}

// The settings as they were measured in turns may settle it for the machine beside that load.
void settle_beside_load(const Space& space, const Search& search, const std::vector<Trial>& trials,
                        const RecommendOptions& options, Chosen& among, TuneResult& result) {
  if (!open_for_load(result.inconclusive, options)) return;
  const std::vector<Trial> measured = as_measured(trials);
  Chosen beside = choose_among(search, measured, options, &among);
  if (!settles_beside_load(beside.verdict, beside.settings, measured, space)) return;
  const Knobs& chosen = beside.verdict.chosen->summary.knobs;
  result.verdict.beside_load = true;
  result.verdict.same_when_idle = same_order(among, chosen, beside.verdict.baseline);
  result.inconclusive = {};
  result.noise = beside.noise;
  count_windows(trials, beside.settings);
  among = std::move(beside);
}

// A verdict without the reasons that need the search.
struct Settled {
  TuneResult result;
  Chosen among;
  Reason growth, soaked;  // of the chosen setting's memory; empty: nothing was seen
};

Settled settle_trials(const Space& space, const Search& search, const std::vector<Trial>& trials,
                      const RecommendOptions& options) {
  Settled all;
  all.among = choose_among(search, trials, options);
  TuneResult& result = all.result;
  result.inert = search.inert();
  result.run_id = options.run_id;
  result.seconds = options.seconds;
  result.space_points = space.size();
  result.stop_reason = options.stop_reason;
  result.objective = objective_text(options.objective);
  result.recipe_batch = options.recipe_batch;
  result.noise = all.among.noise;
  result.noise_measured = noise_is_measured(trials, options.objective);
  count_outcomes(result, trials);
  if (all.among.verdict.chosen != nullptr) {
    result.inconclusive = inconclusive_reason(all.among.verdict, all.among.settings, space);
    settle_beside_load(space, search, trials, options, all.among, result);
  }
  const std::vector<Setting>& settings = all.among.settings;
  Choice& verdict = all.among.verdict;
  for (const Setting& setting : settings) result.settings.push_back(setting.summary);
  if (options.baseline) {
    const Setting* baseline = find_setting(settings, *options.baseline);
    result.baseline.knobs = *options.baseline;
    result.baseline.outcome = Outcome::skipped;
    if (baseline != nullptr) result.baseline = baseline->summary;
  }
  for (const Trial& trial : trials) {
    verdict.trial_seconds += trial.seconds / static_cast<double>(trials.size());
  }
  if (verdict.chosen == nullptr) return all;
  result.found = true;
  recommend_chosen(result, verdict, options);
  const SettingSummary& chosen = verdict.chosen->summary;
  all.growth = repeated_growth(trials, chosen.knobs, options.limit_bytes);
  all.soaked = soak_reason(options.soaks, chosen.knobs, options.limit_bytes,
                           options.objective.rate == Unit::request_rate);
  const Reason falls = soak_falls(options.soaks, trials, chosen.knobs, result.noise);
  if (verdict.chosen != verdict.baseline && result.inconclusive.empty())
    result.inconclusive = falls;
  result.verdict.safety = judge_safety(chosen, judge_growth(all.growth, all.soaked), options);
  result.verdict.answer = judge_answer(result);
  return all;
}

TuneResult judge_trials(const Space& space, const Search& search, const std::vector<Trial>& trials,
                        const RecommendOptions& options) {
  Settled all = settle_trials(space, search, trials, options);
  TuneResult& result = all.result;
  const Choice& verdict = all.among.verdict;
  const std::vector<Setting>& settings = all.among.settings;
  const Objective& objective = options.objective;
  const bool steps = objective.goal == Goal::latency || objective.max_step_seconds > 0;
  result.pareto_axes = pareto_axes(result.settings, steps);
  result.pareto = pareto_set(result.settings, result.pareto_axes);
  result.predicted = predict_untried(space, search, settings);
  if (verdict.chosen == nullptr) {
    result.answer = settings.empty() ? nothing_run(space, search, options)
                                     : no_answer(settings, trials, options.objective);
    const bool trains = std::ranges::any_of(trials, &Trial::ok);
    result.held_back = held_back(trials, options.cpus, options.fixed);
    if (trains && all.among.rehearsed_bytes > 0 &&
        !result.answer.is(ReasonCode::constraints_not_met)) {
      result.answer = reason<ReasonCode::evaluation_takes_memory>(
          in_bytes(static_cast<double>(all.among.rehearsed_bytes)));
    }
    return std::move(all.result);
  }
  if (!all.growth.empty()) result.recommendation.reasons.push_back(all.growth);
  const Reason rehearsed = rehearsal_reason(options.rehearsals, *verdict.chosen,
                                            options.evaluation_steps, all.among.rehearsed_bytes);
  if (!rehearsed.empty()) result.recommendation.reasons.push_back(rehearsed);
  if (!all.soaked.empty()) result.recommendation.reasons.push_back(all.soaked);
  for (const Reason& note : {one_host_reason(*verdict.chosen, settings), untaken_batch(settings)}) {
    if (!note.empty()) result.recommendation.reasons.push_back(note);
  }
  add_trial_facts(trials, verdict.chosen->summary.knobs, result.recommendation.reasons);
  if (options.baseline) claim_texts(trials, result);
  result.held_back =
      held_back(trials, settings, verdict.chosen->summary.knobs, options.cpus, options.fixed,
                options.cold, static_cast<double>(options.host_limit_bytes));
  tell_threads(result, cpus_in_reach(trials, result.baseline.knobs, options.cpus));
  const Reason matters = importance_reason(result.settings, result.predicted);
  if (!matters.empty()) result.recommendation.reasons.push_back(matters);
  // The search's predictions are of an idle machine: they bound nothing that is measured beside
  // load.
  const PossibleGain possible =
      result.verdict.beside_load ? PossibleGain() : possible_gain(space, search, verdict, settings);
  // An open answer bounds nothing, whatever the search expects of an idle machine.
  if (result.inconclusive.empty()) {
    result.certified_gap = possible.gain;
    result.certificate =
        certificate(space, possible.gain, verdict, static_cast<int>(settings.size()));
  }
  result.rules = audit_rules(options.rules, settings, *verdict.chosen, search);
  result.close = close_settings(verdict);
  result.rejected = rejected_neighbours(space, search, verdict, settings);
  result.terms = seen_terms(search.terms(), settings, options.cpus);
  result.noise_statement = noise_statement(verdict);
  result.advice = next_experiment(verdict, possible, result.inconclusive.empty());
  result.answer =
      reason<ReasonCode::launch_with>(knobs_text(result.recommendation.knobs, result.inert_names()),
                                      worth(result.recommendation, options.objective));
  return std::move(all.result);
}

// As the search sees them: without the knobs that it found inert.
template <typename Judge>
auto judged(const Space& space, const Search& search, const std::vector<Trial>& trials,
            const RecommendOptions& options, Judge judge) {
  const std::vector<InertKnob> inert = search.inert();
  if (search.own_space() == nullptr) return judge(space, trials, options);
  std::vector<Trial> kept;
  kept.reserve(trials.size());
  for (const Trial& trial : trials) kept.push_back(folded(trial, inert));
  RecommendOptions asked = options;
  for (auto* part : {&asked.rehearsals, &asked.soaks, &asked.cold, &asked.learning}) {
    for (Trial& trial : *part) trial = folded(trial, inert);
  }
  if (asked.baseline) asked.baseline = fold(*asked.baseline, inert);
  for (RuleSetting& rule : asked.rules) rule.knobs = fold(rule.knobs, inert);
  return judge(*search.own_space(), kept, asked);
}

}  // namespace

TuneResult recommend(const Space& space, const Search& search, const std::vector<Trial>& trials,
                     const RecommendOptions& options) {
  return judged(
      space, search, trials, options,
      [&](const Space& seen, const std::vector<Trial>& kept, const RecommendOptions& asked) {
        return judge_trials(seen, search, kept, asked);
      });
}

TuneResult settle(const Space& space, const Search& search, const std::vector<Trial>& trials,
                  const RecommendOptions& options) {
  return judged(
      space, search, trials, options,
      [&](const Space& seen, const std::vector<Trial>& kept, const RecommendOptions& asked) {
        return settle_trials(seen, search, kept, asked).result;
      });
}

namespace {

// The turns that an answer beside other load still needs; nothing: load leaves nothing open, or it
// is settled.
std::optional<OpenQuestion> open_turns(const Space& space, const Search& search,
                                       const std::vector<Trial>& trials,
                                       const RecommendOptions& options, const Chosen& among) {
  const Reason open = inconclusive_reason(among.verdict, among.settings, space);
  if (!open_for_load(open, options)) return std::nullopt;
  const std::vector<Trial> measured = as_measured(trials);
  const Chosen beside = choose_among(search, measured, options, &among);
  const auto turns = lacking_turns(beside.verdict, beside.settings, measured, space);
  if (!turns) return std::nullopt;
  return OpenQuestion{turns->chosen, turns->rival, beside.verdict.chosen->estimate.median,
                      turns->next};
}

}  // namespace

std::optional<OpenQuestion> open_question(const Space& space, const Search& search,
                                          const std::vector<Trial>& trials,
                                          const RecommendOptions& options) {
  return judged(space, search, trials, options,
                [&](const Space& seen, const std::vector<Trial>& kept,
                    const RecommendOptions& asked) -> std::optional<OpenQuestion> {
                  const Chosen among = choose_among(search, kept, asked);
                  const Choice& verdict = among.verdict;
                  if (verdict.chosen == nullptr) return std::nullopt;
                  if (auto turns = open_turns(seen, search, kept, asked, among)) return turns;
                  const PossibleGain possible =
                      possible_gain(seen, search, verdict, among.settings);
                  const bool settled = possible.gain >= 0 && possible.gain <= kMaxOpenGain;
                  if (settled || possible.rival == nullptr) return std::nullopt;
                  return OpenQuestion{verdict.chosen->summary.knobs, *possible.rival,
                                      verdict.chosen->estimate.median};
                });
}

}  // namespace ocrtune
