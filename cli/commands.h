// The commands of ocrtune: one row of command_table() each, and the function that declares its
// flags (cli/commands/<name>_command.cpp).
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "cli/flags.h"

namespace ocrtune {

// Exit codes. Wrong use is 2; environment error is 3.
inline constexpr int kExitOk = 0;
inline constexpr int kExitNegative = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 3;
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitPipe = 141;  // nobody reads standard output: quiet, as by SIGPIPE

// What to run once the flags are parsed: gives the exit code, or an Error that is printed as one
// line and mapped to an exit code.
using CommandRun = std::function<Result<int>()>;

struct Command {
  const char* name;
  // Of `ocrtune help`: kEngineGroup and kHostsGroup are called as `ocrtune engine train`, kRest is
  // shown by `ocrtune help --all` alone; empty: started by ocrtune itself and shown nowhere.
  const char* section;
  const char* summary;   // one line: imperative, capital first letter, no period
  const char* examples;  // one a line
  const char* notes;     // what else help says: exit codes, the form of a file
  CommandRun (*declare)(Flags& flags);
  bool of_engine = false;  // it is ocrtune-engine's: cli/engine_commands.h

  bool hidden() const { return *section == '\0'; }
};

inline constexpr const char* kLaunch = "Use them";
inline constexpr const char* kEngineGroup = "engine";
inline constexpr const char* kHostsGroup = "hosts";
struct CommandGroup {
  const char *name, *summary;
};
inline constexpr CommandGroup kGroups[] = {{kEngineGroup, "the built-in OCR engine"},
                                           {kHostsGroup, "several machines, GPUs side by side"}};
inline constexpr const char* kRest = "Others";
inline constexpr const char* kHidden = "";

// In the order of the program's help.
const std::vector<Command>& command_table();
std::vector<const Command*> members_of(const CommandGroup& group);
// The command or group whose name is nearest in spelling; empty: none is.
std::string nearest_command(std::string_view name);
const Command* find_command(std::string_view name);  // null if there is none
// Runs a command by its words, as on a command line: what `show --why` and `runs rm` do.
Result<int> run_command(const char* name, const std::vector<std::string>& arguments);

CommandRun declare_completion(Flags& flags);
CommandRun declare_diagnose(Flags& flags);
CommandRun declare_doctor(Flags& flags);
CommandRun declare_export(Flags& flags);
CommandRun declare_help(Flags& flags);
CommandRun declare_infer_trial(Flags& flags);
CommandRun declare_init(Flags& flags);
CommandRun declare_list(Flags& flags);
CommandRun declare_man(Flags& flags);
CommandRun declare_p2p(Flags& flags);
CommandRun declare_probe(Flags& flags);
CommandRun declare_rank_exec(Flags& flags);
CommandRun declare_replay(Flags& flags);
CommandRun declare_report(Flags& flags);
CommandRun declare_runs(Flags& flags);
CommandRun declare_rm(Flags& flags);
CommandRun declare_show(Flags& flags);
CommandRun declare_slo(Flags& flags);
CommandRun declare_tune(Flags& flags);
CommandRun declare_verify(Flags& flags);
CommandRun declare_why_not(Flags& flags);

}  // namespace ocrtune
