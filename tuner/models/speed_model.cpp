// A set of parameters gives constants (exponentials) once, and these serve every point. Slopes are
// differences over kMove; parts of the formula that a parameter does not reach are computed once
// for all.
#include "tuner/models/speed_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/stats.h"
#include "tuner/models/robust_fit.h"

namespace ocrtune {
namespace {

// The parameters that every space has; categories and dimensions follow.
enum Term : std::size_t {
  sample_cost,   // log seconds of one sample on one thread
  step_cost,     // log (per-step cost / sample cost)
  serial,        // log serial share of a step
  contention,    // log (USL sigma x cores)
  coherence,     // log (USL kappa x cores^2)
  crowding,      // log exponent of the oversubscription
  core_count,    // log (cores / stated cores)
  loading,       // log (loading of a sample / sample cost)
  loader_share,  // log share of a core that a loader takes
  ceiling,       // log (machine's ceiling x sample cost / cores)
  reduction,     // log (all-reduce / sample cost)
  formula_terms
};

struct Prior {
  double mean;
  double width;
};

// What programs of this kind do on machines of any size; wide enough to be overruled by ten trials.
constexpr std::array<Prior, formula_terms> kPriors = {{
    {0.0, 3.0},   // sample_cost: centred on the first observation
    {0.7, 1.2},   // step_cost: 2 samples
    {-2.5, 0.9},  // serial: 8 %
    {-1.6, 1.2},  // contention: 0.2 / cores
    {-2.0, 1.5},  // coherence
    {0.3, 0.3},   // crowding: 1.35
    {0.0, 0.25},  // core_count
    {-2.0, 1.2},  // loading: 0.14 samples
    {-0.9, 0.6},  // loader_share: 0.4
    {0.6, 0.9},   // ceiling: 1.8 times what the cores could do
    {-1.6, 1.2},  // reduction: 0.2 samples
}};

struct PointFacts {
  double n = 1, t = 1, b = 1, w = 0;
  double exchanges = 0;            // of gradients in a step, by doublings of the processes
  std::vector<std::size_t> words;  // parameters that are added as they are
  std::vector<std::pair<std::size_t, double>> bends;  // parameter, multiplier
};

// Of 1 to 2, to a bit or two: a parabola within 0.0006, then Halley's step, which cubes its error.
// A fifth of the instructions of cbrt(sqrt(x)), which were a tenth of a verdict's.
double sixth_root(double x) {
  const double start = 0.810503 + x * (0.224358 - 0.0342784 * x);
  const auto halley = [x](double root) {
    const double cube = root * root * root;
    const double sixth = cube * cube;
    return root * (5 * sixth + 7 * x) / (7 * sixth + 5 * x);
  };
  return halley(halley(start));
}

// Within 1/6 doubling of the larger.
double smooth_max(double a, double b) {
  const double high = std::max(a, b);
  const double share = std::min(a, b) / high;
  const double cube = share * share * share;
  return high * sixth_root(1 + cube * cube);
}

// The formula's constants, from its parameters.
struct Constants {
  double cores = 1, step = 0, serial_share = 0, sigma = 0, kappa = 0, exponent = 1, load_cost = 0,
         loader_cores = 0, most = 0, reduce = 0, level = 0;

  double log_rate(const PointFacts& x) const {
    const double load = load_of(x);
    return level - log_seconds(x, compute_of(x, crowd_of(load)), load);
  }

  double load_of(const PointFacts& x) const {
    return (x.n * x.t + loader_cores * x.n * x.w) / cores;
  }
  double crowd_of(double load) const { return std::pow(smooth_max(1.0, load), exponent); }
  double compute_of(const PointFacts& x, double crowd) const {
    const double amdahl = serial_share + (1 - serial_share) / x.t;
    // Gunther's denominator.
    const double usl = 1 + sigma * (x.n - 1) + kappa * x.n * (x.n - 1);
    return (step + x.b) * amdahl * usl * crowd + reduce * x.exchanges;
  }
  // Of a sample, in those of one thread.
  double log_seconds(const PointFacts& x, double compute, double load) const {
    const double fetch = load_cost * x.b * std::max(1.0, load);
    // Without loaders a process fetches its batch itself and then computes; with them both go on at
    // once.
    const double seconds = x.w < 0.5 ? compute + fetch : smooth_max(compute, fetch / x.w);
    return std::log(smooth_max(seconds / (x.n * x.b), 1 / most));
  }
};

using MovedConstants = std::array<Constants, formula_terms>;

// By how much log_rate() changes where one parameter at a time has moved. What that parameter does
// not reach is taken from the middle.
std::array<double, formula_terms> changes(const PointFacts& x, const Constants& middle,
                                          const MovedConstants& moved) {
  const double load = middle.load_of(x), crowd = middle.crowd_of(load);
  const double compute = middle.compute_of(x, crowd);
  const double log_seconds = middle.log_seconds(x, compute, load);
  const double log_rate = middle.level - log_seconds;
  std::array<double, formula_terms> found{};
  for (std::size_t i = 0; i < formula_terms; ++i) {
    const Constants& near = moved[i];
    switch (static_cast<Term>(i)) {
      case sample_cost:
        found[i] = near.level - log_seconds - log_rate;
        continue;
      case contention:
      case coherence:
      case reduction:
        if (x.n <= 1) continue;
        break;
      case loader_share:
        if (x.w <= 0) continue;
        [[fallthrough]];
      case core_count:
        found[i] = near.log_rate(x) - log_rate;
        continue;
      case loading:
      case ceiling:
        found[i] = near.level - near.log_seconds(x, compute, load) - log_rate;
        continue;
      default:
        break;
    }
    const double crowded = i == crowding ? near.crowd_of(load) : crowd;
    found[i] = near.level - near.log_seconds(x, near.compute_of(x, crowded), load) - log_rate;
  }
  return found;
}

}  // namespace

struct SpeedModel::State {
  const Space* space = nullptr;
  double stated_cores = 1;
  double level = 0;  // log rate scale of the first fit: centres sample_cost
  std::vector<Prior> priors;
  std::vector<PointFacts> facts;
  std::vector<double> z;  // standardised parameters
  bool fitted = false;
  std::vector<Observation> observed;
  // At z, and with each of the formula's parameters moved by kMove.
  static constexpr double kMove = 1e-4;
  Constants here;
  MovedConstants moved;

  double value(std::size_t term, const std::vector<double>& at) const {
    return priors[term].mean + priors[term].width * at[term];
  }

  Constants constants(const std::vector<double>& at) const {
    const auto scale = [&](Term term) { return std::exp(value(term, at)); };
    Constants found;
    found.cores = stated_cores * scale(core_count);
    found.step = scale(step_cost);
    found.serial_share = std::min(0.95, scale(serial));
    found.sigma = scale(contention) / stated_cores;
    found.kappa = scale(coherence) / (stated_cores * stated_cores);
    found.exponent = scale(crowding);
    found.load_cost = scale(loading);
    found.loader_cores = scale(loader_share);
    found.most = stated_cores * scale(ceiling);
    found.reduce = scale(reduction);
    found.level = level - value(sample_cost, at);
    return found;
  }

  MovedConstants moved_constants(const std::vector<double>& at) const {
    MovedConstants found;
    std::vector<double> near = at;
    for (std::size_t i = 0; i < formula_terms; ++i) {
      near[i] = at[i] + kMove;
      found[i] = constants(near);
      near[i] = at[i];
    }
    return found;
  }

  void settle(std::vector<double> at) {
    z = std::move(at);
    here = constants(z);
    moved = moved_constants(z);
  }

  double predict(const PointFacts& x, const Constants& with, const std::vector<double>& at) const {
    double log_rate = with.log_rate(x);
    for (std::size_t word : x.words) log_rate += value(word, at);
    for (const auto& [bend, times] : x.bends) log_rate += times * value(bend, at);
    return log_rate;
  }

  void gradient(const PointFacts& x, const Constants& with, const MovedConstants& near,
                double* into) const {
    std::fill(into, into + priors.size(), 0.0);
    const auto change = changes(x, with, near);
    for (std::size_t i = 0; i < formula_terms; ++i) into[i] = change[i] / kMove;
    for (std::size_t word : x.words) into[word] += priors[word].width;
    for (const auto& [bend, times] : x.bends) into[bend] += times * priors[bend].width;
  }

  // Refers to this.
  FitProblem problem() const {
    FitProblem problem;
    for (const Observation& seen : observed) {
      problem.targets.push_back(seen.log_rate);
      problem.variances.push_back(seen.variance);
    }
    const auto facts_of = [this](const Observation& seen) -> const PointFacts& {
      return facts[static_cast<std::size_t>(seen.point)];
    };
    problem.curve = [this, facts_of](const std::vector<double>& at) {
      const Constants with = constants(at);
      std::vector<double> values;
      for (const Observation& seen : observed) values.push_back(predict(facts_of(seen), with, at));
      return values;
    };
    problem.slopes = [this, facts_of](const std::vector<double>& at) {
      const Constants with = constants(at);
      const auto near = moved_constants(at);
      std::vector<double> rows(observed.size() * at.size());
      for (std::size_t i = 0; i < observed.size(); ++i) {
        gradient(facts_of(observed[i]), with, near, rows.data() + i * at.size());
      }
      return rows;
    };
    return problem;
  }
};

namespace {

// -1 .. 1 over the values of an axis, by doublings where they span more than a factor of 4.
double spread_place(const Space& space, int axis, int value) {
  const int last = static_cast<int>(space.axes()[static_cast<std::size_t>(axis)].values.size()) - 1;
  double low = space.number(axis, 0);
  double high = space.number(axis, last);
  double here = space.number(axis, value);
  if (low > 0 && high / low > 4) {
    low = std::log(low);
    high = std::log(high);
    here = std::log(here);
  }
  return high > low ? 2 * (here - low) / (high - low) - 1 : 0;
}

bool in_formula(const std::string& name) {
  return name == "nproc" || name == "threads" || name == "batch" || name == "workers";
}

}  // namespace

SpeedModel::SpeedModel(const Space& space, double cores) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.space = &space;
  state.priors.assign(kPriors.begin(), kPriors.end());
  state.stated_cores = cores > 0 ? cores : cores_of_space(space);
  // The number is a guess from the space then: a factor of two, exp(0.7), is one deviation.
  if (cores <= 0) state.priors[core_count].width = 0.7;
  state.facts.resize(static_cast<std::size_t>(space.size()));
  for (int point = 0; point < space.size(); ++point) {
    const Knobs& knobs = space.knobs(point);
    PointFacts& facts = state.facts[static_cast<std::size_t>(point)];
    facts.n = knobs.nproc;
    facts.t = knobs.threads;
    facts.b = knobs.batch;
    facts.w = knobs.workers;
    facts.exchanges = facts.n > 1 ? 1 + std::log2(facts.n) : 0;
  }
  for (std::size_t a = 0; a < space.axes().size(); ++a) {
    const Axis& axis = space.axes()[a];
    if (in_formula(axis.name)) continue;
    const std::size_t first = state.priors.size();
    const bool category = axis.scale == KnobScale::category;
    // A factor for each value but the first; or a parabola over the list.
    const std::size_t more = category ? axis.values.size() - 1 : 2;
    state.priors.resize(first + more, Prior{0, category ? 0.25 : 0.3});
    for (int point = 0; point < space.size(); ++point) {
      PointFacts& facts = state.facts[static_cast<std::size_t>(point)];
      const int value = space.place(point)[a];
      if (category) {
        if (value > 0) facts.words.push_back(first + static_cast<std::size_t>(value) - 1);
        continue;
      }
      const double place = spread_place(space, static_cast<int>(a), value);
      facts.bends.emplace_back(first, place);
      facts.bends.emplace_back(first + 1, place * place);
    }
  }
  state.settle(std::vector<double>(state.priors.size(), 0.0));
}

SpeedModel::~SpeedModel() = default;

double SpeedModel::log_rate(int point) const {
  const State& state = *state_;
  return state.predict(state.facts[static_cast<std::size_t>(point)], state.here, state.z);
}

void SpeedModel::gradient(int point, double* into) const {
  const State& state = *state_;
  state.gradient(state.facts[static_cast<std::size_t>(point)], state.here, state.moved, into);
}

const std::vector<double>& SpeedModel::parameters() const { return state_->z; }
int SpeedModel::parameter_count() const { return static_cast<int>(state_->priors.size()); }
double SpeedModel::cores() const {
  return state_->stated_cores * std::exp(state_->value(core_count, state_->z));
}

double SpeedModel::log_rate(int point, const std::vector<double>& parameters) const {
  const State& state = *state_;
  return state.predict(state.facts[static_cast<std::size_t>(point)], state.constants(parameters),
                       parameters);
}

std::vector<std::vector<double>> SpeedModel::explanations() const {
  const State& state = *state_;
  std::vector<std::vector<double>> found;
  if (!state.fitted) return found;
  struct Start {
    Term term;
    double at;  // in deviations of the prior
    bool held = true;
  };
  // 1.8 deviations: far, and not yet unlikely. The free one begins in another valley.
  constexpr Start kStarts[] = {{loading, 1.8},   {loading, -1.8},   {loading, 3, false},
                               {step_cost, 1.8}, {step_cost, -1.8}, {serial, 1.8},
                               {serial, -1.8},   {contention, 1.8}, {contention, -1.8},
                               {reduction, 1.8}, {reduction, -1.8}, {ceiling, -1.8}};
  FitProblem problem = state.problem();
  for (const Start& start : kStarts) {
    std::vector<double> z = state.z;
    z[start.term] = start.at;
    problem.held = start.held ? static_cast<int>(start.term) : -1;
    found.push_back(fit_robustly(problem, std::move(z)).z);
  }
  return found;
}

void SpeedModel::fit(const std::vector<Observation>& observations) {
  State& state = *state_;
  if (observations.empty()) return;
  state.observed = observations;
  if (!state.fitted) {
    std::vector<double> gaps;
    for (const Observation& seen : observations) {
      gaps.push_back(seen.log_rate - log_rate(seen.point));
    }
    // Once: later fits move sample_cost, whose prior is centred here.
    state.level += median(gaps);
    state.fitted = true;
  }
  const FitProblem problem = state.problem();
  Fit best = fit_robustly(problem, state.z);
  // While there is little to hold it, the last fit may be a wrong valley: also from the prior.
  constexpr std::size_t kFew = 40;
  if (observations.size() < kFew) {
    Fit fresh = fit_robustly(problem, std::vector<double>(state.z.size(), 0.0));
    if (fresh.loss < best.loss) best = std::move(fresh);
  }
  state.settle(std::move(best.z));
}

std::vector<FittedTerm> SpeedModel::terms() const {
  const State& state = *state_;
  std::vector<FittedTerm> terms;
  if (!state.fitted) return terms;
  const auto at = [&](Term term) { return std::exp(state.value(term, state.z)); };
  const double share = std::min(0.95, at(serial));
  if (state.space->axis("threads") >= 0) {
    terms.push_back(
        {"serial share", share, reason<ReasonCode::term_serial_share>(decimal(100 * share, 0))});
  }
  if (state.space->axis("nproc") >= 0) {
    const double sigma = at(contention) / state.stated_cores;
    const double kappa = at(coherence) / (state.stated_cores * state.stated_cores);
    // Where Gunther's rate is highest.
    const double turn = std::sqrt(std::max(0.0, (1 - sigma)) / kappa);
    terms.push_back(
        {"contention", sigma, reason<ReasonCode::term_contention>(decimal(100 * sigma, 1))});
    terms.push_back(
        {"turning point", turn, reason<ReasonCode::term_turning_point>(decimal(turn, 0))});
  }
  if (state.space->axis("batch") >= 0) {
    terms.push_back({"step cost", at(step_cost),
                     reason<ReasonCode::term_step_cost>(decimal(at(step_cost), 1))});
  }
  if (state.space->axis("workers") >= 0) {
    terms.push_back(
        {"loading", at(loading), reason<ReasonCode::term_loading>(decimal(100 * at(loading), 0))});
  }
  terms.push_back({"cores", cores(), reason<ReasonCode::term_cores>(decimal(cores(), 0))});
  return terms;
}

}  // namespace ocrtune
