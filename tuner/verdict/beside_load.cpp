// Each trial becomes one window with the rate that it had, so that the usual fit and choice work on
// measured rates. What must hold beside that is the order of the visits: A B A B.
#include "tuner/verdict/beside_load.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/stats.h"

namespace ocrtune {
namespace {

// A gain that a kept baseline must exclude. A guess of what is worth another tune.
constexpr double kOpenGain = 1.2;
constexpr int kTurns = 3;  // changes between the two: A B A B

bool may_be_ahead(const Choice& choice, const Setting& other) {
  return &other != choice.chosen && other.works() && !other.set_aside() &&
         keeps_recipe(choice.recipe_batch, other.summary.knobs);
}

bool nothing_open(const Choice& choice, const std::vector<Setting>& settings) {
  return std::none_of(settings.begin(), settings.end(), [&](const Setting& other) {
    return may_be_ahead(choice, other) && ratio_interval(other, *choice.chosen).high > kOpenGain;
  });
}

}  // namespace

double measured_rate(const Trial& trial) {
  double samples = 0, seconds = 0;
  for (const Sample& sample : trial.samples) {
    samples += sample.samples;
    seconds += sample.seconds;
  }
  return seconds > 0 ? samples / seconds : 0;
}

std::vector<Trial> as_measured(const std::vector<Trial>& trials) {
  std::vector<Trial> measured = trials;
  for (Trial& trial : measured) {
    if (!trial.ok()) continue;
    Sample whole;
    for (const Sample& sample : trial.samples) {
      whole.samples += sample.samples;
      whole.seconds += sample.seconds;
      whole.steps += sample.steps;
    }
    if (!(whole.samples_per_second() > 0)) continue;
    trial.samples_per_second = whole.samples_per_second();
    trial.samples = {whole};
  }
  return measured;
}

void count_windows(const std::vector<Trial>& trials, std::vector<Setting>& settings) {
  for (Setting& setting : settings) {
    SettingSummary& summary = setting.summary;
    summary.clean_samples = summary.discarded_samples = 0;
    for (const Trial& trial : trials) {
      if (trial.knobs != summary.knobs) continue;
      for (const Sample& sample : trial.samples) {
        ++(sample.clean() ? summary.clean_samples : summary.discarded_samples);
      }
    }
  }
}

double measured_noise(const std::vector<Trial>& trials) {
  std::map<Knobs, std::vector<double>> logs;
  for (const Trial& trial : trials) {
    if (trial.ok() && trial.samples_per_second > 0) {
      logs[trial.knobs].push_back(std::log(trial.samples_per_second));
    }
  }
  double squares = 0, freedom = 0;
  for (const auto& [knobs, values] : logs) {
    const auto count = static_cast<double>(values.size());
    if (count < 2) continue;
    squares += (count - 1) * stddev(values) * stddev(values);
    freedom += count - 1;
  }
  return freedom > 0 ? std::sqrt(squares / freedom) : 0;
}

bool in_turns(const std::vector<Trial>& trials, const Knobs& a, const Knobs& b) {
  // The first visit is no change.
  int changes = -1;
  const Knobs* last = nullptr;
  for (const Trial& trial : trials) {
    if (!trial.ok() || (trial.knobs != a && trial.knobs != b)) continue;
    if (last == nullptr || trial.knobs != *last) ++changes;
    last = &trial.knobs;
  }
  return changes >= kTurns;
}

namespace {

// Whom the choice has to be compared with: the baseline; of a baseline that is kept, what may be
// the furthest ahead of it.
const Setting* rival_of(const Choice& choice, const std::vector<Setting>& settings) {
  const Setting* rival = next_best(choice, settings);
  if (choice.chosen != choice.baseline) return choice.baseline != nullptr ? choice.baseline : rival;
  if (choice.contender != nullptr) rival = choice.contender;
  double most = kOpenGain;
  for (const Setting& other : settings) {
    if (!may_be_ahead(choice, other)) continue;
    const double high = ratio_interval(other, *choice.chosen).high;
    if (high <= most) continue;
    most = high;
    rival = &other;
  }
  return rival;
}

}  // namespace

bool settles_beside_load(const Choice& choice, const std::vector<Setting>& settings,
                         const std::vector<Trial>& trials, const Space& space) {
  if (choice.chosen == nullptr || choice.objective.goal != Goal::throughput) return false;
  const Setting* next = next_best(choice, settings);
  // Nothing else worked: an answer only where nothing else was possible.
  if (next == nullptr)
    return possible_answers(space, choice, settings) == 1 && choice.chosen->rates.size() > 1;
  const Knobs& chosen = choice.chosen->summary.knobs;
  if (choice.chosen == choice.baseline) {
    const Setting* rival = choice.contender != nullptr ? choice.contender : next;
    return nothing_open(choice, settings) && in_turns(trials, chosen, rival->summary.knobs);
  }
  const Setting* behind = choice.baseline != nullptr ? choice.baseline : next;
  return ratio_interval(*choice.chosen, *behind).low > 1 &&
         in_turns(trials, chosen, behind->summary.knobs);
}

std::optional<Turns> lacking_turns(const Choice& choice, const std::vector<Setting>& settings,
                                   const std::vector<Trial>& trials, const Space& space) {
  if (choice.chosen == nullptr || choice.objective.goal != Goal::throughput) return std::nullopt;
  if (settles_beside_load(choice, settings, trials, space)) return std::nullopt;
  const Setting* const other = rival_of(choice, settings);
  const Knobs& chosen = choice.chosen->summary.knobs;
  if (other == nullptr) {
    return possible_answers(space, choice, settings) == 1
               ? std::optional(Turns{chosen, chosen, chosen})
               : std::nullopt;
  }
  const Knobs& rival = other->summary.knobs;
  const auto last = std::find_if(trials.rbegin(), trials.rend(), [&](const Trial& trial) {
    return trial.knobs == chosen || trial.knobs == rival;
  });
  const bool chosen_ran = last != trials.rend() && last->knobs == chosen;
  return Turns{chosen, rival, chosen_ran ? rival : chosen};
}

}  // namespace ocrtune
