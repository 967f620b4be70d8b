// What training and reading scripts of public repositories print, made anew: the form of
// their lines, with a speed that is known.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ocrtune {

struct ScriptJob {
  int batch = 64, nproc = 1;
  double step_seconds = 0.25;
  double seconds = 40;  // that it is listened to
};

using ScriptLine = std::pair<double, std::string>;  // when it comes, text

struct Script {
  const char* name;
  bool trains = true;  // else a step is one page
  std::function<std::vector<ScriptLine>(const ScriptJob&)> print;
};

const std::vector<Script>& public_scripts();

}  // namespace ocrtune
