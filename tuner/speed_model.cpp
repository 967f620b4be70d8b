#include "tuner/speed_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <Eigen/Dense>
#include <fmt/format.h>

#include "base/stats.h"
#include "tuner/coordinate_search.h"

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
  kTerms
};

struct Prior {
  double mean;
  double width;
};

// What programs of this kind do on machines of any size; wide enough to be overruled by ten trials.
constexpr std::array<Prior, kTerms> kPriors = {{
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
  std::vector<std::size_t> words;                     // parameters that are added as they are
  std::vector<std::pair<std::size_t, double>> bends;  // parameter, multiplier
};

double smooth_max(double a, double b) {  // within 1/8 doubling of the larger
  const double high = std::max(a, b);
  const double low = std::min(a, b);
  return high * std::pow(1 + std::pow(low / high, 6), 1.0 / 6);
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

  double value(std::size_t term, const std::vector<double>& at) const {
    return priors[term].mean + priors[term].width * at[term];
  }

  double predict(const PointFacts& x, const std::vector<double>& at) const {
    const double cores = stated_cores * std::exp(value(core_count, at));
    const double sample = 1;
    const double step = std::exp(value(step_cost, at));
    const double serial_share = std::min(0.95, std::exp(value(serial, at)));
    const double sigma = std::exp(value(contention, at)) / stated_cores;
    const double kappa = std::exp(value(coherence, at)) / (stated_cores * stated_cores);
    const double load_cost = std::exp(value(loading, at));
    const double taken = std::exp(value(loader_share, at)) * x.n * x.w;
    const double load = (x.n * x.t + taken) / cores;
    const double crowd = std::pow(smooth_max(1.0, load), std::exp(value(crowding, at)));
    const double amdahl = serial_share + (1 - serial_share) / x.t;
    const double usl = 1 + sigma * (x.n - 1) + kappa * x.n * (x.n - 1);
    double compute = (step + sample * x.b) * amdahl * usl * crowd;
    if (x.n > 1) compute += std::exp(value(reduction, at)) * (1 + std::log2(x.n));
    const double fetch = load_cost * x.b * std::max(1.0, load);
    const double seconds = x.w < 0.5 ? compute + fetch : smooth_max(compute, fetch / x.w);
    const double most = stated_cores * std::exp(value(ceiling, at));
    const double rate = 1 / smooth_max(seconds / (x.n * x.b), 1 / most);
    double log_rate = std::log(rate) + level - value(sample_cost, at);
    for (std::size_t word : x.words) log_rate += value(word, at);
    for (const auto& [bend, times] : x.bends) log_rate += times * value(bend, at);
    return log_rate;
  }

  void gradient(const PointFacts& x, const std::vector<double>& at, double* into) const {
    constexpr double kStep = 1e-4;
    std::fill(into, into + priors.size(), 0.0);
    const double here = predict(x, at);
    std::vector<double> moved = at;
    for (std::size_t i = 0; i < kTerms; ++i) {
      moved[i] = at[i] + kStep;
      into[i] = (predict(x, moved) - here) / kStep;
      moved[i] = at[i];
    }
    for (std::size_t word : x.words) into[word] += priors[word].width;
    for (const auto& [bend, times] : x.bends) into[bend] += times * priors[bend].width;
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
  if (cores <= 0) state.priors[core_count].width = 0.7;
  state.facts.resize(static_cast<std::size_t>(space.size()));
  for (int point = 0; point < space.size(); ++point) {
    const Knobs& knobs = space.knobs(point);
    PointFacts& facts = state.facts[static_cast<std::size_t>(point)];
    facts.n = knobs.nproc;
    facts.t = knobs.threads;
    facts.b = knobs.batch;
    facts.w = knobs.workers;
  }
  for (std::size_t a = 0; a < space.axes().size(); ++a) {
    const Axis& axis = space.axes()[a];
    if (in_formula(axis.name)) continue;
    const std::size_t first = state.priors.size();
    const bool category = axis.scale == KnobScale::category;
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
  state.z.assign(state.priors.size(), 0.0);
}

SpeedModel::~SpeedModel() = default;

double SpeedModel::log_rate(int point) const {
  return state_->predict(state_->facts[static_cast<std::size_t>(point)], state_->z);
}

void SpeedModel::gradient(int point, double* into) const {
  state_->gradient(state_->facts[static_cast<std::size_t>(point)], state_->z, into);
}

const std::vector<double>& SpeedModel::parameters() const { return state_->z; }
int SpeedModel::parameter_count() const { return static_cast<int>(state_->priors.size()); }
double SpeedModel::cores() const {
  return state_->stated_cores * std::exp(state_->value(core_count, state_->z));
}

namespace {

// Residuals scaled by what the model is expected to miss by, with a bounded pull for outliers.
struct Misfit {
  double width = 0.06;
  static constexpr double kFreedom = 4;  // of the Student t

  double weight(double residual, double variance) const {
    const double scale = width * width + variance;
    return (kFreedom + 1) / (kFreedom * scale + residual * residual);
  }
  double loss(double residual, double variance) const {
    const double scale = width * width + variance;
    return 0.5 * (kFreedom + 1) * std::log1p(residual * residual / (kFreedom * scale));
  }
};

}  // namespace

void SpeedModel::fit(const std::vector<Observation>& observations) {
  State& state = *state_;
  if (observations.empty()) return;
  const auto count = static_cast<Eigen::Index>(state.priors.size());
  const auto rows = static_cast<Eigen::Index>(observations.size());
  const auto facts_of = [&](const Observation& seen) -> const PointFacts& {
    return state.facts[static_cast<std::size_t>(seen.point)];
  };
  if (!state.fitted) {
    std::vector<double> gaps;
    for (const Observation& seen : observations) {
      gaps.push_back(seen.log_rate - state.predict(facts_of(seen), state.z));
    }
    state.level += median(gaps);
    state.fitted = true;
  }
  Misfit misfit;
  const auto loss_at = [&](const std::vector<double>& z) {
    double loss = 0;
    for (double value : z) loss += 0.5 * value * value;
    for (const Observation& seen : observations) {
      loss += misfit.loss(seen.log_rate - state.predict(facts_of(seen), z), seen.variance);
    }
    return loss;
  };
  const auto descend = [&](std::vector<double> z) {
    double loss = loss_at(z);
    double damping = 0.1;
    Eigen::MatrixXd slopes(rows, count);
    Eigen::VectorXd residuals(rows);
    Eigen::VectorXd weights(rows);
    std::vector<double> slope(state.priors.size());
    for (int pass = 0; pass < 12; ++pass) {
      for (Eigen::Index i = 0; i < rows; ++i) {
        const Observation& seen = observations[static_cast<std::size_t>(i)];
        state.gradient(facts_of(seen), z, slope.data());
        slopes.row(i) = Eigen::Map<Eigen::RowVectorXd>(slope.data(), count);
        residuals[i] = seen.log_rate - state.predict(facts_of(seen), z);
        weights[i] = misfit.weight(residuals[i], seen.variance);
      }
      const Eigen::Map<const Eigen::VectorXd> here(z.data(), count);
      const Eigen::MatrixXd weighted = weights.asDiagonal() * slopes;
      Eigen::MatrixXd curvature = slopes.transpose() * weighted;
      curvature.diagonal().array() += 1;
      const Eigen::VectorXd pull = weighted.transpose() * residuals - here;
      bool improved = false;
      for (int attempt = 0; attempt < 4 && !improved; ++attempt) {
        Eigen::MatrixXd damped = curvature;
        damped.diagonal() *= 1 + damping;
        const Eigen::VectorXd step = damped.ldlt().solve(pull);
        std::vector<double> next = z;
        for (Eigen::Index i = 0; i < count; ++i) {
          next[static_cast<std::size_t>(i)] += std::clamp(step[i], -1.5, 1.5);
        }
        const double lower = loss_at(next);
        improved = lower < loss;
        if (improved) {
          const bool done = loss - lower < 1e-4;
          z = next;
          loss = lower;
          damping *= 0.3;
          if (done) return std::make_pair(loss, z);
        } else {
          damping = std::max(damping, 1e-2) * 5;
        }
      }
      if (!improved) break;
    }
    return std::make_pair(loss, z);
  };
  auto best = descend(state.z);
  if (observations.size() < 40) {
    auto fresh = descend(std::vector<double>(state.z.size(), 0.0));
    if (fresh.first < best.first) best = std::move(fresh);
  }
  state.z = best.second;
}

std::vector<FittedTerm> SpeedModel::terms() const {
  const State& state = *state_;
  std::vector<FittedTerm> terms;
  if (!state.fitted) return terms;
  const auto at = [&](Term term) { return std::exp(state.value(term, state.z)); };
  const double share = std::min(0.95, at(serial));
  if (state.space->axis("threads") >= 0) {
    terms.push_back(
        {"serial share", share,
         fmt::format("{:.0f} % of a step does not speed up with threads", 100 * share)});
  }
  if (state.space->axis("nproc") >= 0) {
    const double sigma = at(contention) / state.stated_cores;
    const double kappa = at(coherence) / (state.stated_cores * state.stated_cores);
    const double turn = std::sqrt(std::max(0.0, (1 - sigma)) / kappa);
    terms.push_back(
        {"contention", sigma,
         fmt::format("each further process slows the others by {:.1f} %", 100 * sigma)});
    terms.push_back({"turning point", turn,
                     fmt::format("past about {:.0f} processes each added one costs", turn)});
  }
  if (state.space->axis("batch") >= 0) {
    terms.push_back(
        {"step cost", at(step_cost),
         fmt::format("starting a step costs as much as {:.1f} samples", at(step_cost))});
  }
  if (state.space->axis("workers") >= 0) {
    terms.push_back({"loading", at(loading),
                     fmt::format("loading a sample takes {:.0f} % of computing it on one thread",
                                 100 * at(loading))});
  }
  terms.push_back({"cores", cores(), fmt::format("it scales as on {:.0f} cores", cores())});
  return terms;
}

}  // namespace ocrtune
