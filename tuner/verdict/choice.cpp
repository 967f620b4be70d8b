// First a chain of filters: what works and leaves the margin, keeps the recipe, and raced. Of what
// is left the best by standing() counts, and the lightest of its ties. After that fewer hosts, and
// the user's own setting, win unless they are clearly behind.
#include "tuner/verdict/choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "trial/workloads/command/command_fill.h"

namespace ocrtune {
namespace {

constexpr double kSameMemory = 0.01;  // peaks closer than this are alike
constexpr double kPeakStep = 0.05;    // of peaks that repeats of one setting may differ by
constexpr double kModelError = 0.06;  // of a forecast, relative

// What a setting is taken to reach, as a logarithm: its own trials, and the model's forecast as one
// more measurement. The best of many noisy estimates is mostly a lucky one; the forecast rests on
// all trials.
double standing(const Setting& setting, double noise) {
  const double own = std::log(setting.estimate.median);
  if (!(setting.forecast > 0)) return own;
  const double variance = noise * noise / static_cast<double>(setting.rates.size());
  const double model = kModelError * kModelError;
  return (own * model + std::log(setting.forecast) * variance) / (model + variance);
}

bool over(std::uint64_t peak_bytes, std::uint64_t limit_bytes, double margin) {
  const double usable = static_cast<double>(limit_bytes) * (1 - margin);
  return limit_bytes > 0 && static_cast<double>(peak_bytes) > usable;
}

bool over_limit(const SettingSummary& summary, const RecommendOptions& options) {
  return over(summary.peak_bytes, options.limit_bytes, options.margin) ||
         over(summary.host.peak, options.host_limit_bytes, options.margin);
}

// Settings that leave a GPU the margin, where there are such: programs that take a GPU's memory
// beforehand, as they please, leave none.
void keep_within_gpus(std::vector<const Setting*>& working, const RecommendOptions& options) {
  const auto within = [&](const Setting* setting) {
    const Resource& gpu = setting->summary.gpu;
    return !over(gpu.peak, gpu.limit, options.margin);
  };
  if (std::none_of(working.begin(), working.end(), within)) return;
  std::erase_if(working, [&](const Setting* setting) { return !within(setting); });
}

// What crashes at times is not safe to launch, where something else never did.
void keep_reliable(std::vector<const Setting*>& working) {
  const auto crashes = [](const Setting* setting) { return setting->summary.crashes > 0; };
  if (!std::all_of(working.begin(), working.end(), crashes)) std::erase_if(working, crashes);
}

std::vector<const Setting*> allowed(const std::vector<Setting>& settings,
                                    const RecommendOptions& options) {
  std::vector<const Setting*> working;
  for (const Setting& setting : settings) {
    if (!setting.works() || setting.left_out() || over_limit(setting.summary, options)) continue;
    if (!breaks(setting, options.objective)) working.push_back(&setting);
  }
  keep_within_gpus(working, options);
  keep_reliable(working);
  return working;
}

const Setting* best_of(const std::vector<const Setting*>& from, double noise) {
  return *std::max_element(from.begin(), from.end(), [&](const Setting* a, const Setting* b) {
    return standing(*a, noise) < standing(*b, noise);
  });
}

// Takes out of `working` and gives what trains by another recipe; nothing, if nothing would stay.
std::vector<const Setting*> leave_recipe(std::vector<const Setting*>& working,
                                         const Choice& verdict) {
  std::vector<const Setting*> kept, others;
  for (const Setting* setting : working) {
    (keeps_recipe(verdict.recipe_batch, setting->summary.knobs) ? kept : others).push_back(setting);
  }
  if (kept.empty()) return {};
  working = std::move(kept);
  return others;
}

// Fewest nodes; of these, among those whose memory is within what repeats differ by of the least,
// the fewest processes and threads.
const Setting* lightest_of(std::vector<const Setting*> from) {
  const auto keep_least = [&](auto measure, double slack) {
    double least = std::numeric_limits<double>::infinity();
    for (const Setting* setting : from) least = std::min(least, measure(*setting));
    std::erase_if(from,
                  [&](const Setting* setting) { return measure(*setting) > least * (1 + slack); });
  };
  const auto nodes = [](const Setting& one) -> double { return nodes_of(one.summary.knobs); };
  const auto peak = [](const Setting& one) { return static_cast<double>(one.summary.peak_bytes); };
  keep_least(nodes, 0);
  keep_least(peak, kPeakStep);
  const auto weight = [](const Setting* setting) {
    const Knobs& knobs = setting->summary.knobs;
    return std::make_tuple(knobs.nproc, knobs.threads, knobs.workers, knobs.batch,
                           knobs.accumulate);
  };
  return *std::min_element(from.begin(), from.end(), [&](const Setting* a, const Setting* b) {
    return weight(a) < weight(b);
  });
}

bool lighter(const Setting* a, const Setting* b) { return a != b && lightest_of({b, a}) == a; }

bool is_lightest(const Choice& verdict) {
  return !verdict.ties.empty() && lightest_of(verdict.ties) == verdict.chosen;
}

std::vector<const Setting*> candidates(const std::vector<const Setting*>& working,
                                       const RecommendOptions& options, double noise) {
  std::vector<const Setting*> raced;
  for (const Setting* setting : working) {
    if (setting->raced) raced.push_back(setting);
  }
  // A race of one, cut off by the end of the budget, has told nothing apart.
  if (raced.size() < 2 || options.objective.goal == Goal::memory) return working;
  // One trial that happens to be quick is no reason; one beyond all doubt is, and so are two where
  // less memory is needed.
  const Setting* best = best_of(raced, noise);
  for (const Setting* setting : working) {
    if (setting->raced) continue;
    // Two trials and less memory: to be launched in place of the raced best.
    const bool instead = setting->rates.size() > 1 && lighter(setting, best) &&
                         standing(*setting, noise) >= standing(*best, noise);
    if (instead || ratio_interval(*setting, *best).low > 1) raced.push_back(setting);
  }
  return raced;
}

// Those that do not tie, and yet these trials cannot tell them from the chosen one, however far
// behind they look.
void name_near(const std::vector<const Setting*>& working, Choice& verdict) {
  for (const Setting* other : working) {
    const bool tie =
        std::find(verdict.ties.begin(), verdict.ties.end(), other) != verdict.ties.end();
    if (tie) continue;
    if (ratio_interval(*other, *verdict.chosen).high >= 1) verdict.near.push_back(other);
  }
}

// Where nothing is clearly faster than the start, the start is the answer.
void keep_baseline(const std::vector<const Setting*>& working, Choice& verdict) {
  const auto in = [&](const std::vector<const Setting*>& list) {
    return std::find(list.begin(), list.end(), verdict.baseline) != list.end();
  };
  if (!in(working) || ratio_interval(*verdict.chosen, *verdict.baseline).low > 1) return;
  if (!in(verdict.ties)) {  // behind, though not clearly
    std::erase(verdict.unsettled, verdict.baseline);
    verdict.unsettled.insert(verdict.unsettled.begin(), verdict.ties.begin(), verdict.ties.end());
    verdict.ties = {verdict.baseline};
  }
  if (verdict.chosen != verdict.baseline) verdict.contender = verdict.chosen;
  verdict.chosen = verdict.baseline;
}

// Several hosts have to beat the best that fewer of them give by more than the noise.
void keep_fewer_nodes(const std::vector<const Setting*>& working, Choice& verdict) {
  for (;;) {
    std::vector<const Setting*> fewer;
    for (const Setting* setting : working) {
      if (nodes_of(setting->summary.knobs) < nodes_of(verdict.chosen->summary.knobs)) {
        fewer.push_back(setting);
      }
    }
    if (fewer.empty()) return;
    const Setting* best = best_of(fewer, verdict.noise);
    if (ratio_interval(*verdict.chosen, *best).low > 1) return;
    verdict.chosen = best;
    verdict.ties = {best};
  }
}

// Least memory among those that are fast enough; of about the same memory, the fastest.
void choose_least_memory(std::vector<const Setting*> among, const Objective& objective,
                         Choice& verdict) {
  const double fastest = best_of(among, verdict.noise)->estimate.median;
  const double floor = objective.min_samples_per_second > 0 ? 0 : kNearFastest * fastest;
  std::erase_if(among, [&](const Setting* setting) {
    return setting->estimate.median < floor || setting->summary.peak_bytes == 0;
  });
  if (among.empty()) return;
  const Setting* least = lightest_of(among);
  const double most = static_cast<double>(least->summary.peak_bytes) * (1 + kSameMemory);
  for (const Setting* setting : among) {
    if (static_cast<double>(setting->summary.peak_bytes) <= most) verdict.ties.push_back(setting);
  }
  verdict.chosen = best_of(verdict.ties, verdict.noise);
}

}  // namespace

bool breaks(const Setting& setting, const Objective& objective) {
  const SettingSummary& summary = setting.summary;
  return !broken_constraint(objective, summary.samples_per_second.median, summary.step_seconds,
                            static_cast<double>(summary.peak_bytes))
              .empty();
}

Choice choose(const std::vector<Setting>& settings, const RecommendOptions& options, double noise) {
  Choice verdict;
  verdict.limit_bytes = options.limit_bytes;
  verdict.margin = options.margin;
  verdict.recipe_batch = options.recipe_batch;
  verdict.objective = options.objective;
  verdict.noise = noise;
  if (options.baseline) {
    const Setting* baseline = find_setting(settings, *options.baseline);
    if (baseline != nullptr && baseline->works()) verdict.baseline = baseline;
  }
  auto working = allowed(settings, options);
  const auto others = leave_recipe(working, verdict);
  const auto among = candidates(working, options, noise);
  if (among.empty()) return verdict;
  if (options.objective.goal == Goal::memory) {
    choose_least_memory(among, options.objective, verdict);
    verdict.lightest = is_lightest(verdict);
    return verdict;
  }
  const Setting* best = best_of(among, noise);
  verdict.ties.push_back(best);
  for (const Setting* other : among) {
    if (other == best) continue;
    const Interval ratio = ratio_interval(*other, *best);
    if (ratio.high < 1) continue;
    const double behind = 1 - std::exp(standing(*other, noise) - standing(*best, noise));
    const bool close = behind <= options.tie_tolerance;
    (close ? verdict.ties : verdict.unsettled).push_back(other);
  }
  verdict.chosen = lightest_of(verdict.ties);
  // Before the baseline has its turn: that may itself be of several hosts.
  keep_fewer_nodes(working, verdict);
  keep_baseline(working, verdict);
  verdict.lightest = is_lightest(verdict);
  name_near(working, verdict);
  if (!others.empty()) {
    const Setting* fastest = best_of(others, noise);
    if (ratio_interval(*fastest, *verdict.chosen).low > 1) verdict.beyond_recipe = fastest;
  }
  return verdict;
}

namespace {

constexpr double kAlikeSeconds = 0.05;   // of a step; guess
constexpr double kAlikeCpu = 0.25;       // of its CPU time, where it is more than kFewCpus; guess
constexpr double kFewCpus = 0.02;        // CPUs that a program which waits keeps busy
constexpr double kAlikeMemory = 0.02;    // peaks of repeats differ by as much
constexpr double kAlikeBytes = 1 << 20;  // or by this

double busy_cpus_of(const SettingSummary& summary) {
  return summary.cpu_seconds_per_sample * summary.samples_per_second.median;
}

// `more`: the ratio of their batches.
bool same_step(const Setting& larger, const Setting& smaller, double more) {
  const SettingSummary &a = larger.summary, &b = smaller.summary;
  // Time alone is no proof: CPU time and memory have to say the same.
  const bool known = a.cpu_seconds_per_sample > 0 && b.cpu_seconds_per_sample > 0 &&
                     a.host.peak > 0 && b.host.peak > 0;
  const Interval ratio = ratio_interval(larger, smaller);
  const bool as_long = ratio.low <= more && more <= ratio.high &&
                       std::fabs(std::log(ratio.median / more)) < std::log1p(kAlikeSeconds);
  if (!known || !as_long) return false;
  const double cpu = a.cpu_seconds_per_sample * more, cpu_before = b.cpu_seconds_per_sample;
  const bool waits = std::max(busy_cpus_of(a), busy_cpus_of(b)) < kFewCpus;
  if (!waits && !(cpu < (1 + kAlikeCpu) * cpu_before)) return false;
  const auto peak = static_cast<double>(a.host.peak), before = static_cast<double>(b.host.peak);
  return peak <= before + std::max(kAlikeBytes, kAlikeMemory * before);
}

// A step of more accumulated ones takes no less time.
bool only_batch_differs(const Knobs& larger, Knobs smaller) {
  if (smaller.batch >= larger.batch || smaller.accumulate > larger.accumulate) return false;
  smaller.batch = larger.batch;
  smaller.accumulate = larger.accumulate;
  return smaller == larger;
}

}  // namespace

int mark_crowding(std::vector<Setting>& settings, const std::vector<Trial>& trials, int cpus) {
  std::size_t samples = 0;
  std::size_t discarded = 0;
  for (const Trial& trial : trials) {
    samples += trial.samples.size();
    for (const Sample& sample : trial.samples) {
      discarded += sample.clean() || sample.interference.observed_seconds > 0 ? 0 : 1;
    }
  }
  // Most windows observed: the model of disturbed windows has put rates right.
  if (cpus <= 0 || 2 * discarded <= samples) return 0;
  const auto crowds = [&](const Setting& setting) {
    const Knobs& its = setting.summary.knobs;
    return setting.works() && its.nproc * its.threads > cpus_in_reach(trials, its, cpus);
  };
  const auto fits = [&](const Setting& setting) { return setting.works() && !crowds(setting); };
  if (std::none_of(settings.begin(), settings.end(), fits)) return 0;
  int marked = 0;
  for (Setting& setting : settings) {
    setting.crowds_out = crowds(setting);
    marked += setting.crowds_out ? 1 : 0;
  }
  return marked;
}

void mark_untaken_batches(std::vector<Setting>& settings, const std::optional<Knobs>& baseline) {
  for (Setting& setting : settings) {
    const Knobs& knobs = setting.summary.knobs;
    if (!setting.works() || setting.summary.gpu.peak > 0 || knobs == baseline) continue;
    for (const Setting& other : settings) {
      const Knobs& smaller = other.summary.knobs;
      if (!other.works() || !only_batch_differs(knobs, smaller)) continue;
      if (same_step(setting, other, 1.0 * knobs.batch / smaller.batch)) setting.steps_as = smaller;
    }
  }
}

Reason untaken_batch(const std::vector<Setting>& settings) {
  const auto fastest = std::ranges::find_if(  // they are best first
      settings, [](const Setting& setting) { return setting.steps_as.has_value(); });
  if (fastest == settings.end()) return {};
  const Setting& smaller = *find_setting(settings, *fastest->steps_as);
  return reason<ReasonCode::batch_costs_nothing>(knobs_text(fastest->summary.knobs),
                                                 decimal(told_ratio(*fastest, smaller).median, 2),
                                                 knobs_text(smaller.summary.knobs));
}

}  // namespace ocrtune
