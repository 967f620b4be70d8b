// What becomes of clients that fail: outcome, and the seconds from the fault to the end of the
// trial, everything stopped. Writes a Markdown table; exit code 1 if a row is not as it should be.
//
//   detection [CASE...]      the matrix, or some rows of it
//   detection --good 200     so many short good trials
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/orphan_guard.h"
#include "base/process.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "bench/clients/faulty_client.h"
#include "probes/probe.h"
#include "trial/workloads/command/command_prepare.h"
#include "trial/workloads/command/command_runner.h"

namespace {

using namespace ocrtune;

constexpr double kLateSeconds = 2;  // beyond the rule: grace, stopping, a busy machine

struct Case {
  const char* mode;
  const char* what;
  Outcome outcome;
  double measure_seconds;
  double max_seconds;
  double within_seconds;  // of the fault; 0: the trial ends when it has measured
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"hang", "stops printing, futex wait", Outcome::hung, 60, 120, 10},
      {"mute", "never prints, futex wait", Outcome::hung, 60, 120, 10},
      {"hang_peer", "two ranks wait for each other, launcher waits too", Outcome::hung, 60, 120,
       10},
      {"slow", "20 times slower from step 30 on", Outcome::ok, 6, 120, 0},
      {"crash", "rank 1 exits with 3, its launcher too", Outcome::crashed, 60, 120, 10},
      {"segv", "rank 1 gets SIGSEGV", Outcome::crashed, 60, 120, 10},
      {"sigkill", "rank 1 gets SIGKILL", Outcome::crashed, 60, 120, 10},
      {"garbage", "log turns to garbage: up to the trial's time limit", Outcome::timed_out, 60, 15,
       15},
      {"flood", "1 GB of output, then good steps", Outcome::ok, 3, 120, 0},
      {"ignore", "ignores SIGTERM", Outcome::ok, 2, 120, 0},
      {"daemon", "double fork into the background, ignores SIGTERM", Outcome::ok, 2, 120, 0},
      {"bytes", "log that is not UTF-8", Outcome::ok, 2, 120, 0},
  };
  return kCases;
}

int survivors() {
  const std::string mark = std::string(kTreeVariable) + "=" + process_mark();
  int count = 0;
  for (const ProcessFacts& process : all_processes()) {
    if (process.state == 'Z' || process.pid == ::getpid()) continue;
    const auto environment = read_file(fmt::format("/proc/{}/environ", process.pid));
    if (environment && environment->find(mark) != std::string::npos) ++count;
  }
  return count;
}

Result<Trial> try_mode(const std::string& mode, const std::string& fault_file,
                       const TrialLimits& limits) {
  CommandWorkload workload;
  workload.command = {own_program(), "--client", mode, fault_file};
  workload.log_reader = "torch";
  workload.stop_grace_seconds = 1;
  ProbeOptions quick;
  quick.quick = true;
  static const auto kMachine = probe_machine(quick);
  if (!kMachine) return kMachine.error();
  const auto prepared = OCRTUNE_TRY(prepare_command(workload, *kMachine));
  Knobs knobs;
  knobs.batch = kSamplesOfAStep;
  return make_command_runner(prepared, *kMachine)->run(knobs, limits);
}

bool run_case(const Case& one, const std::string& folder) {
  const std::string fault_file = join_path(folder, one.mode);
  TrialLimits limits;
  limits.measure_seconds = one.measure_seconds;
  limits.max_seconds = one.max_seconds;
  limits.expected_step_seconds = kStepSeconds;
  const auto trial = try_mode(one.mode, fault_file, limits);
  const double end = steady_clock().now_seconds();
  if (!trial) {
    std::printf("%s: %s\n", one.mode, trial.error().what.c_str());
    return false;
  }
  const auto text = read_file(fault_file);
  const double fault = text ? parse_number(trim(*text)).value_or(end) : end;
  const int left = survivors();
  const bool in_time = one.within_seconds <= 0 || end - fault <= one.within_seconds + kLateSeconds;
  const bool right = trial->outcome == one.outcome && left == 0 && in_time && text.ok();
  fmt::print("| {} | {} | {} | {} | {:.1f} s | {} | {}{} |\n", one.mode, one.what,
             outcome_name(one.outcome), outcome_name(trial->outcome), end - fault, left,
             right ? "" : "WRONG: ", trial->reason);
  std::fflush(stdout);
  if (!trial->ok()) {
    for (const std::string& line : trial->evidence) {
      if (!starts_with(line, "its files: ")) continue;
      [[maybe_unused]] const Status removed = remove_tree(line.substr(11));
    }
  }
  return right;
}

bool run_good_trials(int count, const std::string& folder) {
  TrialLimits limits;
  limits.measure_seconds = 0.3;
  limits.max_seconds = 60;
  limits.expected_step_seconds = kStepSeconds;
  int bad = 0;
  double slowest = 0;
  for (int i = 0; i < count; ++i) {
    const auto trial = try_mode("good", join_path(folder, "good"), limits);
    if (trial && trial->ok()) {
      slowest = std::max(slowest, trial->seconds);
      continue;
    }
    ++bad;
    std::printf("good trial %d: %s\n", i,
                trial ? (std::string(outcome_name(trial->outcome)) + ", " + trial->reason).c_str()
                      : trial.error().what.c_str());
  }
  std::printf("\n%d good trials of %.1f s: %d judged otherwise; slowest %.1f s; %d survivors\n",
              count, limits.measure_seconds, bad, slowest, survivors());
  return bad == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  if (given.size() == 3 && given[0] == "--client") return run_faulty_client(given[1], given[2]);
  const bool counts = given.size() == 2 && given[0] == "--good";
  const int good = counts ? std::atoi(given[1].c_str()) : 0;  // NOLINT(cert-err34-c)
  const auto folder = make_temporary_directory("detection");
  if (!folder) {
    std::printf("%s\n", folder.error().what.c_str());
    return 3;
  }
  if (!counts) {
    std::printf("| case | fault | expected | outcome | fault to end | survivors | reason |\n");
    std::printf("|--|--|--|--|--|--|--|\n");
  }
  bool right = true;
  for (const Case& one : cases()) {
    const bool asked =
        given.empty() || std::find(given.begin(), given.end(), one.mode) != given.end();
    if (asked) right = run_case(one, *folder) && right;
  }
  if (good > 0) right = run_good_trials(good, *folder) && right;
  [[maybe_unused]] const Status removed = remove_tree(*folder);
  return right ? 0 : 1;
}
