// A state machine in front of the inner search: it waits for the user's setting and runs pairs
// (own, other). It ends in one of three ways: the knob matters, the test is left for want of time
// or trials, or the space is narrowed. Then the inner search is made anew and told all trials
// folded.
#include "tuner/search/inert_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "tuner/search/search_board.h"

namespace ocrtune {
namespace {

constexpr double kMargin = 1.07;      // of a ratio that counts as no change
constexpr double kSurelyNone = 1.02;  // may exclude no change, if no further from it
constexpr double kPriorPairs = 3;
constexpr int kMinPairs = 2, kMaxPairs = 9;
constexpr double kSameBusy = 0.6;     // threads
constexpr double kIdleCpus = 0.05;    // used by all of a program: below it, it waits
constexpr int kApart = 2;             // trials between the two of a pair, at most
constexpr double kBudgetShare = 0.5;  // that the whole test may take of what is left
constexpr std::size_t kMaxContexts = 3;
constexpr const char* kPhase = "inert";

struct Spread {
  double mean = 0, half = 0;  // logarithms

  bool within() const {
    const double margin = std::log(kMargin);
    // Equivalence: the interval lies within the margin and, but for 2 %, holds no change.
    const bool no_change = std::fabs(mean) <= std::max(half, std::log(kSurelyNone));
    return no_change && std::fabs(mean) + half < margin;
  }
  bool beyond() const { return std::fabs(mean) - half > std::log(kSurelyNone) && !within(); }
  Interval ratio() const { return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)}; }
};

Spread spread_of(const std::vector<double>& values, double noise) {
  Spread spread;
  const auto count = static_cast<double>(values.size());
  spread.mean = mean(values);
  // A pair is a difference of two trials: twice the variance of one.
  double squares = kPriorPairs * 2 * noise * noise;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  const double dof = kPriorPairs + count - 1;
  spread.half = t_quantile_95(dof) * std::sqrt(squares / dof / count);
  return spread;
}

// One side of a pair, once it ran.
struct Side {
  bool other = false;  // at the knob's other value
  std::size_t context = 0;
  double rate = 0, cpu_seconds = 0, busy = 0;
};

// Of a sample, over all windows that were observed: a program that waits has windows without a
// tick. Nothing: nobody looked.
std::optional<double> cpu_seconds_of(const Trial& trial) {
  double cpu = 0, samples = 0;
  for (const Sample& sample : trial.samples) {
    const Interference& seen = sample.interference;
    if (!(seen.observed_seconds > 0)) continue;
    cpu += seen.cpu_seconds;
    samples += sample.samples_per_second() * seen.observed_seconds;
  }
  return samples > 0 ? std::optional<double>(cpu / samples) : std::nullopt;
}

// Listens, and has nothing to say.
class SilentSearch : public Search {
 public:
  explicit SilentSearch(const Objective& objective) : objective_(objective) {}

  std::optional<Proposal> next(double /*seconds_left*/) override { return std::nullopt; }
  void tell(const Trial& /*trial*/) override {}
  std::string stop_reason() const override { return ""; }
  const Objective& objective() const override { return objective_; }
  Prediction predict(const Knobs& /*knobs*/) const override { return {}; }

 private:
  Objective objective_;
};

std::unique_ptr<Search> make_silent_search(const Space& /*space*/, const SearchOptions& options) {
  return std::make_unique<SilentSearch>(options.objective);
}

class InertSearch : public Search {
 public:
  InertSearch(const Space& space, const SearchOptions& options, std::string knob, SearchMaker make)
      : space_(space),
        options_(options),
        knob_(std::move(knob)),
        make_(make),
        board_(space, options),
        inner_(make(space, options)) {
    find_contexts();
  }

  void tell(const Trial& trial) override {
    told_.push_back(trial);
    board_.tell(trial);
    if (narrowed_) {
      inner_->tell(folded(trial, inert()));
      return;
    }
    inner_->tell(trial);
    learn(trial);
  }

  std::optional<Proposal> next(double seconds_left) override {
    if (!testing()) return inner_->next(seconds_left);
    const double each = board_.ledger.expected_trial_seconds(options_.first_trial_seconds);
    // One more than the least, and each context once; the first side has run already.
    const int pairs_wanted = std::max(kMinPairs + 1, static_cast<int>(contexts_.size()));
    const int wanted = 2 * pairs_wanted - 1;
    if (pairs_.empty() && wanted * each > kBudgetShare * seconds_left) return give_up(seconds_left);
    if (2 * each > seconds_left) return give_up(seconds_left);
    const std::size_t context = half_ ? half_->context : pairs_.size() % contexts_.size();
    // A B, B A, A B ...: drift of the machine meets both sides alike.
    const bool other = half_ ? !half_->other : pairs_.size() % 2 != 0;
    const Context& here = contexts_[context];
    const int point = other ? here.other : here.own;
    if (!board_.runnable(point)) {
      drop(context);
      return next(seconds_left);
    }
    return board_.propose(point, kPhase, fmt::format("does {} change anything here?", knob_));
  }

  std::optional<Proposal> settle(const OpenQuestion& question, double seconds_left) override {
    return inner_->settle(question, seconds_left);
  }
  std::string stop_reason() const override { return inner_->stop_reason(); }
  const Objective& objective() const override { return options_.objective; }
  std::vector<FittedTerm> terms() const override { return inner_->terms(); }
  Prediction predict(const Knobs& knobs) const override {
    return inner_->predict(fold(knobs, inert()));
  }
  std::vector<InertKnob> inert() const override { return found_; }
  const Space* own_space() const override { return narrowed_.get(); }

 private:
  struct Context {
    int own = -1, other = -1;  // points
    int pairs = 0;
  };
  const Space& space_;
  SearchOptions options_;
  std::string knob_;
  SearchMaker make_;
  SearchBoard board_;
  std::unique_ptr<Search> inner_;
  std::unique_ptr<const Space> narrowed_;
  std::vector<Trial> told_;
  std::vector<InertKnob> found_;
  std::vector<Context> contexts_;
  std::vector<InertPair> pairs_;
  std::vector<double> busy_;  // threads, at the user's value
  std::optional<Side> half_;
  int half_age_ = 0;   // trials since it ran
  bool over_ = false;  // it matters, or it cannot be told
  bool started_ = false;
  bool left_to_search_ = false;

  // The user's setting comes first, by the inner search.
  bool testing() const {
    return !over_ && !left_to_search_ && !narrowed_ && started_ && !contexts_.empty();
  }

  // No trials of the test's own any more; pairs that the search happens to run still tell.
  std::optional<Proposal> give_up(double seconds_left) {
    left_to_search_ = true;
    return inner_->next(seconds_left);
  }

  // The point that differs from this one in the knob, as far as the space goes.
  int farthest(int point) const {
    const int axis = space_.axis(knob_);
    const auto at = static_cast<std::size_t>(axis);
    std::vector<int> place = space_.place(point);
    const double here = std::log1p(space_.number(axis, place[at]));
    int found = -1;
    double most = 0;
    for (std::size_t value = 0; value < space_.axes()[at].values.size(); ++value) {
      place[at] = static_cast<int>(value);
      const double away = std::fabs(std::log1p(space_.number(axis, place[at])) - here);
      const int other = space_.at(place);
      if (other < 0 || away <= most) continue;
      most = away;
      found = other;
    }
    return found;
  }

  void add_context(int own) {
    if (own < 0) return;
    const int other = farthest(own);
    if (other >= 0) contexts_.push_back({own, other});
  }

  // The user's setting, and with each other count but the processes at its largest value.
  void find_contexts() {
    if (board_.always.empty() || space_.axis(knob_) < 0) return;
    const int own = board_.always[0];
    add_context(own);
    if (contexts_.empty()) return;
    for (std::size_t a = 0; a < space_.axes().size(); ++a) {
      const Axis& axis = space_.axes()[a];
      const bool other = axis.scale == KnobScale::count && axis.name != knob_ &&
                         axis.name != "nproc" && contexts_.size() < kMaxContexts;
      if (!other) continue;
      std::vector<int> place = space_.place(own);
      const int last = static_cast<int>(axis.values.size()) - 1;
      if (place[a] == last) continue;
      place[a] = last;
      add_context(space_.at(place));
    }
  }

  // A context that fails says nothing; without the user's own there is no test.
  void drop(std::size_t context) {
    half_.reset();
    // A context that worked and fails now: what follows would not be of the knob alone.
    if (context == 0 || contexts_[context].pairs > 0) {
      over_ = true;
      return;
    }
    contexts_.erase(contexts_.begin() + static_cast<std::ptrdiff_t>(context));
  }

  void learn(const Trial& trial) {
    if (over_ || contexts_.empty() || trial.outcome == Outcome::skipped) return;
    const int point = space_.find(trial.knobs);
    const bool first = !started_ && point == contexts_[0].own;
    if (!first && !started_) return;
    // The test runs its pairs one after the other: another trial means that it was left.
    if (!first && trial.phase != kPhase) left_to_search_ = true;
    // Two sides far apart in time may differ by the machine's drift.
    if (half_ && ++half_age_ > kApart) half_.reset();
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      const bool other = point == contexts_[i].other;
      if (!other && point != contexts_[i].own) continue;
      started_ = true;
      if (!trial.ok()) return drop(i);
      const auto cpu_seconds = cpu_seconds_of(trial);
      // Rates alone could be alike for another reason, such as a slow disk.
      if (!cpu_seconds || trial.threads.alive == 0) {
        over_ = true;  // no second witness
        return;
      }
      const Side side{other, i, trial.samples_per_second, *cpu_seconds, trial.threads.busy};
      if (half_ && half_->context == i && half_->other != other) {
        add_pair(*half_, side);
      } else {
        half_ = side;
        half_age_ = 0;
      }
      return;
    }
  }

  void add_pair(const Side& a, const Side& b) {
    const Side& own = a.other ? b : a;
    const Side& other = a.other ? a : b;
    half_.reset();
    busy_.push_back(own.busy);
    ++contexts_[a.context].pairs;
    // What hardly computes costs no CPU time that could change: its few ticks are chance.
    const double cpus = std::max(own.rate * own.cpu_seconds, other.rate * other.cpu_seconds);
    const double cost = cpus < kIdleCpus ? 0 : std::log(other.cpu_seconds / own.cpu_seconds);
    pairs_.push_back({std::log(other.rate / own.rate), cost, other.busy - own.busy});
    const EffectFound found = effect_of(pairs_, options_.expected_noise);
    const bool everywhere = std::all_of(contexts_.begin(), contexts_.end(),
                                        [](const Context& one) { return one.pairs > 0; });
    if (found.effect == Effect::none && everywhere) return narrow(found);
    over_ = found.effect == Effect::some || static_cast<int>(pairs_.size()) >= kMaxPairs;
  }

  void narrow(const EffectFound& found) {
    InertKnob inert;
    inert.name = knob_;
    inert.kept = knob_text(space_.knobs(contexts_[0].own), knob_);
    inert.rate = found.rate;
    inert.cpu_seconds = found.cpu_seconds;
    std::set<std::string> runtimes;
    double seconds = 0;
    for (const Trial& trial : told_) {
      runtimes.insert(trial.threads.runtimes.begin(), trial.threads.runtimes.end());
      if (!trial.stages.launcher_set.empty()) inert.launcher_set = trial.stages.launcher_set;
      seconds += trial.seconds;
    }
    inert.runtimes.assign(runtimes.begin(), runtimes.end());
    inert.seconds = seconds;
    inert.busy_threads = median(busy_);
    found_ = {inert};
    std::vector<Knobs> points;
    for (const Knobs& knobs : space_.points()) {
      Knobs kept = fold(knobs, found_);
      // A mask holds as many CPUs as there are threads: no other than was declared.
      if (kept.binding == "none" || space_.find(kept) >= 0) points.push_back(std::move(kept));
    }
    narrowed_ = std::make_unique<const Space>(std::move(points));
    SearchOptions options = options_;
    for (Knobs& knobs : options.first) knobs = fold(knobs, found_);
    inner_ = make_(*narrowed_, options);
    // Trials of both values count as repeats of one setting now.
    for (const Trial& trial : told_) inner_->tell(folded(trial, found_));
  }
};

}  // namespace

EffectFound effect_of(const std::vector<InertPair>& pairs, double noise) {
  EffectFound found;
  if (pairs.empty()) return found;
  std::vector<double> rates, cpu_seconds, busy;
  for (const InertPair& pair : pairs) {
    rates.push_back(pair.log_rate);
    cpu_seconds.push_back(pair.log_cpu_seconds);
    busy.push_back(pair.busy_threads);
  }
  const Spread rate = spread_of(rates, noise), cpu = spread_of(cpu_seconds, noise);
  found.rate = rate.ratio();
  found.cpu_seconds = cpu.ratio();
  const bool same_busy = std::fabs(median(busy)) < kSameBusy;
  const bool enough = static_cast<int>(pairs.size()) >= kMinPairs;
  if (!same_busy || (enough && (rate.beyond() || cpu.beyond()))) {
    found.effect = Effect::some;
  } else if (enough && rate.within() && cpu.within()) {
    found.effect = Effect::none;
  }
  return found;
}

std::unique_ptr<Search> make_inert_search(const Space& space, const SearchOptions& options,
                                          const std::string& knob, SearchMaker inner) {
  if (space.axis(knob) < 0 || options.first.empty()) return inner(space, options);
  return std::make_unique<InertSearch>(space, options, knob, inner);
}

std::unique_ptr<Search> make_inert_test(const Space& space, const SearchOptions& options) {
  if (options.doubted.empty()) return make_silent_search(space, options);
  return make_inert_search(space, options, options.doubted[0], make_silent_search);
}

Knobs fold(Knobs knobs, const std::vector<InertKnob>& inert) {
  for (const InertKnob& one : inert) {
    [[maybe_unused]] const Status kept = set_knob(knobs, one.name, one.kept);  // it was a setting's
  }
  return knobs;
}

Trial folded(Trial trial, const std::vector<InertKnob>& inert) {
  trial.knobs = fold(std::move(trial.knobs), inert);
  return trial;
}

}  // namespace ocrtune
