// Every pair of runs of the same work is compared, the earlier one as the predictor, and each run's
// own process counts. Intervals take in the error of the measured figure, else a noisy measurement
// would look like a wrong prediction.
#include "extras/capacity/store_back_test.h"

#include <algorithm>
#include <cmath>

#include "extras/capacity/back_test.h"
#include "extras/capacity/capacity.h"
#include "extras/capacity/node_measurement.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

// Both measured the same thing on the same machine; the latency target may differ.
bool same_work(const RunRecord& a, const RunRecord& b) {
  const Job &x = a.job, &y = b.job;
  const TrainingWorkload &trains = x.training(), &trains_too = y.training();
  const InferenceWorkload &reads = x.requests(), &reads_too = y.requests();
  const CommandWorkload &program = x.program(), &other = y.program();
  return !a.machine.fingerprint.empty() && a.machine.fingerprint == b.machine.fingerprint &&
         x.infers() == y.infers() && x.model() == y.model() && x.label_file() == y.label_file() &&
         x.height() == y.height() && x.width() == y.width() &&
         trains.heights == trains_too.heights && trains.width_buckets == trains_too.width_buckets &&
         reads.place == reads_too.place && reads.checkpoint == reads_too.checkpoint &&
         reads.url == reads_too.url && reads.inputs == reads_too.inputs &&
         program.command == other.command && program.preset == other.preset &&
         program.metric == other.metric && program.environment == other.environment &&
         x.gpus() == y.gpus() && a.versions == b.versions;
}

class StoreCheck {
 public:
  StoreCheck(const std::vector<RunRecord>& runs, double confidence)
      : runs_(runs), confidence_(confidence) {}

  std::vector<StoreBackTest> tests() {
    std::vector<std::vector<NodeMeasurement>> measured;
    for (const RunRecord& run : runs_) {
      const auto nodes = measure_settings(run);
      measured.push_back(nodes ? *nodes : std::vector<NodeMeasurement>());
    }
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!measured[i].empty()) compare_counts(runs_[i], measured[i].front());
      for (std::size_t j = i + 1; j < runs_.size(); ++j) {
        if (!same_work(runs_[i], runs_[j])) continue;
        for (const NodeMeasurement& later : measured[j]) {
          for (const NodeMeasurement& earlier : measured[i]) {
            if (earlier.knobs == later.knobs) compare(runs_[i].id, earlier, runs_[j].id, later);
          }
        }
      }
    }
    return std::move(tests_);
  }

 private:
  void compare_counts(const RunRecord& run, const NodeMeasurement& node) {
    if (!node.slo.empty()) return;
    for (const BackTest& test : back_tests(node.points, {confidence_, 200, 1})) {
      Knobs knobs = node.knobs;
      knobs.nproc = test.predicted_at;
      tests_.push_back({PredictedFigure::more_processes, run.id, run.id, knobs, "", test.predicted,
                        test.measured});
    }
  }

  void compare(const std::string& from, const NodeMeasurement& earlier, const std::string& against,
               const NodeMeasurement& later) {
    // The saturated rate predicts the rate within the target, whichever came first.
    if (later.slo.empty() && !earlier.slo.empty()) return compare(against, later, from, earlier);
    StoreBackTest test{PredictedFigure::rate, from, against, later.knobs, later.slo, {}, 0};
    test.measured = centre_of(later);
    const double own = rate_error(later);
    if (earlier.slo == later.slo) {
      // The same machine, another day.
      const double error = std::hypot(rate_error(earlier), own, std::sqrt(2.0) * kDaySpread);
      const double centre = centre_of(earlier);
      test.predicted = {centre, centre * std::exp(-deviate() * error),
                        centre * std::exp(deviate() * error)};
    } else if (earlier.slo.empty()) {
      const auto slo = parse_slo(later.slo);
      if (!slo) return;
      test.figure = PredictedFigure::served;
      CapacityDemand demand;
      demand.requests_per_second = centre_of(later);
      demand.slo = *slo;
      demand.confidence = confidence_;
      const auto plan = plan_capacity(earlier, demand);
      if (!plan || plan->served_rate.median <= 0) return;
      const Interval& served = plan->served_rate;
      const double centre = served.median;
      const auto end = [&](double side, double sign) {
        return centre * std::exp(sign * std::hypot(std::log(side / centre), deviate() * own));
      };
      test.predicted = {centre, end(std::max(served.low, 1e-9), -1), end(served.high, 1)};
    } else {
      return;  // a rate under one target says nothing of another target's
    }
    tests_.push_back(test);
  }

  // Standard deviations to the ends of an interval of this confidence.
  double deviate() const { return normal_quantile(0.5 * (1 + confidence_)); }

  const std::vector<RunRecord>& runs_;
  double confidence_;
  std::vector<StoreBackTest> tests_;
};

}  // namespace

const char* predicted_figure_name(PredictedFigure figure) {
  switch (figure) {
    case PredictedFigure::rate:
      return "rate";
    case PredictedFigure::more_processes:
      return "more processes";
    case PredictedFigure::served:
      break;
  }
  return "served in time";
}

std::vector<StoreBackTest> store_back_tests(const std::vector<RunRecord>& runs, double confidence) {
  return StoreCheck(runs, confidence).tests();
}

StoreBackTestSummary summary_of(const std::vector<StoreBackTest>& tests) {
  StoreBackTestSummary summary;
  std::vector<double> errors;
  for (const StoreBackTest& test : tests) {
    ++summary.tests;
    summary.held += test.held() ? 1 : 0;
    errors.push_back(std::abs(test.error()));
  }
  summary.median_error = median(errors);
  summary.p90_error = quantile(errors, 0.9);
  return summary;
}

}  // namespace ocrtune
