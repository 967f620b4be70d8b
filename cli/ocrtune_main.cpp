// The program: find the command, parse its flags, run it, and print an error as one line.
#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/interrupt.h"
#include "base/text.h"
#include "cli/command_words.h"
#include "cli/commands.h"
#include "cli/engine_commands.h"
#include "cli/extras.h"
#include "cli/help.h"
#include "cli/here.h"
#include "cli/shell/terminal.h"
#include "cli/shell/uncaught.h"
#include "reports/catalogue/plain_text.h"
#include "reports/console/label_lines.h"
#include "trial/workloads/engine_parts.h"

namespace ocrtune {
namespace {

int usage_error(const std::string& what) {
  std::fprintf(stderr, "ocrtune: %s\n", plain_text(said(what, terminal_language())).c_str());
  return kExitUsage;
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

// Empty: it is no command of an extra that this build lacks.
std::string lacks_extra(const std::string& name) {
  for (const MissingCommand& missing : missing_commands()) {
    if (name != missing.name) continue;
    return fmt::format("no command '{}': this build lacks the extra {}", name, missing.extra);
  }
  return "";
}

int unknown_command(const std::string& name) {
  if (starts_with(name, "-")) return usage_error("no option " + name + " (ocrtune --help)");
  if (const std::string lacks = lacks_extra(name); !lacks.empty()) return usage_error(lacks);
  const std::string near = nearest_command(name);
  return usage_error(
      "no command '" + name + "'" +
      (near.empty() ? "; ocrtune --help lists them" : "; did you mean '" + near + "'?"));
}

int exit_code(const Error& error) {
  switch (error.kind) {
    case ErrorKind::usage:
      return kExitUsage;
    case ErrorKind::interrupted:
      return kExitInterrupted;
    default:
      return kExitEnvironment;
  }
}

// What stands in the buffer is part of the answer: a full disk is an error of the command.
int finish_output(int code) {
  const bool flushed = std::fflush(stdout) == 0;
  const int cause = flushed ? 0 : errno;
  if (flushed && std::ferror(stdout) == 0) return code;
  if (reader_is_gone(stdout)) return kExitPipe;
  if (code == kExitEnvironment) return code;  // the command's own error has said it
  std::fprintf(
      stderr, "ocrtune: write standard output: %s\n",
      cause == 0 ? "not all of it could be written; is the disk full?" : std::strerror(cause));
  return kExitEnvironment;
}

int fail(const Command& command, const Error& error, std::string tail) {
  if (error.kind == ErrorKind::interrupted) {
    tail += terminal_text("; ") +
            terminal_text(error.stands.empty() ? "nothing is stored: run it again" : error.stands);
  }
  std::fprintf(stderr, "ocrtune %s: %s%s\n", command.name,
               plain_text(said(error.what, terminal_language())).c_str(), tail.c_str());
  return exit_code(error);
}

int engine_version(const std::vector<std::string>& words) {
  if (engine_commands() != nullptr) return print(version_text());
  const Error error = start_engine(words);
  std::fprintf(stderr, "ocrtune: %s\n", said(error.what, terminal_language()).c_str());
  return exit_code(error);
}

// What is started inherits the mask that the user gave, not the place of one OpenMP thread.
void take_all_cpus() {
  const CpuSet given = affinity_at_start();
  if (!given.empty() && given != current_affinity()) static_cast<void>(set_affinity(0, given).ok());
}

// What is opened later must not become a standard stream, into which notes go.
void open_closed_streams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) return;
  }
}

int run_command_line(const std::vector<std::string>& words) {
  // Before the watcher's thread is started, which keeps the mask that it is born with.
  take_all_cpus();
  catch_interrupts();
  std::vector<std::string> arguments = words;
  if (!arguments.empty()) arguments.erase(arguments.begin());
  if (arguments.empty())
    return print(here_text() + "\n" + program_help(help_width(stdout), false, terminal_language()));
  arguments = meant_words(std::move(arguments));
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "--help-all") {
    return print(
        program_help(help_width(stdout), arguments[0] == "--help-all", terminal_language()));
  }
  if (arguments[0] == "--version" || arguments[0] == "-V") return print(version_text());
  if (arguments == std::vector<std::string>{kEngineGroup, "--version"})
    return engine_version(words);
  const bool group = arguments[0] == kEngineGroup || arguments[0] == kHostsGroup;
  const bool asks = arguments.size() == 1 || arguments[1] == "--help" || arguments[1] == "-h";
  if (group && asks)
    return print(group_help(arguments[0], help_width(stdout), terminal_language()));
  if (group) {
    if (!lacks_extra(arguments[1]).empty()) return unknown_command(arguments[1]);
    return usage_error("no command '" + arguments[1] + "' among those of ocrtune " + arguments[0] +
                       " (ocrtune " + arguments[0] + " --help)");
  }
  const std::string name = arguments[0];
  // `ocrtune --probe` is the same as `ocrtune probe`, for every command's name.
  const Command* command = find_command(starts_with(name, "--") ? name.substr(2) : name);
  if (command == nullptr) return unknown_command(name);
  // With all its words: the other program parses them itself.
  if (command->of_engine && engine_commands() == nullptr) {
    return fail(*command, start_engine(words), "");
  }
  arguments.erase(arguments.begin());
  Flags flags;
  flags.started_by(words);
  const CommandRun run = command->declare(flags);
  const auto parsed = parse_flags(flags, arguments);
  if (!parsed) {
    return fail(*command, parsed.error(), " (ocrtune " + std::string(command->name) + " --help)");
  }
  if (*parsed != Parsed::values) {
    const bool all = *parsed == Parsed::help_all;
    return print(command_help(*command, flags, help_width(stdout), all, terminal_language()));
  }
  Result<int> result = run();
  if (result) return *result;
  // The command found on its way that the engine is needed.
  if (engine_was_asked()) result = start_engine(words);
  // A reader that has seen enough (| head) is no error.
  if (std::ferror(stdout) != 0 && reader_is_gone(stdout)) return kExitPipe;
  return fail(*command, result.error(), "");
}

}  // namespace
}  // namespace ocrtune

int main(int argc, char** argv) {
  ocrtune::open_closed_streams();
  ocrtune::say_uncaught(ocrtune::kExitEnvironment);
  try {
    return ocrtune::finish_output(ocrtune::run_command_line({argv, argv + argc}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ocrtune: %s\n", ocrtune::exception_words(error));
    return ocrtune::kExitEnvironment;
  }
}
