// What a shell may offer for the word under the cursor, from the same table as --help.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ocrtune {

struct Candidate {
  std::string word, help;
};

struct Completion {
  enum class Paths { none, files, folders };
  std::vector<Candidate> candidates;  // whole words that begin with what is there
  Paths paths = Paths::none;          // the shell offers these itself
};

// `words` as typed after "ocrtune", the last one under the cursor and perhaps empty. A shell that
// breaks words at "=" may pass "--db", "=", "x" or "nproc", "=", "2".
Completion complete(const CLI::App& app, std::vector<std::string> words);

// How completion fills the values of an option, by its name: the test holds each to the commands.
struct ValueRow {
  const char* option;  // without dashes
  const char* from;    // a topic of `ocrtune list`; "files", "folders"
};
const std::vector<ValueRow>& value_table();

std::string completion_script(const std::string& shell);  // "bash" or "zsh"

}  // namespace ocrtune
