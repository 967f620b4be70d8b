// The highest rate of requests that keeps a latency SLO.
//
// A closed load tells what one request takes alone and what the target does at most; then open
// loads bisect between them (guided by 1 / latency, which falls about linearly with the rate).
// Every rate is judged by the binomial rule of trial/workloads/service/slo.h, and the claimed
// rate is run afresh and must be proved by both runs together: a rate too near the edge to tell
// counts as broken. No rate above the closed maximum is tried, a rate is seen for at least five
// times the SLO's time, and one whose line of unanswered requests grows is not kept. With several
// kinds of request the SLO must hold for each: a rate at which one kind's own requests refute it
// counts as broken, so wide lines do not hide behind short ones. LoadGen's peak search doubles and
// bisects likewise, and its rules once asked for five proofs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "trial/workloads/service/closed_maximum.h"
#include "trial/workloads/service/load_generator.h"
#include "trial/workloads/service/load_target.h"
#include "trial/workloads/service/slo.h"

namespace ocrtune {

// One rate, tried.
struct RateProbe {
  double requests_per_second = 0;
  SloVerdict verdict = SloVerdict::undecided;
  LoadStop stop = LoadStop::seconds;
  double seconds = 0;          // that the probe took
  double latency_seconds = 0;  // at the percentile of the SLO
  double median_seconds = 0, p95_seconds = 0, p99_seconds = 0;
  double worst_kind_seconds = 0;  // the same percentile of the slowest kind; 0 with one kind
  std::int64_t judged = 0;
  std::int64_t over = 0;
  std::int64_t refused = 0;  // of those over: turned away because of the load
  double late_share = 0;     // over / judged, less what the arrivals alone explain
  double design_effect = 1;
  bool breaks_a_kind = false;  // one input's requests are late for themselves, however many others
};

struct SloSearchOptions {
  LatencySlo slo;
  double budget_seconds = 120;  // on the clock, everything included
  double resolution = 0.01;     // stop when proved and refuted rate are this close
  double confidence = 0.99;     // of each verdict
  double warm_up_limits = 20;   // multiples of the SLO's time before requests count: a queue fills
  double min_limits = 100;  // multiples of the SLO's time before a verdict: it must be seen to last
  const char* budget_flag = "--budget";
  double min_rates = 0;  // where the budget is short each is seen for less, so that so many fit
  std::vector<double> trace;  // recorded arrivals, stretched to each rate; empty: Poisson
  std::vector<double> kind_weights;
  std::uint64_t seed = 1;
  int max_in_flight = kMostInFlight;
  double patience_seconds = 30;                    // for an answer of a closed load
  std::function<void(const RateProbe&)> on_probe;  // after each rate that was tried; may be empty
  std::function<void(const ClosedStep&)> on_step;  // of the closed load; may be empty
  std::function<Result<LoadTarget*>()> restart;    // as in ClosedMaximumOptions
};

// Of one trial of a sweep, whose leaders are measured again and again: coarser and shorter.
SloSearchOptions search_of_a_trial();

struct SloSearchResult {
  bool found = false;
  double requests_per_second = 0;  // proved; 0 when not found
  bool confirmed = false;          // proved again by a fresh run, as far as the budget reached
  double broken_at = 0;            // the lowest rate that was refuted or not decided; 0: none
  double saturated_at = 0;         // the most that a closed load got
  ClosedMaximum closed;            // how it was found; without steps where a rate was proved alone
  double alone_seconds = 0;        // the percentile of the SLO with one request at a time
  double latency_seconds = 0;      // at the claimed rate
  std::vector<RateProbe> probes;   // in the order in which they ran
  std::string stop_reason;         // resolution, budget, impossible, hopeless, interrupted
  std::string words;               // the answer in a sentence

  // A rate was found, and none close above it was seen to break the target.
  bool open() const {
    return found && stop_reason != "resolution" &&
           (broken_at <= 0 || broken_at > 1.1 * requests_per_second);
  }
};

// Errors: failed when the target answers nothing right (with its reason).
Result<SloSearchResult> find_highest_rate(LoadTarget& target, Clock& clock,
                                          const SloSearchOptions& options);

// A rate, run at full length: 459 times the SLO's time without a late request, or more with some,
// prove p99 at 99 % confidence. A rate that fails makes room for a lower one, down to 0.4 of it,
// and one that is proved early for a higher one. `found` is false where none was proved. Errors: as
// above.
Result<SloSearchResult> prove_rate(LoadTarget& target, Clock& clock,
                                   const SloSearchOptions& options, const RateToProve& begin);

}  // namespace ocrtune
