// The verbs of a run as functions: tune, resume, verify. cli/ parses, calls one of them, and
// prints.
//
// Each takes the machine's turn (probes/host/machine_lock.h), measures, keeps every trial in the
// store before the next one starts, and gives the run with its verdict.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "probes/probe.h"
#include "trial/runner.h"
#include "trial/stages/page_cache.h"
#include "trial/trial.h"
#include "tuner/session/tune_loop.h"
#include "tuner/session/verification.h"
#include "tuner/store/run_record.h"
#include "tuner/store/store.h"

namespace ocrtune {

// Is told how a session goes, on its thread.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  virtual void waits_for(const std::string& /*holder*/) {}  // another measurement on this machine
  virtual void keeps_nothing(const Error& /*why*/) {}       // what is found will not be stored
  virtual void probes() {}  // the machine itself is measured now, for seconds
  // The trials begin, on the machine `here`; they may take so many seconds in all.
  virtual void begins(const RunRecord& /*run*/, const Machine& /*here*/, double /*seconds*/) {}
  virtual void progress(const TuneProgress& /*progress*/) {}
  virtual void measured(const Trial& /*trial*/) {}
  virtual void proves() {}                    // the winner's latency target, at full length
  virtual void rehearses() {}                 // the winner's evaluation and checkpoint
  virtual void soaks(double /*seconds*/) {}   // the winner, for longer than a trial
  virtual void reads_cold() {}                // the winner, with its files out of memory
  virtual void learns(double /*seconds*/) {}  // trainings that show what a sample is worth
};

// What a session reaches the outside by; tests bring their own.
struct SessionDoors {
  Clock* clock = &steady_clock();
  std::function<Result<Machine>(const ProbeOptions&)> probe = probe_machine;
  // Who runs the trials; empty: the workload's own.
  std::function<Result<std::unique_ptr<Runner>>(const Job&, const SearchRequest&, const Machine&)>
      runner;
  std::function<std::uint64_t(const std::vector<std::string>&)> drop_from_memory =
      ocrtune::drop_from_memory;
};

struct TuneRequest {
  Job job;
  SearchRequest search;      // memory_limit_bytes 0: what the machine has
  Machine machine;           // as looked at; measured in a session whose budget allows it
  std::string command_line;  // as typed, without secrets
  double spent_seconds = 0;  // of the budget, before the call
  bool wait = true;          // for the end of another measurement; false: an error
  std::string name = {};     // of the run; may be empty
};

struct ResumeRequest {
  std::string run = "last";              // its id, or an unambiguous beginning
  std::optional<double> budget_seconds;  // of this call; unset: what is left of the run's own
  bool wait = true;
};

struct VerifyRequest {
  std::string run = "last";
  VerifyOptions options;
  bool wait = true;
  std::string directory = {};  // of the command, in place of the one it was tuned in; empty: there
};

struct VerifyAnswer {
  RunRecord run;
  Verification verification;
  Status kept;  // as an event of the run; a store that cannot be written does not undo the answer
};

// A new run, judged. Errors: usage (axes or constraints that make no sense), what a door or the
// store gave, exhausted (another measurement is under way), interrupted while waiting. Failed
// trials and Ctrl-C between trials are no errors: the run's state and its result say so.
Result<RunRecord> tune(const TuneRequest& request, Store& store, SessionObserver& observer,
                       const SessionDoors& doors = {});

// The run goes on with its own settings and trials. Errors also: missing (no such run), usage (of
// another machine, or held by a living process).
Result<RunRecord> resume(const ResumeRequest& request, Store& store, SessionObserver& observer,
                         const SessionDoors& doors = {});

// Is the stored recommendation still right here? Errors also: missing (no such run, or it
// recommends nothing).
Result<VerifyAnswer> verify(const VerifyRequest& request, const Store& store,
                            SessionObserver& observer, const SessionDoors& doors = {});

// One trial of the baseline, which is stored nowhere: does a step work here, and is its speed
// understood? A trial that failed is no error. Errors: as of tune, but for the store's;
// interrupted.
Result<Trial> try_once(const TuneRequest& request, SessionObserver& observer,
                       const SessionDoors& doors = {});

// A run of the store with its verdict. Errors: missing (no such run), usage (ambiguous), invalid.
Result<RunRecord> judged_run(const Store& store, const std::string& id);
// The same with the part of the verdict that a list shows.
Result<RunRecord> settled_run(const Store& store, const std::string& id);

// The winner of a tune under an SLO is run at full length before it is claimed: a trial of the
// search proves its rate over a short time. It runs at the claimed rate until the SLO is proved by
// itself (459 requests without a late one at p99), or at lower rates; the rate that this proves is
// the claim. The proof is a trial of the run like any other, of the phase "proof".

// What a tune keeps of its budget for the proof; 0 without an SLO.
double proof_seconds(const Job& job, const SearchRequest& search);

// Trials leave out what a run for hours does now and then: where the command's preset can, the
// winner of a tune is started once more with an evaluation and a checkpoint (trial/workloads/
// command/command_workload.h). It is a trial of the phase "rehearsal"; its memory counts for what
// is safe, and a winner that does not fit makes room for the next.

// What a tune keeps of its budget for that; 0: nothing to rehearse, or a budget too short for it.
double rehearsal_seconds(const Job& job, const SearchRequest& search);

// A server may grow with each request, too slowly for a trial of seconds: the winner is asked at
// full load for longer. It is a trial of the phase "soak", which says whether memory grows and
// after how many requests to start it anew.

// How long: what was asked for, after the budget; else, of a server that is started here, a part
// of a budget that is long enough. 0: not at all.
double soak_seconds(const Job& job, const SearchRequest& search);

// Proves the recommended setting of a run that was judged, within `seconds`. Nothing: there is
// nothing to prove, or the time was too short to tell.
std::optional<Trial> prove_winner(const RunRecord& run, Runner& runner, double seconds);

}  // namespace ocrtune
