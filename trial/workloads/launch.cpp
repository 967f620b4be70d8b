// The text for a person and the options for a process come from one struct, so that both start the
// same. Secrets are masked in the text; their values are searched for in all that a trial keeps.
#include "trial/workloads/launch.h"

#include <algorithm>

#include "base/files.h"
#include "base/secrets.h"
#include "base/text.h"

namespace ocrtune {

void set_variable(Variables& environment, const std::string& name, const std::string& value) {
  const auto found = std::find_if(environment.begin(), environment.end(),
                                  [&](const auto& one) { return one.first == name; });
  if (found != environment.end()) {
    found->second = value;
  } else {
    environment.emplace_back(name, value);
  }
}

ProcessOptions process_options(const Launch& launch) {
  ProcessOptions options;
  options.arguments = launch.arguments;
  options.directory = launch.directory;
  // A pipe makes Python keep its lines back until 8 KiB have gathered.
  options.environment.emplace_back("PYTHONUNBUFFERED", "1");
  for (const auto& [name, value] : launch.environment) {
    options.environment.emplace_back(name, value);
  }
  return options;
}

std::string launch_text(const Launch& launch) {
  if (!launch.server.empty()) return "# the server at " + launch.server + ", as it runs";
  std::string text;
  if (!launch.scratch.empty()) text = "mkdir -p " + shell_quote(launch.scratch) + " && ";
  if (!launch.directory.empty() && launch.directory != real_path(".").value_or("")) {
    text += "cd " + shell_quote(launch.directory) + " && ";
  }
  for (const auto& [name, value] : launch.environment) {
    // The shell fills it from its own environment, where the user has it.
    text += name + "=" + (looks_secret(name) ? "\"$" + name + "\"" : shell_quote(value)) + " ";
  }
  return shell_line(text + shell_join(masked_arguments(launch.arguments)));
}

std::string launch_text(const Result<Launch>& launch) {
  return launch ? launch_text(*launch) : "# " + launch.error().what;
}

std::vector<std::string> secrets_of(const Launch& launch) {
  Environment environment = process_environment();
  for (const auto& [name, value] : launch.environment) environment[name] = value;
  std::vector<std::string> secrets = secret_values(environment);
  const std::vector<std::string> masked = masked_arguments(launch.arguments);
  for (std::size_t i = 0; i < masked.size(); ++i) {
    const std::string& word = launch.arguments[i];
    if (masked[i] == word || !ends_with(masked[i], kMask)) continue;
    const std::size_t begin = masked[i].size() - std::string_view(kMask).size();
    // Very short values would mask half of every log.
    if (word.size() >= begin + 4) secrets.push_back(word.substr(begin));
  }
  return secrets;
}

void hide_secrets(const Launch& launch, Trial& trial) {
  const std::vector<std::string> secrets = secrets_of(launch);
  trial.log_tail = without_secrets(trial.log_tail, secrets);
  trial.reason = without_secrets(trial.reason, secrets);
  for (std::string& line : trial.evidence) line = without_secrets(line, secrets);
}

}  // namespace ocrtune
