// ocrtune verify: is the stored recommendation still right on this machine?
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/hosts_door.h"
#include "cli/shell/machine_turn.h"
#include "cli/shell/output_folder.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "reports/catalogue/headline.h"
#include "reports/catalogue/plain_text.h"
#include "reports/export/junit.h"
#include "tuner/session/session.h"
#include "tuner/store/store.h"
#include "tuner/verdict/settings.h"

namespace ocrtune {
namespace {

struct VerifyFlags {
  std::string run = "last", database, seconds = "60s", junit;
  double tolerance = 0.1;
  HostFlags hosts;
  bool json = false, no_wait = false;
};

nlohmann::ordered_json interval_json(const Interval& interval) {
  return {{"median", interval.median}, {"low", interval.low}, {"high", interval.high}};
}

void print_json(const RunRecord& run, const Verification& verification) {
  const nlohmann::ordered_json document = {
      {"run_id", run.id},
      {"state", verify_state_name(verification.state)},
      {"reason", valid_utf8(verification.reason)},
      {"recommended", knobs_text(verification.recommended)},
      {"baseline", knobs_text(verification.baseline)},
      {"samples_per_second_then", interval_json(verification.rate_then)},
      {"samples_per_second_now", interval_json(verification.rate_now)},
      {"gain_then", interval_json(verification.gain_then)},
      {"gain_now", interval_json(verification.gain_now)},
      {"ratio_over_trials", interval_json(verification.ratio)},
      // Older keys, kept for those who read them; the code says valid and discarded windows.
      {"clean_samples", verification.clean_samples},
      {"spoilt_samples", verification.discarded_samples},
      {"p_against_then", verification.p_against_then},
      {"p_against_baseline", verification.p_against_baseline},
      {"peak_bytes", verification.peak_bytes},
      {"limit_bytes", verification.limit_bytes},
      {"trials", verification.trials.size()},
      {"seconds", verification.seconds}};
  std::printf("%s\n", document.dump(2).c_str());
}

std::string rate_text(const Interval& rate, const RunRecord& run) {
  if (rate.median <= 0) return terminal_text("not measured");
  return fmt::format("{} ({} .. {}) {}", format_count(rate.median), format_count(rate.low),
                     format_count(rate.high), terminal_text(rate_unit(run)));
}

std::string then_and_now(const std::string& what, const std::string& then, const std::string& now) {
  return fmt::format("{}\n  {}\n  {}\n", what, terminal_text("then {}", {then}),
                     terminal_text("now  {}", {now}));
}

std::string gain_text(const Verification& verification) {
  const Interval& then = verification.gain_then;
  const Interval& now = verification.gain_now;
  if (then.median <= 0 || now.median <= 0 || verification.baseline == verification.recommended) {
    return "";
  }
  const auto times = [](const Interval& gain) {
    return fmt::format("{:.2f}x ({:.2f} .. {:.2f})", gain.median, gain.low, gain.high);
  };
  return then_and_now(terminal_text("gain"), times(then), times(now));
}

void print_text(const RunRecord& run, const Verification& verification) {
  const int samples = verification.clean_samples + verification.discarded_samples;
  const auto setting = [](std::string_view label, const Knobs& knobs) {
    return padded_to(terminal_text(label), 11) + "  " + knobs_text(knobs);
  };
  const std::string now =
      rate_text(verification.rate_now, run) + terminal_text(", ") +
      terminal_text("{} at most; {} of {} {2:window|windows} discarded for other load",
                    {format_bytes(verification.peak_bytes),
                     std::to_string(verification.discarded_samples), std::to_string(samples)});
  const std::string text =
      then_and_now(setting("recommended", verification.recommended),
                   rate_text(verification.rate_then, run), now) +
      then_and_now(setting("baseline", verification.baseline),
                   rate_text(verification.baseline_then, run),
                   rate_text(verification.baseline_now, run)) +
      gain_text(verification) +
      terminal_text("{} {0:trial|trials} in {}", {std::to_string(verification.trials.size()),
                                                  format_duration(verification.seconds)}) +
      "\n" +
      terminal_text("{}: {} (run {})", {std::string(verify_state_name(verification.state)),
                                        verification.reason, run.id});
  std::puts(text.c_str());
}

class VerifyLines : public SessionObserver {
 public:
  void waits_for(const std::string& holder) override { line_.note(waiting_text(holder)); }

  void keeps_nothing(const Error& why) override {
    note("the answer is shown and not kept: {}", why.what);
    keeps_nothing_ = true;
  }

  void begins(const RunRecord& run, const Machine& here, double seconds) override {
    state_.unit = rate_unit(run);
    state_.budget_seconds = seconds;
    end_ = steady_clock().now_seconds() + seconds;
    if (here.fingerprint != run.machine.fingerprint) {
      note("run {} was measured on another machine, or this one has changed", run.id);
    }
    show_next();
  }

  void measured(const Trial& trial) override {
    const auto discarded = std::count_if(trial.samples.begin(), trial.samples.end(),
                                         [](const Sample& sample) { return !sample.clean(); });
    const std::string rate = fmt::format(
        "{} {}{}", format_count(trial.samples_per_second), terminal_text(state_.unit),
        discarded == 0
            ? std::string()
            : terminal_text(", ") +
                  terminal_text("{} of {} {1:window|windows} discarded for "
                                "other load",
                                {std::to_string(discarded), std::to_string(trial.samples.size())}));
    line_.note(knobs_text(trial.knobs) + ": " +
               (trial.ok() ? rate : sentence(outcome_reason(trial.outcome), terminal_language())));
    show_next();
  }

  void clear() { line_.clear(); }
  bool said_not_kept() const { return keeps_nothing_; }

 private:
  void note(std::string_view english, const std::string& value) {
    line_.note(terminal_text("note") + ": " + terminal_text(english, {value}));
  }

  void show_next() {
    ++state_.trial;
    state_.seconds_left = end_ - steady_clock().now_seconds();
    line_.show(state_);
  }

  SearchState state_;
  double end_ = 0;
  bool keeps_nothing_ = false;
  SearchProgress line_;
};

// The same checkout lies elsewhere on another machine, such as a runner of a CI.
std::string folder_here(const Job& job) {
  const std::string& tuned_in = job.program().directory;
  if (tuned_in.empty() || is_directory(tuned_in)) return "";
  std::fprintf(
      stderr, "ocrtune verify: %s: %s\n", terminal_text("note").c_str(),
      terminal_text("no folder {}: the command runs in this one", {plain_line(tuned_in)}).c_str());
  return real_path(".").value_or("");
}

Result<int> run_verify(const VerifyFlags& flags) {
  VerifyRequest request;
  request.run = flags.run;
  const auto seconds = parse_duration(flags.seconds);
  if (!seconds) return Error{ErrorKind::usage, "--budget: " + seconds.error().what};
  request.options.seconds = *seconds;
  request.options.tolerance = flags.tolerance;
  request.wait = !flags.no_wait;
  const auto store = OCRTUNE_TRY(Store::open(flags.database, Store::Mode::read));
  // Before anything is measured: a folder that cannot be made is told now.
  if (!flags.junit.empty()) OCRTUNE_TRY(make_output_folder(parent_path(flags.junit)));
  VerifyLines lines;
  const RunRecord stored = OCRTUNE_TRY(store->load_run(request.run));
  request.directory = folder_here(stored.job);
  const auto doors = OCRTUNE_TRY(doors_of(flags.hosts, stored.job, flags.no_wait));
  const auto answer = OCRTUNE_TRY(verify(request, *store, lines, doors));
  lines.clear();
  if (!answer.kept && !lines.said_not_kept()) {
    say_line("ocrtune verify: note: " + answer.kept.error().what);
  }
  const Verification& verification = answer.verification;
  if (!flags.junit.empty()) {
    OCRTUNE_TRY(write_file(flags.junit, junit_text(answer.run, verification)));
  }
  flags.json ? print_json(answer.run, verification) : print_text(answer.run, verification);
  if (verification.state == VerifyState::interrupted) {
    return Error{ErrorKind::interrupted, "interrupted",
                 "nothing is settled: run it again, --budget 20s takes less time"};
  }
  return verification.state == VerifyState::ok ? kExitOk : kExitNegative;
}

}  // namespace

CommandRun declare_verify(Flags& cli) {
  auto flags = std::make_shared<VerifyFlags>();
  cli.run(flags->run);
  cli.option("--budget", flags->seconds, "DURATION",
             "Total time of the trials, at least two of each setting; up to twice that while the "
             "result is undecided")
      .formerly("--for");
  cli.option("--tolerance", flags->tolerance, "SHARE", "Accept a change of the rate by this share")
      .range(0.01, 1);
  cli.option("--junit", flags->junit, "FILE", "Write the answer as JUnit's XML too, for CI").file();
  declare_hosts(cli, flags->hosts);
  cli.store(flags->database);
  cli.toggle("--no-wait", flags->no_wait, kNoWaitHelp);
  cli.json(flags->json);
  return [flags] { return run_verify(*flags); };
}

}  // namespace ocrtune
