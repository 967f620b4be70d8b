// A session is a search and six stages after it, each with its own share of the budget at the end.
// Every stage judges the run as it stands, runs the winner in its own way, and commits the trial
// before the next stage begins.
#include "tuner/session/session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "probes/host/machine_lock.h"
#include "trial/workloads/command/command_fill.h"
#include "trial/workloads/service/served_target.h"
#include "trial/workloads/service/slo.h"
#include "tuner/job/job_workload.h"
#include "tuner/models/long_look.h"
#include "tuner/session/learning_trials.h"
#include "tuner/session/tune_setup.h"
#include "tuner/slo/proof_start.h"
#include "tuner/slo/slo_words.h"
#include "tuner/store/program_versions.h"
#include "tuner/verdict/growth.h"
#include "tuner/verdict/soak.h"

namespace ocrtune {
namespace {

Result<std::unique_ptr<Runner>> runner_of(const SessionDoors& doors, const Job& job,
                                          const SearchRequest& search, const Machine& machine) {
  return doors.runner ? doors.runner(job, search, machine)
                      : workload_of(job, search)->runner(machine);
}

Result<MachineLock> take_turn(bool wait, SessionObserver& observer, const SessionDoors& doors) {
  return MachineLock::take(
      wait, [&](const std::string& holder) { observer.waits_for(holder); }, *doors.clock);
}

Result<Machine> look(const SessionDoors& doors, const Job& job) {
  ProbeOptions quick;
  quick.quick = true;
  quick.command = job.command();
  return doors.probe(quick);
}

std::uint64_t memory_limit(const Machine& machine) {
  const auto limit = static_cast<std::uint64_t>(machine.memory.limit_bytes.value_or(0));
  const auto available = static_cast<std::uint64_t>(machine.memory.available_bytes);
  // One of them is unknown: the other one counts.
  if (limit == 0 || available == 0) return std::max(limit, available);
  return std::min(limit, available);
}

// The job at full load, without a latency target.
Job without_target(Job job) {
  if (InferenceWorkload* inference = job.inference()) {
    inference->slo.clear();
    inference->trace.clear();
  }
  return job;
}

double seconds_of(const std::vector<Trial>& trials) {
  double seconds = 0;
  for (const Trial& trial : trials) seconds += trial.seconds;
  return seconds;
}

constexpr double kLeastSoakSeconds = 5;  // shorter shows no growth

// Of a long trial: the seconds to measure, where `left` seconds are there for `count` of them. 0:
// too few to show more than the usual trials did.
double long_seconds(const RunRecord& run, double left, std::size_t count) {
  constexpr double kMost = 60;   // seconds
  constexpr double kTimes = 4;   // of a usual trial, at least
  constexpr double kMargin = 2;  // a trial beside load measures for twice its aim
  std::vector<double> starts;
  for (const Trial& trial : run.trials) {
    if (trial.ok()) starts.push_back(trial.start_seconds);
  }
  // A fifth more than a usual start.
  const double each = left / static_cast<double>(count) - 1.2 * median(std::move(starts));
  const double seconds = std::min(kMost, each / kMargin);
  return seconds < kTimes * run.search.trial_seconds ? 0 : seconds;
}

// A longer trial that was cut short, or whose program had no more to do, says nothing.
bool failed_by_itself(const Trial& trial) {
  const bool wrong = trial.outcome == Outcome::wrong_result;
  if (wrong || trial.outcome == Outcome::out_of_memory) return true;
  const bool gave_up =
      trial.outcome == Outcome::crashed && trial.counters.exit_code.value_or(0) != 0;
  return gave_up && !interrupted();
}

// One search with what comes after it: each stage judges what there is so far, and adds trials.
class Session {
 public:
  Session(RunRecord run, const TuneSetup& setup, double end_seconds, Store& store,
          SessionObserver& observer, const SessionDoors& doors,
          std::unique_ptr<Runner> runner = nullptr)
      : run_(std::move(run)),
        setup_(setup),
        store_(store),
        observer_(observer),
        doors_(doors),
        runner_(std::move(runner)),
        end_(end_seconds),
        end_of_proof_(end_seconds - rehearsal_seconds(run_.job, run_.search) -
                      noise_seconds(run_.job, run_.search) -
                      (asks_for_soak() ? 0 : soak_seconds(run_.job, run_.search))),
        end_of_search_(end_of_proof_ - proof_seconds(run_.job, run_.search)) {}

  // Searches, proves, and judges.
  Result<RunRecord> run();

 private:
  double now() const { return doors_.clock->now_seconds(); }
  bool asks_for_soak() const { return run_.search.soak_seconds >= 0; }  // after the budget
  // Who measures the job. What one trial learnt, such as the answers to compare with, the later
  // ones know.
  Result<Runner*> runner();
  Result<TuneLoopEnd> search();
  Status keep(Trial trial, const Knobs& knobs, const char* phase, const char* why,
              std::vector<Trial>& into);
  Status prove();
  Status read_cold();
  Status look_longer();
  Status rehearse();
  Status soak();
  Status learn();

  RunRecord run_;
  const TuneSetup& setup_;
  Store& store_;
  SessionObserver& observer_;
  const SessionDoors& doors_;
  std::unique_ptr<Runner> runner_;
  double end_, end_of_proof_, end_of_search_;  // of the clock
};

Result<Runner*> Session::runner() {
  if (!runner_) runner_ = OCRTUNE_TRY(runner_of(doors_, run_.job, run_.search, run_.machine));
  return runner_.get();
}

// Commits a trial that `into` keeps beside those of the search. A wrong result speaks against
// its setting whatever it was run for.
Status Session::keep(Trial trial, const Knobs& knobs, const char* phase, const char* why,
                     std::vector<Trial>& into) {
  const bool wrong = trial.outcome == Outcome::wrong_result;
  trial.knobs = knobs;
  trial.phase = wrong ? kLongPhase : phase;
  trial.why = why;
  OCRTUNE_TRY(store_.add_trial(run_.id, trial));
  (wrong ? run_.trials : into).push_back(std::move(trial));
  return Status();
}

// The latency target of the winner, proved at full length; a winner that fails makes room for the
// next.
Status Session::prove() {
  constexpr int kMaxWinners = 2;
  for (int i = 0; i < kMaxWinners && !run_.job.slo().empty() && !interrupted(); ++i) {
    OCRTUNE_TRY(judge(run_, setup_));
    observer_.proves();
    auto trial = prove_winner(run_, *OCRTUNE_TRY(runner()), end_of_proof_ - now());
    if (!trial) break;
    OCRTUNE_TRY(store_.add_trial(run_.id, *trial));
    run_.trials.push_back(std::move(*trial));
    if (run_.trials.back().ok()) break;
  }
  return Status();
}

// The recommended setting once more, with the files that its trials read out of memory: the rate of
// a first epoch. Where they came from the disk anyway there is nothing to learn. Beside load it
// runs once more right after, as that load is part of the rate.
Status Session::read_cold() {
  if (!run_.job.prints() || interrupted() || !run_.cold.empty()) return Status();
  OCRTUNE_TRY(judge(run_, setup_));
  const Knobs& knobs = run_.result.recommendation.knobs;
  if (!run_.result.found || nodes_of(knobs) > 1) return Status();
  const auto warm = std::find_if(run_.trials.rbegin(), run_.trials.rend(), [&](const Trial& trial) {
    return trial.ok() && trial.knobs == knobs && trial.stages.opened_files != nullptr &&
           reads_from_memory(trial.stages);
  });
  if (warm == run_.trials.rend()) return Status();
  constexpr double kSlower = 3;  // times as long as a warm one, at most
  const double seconds = kSlower * warm->seconds;
  const auto has_time = [&] { return end_of_search_ - now() >= seconds; };
  if (!has_time()) return Status();
  Runner* const measures = OCRTUNE_TRY(runner());
  observer_.reads_cold();
  // Nothing was dropped: the trial would be warm.
  if (doors_.drop_from_memory(*warm->stages.opened_files) == 0) return Status();
  TrialLimits limits = trial_limits(run_.job, run_.search);
  limits.max_seconds = seconds;
  Trial trial = measures->run(knobs, limits);
  if (!trial.ok() && trial.outcome != Outcome::wrong_result) return Status();
  const bool beside_load = trial.ok() && trial.noisy();
  OCRTUNE_TRY(keep(std::move(trial), knobs, kColdPhase,
                   "its files out of memory, as in a first epoch", run_.cold));
  if (!beside_load || interrupted() || !has_time()) return Status();
  trial = measures->run(knobs, limits);
  if (!trial.ok()) return Status();
  return keep(std::move(trial), knobs, kColdPhase,
              "its files in memory again, beside the same load", run_.cold);
}

// What the search leaves of the budget shows whether the rates of the start and of the winner last.
Status Session::look_longer() {
  const bool goal = run_.search.objective.goal == Goal::throughput;
  if (!run_.job.prints() || !goal || interrupted() || long_look(run_.trials).seconds > 0 ||
      long_seconds(run_, end_of_search_ - now(), 1) <= 0) {
    return Status();
  }
  OCRTUNE_TRY(judge(run_, setup_));
  if (!run_.result.found || nodes_of(run_.result.recommendation.knobs) > 1) return Status();
  std::vector<Knobs> settings = {run_.result.recommendation.knobs};
  if (run_.result.baseline.outcome == Outcome::ok && run_.result.baseline.knobs != settings[0]) {
    settings.insert(settings.begin(), run_.result.baseline.knobs);
  }
  const double left = end_of_search_ - now();
  const double seconds = long_seconds(run_, left, settings.size());
  if (seconds <= 0) return Status();
  for (const Knobs& knobs : settings) {
    TrialLimits limits = trial_limits(run_.job, run_.search);
    limits.measure_seconds = seconds;
    limits.max_seconds = left / static_cast<double>(settings.size());
    observer_.soaks(seconds);
    Runner* const measures = OCRTUNE_TRY(runner());
    Trial trial = measures->run(knobs, limits);
    // It came to the end of its inputs and read some otherwise: by chance, or each time?
    const bool ended = trial.outcome == Outcome::crashed && trial.same.differing_inputs() > 0;
    if (ended) trial = measures->run(knobs, limits);
    const bool has_text = trial.outcome == Outcome::crashed && trial.same.compared();
    if (has_text) trial.outcome = Outcome::skipped;  // of its speed it says nothing
    if (!trial.ok() && !has_text && !failed_by_itself(trial)) return Status();
    trial.growth = memory_growth(trial);
    OCRTUNE_TRY(keep(std::move(trial), knobs, kLongPhase, "does the rate last?", run_.trials));
    observer_.measured(run_.trials.back());
  }
  return Status();
}

// The recommended setting's evaluation and checkpoint; one that runs out of memory makes room for
// the next.
Status Session::rehearse() {
  constexpr int kMaxWinners = 2;
  const double most = rehearsal_seconds(run_.job, run_.search);
  Job job = run_.job;
  if (UserCommandOptions* user = job.user()) user->command.rehearses = true;
  for (int i = 0; i < kMaxWinners && most > 0 && !interrupted(); ++i) {
    const double seconds = std::min(end_ - now(), most);
    OCRTUNE_TRY(judge(run_, setup_));
    const Knobs& knobs = run_.result.recommendation.knobs;
    const auto known = [&](const Trial& trial) { return trial.knobs == knobs; };
    if (seconds <= 0 || !run_.result.found || nodes_of(knobs) > 1 ||
        std::any_of(run_.rehearsals.begin(), run_.rehearsals.end(), known)) {
      break;
    }
    observer_.rehearses();
    const auto runner = OCRTUNE_TRY(runner_of(doors_, job, run_.search, run_.machine));
    TrialLimits limits = trial_limits(run_.job, run_.search);
    limits.measure_seconds = std::max(limits.measure_seconds, seconds / 2);
    limits.max_seconds = seconds;
    Trial trial = runner->run(knobs, limits);
    if (interrupted() && !trial.ok()) break;
    OCRTUNE_TRY(keep(std::move(trial), knobs, kRehearsalPhase,
                     "an evaluation and a checkpoint, which the other trials leave out",
                     run_.rehearsals));
  }
  return Status();
}

// The recommended setting at full load for longer: of a service with as many requests in flight as
// its trials found best, since a search for them has no end of its own.
Status Session::soak() {
  double seconds = soak_seconds(run_.job, run_.search);
  if (seconds <= 0 || interrupted()) return Status();
  OCRTUNE_TRY(judge(run_, setup_));
  const Knobs knobs = run_.result.recommendation.knobs;
  if (!run_.result.found || nodes_of(knobs) > 1) return Status();
  const FullLoad load = full_load(run_.trials, knobs);
  const bool asks = run_.job.serves() || !run_.job.slo().empty();
  if (asks && load.in_flight == 0) return Status();
  TrialLimits limits = trial_limits(run_.job, run_.search);
  limits.measure_seconds = seconds;
  limits.in_flight = load.in_flight;
  // Beside load a soak measures for longer than it aims (guess).
  limits.max_seconds += 3 * seconds;
  if (!asks_for_soak()) {
    limits.max_seconds = end_ - now();
    seconds = std::min(seconds, limits.max_seconds - load.start_seconds);
    if (seconds < kLeastSoakSeconds) return Status();
  }
  observer_.soaks(seconds);
  Trial trial = OCRTUNE_TRY(runner())->run(knobs, limits);
  if (interrupted() && !trial.ok()) return Status();
  trial.growth = memory_growth(trial);
  return keep(std::move(trial), knobs, kSoakPhase, "does memory grow as it works?", run_.soaks);
}

// What a sample of the fastest other recipe is worth, beside one of the recommended setting.
Status Session::learn() {
  const bool asked = run_.search.learning_seconds > 0 || noise_seconds(run_.job, run_.search) > 0;
  if (!asked || interrupted()) return Status();
  OCRTUNE_TRY(judge(run_, setup_));
  const std::vector<LearningTrial> trials = learning_trials(run_);
  double seconds = 0;
  for (const LearningTrial& one : trials) seconds += one.seconds;
  if (!trials.empty()) observer_.learns(seconds);
  for (const LearningTrial& one : trials) {
    const auto runner =
        OCRTUNE_TRY(runner_of(doors_, learning_job(run_.job, one.ask), run_.search, run_.machine));
    Trial trial = run_learning_trial(one, trial_limits(run_.job, run_.search), *runner);
    if (interrupted()) return Status();
    OCRTUNE_TRY(store_.add_trial(run_.id, trial));
    run_.learning.push_back(std::move(trial));
  }
  return Status();
}

Result<TuneLoopEnd> Session::search() {
  const auto search = make_search(setup_.space, setup_.search);
  Runner* const measures = OCRTUNE_TRY(runner());
  TuneLoopOptions loop;
  loop.budget_seconds = std::max(0.0, end_of_search_ - now());
  loop.limits = trial_limits(run_.job, run_.search);
  loop.earlier = run_.trials;
  loop.open_question = [&](const std::vector<Trial>& trials) {
    return open_question(setup_.space, *search, trials, setup_.recommend);
  };
  TuneCallbacks callbacks;
  callbacks.on_trial = [&](Trial& trial) {
    Status kept = store_.add_trial(run_.id, trial);
    if (kept) observer_.measured(trial);
    return kept;
  };
  callbacks.on_progress = [&](const TuneProgress& progress) { observer_.progress(progress); };
  observer_.begins(run_, run_.machine, loop.budget_seconds);
  return tune_loop(*search, *measures, *doors_.clock, loop, callbacks);
}

Result<RunRecord> Session::run() {
  auto ended = search();
  if (!ended) {
    (void)store_.finish_run(run_.id, "failed", ended.error().what).ok();
    return ended.error();
  }
  run_.trials = std::move(ended->trials);
  run_.stop_reason = ended->stop_reason;
  // A later stage may change the winner of an earlier one: each judges anew. Cold reads and long
  // looks use what the search left; the others have kept their own time.
  for (const auto stage : {&Session::read_cold, &Session::look_longer, &Session::prove,
                           &Session::rehearse, &Session::soak, &Session::learn}) {
    OCRTUNE_TRY((this->*stage)());
  }
  const bool stopped = ended->interrupted || interrupted();
  if (stopped) run_.stop_reason = "interrupted";
  run_.state = stopped ? "interrupted" : "done";
  OCRTUNE_TRY(judge(run_, setup_));
  const std::string verdict = verdict_name(run_.result.verdict);
  OCRTUNE_TRY(store_.finish_run(run_.id, run_.state, run_.stop_reason, verdict));
  return std::move(run_);
}

// A taken run to which no trial was added is again what it was.
Status give_back(RunRecord& run, const TuneSetup& setup, Store& store) {
  OCRTUNE_TRY(judge(run, setup));
  const bool ended = run.state != "running" && run.state != "died";
  return store.finish_run(run.id, ended ? run.state : "interrupted", run.stop_reason,
                          ended ? verdict_name(run.result.verdict) : "");
}

}  // namespace

Result<RunRecord> tune(const TuneRequest& request, Store& store, SessionObserver& observer,
                       const SessionDoors& doors) {
  double start = doors.clock->now_seconds() - request.spent_seconds;
  RunRecord run;
  run.id = new_run_id();
  run.started = utc_now();
  run.command_line = request.command_line;
  run.name = request.name;
  run.versions = {program_versions().begin(), program_versions().end()};
  run.job = request.job;
  run.search = request.search;
  run.machine = request.machine;
  if (!run.name.empty()) OCRTUNE_TRY(store.check_name_free(run.name));
  const double before = doors.clock->now_seconds();
  const MachineLock turn = OCRTUNE_TRY(take_turn(request.wait, observer, doors));
  start += doors.clock->now_seconds() - before;
  // Measuring the machine takes seconds: a budget of few is for the trials.
  constexpr double kMinForProbe = 15;
  if (run.search.budget_seconds >= kMinForProbe) {
    observer.probes();
    ProbeOptions options;
    options.command = run.job.command();
    run.machine = OCRTUNE_TRY(doors.probe(options));
  }
  if (run.search.memory_limit_bytes == 0) run.search.memory_limit_bytes = memory_limit(run.machine);
  const auto setup = OCRTUNE_TRY(tune_setup(run.job, run.search, run.machine));
  OCRTUNE_TRY(store.begin_run(run));
  const double end = start + run.search.budget_seconds;
  return Session(std::move(run), setup, end, store, observer, doors).run();
}

Result<RunRecord> resume(const ResumeRequest& request, Store& store, SessionObserver& observer,
                         const SessionDoors& doors) {
  double start = doors.clock->now_seconds();
  auto run = OCRTUNE_TRY(store.load_run(request.run));
  const auto here = OCRTUNE_TRY(look(doors, run.job));
  if (here.fingerprint != run.machine.fingerprint) {
    return Error{ErrorKind::usage,
                 fmt::format("run {} was measured on another machine ({}); its trials say nothing "
                             "about this one: start a new tune without --resume",
                             run.id, run.machine.host)};
  }
  // What was free then may be taken now, and a container's limit may be another.
  const std::uint64_t now_bytes = memory_limit(here);
  std::uint64_t& limit_bytes = run.search.memory_limit_bytes;
  if (now_bytes > 0) limit_bytes = limit_bytes == 0 ? now_bytes : std::min(limit_bytes, now_bytes);
  const SearchRequest judges = run.search;
  const double spent = seconds_of(run.trials);
  if (request.budget_seconds) run.search.budget_seconds = spent + *request.budget_seconds;
  // What cannot go on, its folder gone or its secret masked, stays the run that it was.
  const auto setup = OCRTUNE_TRY(tune_setup(run.job, run.search, run.machine));
  auto runner = OCRTUNE_TRY(runner_of(doors, run.job, run.search, run.machine));
  OCRTUNE_TRY(store.take_run(run.id, judges));
  const double before = doors.clock->now_seconds();
  const auto turn = take_turn(request.wait, observer, doors);
  if (!turn) {
    OCRTUNE_TRY(give_back(run, setup, store));
    return turn.error();
  }
  start += doors.clock->now_seconds() - before;
  const double end = start + run.search.budget_seconds - spent;
  return Session(std::move(run), setup, end, store, observer, doors, std::move(runner)).run();
}

Result<Trial> try_once(const TuneRequest& request, SessionObserver& observer,
                       const SessionDoors& doors) {
  // One step, not a search for the highest rate.
  const Job job = without_target(request.job);
  SearchRequest search = request.search;
  if (search.memory_limit_bytes == 0) search.memory_limit_bytes = memory_limit(request.machine);
  const MachineLock turn = OCRTUNE_TRY(take_turn(request.wait, observer, doors));
  const auto runner = OCRTUNE_TRY(runner_of(doors, job, search, request.machine));
  Trial trial = runner->run(search.baseline, trial_limits(job, search));
  if (interrupted()) return Error{ErrorKind::interrupted, "interrupted"};
  return trial;
}

Result<RunRecord> judged_run(const Store& store, const std::string& id) {
  auto run = store.load_run(id);
  if (!run) return run;
  OCRTUNE_TRY(judge(*run));
  return run;
}

Result<RunRecord> settled_run(const Store& store, const std::string& id) {
  auto run = store.load_run(id);
  if (run) OCRTUNE_TRY(settle(*run));
  return run;
}

Result<VerifyAnswer> verify(const VerifyRequest& request, const Store& store,
                            SessionObserver& observer, const SessionDoors& doors) {
  auto run = OCRTUNE_TRY(judged_run(store, request.run));
  if (!run.result.found) {
    return Error{ErrorKind::missing,
                 fmt::format("run {0} has no recommendation to verify; `ocrtune show {0}` says why",
                             run.id)};
  }
  if (UserCommandOptions* user = run.job.user(); user != nullptr && !request.directory.empty()) {
    user->command.directory = request.directory;
  }
  if (run.job.serves() && run.job.command().empty()) {  // that it is away speaks of no setting
    OCRTUNE_TRY(check_server_answers(run.job.url(), run.job.requests().inputs));
  }
  const auto writable = Store::open(store.path(), Store::Mode::write);
  if (!writable) observer.keeps_nothing(writable.error());
  const MachineLock turn = OCRTUNE_TRY(take_turn(request.wait, observer, doors));
  const auto here = OCRTUNE_TRY(look(doors, run.job));
  const auto runner = OCRTUNE_TRY(runner_of(doors, run.job, run.search, here));
  observer.begins(run, here, request.options.seconds);
  VerifyOptions options = request.options;
  options.limit_bytes = memory_limit(here);
  VerifyAnswer answer;
  answer.verification = measure_again(run, *runner, *doors.clock, options,
                                      [&](const Trial& trial) { observer.measured(trial); });
  answer.run = std::move(run);
  answer.kept = writable
                    ? (*writable)->add_event(
                          answer.run.id,
                          fmt::format("verify {}: {}", verify_state_name(answer.verification.state),
                                      answer.verification.reason))
                    : Status(writable.error());
  return answer;
}

double proof_seconds(const Job& job, const SearchRequest& search) {
  const auto slo = parse_slo(job.slo());
  if (job.slo().empty() || !slo) return 0;
  return std::min(kProofShare * search.budget_seconds, full_proof_seconds(*slo));
}

namespace {

// Of a budget that is long enough, for a trial of the winner after the search.
double winner_seconds(const SearchRequest& search) {
  constexpr double kMinBudget = 90, kShare = 0.15, kMost = 60;  // seconds, share of the budget
  return search.budget_seconds < kMinBudget ? 0 : std::min(kMost, kShare * search.budget_seconds);
}

}  // namespace

double soak_seconds(const Job& job, const SearchRequest& search) {
  if (search.soak_seconds >= 0) return search.soak_seconds;
  const bool server = job.serves() && !job.command().empty();  // else its memory is not ours
  return server ? winner_seconds(search) : 0;
}

double rehearsal_seconds(const Job& job, const SearchRequest& search) {
  const UserCommandOptions* user = job.user();
  return user != nullptr && user->evaluation_steps >= 0 ? winner_seconds(search) : 0;
}

std::optional<Trial> prove_winner(const RunRecord& run, Runner& runner, double seconds) {
  const auto slo = parse_slo(run.job.slo());
  const auto setting = setting_to_prove(run);
  if (!slo || !setting || seconds <= 0) return std::nullopt;
  const Knobs& knobs = *setting;
  TrialLimits limits = trial_limits(run.job, run.search);
  limits.proves = rate_to_prove(run, knobs);
  limits.measure_seconds = std::min(seconds, full_proof_seconds(*slo));
  limits.max_seconds = seconds;
  Trial trial = runner.run(knobs, limits);
  const bool refuted = trial.outcome == Outcome::unsupported && trial.cause == "promise";
  if (interrupted() || (!trial.ok() && !refuted)) return std::nullopt;
  trial.knobs = knobs;
  trial.phase = kProofPhase;
  trial.why = "proves the claimed rate at full length";
  trial.repetition =
      static_cast<int>(std::count_if(run.trials.begin(), run.trials.end(),
                                     [&](const Trial& earlier) { return earlier.knobs == knobs; }));
  return trial;
}

}  // namespace ocrtune
