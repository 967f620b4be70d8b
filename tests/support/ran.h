// What a program said on both streams, and how it ended.
#pragma once

#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"

namespace ocrtune {

struct Ran {
  int code = -1;  // minus the signal that ended it
  std::string out;
};

// A line for the shell, which says where the error stream goes.
inline Ran run_line(const std::string& line) {
  Ran ran;
  std::FILE* pipe = ::popen(line.c_str(), "r");
  char block[4096];
  for (std::size_t got = 0; (got = std::fread(block, 1, sizeof block, pipe)) > 0;) {
    ran.out.append(block, got);
  }
  const int status = ::pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ran;
}

// The built tool with these words, without a shell.
inline Process start_ocrtune(
    const std::vector<std::string>& words,
    const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  ProcessOptions options;
  options.arguments = {OCRTUNE_BINARY};
  options.arguments.insert(options.arguments.end(), words.begin(), words.end());
  options.environment.assign(environment.begin(), environment.end());
  options.output_bytes = 1 << 20;
  return Process::start(options).value();
}

inline int finish(Process& process) {
  const auto& exit = process.wait(100);
  return !exit ? -SIGALRM : exit->signal != 0 ? -exit->signal : exit->code;
}

inline Ran run_ocrtune(const std::vector<std::string>& words,
                       const std::vector<std::pair<std::string, std::string>>& environment = {}) {
  Process process = start_ocrtune(words, environment);
  const int code = finish(process);
  return Ran{code, process.output().contents()};
}

}  // namespace ocrtune
