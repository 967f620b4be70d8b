// ocrtune rank-exec: started by a launcher in place of the training program; binds, then becomes
// it.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/cpu_set.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "base/process.h"
#include "bench/rank_binding.h"
#include "cli/command_list.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace ocrtune {
namespace {

Status bind_this_rank() {
  const char* text = std::getenv(kRankCpusVariable);
  if (text == nullptr || *text == '\0') return Status();
  const auto masks = parse_rank_cpus(text);
  if (!masks) return masks.error();
  std::string environment;
  for (char** line = environ; *line != nullptr; ++line) environment += std::string(*line) + '\0';
  const auto rank = local_rank_of(environment, "");
  const auto index = static_cast<std::size_t>(rank.value_or(0));
  if (!rank && masks->size() > 1) {
    return Error{ErrorKind::usage,
                 "no rank in the environment (LOCAL_RANK, PADDLE_LOCAL_RANK, ...): start it with "
                 "the launcher"};
  }
  if (index >= masks->size()) {
    return Error{ErrorKind::usage,
                 std::string(kRankCpusVariable) + " has no CPUs for rank " + std::to_string(index)};
  }
  return (*masks)[index].empty() ? Status() : set_affinity(0, (*masks)[index]);
}

Result<int> rank_exec(const std::vector<std::string>& command) {
  const auto path = find_executable(command[0]);
  if (!path) return path.error();
  const Status bound = bind_this_rank();
  if (!bound) return bound.error();
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: execv's old signature
  }
  arguments.push_back(nullptr);
  release_interrupts();  // the program shall not inherit what we block and ignore
  ::execv(path->c_str(), arguments.data());
  return system_error(errno, "start " + command[0]);
}

std::function<Result<int>()> declare(CLI::App& app) {
  auto command = std::make_shared<std::vector<std::string>>();
  app.add_option("command", *command, "The program that the rank runs, after --")->required();
  return [command] { return rank_exec(*command); };
}

}  // namespace

Command rank_exec_command() {
  return Command{"rank-exec", "Bind this rank to its CPUs (OCRTUNE_RANK_CPUS), then run a program",
                 "torchrun --nproc_per_node 2 --no-python ocrtune rank-exec -- python train.py",
                 declare};
}

}  // namespace ocrtune
