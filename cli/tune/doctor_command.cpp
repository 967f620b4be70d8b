// ocrtune doctor: everything that tune would stumble over, and one step of it, before a long tune.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/shell/machine_turn.h"
#include "cli/shell/progress.h"
#include "cli/shell/terminal.h"
#include "cli/tune/listening.h"
#include "cli/tune/tune_flags.h"
#include "diagnosis/diagnosis.h"
#include "probes/host/nics.h"
#include "probes/placement/partition.h"
#include "probes/probe.h"
#include "reports/catalogue/plain_text.h"
#include "reports/catalogue/reasons.h"
#include "reports/console/label_lines.h"
#include "trial/trial.h"
#include "trial/workloads/engine_parts.h"
#include "tuner/session/checkup.h"
#include "tuner/session/session.h"
#include "tuner/session/tune_setup.h"
#include "tuner/verdict/held_back.h"

namespace ocrtune {
namespace {

using State = Check::State;

constexpr int kLeastColumns = 20;  // of a check's text

class StepLine : public SessionObserver {
 public:
  explicit StepLine(bool json) : line_(terminal_text("trying one step"), json) {}

  void waits_for(const std::string& holder) override { line_.note(waiting_text(holder)); }

 private:
  WorkLine line_;
};

// The lines as they are known; a document at the end.
class Findings {
 public:
  explicit Findings(bool json) : json_(json) {}

  void add(const Check& check) {
    checks_.push_back(check);
    if (json_) return;
    const auto column = [](const std::string& word) {
      return padded_to(terminal_text(word), 8) + " ";
    };
    const std::string margin = column(check_state_name(check.state)) + column(check.name);
    const int used = display_width(margin);
    const auto lines = broken_lines(valid_utf8(terminal_text(check.text)),
                                    std::max(console_width(stdout) - used, kLeastColumns));
    const std::string next = "\n" + std::string(static_cast<std::size_t>(used), ' ');
    std::puts((margin + join(lines, next)).c_str());
    std::fflush(stdout);
  }
  // A document is English.
  Language language() const { return json_ ? Language::english : terminal_language(); }
  void add(State state, const char* name, const std::string& text) { add({state, name, text}); }

  // `failed`: the trial that did, if one did.
  int end(const std::optional<Trial>& failed = std::nullopt) const {
    const bool fails = std::any_of(checks_.begin(), checks_.end(),
                                   [](const Check& check) { return check.state == State::fails; });
    if (json_) {
      nlohmann::ordered_json rows = nlohmann::ordered_json::array();
      for (const Check& check : checks_) {
        rows.push_back({{"state", check_state_name(check.state)},
                        {"name", check.name},
                        {"text", valid_utf8(check.text)}});
      }
      std::printf("%s\n",
                  nlohmann::ordered_json{{"ready", !fails}, {"checks", rows}}.dump(2).c_str());
    } else {
      if (failed) say_end(*failed);
      std::puts(terminal_text(fails ? "Not ready: mend what fails, then run ocrtune doctor again."
                                    : "Ready: ocrtune tune")
                    .c_str());
    }
    return fails ? kExitNegative : kExitOk;
  }

 private:
  bool json_;
  std::vector<Check> checks_;

  static void say_end(const Trial& failed) {
    if (!failed.log_tail.empty()) {
      std::printf("%s\n%s\n", terminal_text("The end of what it printed:").c_str(),
                  plain_text(failed.log_tail).c_str());
    }
    for (const std::string& fix : fixes_of(failed.cause, failed.log_tail)) {
      std::puts(terminal_text("What may help: {}", {fix}).c_str());
    }
  }
};

std::string data_text(const TuneFlags& flags) {
  return fmt::format("{}: {}, {}", flags.typed.training.label_file,
                     how_many(flags.typed.lines, "usable line"),
                     how_many(flags.typed.training.classes, "class"));
}

// One trial compares nothing, but its threads show what they waited for.
void say_what_holds_back(const Trial& trial, const TuneFlags& flags, const Machine& machine,
                         Findings& findings) {
  const int cpus = usable_cpu_count(machine.cpu);
  for (const HeldBack& one : held_back(trial, cpus, flags.search.out_of_reach())) {
    findings.add(State::ok, "why", sentence(held_back_reason(one), findings.language()));
  }
}

// The steps of tune in their order, with checks of the machine in front. What fails is collected as
// long as what follows can still be asked.
Result<int> doctor(TuneFlags flags) {
  OCRTUNE_TRY(read_tune_flags(flags));
  Findings findings(flags.json);
  const Status readable = read_data(flags);
  if (!readable) findings.add(State::fails, "data", readable.error().what);
  if (readable && flags.typed.lines > 0) findings.add(State::ok, "data", data_text(flags));
  make_job(flags);
  ProbeOptions quick;
  quick.quick = true;
  quick.command = flags.job.command();
  const auto machine = OCRTUNE_TRY(probe_machine(quick));
  for (const Check& check : machine_checks(machine)) findings.add(check);
  if (flags.job.prints()) {
    findings.add(own_name_check(machine.host, resolve_names({machine.host})[machine.host]));
  }

  const Status settled = settle_flags(flags, machine);
  for (const std::string& note : flags.notes) findings.add(State::warning, "command", note);
  const auto setup = settled ? tune_setup(flags.job, flags.search, machine) : settled.error();
  if (!setup) findings.add(State::fails, "command", setup.error().what);
  if (!readable || !setup) return findings.end();
  findings.add(State::ok, "command",
               flags.job.command().empty() ? "the built-in engine, model " + flags.job.model()
                                           : shell_join(flags.job.command()));
  auto states = user_states(flags.job, flags.search);
  std::optional<Trial> unread;
  const auto heard =
      find_log_reader(flags.job, flags.search, machine, flags.no_wait, flags.json, unread);
  // Ctrl-C is no finding: the command ends with it.
  if (!heard && heard.error().kind == ErrorKind::interrupted) return heard.error();
  if (!heard) {
    findings.add(State::fails, "speed", heard.error().what);
    if (!unread) return findings.end();
    say_what_holds_back(*unread, flags, machine, findings);
    return heard.error().kind == ErrorKind::failed ? findings.end(*unread) : findings.end();
  }
  if (!heard->empty()) findings.add(State::ok, "speed", *heard);
  TuneRequest request;
  request.job = flags.job;
  request.search = flags.search;
  request.machine = machine;
  request.wait = !flags.no_wait;
  const auto trial = [&] {
    StepLine line(flags.json);
    return try_once(request, line);
  }();
  if (!trial && trial.error().kind == ErrorKind::interrupted) return trial.error();
  if (!trial) {
    findings.add(State::fails, "step", trial.error().what);
    return findings.end();
  }
  const std::string over = overwritten_note(states);
  if (!over.empty()) findings.add(State::warning, "files", over);
  for (const Check& check : step_checks(*trial, flags.job, flags.search, machine,
                                        static_cast<std::int64_t>(setup->space.size()))) {
    findings.add(check);
  }
  if (trial->ok() || trial->outcome == Outcome::timed_out) {
    say_what_holds_back(*trial, flags, machine, findings);
  }
  return trial->ok() ? findings.end() : findings.end(*trial);
}

}  // namespace

CommandRun declare_doctor(Flags& cli) {
  auto flags = std::make_shared<TuneFlags>();
  declare_amounts(cli, *flags);
  cli.toggle("--no-wait", flags->no_wait, kNoWaitHelp);
  cli.json(flags->json);
  declare_workload(cli, *flags);
  cli.show_first({"--budget", "--preset", "--log-reader", "--metric", "--nproc", "--threads",
                  "--batch", "--url", "--input", "--json"});
  return [flags]() -> Result<int> {
    if (needs_engine(*flags)) return engine_elsewhere();
    say_settings(*flags, "doctor");
    return doctor(*flags);
  };
}

}  // namespace ocrtune
